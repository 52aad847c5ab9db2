//! Secrets in settings and notes, and lines that only resemble them. Values are assembled from
//! parts, so that none is in this file.

use loci_secrets::{Setting, mask, mask_value};

/// A password with marks that occur in code.
fn marked() -> String {
    ["Ab3&Kz9(", "Lm2@Qx#7!w"].concat()
}

/// A password of letters and digits.
fn mixed() -> String {
    ["Kx9mP", "q2vL7tR4"].concat()
}

/// Masks the text with `secret` in the place of `X` and compares.
fn assert_masked(form: &str, secret: &str, kind: &str) {
    let text = form.replace('X', secret);
    let expected = form.replace('X', &format!("[masked: {kind}]"));
    let masked = mask(&text, Setting::Plain);
    assert_eq!(masked.text, expected, "{text}");
    let again = mask(&masked.text, Setting::Plain);
    assert_eq!(again.text, expected);
    assert!(again.found.is_empty());
}

#[test]
fn a_password_with_marks_is_masked_without_quotes() {
    for mark in "@&#(,;=?<[{|!$%^*".chars() {
        // A letter at the beginning would make it a call or a type.
        let secret = format!("9NhFd7{mark}{}", "si9pzz4");
        assert_masked("password: X", &secret, "password");
        assert_masked("(DB_PASSWORD=X)", &secret, "password");
    }
    assert_masked(
        "password: X, then",
        &["NhFd7Z", "@si9pzz4"].concat(),
        "password",
    );
}

#[test]
fn a_secret_with_marks_is_masked_in_every_form_of_settings() {
    for (form, kind) in [
        ("db:\n  password: X\n  port: 1", "password"),
        ("[db]\npassword = X\n", "password"),
        ("spring.datasource.password=X\n", "password"),
        ("    - POSTGRES_PASSWORD=X\n", "password"),
        ("  MYSQL_ROOT_PASSWORD: X\n", "password"),
        ("PASS=X\n", "password"),
        ("export PASS=X\r\n", "password"),
        ("secret: |\n  X\nnext: 1", "secret"),
        ("api_key: >-\r\n    X\r\n", "API key"),
        ("secret = \"\"\"\nX\n\"\"\"\n", "secret"),
        ("secret = \"\"\"X\"\"\"\n", "secret"),
        ("{\"tokens\":[\"X\"]}", "token"),
        ("{\"tokens\": [\n  \"X\"\n]}", "token"),
        ("<password>X</password>", "password"),
        ("token: X\n", "token"),
        ("secret: X\n", "secret"),
        ("- name: DB_PASSWORD\n  value: X\n", "password"),
        ("- name: DB_PASSWORD\n  value: \"X\"\n", "password"),
        ("{\"name\":\"API_TOKEN\",\"value\":\"X\"}", "token"),
    ] {
        assert_masked(form, &marked(), kind);
    }
}

#[test]
fn the_next_setting_of_a_list_stays() {
    let secret = ["9NhFd7Z", "@si9pzz4"].concat();
    for form in [
        "?password=X&user=ann",
        "login(password=X,user=ann)",
        "Server=x;Uid=sa;Pwd=X;Port=1",
        "<td>password: X<br>port: 1",
    ] {
        assert_masked(form, &secret, "password");
    }
}

#[test]
fn a_strong_value_is_masked_after_the_words_of_a_note() {
    for (form, kind) in [
        ("**Password:** X", "password"),
        ("**password**: `X`", "password"),
        ("*Password*: X", "password"),
        ("- **DB password**: X", "password"),
        ("- **The DB password:** X", "password"),
        ("the token was: X", "token"),
        ("Password for prod: X", "password"),
        ("Password for the test-server: X", "password"),
        ("password (prod): X", "password"),
        ("the password is: X", "password"),
        ("the password is X.", "password"),
        ("pw: X", "password"),
        ("| password | X |", "password"),
        ("| **API key** | `X` | prod |", "API key"),
        ("**API key:** X", "API key"),
        ("token -> X", "token"),
        ("token → X", "token"),
        ("Passwort: X", "password"),
        ("Passwort für das NAS: X", "password"),
        ("Kennwort: X", "password"),
        ("contraseña: X", "password"),
        ("mot de passe : X", "password"),
        ("Пароль: X", "password"),
        ("密码：X", "password"),
        ("password：X", "password"),
    ] {
        assert_masked(form, &mixed(), kind);
    }
}

#[test]
fn the_items_of_a_list_under_a_secret_name_are_masked() {
    for name in [
        "tokens",
        "passwords",
        "client_secrets",
        "api_keys",
        "apiKeys",
    ] {
        let secret = mixed();
        let masked = mask_value(name, &secret);
        assert!(
            masked.text.starts_with("[masked: "),
            "{name}: {}",
            masked.text
        );
    }
    for name in ["max_tokens", "stop_tokens", "keys", "topics"] {
        assert_eq!(mask_value(name, &mixed()).text, mixed(), "{name}");
    }
}

#[test]
fn code_templates_and_prose_beside_a_secret_name_stay() {
    let lines = HARMLESS.trim_matches('\n');
    assert!(lines.lines().count() >= 60);
    for line in lines.lines() {
        assert_eq!(mask(line, Setting::Plain).text, line);
    }
    assert_eq!(mask(lines, Setting::Plain).text, lines);
}

const HARMLESS: &str = r#"
password: Option<String>
token = tokens[0];
password: str = Field(min_length=8)
password:str=Field(min_length=8,max_length=64)
password=config["x1"]
password = get_password(user1)
password=get_password(user1,realm2)
token: request.headers["X-Auth1"]
pass: h1?.value
password: ${DB_PASSWORD_1}
password: {{ vault_pw1 }}
password: <your-password-1>
secret: !Ref Foo1
secret: !GetAtt Db1.Arn
secret: !Sub "${AWS::StackName}-1"
password: Uint8Array|Int32Array|null
token: Map<string,Uint8Array>
let token: HashMap<u64,[u8;32]> = HashMap::new();
password: [u8;N1*32],
pub password: Secret<[u8;32]>,
password: &config.users[1].password,
login(user, password=pw1,timeout=30)
connect(host="db1", password=settings.DB_PASS2, port=5432)
password = user1.password if user1 else None
const password = form1?.get("password2") ?? "";
if (password.length<8||password.length>128) return false;
password = models.CharField(max_length=128)
token = jwt.encode({"sub": "1"}, key2, algorithm="HS256")
secrets: inherit
token: ${{ secrets.GITHUB_TOKEN }}
pass: actions/checkout@v4
password: ask ann1@example.org
password: ann1@corp-mail2.org
password =~ /^[A-Za-z0-9@#$%^&*]{8,}$/
password=[A-Za-z0-9!@#]+
token -> next token
token -> Token2
fn token(&self) -> Token2Ref { self.token2 }
def password (self, x1): return self.x1
the password is at least 12 characters
The password is stored as argon2id, the token as sha256.
**Password:** at least 8 characters, 1 digit
**Password:** min8,max64
| password | string | min8 |
| password | 8-64 characters | yes |
| Password policy | Length | 12 |
| token | uuid4 | required |
| `pw` | `u8` | width in px |
Das Passwort: mindestens 8 Zeichen, davon 1 Ziffer
Passwort für das WLAN: siehe Tresor 2
Пароль: не менее 12 символов
contraseña: obligatoria, 8 caracteres
密码：至少8位
.pw { width: 12px; pass: 2; }
#password1:focus { color: #1a2b3c; }
pw: 12px
pass: 12, fail: 3, skip: 1
test auth::password_1 ... ok
commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 (HEAD -> token-2)
 crates/token/src/lib.rs | 12 ++++++------
* 9f86d08 Rotate token (#1234)
secretName: app-tls-2
<code>{pem: &#x3C;string|buffer>[, passphrase: &#x3C;string>]}</code>
id: 550e8400-e29b-41d4-a716-446655440000
background: url(data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)
- name: TOKEN_TTL
- name: DB_PASSWORD
  valueFrom: {secretKeyRef: {name: db2, key: password}}
tokens: ["the", "quick", "brown2", "fox"]
"stop_tokens": ["<|im_end|>", "<|eot2|>"]
let passes = vec![1, 2]; render_pass: shadow2
docker run -u 1000:1000 app2
curl -u ann:$PASS https://example.org
Set-Cookie: theme=dark2; Path=/; Max-Age=3600
api_key: |
  see the vault, entry 12
"#;

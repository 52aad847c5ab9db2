//! Which text is masked, which is not, and which stays as it is. Keys are assembled from parts, so
//! that none is in this file.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use loci_secrets::{Setting, mask};
use proptest::prelude::*;

use crate::cost::assert_linear;

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Random characters of an alphabet, always the same for one seed.
pub(crate) fn drawn(alphabet: &[u8], length: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..length)
        .map(|_| char::from(alphabet[(next() % alphabet.len() as u64) as usize]))
        .collect()
}

pub(crate) fn letters(length: usize) -> String {
    drawn(ALPHABET, length, 7)
}

pub(crate) fn hex(length: usize) -> String {
    drawn(b"0123456789abcdef", length, 11)
}

pub(crate) fn upper(length: usize) -> String {
    drawn(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length, 5)
}

fn base64(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut bits = 0_u32;
        for at in 0..3 {
            bits = bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0));
        }
        for at in 0..=chunk.len() {
            text.push(char::from(alphabet[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}

fn jwt() -> String {
    format!(
        "{}.{}.{}",
        base64(br#"{"alg":"HS256","typ":"JWT"}"#),
        base64(br#"{"sub":"1234","name":"Ann"}"#),
        letters(43)
    )
}

/// Secrets: the text before, the secret, the text after, the kind.
fn secrets() -> Vec<(String, String, String, &'static str)> {
    let mut table: Vec<(String, String, String, &'static str)> = Vec::new();
    let mut add = |before: &str, secret: String, after: &str, kind: &'static str| {
        table.push((before.to_owned(), secret, after.to_owned(), kind));
    };
    add(
        "key ",
        format!("AK{}{}", "IA", upper(16)),
        " in prose",
        "AWS access key",
    );
    add(
        "id=",
        format!("AS{}{}", "IA", upper(16)),
        "",
        "AWS access key",
    );
    for prefix in ["p", "o", "u", "s", "r"] {
        let token = format!("gh{prefix}_{}", letters(36));
        add("use ", token, ".", "GitHub token");
    }
    add(
        "GITHUB_TOKEN=",
        format!("gh{}_{}", "p", letters(36)),
        "\n",
        "GitHub token",
    );
    add(
        "\"",
        format!("github{}_{}_{}", "_pat", letters(22), letters(59)),
        "\"",
        "GitHub token",
    );
    add(
        "(",
        format!("gl{}-{}", "pat", letters(20)),
        ")",
        "GitLab token",
    );
    add(
        "token: ",
        format!(
            "xo{}-{}-{}-{}",
            "xb",
            "17653672481",
            "19874698323",
            letters(24)
        ),
        ",",
        "Slack token",
    );
    add(
        "curl https://hooks.slack.com/services/",
        format!("T{}/B{}/{}", upper(8), upper(8), letters(24)),
        " -d x",
        "Slack webhook",
    );
    add(
        "",
        format!("sk_{}_{}", "live", letters(24)),
        "",
        "Stripe key",
    );
    add(
        "é",
        format!("rk_{}_{}", "live", letters(24)),
        "é",
        "Stripe key",
    );
    add("a\\n", format!("sk-{}", letters(48)), "\\n", "OpenAI key");
    add("OPENAI=", format!("sk-{}", letters(48)), "", "OpenAI key");
    add(
        "'",
        format!(
            "sk-{}-{}_{}-{}",
            "proj",
            letters(40),
            letters(20),
            letters(9)
        ),
        "'",
        "OpenAI key",
    );
    add(
        "",
        format!("sk-{}-api03-{}", "ant", letters(93)),
        "",
        "Anthropic key",
    );
    add(
        "?key=",
        format!("AI{}{}", "za", letters(35)),
        "&q=1",
        "Google API key",
    );
    add(
        "_authToken=",
        format!("np{}_{}", "m", letters(36)),
        "",
        "npm token",
    );
    add(
        "password = ",
        format!("py{}-AgEI{}", "pi", letters(150)),
        "",
        "PyPI token",
    );
    add(
        "`",
        format!("h{}_{}", "f", letters(34)),
        "`",
        "Hugging Face token",
    );
    add(
        "/bot",
        format!("{}:A{}{}", "123456789", "A", letters(33)),
        "/x",
        "Telegram bot token",
    );
    add("sid ", format!("S{}{}", "K", hex(32)), "", "Twilio key");
    add(
        "",
        format!("S{}.{}.{}", "G", letters(22), letters(43)),
        "",
        "SendGrid key",
    );
    add(
        "AccountName=x;AccountKey=",
        format!("{}==", letters(86)),
        ";EndpointSuffix=core",
        "Azure key",
    );
    add("cookie: ", jwt(), "; path=/", "JWT");
    add("Authorization: Bearer ", jwt(), "", "JWT");
    add(
        "Authorization: Bearer ",
        letters(40),
        "\r\n",
        "bearer token",
    );
    add(
        "-H 'authorization: token ",
        letters(40),
        "' x",
        "bearer token",
    );
    add(
        ".header(\"Authorization\", \"Bearer ",
        letters(24),
        "\")",
        "bearer token",
    );
    add(
        "Authorization: Basic ",
        base64(b"ann:tiger"),
        "",
        "basic credentials",
    );
    add(
        "postgres://app:",
        letters(12),
        "@db.internal:5432/x",
        "password in URL",
    );
    add("redis://:", "s3same!".into(), "@cache/0", "password in URL");
    add(
        "https://x-access-token:",
        format!("gh{}_{}", "s", letters(36)),
        "@github.com/a",
        "GitHub token",
    );
    add("password = \"", "Tr0ub4dor&3".into(), "\"", "password");
    add("\"password\": \"", "s3same99".into(), "\",", "password");
    add(
        "{\\\"password\\\":\\\"",
        "s3same99".into(),
        "\\\"}",
        "password",
    );
    add("password: &str = \"", "s3same99".into(), "\";", "password");
    add("Server=x;Uid=sa;Pwd=", "s3same99".into(), ";", "password");
    add(
        "ALTER USER x WITH PASSWORD '",
        "s3same99".into(),
        "';",
        "password",
    );
    add("<password>", letters(20), "</password>", "password");
    add("client_secret: '", letters(32), "'", "secret");
    add("clientSecret = `", hex(40), "`", "secret");
    add("access_token=", letters(40), "&x=1", "token");
    add("token=", hex(32), "=x", "token");
    add("deploy --token ", hex(40), " now", "token");
    add("config[\"api_key\"] = \"", hex(32), "\"", "API key");
    add("X-Api-Key: ", letters(32), "\r\n", "API key");
    add("SECRET_KEY_BASE=", hex(64), "", "API key");
    add("apiKey: \"", letters(24), "\",", "API key");
    add("'private_key' => '", hex(64), "',", "API key");
    add(
        "aws_secret_access_key = ",
        letters(40),
        "\n",
        "AWS secret key",
    );
    add(
        "\"SecretAccessKey\": \"",
        letters(40),
        "\"",
        "AWS secret key",
    );
    table
}

#[test]
fn every_kind_of_secret_is_masked_and_nothing_beside_it() {
    let table = secrets();
    assert!(table.len() >= 40);
    for (before, secret, after, kind) in table {
        let text = format!("first\n{before}{secret}{after}\nlast");
        let masked = mask(&text, Setting::Plain);
        assert_eq!(
            masked.text,
            format!("first\n{before}[masked: {kind}]{after}\nlast"),
            "{text}"
        );
        assert_eq!(masked.found.get(kind), Some(&1), "{text}");
        assert_eq!(masked.found.len(), 1, "{text}");
    }
}

#[test]
fn harmless_lines_come_out_unchanged() {
    let lines = HARMLESS.trim_matches('\n');
    assert!(lines.lines().count() >= 60);
    for line in lines.lines() {
        let masked = mask(line, Setting::Plain);
        assert_eq!(masked.text, line);
        assert!(matches!(masked.text, Cow::Borrowed(_)), "{line}");
    }
}

const HARMLESS: &str = r#"
- Fixed: the token was refreshed twice when two requests met (#1234)
- **Breaking:** `password` is now required, see the guide on secrets
- The secret: write tests first. The token = the smallest unit of text.
## Rotating secrets, tokens and API keys
Passwords are hashed with argon2id; the secret key never leaves the device.
Set `GITHUB_TOKEN` to a personal access token (it begins with `ghp_`).
Keys begin with sk-ant-, sk-proj- or sk-; tokens of Slack with xoxb-.
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
curl -H "Authorization: Bearer ${API_TOKEN}" https://api.example.com/v1
curl -H "Authorization: Bearer YOUR_API_TOKEN_123" https://api.example.com/v1
Send `Authorization: Basic` followed by the credentials.
The header is called Authorization: Basic authentication is not enough.
Bearer authentication and bearer tokens of version 2 are supported.
password: str
password: Optional[str] = None
token = get_token()
token = self.tokens[index]
api_key="YOUR_API_KEY"
api_key = os.environ["OPENAI_API_KEY"]
apiKey: process.env.API_KEY_2,
let token: String = tokenizer.next_token()?;
const token = Token::Ident(name);
password = "changeme"
password = "example-password-1"
"password": "Password",
"password": "Passwort vergessen?",
password: "${DB_PASSWORD}"
password: "{{ vault_db_password }}"
password = f"{user}-{number}"
secret: <your secret here>
token: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
token: "********************"
client_secret = "..."
secret_name = "a1b2c3d4e5f6a7b8c9d0"
password_hash = "$2b$12$KIXQ1fC1yq9H8t1Jm3v0ueZ5b6c7d8e9f0a1b2c3d4e5f6a7b8c9d"
token_count = 512
max_tokens: 4096
"completion_tokens": 128, "prompt_tokens": 4096
nextPageToken: "CAUQAA1b2C3d4E5f6"
"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"
secretKeyRef: { name: app-secrets-2, key: token }
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
if (token.type === "punctuation") { tokens.push(token); }
fn password_is_strong(password: &str) -> bool {
commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904
index 3f2a9b8c..7d6e5f4a 100644
id: 550e8400-e29b-41d4-a716-446655440000
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
"integrity": "sha512-Zx8kQ2mN7pLr4TvWZx8kQ2mN7pLr4TvWZx8kQ2mN7pLr4TvWZx8kQ2mN7pLr4TvWZx8kQ2mN7pLr4TvWZx8kQ2==",
resolved "https://registry.example.org/a/-/a-1.2.3.tgz#9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"
![logo](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)
00000010: 7f45 4c46 0201 0100 0000 0000 0000 0000  .ELF............
http://localhost:8080/path and https://example.org:8443/@scope/package
see http://127.0.0.1:3000, or mail ann@example.org
git clone ssh://git@github.com:22/a/b.git
postgres://user:password@localhost:5432/db
postgres://postgres:postgres@localhost/test
mysql://root:${MYSQL_PASSWORD}@db/app
https://<user>:<password>@host/
AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are read from the environment.
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
<div class="sk-folding-cube sk-spinner-double-bounce-2"></div>
task-1234567890abcdef risk-free disk-usage-2024-01-15-report
branch task-9f86d081884c7d659a2feaa0c55ad015b0 and MSG.Zx8kQ2mN7pLr4TvWZx8kQ2
cursor=eyJub3QiOiJhIn0.eyJub3QiOiJhIn0.Zx8kQ2mN7pLr4TvWZx8kQ2mN7pLr
password = "xxx111" or ftp://ann:xxx@files/
msg.content_of_the_previous_message_in_this_thread_1 = 2
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJq4e5fZ0c9T1x2y3z4A5B6C7D8E9F0a1b2c3d4 ann@host
-----BEGIN CERTIFICATE-----
-----BEGIN PRIVATE KEY----- opens a block, -----END PRIVATE KEY----- ends it.
PWD=/home/ann/work OLDPWD=/home/ann
<input type="password" name="password" id="pwd1" autocomplete="current-password">
| `token` | string | The token, 40 characters |
x-csrf-token, set-cookie and authorization are removed from logs
jwt = eyJhbGciOi... (three parts)
The pass rate is 98 %, the passphrase has six words.
export TOKEN=$(cat token.txt)
--password-file /run/secrets/db --token-ttl 3600
impl Token { pub const KEY: &str = "token"; }
private_key_path: "~/.ssh/id_ed25519"
password_min_length: 12 # secrets are longer
Schlüssel: das Passwort = „geheim“ — 秘密のトークン: なし
"#;

#[test]
fn the_files_of_this_repository_come_out_unchanged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 100);
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let masked = mask(&text, Setting::Plain);
        for (before, after) in text.lines().zip(masked.text.lines()) {
            assert_eq!(before, after, "{}", file.display());
        }
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                collect(&path, files);
            }
        } else if path
            .extension()
            .is_some_and(|kind| kind == "md" || kind == "rs")
            && !path.ends_with("it/secrets.rs")
        {
            files.push(path);
        }
    }
}

fn block(name: &str, line_end: &str) -> (String, String) {
    let (mut plain, mut masked) = (String::new(), String::new());
    let begin = format!("-----BEGIN {name}-----{line_end}");
    let end = format!("-----END {name}-----{line_end}");
    plain.push_str(&begin);
    masked.push_str(&begin);
    for seed in 1..6 {
        let length = if seed == 5 { 12 } else { 64 };
        write!(plain, "{}{line_end}", drawn(ALPHABET, length, seed)).unwrap();
        write!(masked, "[masked]{line_end}").unwrap();
    }
    plain.push_str(&end);
    masked.push_str(&end);
    (plain, masked)
}

#[test]
fn a_private_key_block_keeps_its_ends_and_its_lines() {
    let kind = ["PRIVATE", "KEY"].join(" ");
    for name in [
        kind.clone(),
        format!("RSA {kind}"),
        format!("OPENSSH {kind}"),
        format!("ENCRYPTED {kind}"),
        format!("PGP {kind} BLOCK"),
    ] {
        for line_end in ["\n", "\r\n"] {
            let (plain, expected) = block(&name, line_end);
            let masked = mask(&plain, Setting::Plain);
            assert_eq!(masked.text, expected);
            assert_eq!(masked.found.get("private key block"), Some(&1));
        }
    }
}

#[test]
fn a_block_in_quotes_or_cut_off_is_masked_and_the_text_after_it_is_not() {
    let name = ["RSA", "PRIVATE", "KEY"].join(" ");
    let (line, last) = (letters(64), letters(20));
    let text = format!(
        "> -----BEGIN {name}-----\n> Proc-Type: 4,ENCRYPTED\n>\n> {line}\n> {last}\nand then\n"
    );
    let masked = mask(&text, Setting::Plain);
    assert_eq!(
        masked.text,
        format!("> -----BEGIN {name}-----\n> [masked]\n>\n> [masked]\n> [masked]\nand then\n")
    );
    let code =
        format!("\"-----BEGIN {name}-----\\n\" +\n  \"{line}\\n\" +\n\"-----END {name}-----\"");
    assert_eq!(
        mask(&code, Setting::Plain).text,
        format!("\"-----BEGIN {name}-----\\n\" +\n  \"[masked]\\n\" +\n\"-----END {name}-----\"")
    );
    let json = format!(
        "{{\"private_key\": \"-----BEGIN {name}-----\\n{line}\\n{last}==\\n-----END {name}-----\\n\"}}"
    );
    assert_eq!(
        mask(&json, Setting::Plain).text,
        format!(
            "{{\"private_key\": \"-----BEGIN {name}-----\\n[masked: private key block]\\n-----END {name}-----\\n\"}}"
        )
    );
    let cut = format!("-----BEGIN {name}-----\n{line}\n\nDone\nwith this, go on\n");
    assert_eq!(
        mask(&cut, Setting::Plain).text,
        format!("-----BEGIN {name}-----\n[masked]\n\nDone\nwith this, go on\n")
    );
    for shown in ["...", "<the key>", "yourkeyhere", "MIIEpAIBAAKCAQEA..."] {
        let text = format!("-----BEGIN {name}-----\n{shown}\n-----END {name}-----\n");
        assert_eq!(mask(&text, Setting::Plain).text, text);
    }
}

#[test]
fn in_a_file_of_settings_a_secret_name_is_enough() {
    for (line, expected) in [
        ("DB_PASSWORD=tiger", "DB_PASSWORD=[masked: password]"),
        ("# DB_PASSWORD=tiger", "# DB_PASSWORD=[masked: password]"),
        (
            "{\"user\":\"a\",\"token\":\"b c\"}",
            "{\"user\":\"a\",\"token\":\"[masked: token]\"}",
        ),
        (
            "export SMTP_PASS='two words' # mail",
            "export SMTP_PASS='[masked: password]' # mail",
        ),
        ("STRIPE_KEY=abc\r", "STRIPE_KEY=[masked: API key]\r"),
        ("APP_SECRET = \"x y\"", "APP_SECRET = \"[masked: secret]\""),
        (
            "//registry.npmjs.org/:_authToken=abc-def",
            "//registry.npmjs.org/:_authToken=[masked: token]",
        ),
        ("//r/:_auth=YW5u", "//r/:_auth=[masked: secret]"),
        ("  \"token\": \"abc\",", "  \"token\": \"[masked: token]\","),
        (
            "db.internal:5432:main:ann:ti:ger",
            "db.internal:5432:main:ann:[masked: password]",
        ),
        ("*:*:*:ann:tiger", "*:*:*:ann:[masked: password]"),
        (
            "machine x login ann password tiger",
            "machine x login ann password [masked: password]",
        ),
        (
            "https://ann:tiger@git.example.org",
            "https://ann:[masked: password in URL]@git.example.org",
        ),
        ("PASSWORD_HINT=東京", "PASSWORD_HINT=[masked: password]"),
    ] {
        let masked = mask(line, Setting::DotEnv);
        assert_eq!(masked.text, expected);
        assert_eq!(mask(&masked.text, Setting::DotEnv).text, expected);
    }
    for line in [
        "# The password: see the vault, or token = none",
        "DB_PASSWORD=",
        "DB_PASSWORD=${OTHER}",
        "TOKEN=$TOKEN",
        "DEBUG=true",
        "USE_AUTH=false",
        "TOKEN_TTL=3600",
        "MAX_TOKENS=4096",
        "AWS_ACCESS_KEY_ID=ann",
        "NEXT_PUBLIC_KEY=abc",
        "PORT=8080",
        "machine x login ann",
    ] {
        assert_eq!(mask(line, Setting::DotEnv).text, line);
    }
}

#[test]
fn several_secrets_of_one_line_are_counted_by_kind() {
    let token = format!("gh{}_{}", "p", letters(36));
    let text = format!("{token} {token}, postgres://a:{}@h", letters(9));
    let masked = mask(&text, Setting::Plain);
    assert_eq!(
        masked.text,
        "[masked: GitHub token] [masked: GitHub token], postgres://a:[masked: password in URL]@h"
    );
    assert_eq!(masked.found["GitHub token"], 2);
    assert_eq!(masked.found["password in URL"], 1);
}

#[test]
fn hostile_repetition_takes_linear_time() {
    let jwt = base64(br#"{"alg":"HS256"}"#);
    for unit in [
        "password=\"",
        "token=",
        "secret: ",
        "://a:b",
        "eyJ.",
        "SG.SG.",
        "sk-sk-",
        "bearer ",
        "token",
        "_",
        ":AA",
        "\\\"token\\\":\\\"",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "authorization:",
        "--token --",
        "password: a b c ",
        "xoxb-",
        "AccountKey=",
        "password=a@",
        "pw",
        "tokens:[\"",
        "cookie:a=",
        "cookie: ",
        "curl -u a:",
        " -u ",
        "-----END PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----",
        "a\n-----END PRIVATE KEY-----\n",
        "Private-Lines: 1\n",
        "Private-Lines: 1\na\n",
        "| password ",
        "password for ",
        "password (",
        "password: |\n",
        "name: password\nvalue: ",
        &format!("AK{}{}", "IA", upper(17)),
        &format!("AK{}{}\n", "IA", upper(16)),
        &format!("{jwt}."),
    ] {
        assert_linear(unit);
    }
}

/// Texts made of pieces that secrets are made of.
fn pieces() -> impl Strategy<Value = String> {
    let whole: Vec<String> = secrets()
        .into_iter()
        .flat_map(|(before, secret, after, _)| {
            [
                before.clone(),
                secret.clone(),
                after.clone(),
                before + &secret + &after,
            ]
        })
        .collect();
    let piece = prop_oneof![
        prop::sample::select(whole),
        prop::sample::select(vec![
            "\n",
            "\r\n",
            " ",
            "\t",
            "=",
            ": ",
            "\"",
            "'",
            "\\",
            "\\n",
            "-",
            "_",
            ".",
            "@",
            "/",
            "://",
            ";",
            "é",
            "秘",
            "[masked",
            "]",
            "password",
            "token",
            "api_key",
            "--secret ",
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----END RSA PRIVATE KEY-----",
            "Bearer ",
            "(",
            "&",
            "#",
            "|",
            "**",
            "->",
            "：",
            "12→",
            "cookie: a=",
            "curl -u ann:",
            "\"\"\"",
            "tokens: [\"",
            "password for x: ",
            "- name: DB_PASSWORD\n  value: ",
            "secret: |\n  ",
            "contraseña",
            "Private-Lines: 2\n",
            "\r",
            "Authorization: ",
            "eyJ",
            "password ",
        ])
        .prop_map(str::to_owned),
        "[A-Za-z0-9+/]{1,70}",
        "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![Just(Setting::Plain), Just(Setting::DotEnv)]
}

/// The text without its replacements, in which nothing else may differ.
fn outside(masked: &str) -> Vec<&str> {
    let mut rest = masked;
    let mut parts = Vec::new();
    while let Some(at) = rest.find("[masked") {
        parts.push(&rest[..at]);
        rest = rest[at..].find(']').map_or("", |end| &rest[at + end + 1..]);
    }
    parts.push(rest);
    parts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn masking_twice_is_masking_once_and_lines_stay(text in pieces(), setting in setting()) {
        let once = mask(&text, setting);
        let twice = mask(&once.text, setting);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.found.is_empty());
        prop_assert_eq!(once.text.matches('\n').count(), text.matches('\n').count());
        prop_assert_eq!(once.text.lines().count(), text.lines().count());
    }

    #[test]
    fn text_outside_the_matches_stays_in_order(text in pieces(), setting in setting()) {
        let text = text.replace("[masked", "");
        let masked = mask(&text, setting);
        let mut rest = text.as_str();
        for part in outside(&masked.text) {
            let at = rest.find(part);
            prop_assert!(at.is_some(), "{:?} of {:?}", part, text);
            rest = &rest[at.unwrap() + part.len()..];
        }
    }

    #[test]
    fn text_without_a_trigger_is_borrowed(text in "[ a-dg-jl-oq-z0-9\n\u{e9}\u{79d8}]{0,400}", setting in setting()) {
        let masked = mask(&text, setting);
        prop_assert!(matches!(masked.text, Cow::Borrowed(_)));
        prop_assert!(masked.found.is_empty());
    }

    #[test]
    fn anything_is_masked_without_a_panic(text in "\\PC{0,200}", setting in setting()) {
        mask(&text, setting);
    }
}

/// Notes as written by people and agents, each with its secret.
fn notes() -> Vec<(String, String)> {
    let note =
        |before: &str, secret: String, after: &str| (format!("{before}{secret}{after}"), secret);
    vec![
        note(
            "staging box, user admin, password: ",
            "hunt3r!x9".to_owned(),
            " (rotate it)",
        ),
        note(
            "Passwort fürs NAS -> password: ",
            format!("Kr{}!7x", "okodil"),
            "",
        ),
        note(
            "curl -H 'Authorization: Bearer ",
            letters(40),
            "' works now",
        ),
        note(
            "postgres://app:",
            letters(14),
            "@db.internal:5432/app is the replica",
        ),
        note("use AKIA", upper(16), " for the bucket"),
        note("the bot has ghp_", letters(36), ", ask Ann"),
        note("openai: sk-", letters(48), ""),
        note(
            "Slack bot xoxb-",
            format!("123456789012-123456789012-{}", letters(24)),
            " posts",
        ),
        note("stripe sk_live_", letters(24), " in prod"),
        note("maps AIza", letters(35), " is restricted"),
        note("session ", jwt(), " expired"),
    ]
}

#[test]
fn secrets_in_notes_that_people_add_are_masked() {
    for (text, secret) in notes() {
        let masked = mask(&text, Setting::Plain);
        assert!(!masked.text.contains(&secret), "{}", masked.text);
        assert_eq!(masked.found.values().sum::<u32>(), 1, "{:?}", masked.found);
    }
}

#[test]
fn ordinary_language_and_data_in_notes_stay() {
    for text in [
        "the password is sesame",
        "Das Passwort ist im Tresor, das Token läuft morgen ab.",
        "Пароль лежит в сейфе, токен истекает завтра; password: спросить у Ани",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b fixes it",
        "drawer 0197f3a0-77aa-7c3e-9d51-1f2a3b4c5d6e",
        "token = get_token()",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password: String!",
        "password: 8 characters at least, one digit",
        "let secret = config.secret.clone();",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "max_tokens: 4096, next_page_token: abc",
        "password: hunter2",
        "api_key: YOUR_API_KEY",
    ] {
        let masked = mask(text, Setting::Plain);
        assert_eq!(masked.text, text);
        assert!(masked.found.is_empty(), "{:?}", masked.found);
    }
}

#[test]
fn a_value_is_judged_by_its_name_as_in_an_assignment() {
    let key = letters(40);
    for (name, value, kind) in [
        ("aws_secret_access_key", key.as_str(), "AWS secret key"),
        ("aws secret access key", &key, "AWS secret key"),
        ("db_password", "s3same!x", "password"),
        ("apiKey", &letters(24), "API key"),
    ] {
        let masked = loci_secrets::mask_value(name, value);
        assert_eq!(masked.text, format!("[masked: {kind}]"), "{name}");
        assert_eq!(masked.found.get(kind), Some(&1));
        let again = loci_secrets::mask_value(name, &masked.text);
        assert_eq!(again.text, masked.text, "{name}");
        assert!(again.found.is_empty());
    }
    for (name, value) in [
        ("topic", key.as_str()),
        ("password", "required"),
        ("token", "${TOKEN}"),
        ("api_key", "see the vault in the office"),
        ("", ""),
    ] {
        let masked = loci_secrets::mask_value(name, value);
        assert_eq!(masked.text, value, "{name}");
    }
}

//! The literals that every secret contains one of. One automaton finds them all, so text without
//! any is read once.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::scan::Scan;
use super::{armour, assignment, header, jwt, shape, url};

/// The rule that examines a literal.
#[derive(Clone, Copy)]
enum Rule {
    Shape,
    Telegram,
    Azure,
    Jwt,
    Armour,
    Putty,
    Cookies,
    Account,
    Url,
    Slack,
    Discord,
    Authorization,
    Bearer,
    Name,
    Foreign,
}

const LITERALS: [(&str, Rule); 53] = [
    (":AA", Rule::Telegram),
    ("AccountKey=", Rule::Azure),
    ("SharedAccessKey=", Rule::Azure),
    ("eyJ", Rule::Jwt),
    ("PRIVATE KEY", Rule::Armour),
    ("Private-Lines:", Rule::Putty),
    ("cookie", Rule::Cookies),
    (" -u ", Rule::Account),
    (" --user ", Rule::Account),
    ("://", Rule::Url),
    ("hooks.slack.com/services/", Rule::Slack),
    ("/api/webhooks/", Rule::Discord),
    ("authorization", Rule::Authorization),
    ("bearer ", Rule::Bearer),
    ("pass", Rule::Name),
    ("pw", Rule::Name),
    ("kennwort", Rule::Foreign),
    ("contraseña", Rule::Foreign),
    ("contrasena", Rule::Foreign),
    ("senha", Rule::Foreign),
    ("hasło", Rule::Foreign),
    ("пароль", Rule::Foreign),
    ("Пароль", Rule::Foreign),
    ("密码", Rule::Foreign),
    ("密碼", Rule::Foreign),
    ("パスワード", Rule::Foreign),
    ("비밀번호", Rule::Foreign),
    ("secret", Rule::Name),
    ("token", Rule::Name),
    ("apikey", Rule::Name),
    ("api_key", Rule::Name),
    ("api-key", Rule::Name),
    ("api key", Rule::Name),
    ("accesskey", Rule::Name),
    ("access_key", Rule::Name),
    ("access-key", Rule::Name),
    ("access key", Rule::Name),
    ("privatekey", Rule::Name),
    ("private_key", Rule::Name),
    ("private-key", Rule::Name),
    ("authkey", Rule::Name),
    ("auth_key", Rule::Name),
    ("auth-key", Rule::Name),
    ("encryptionkey", Rule::Name),
    ("encryption_key", Rule::Name),
    ("encryption-key", Rule::Name),
    ("signingkey", Rule::Name),
    ("signing_key", Rule::Name),
    ("signing-key", Rule::Name),
    ("masterkey", Rule::Name),
    ("master_key", Rule::Name),
    ("master-key", Rule::Name),
    ("license_key", Rule::Name),
];

struct Triggers {
    automaton: AhoCorasick,
    /// The rules, by the pattern numbers of the automaton.
    rules: Vec<Rule>,
}

static TRIGGERS: LazyLock<Triggers> = LazyLock::new(|| {
    let (literals, rules): (Vec<String>, Vec<Rule>) = shape::prefixes()
        .map(|prefix| (prefix, Rule::Shape))
        .chain(
            LITERALS
                .iter()
                .map(|(literal, rule)| ((*literal).to_owned(), *rule)),
        )
        .unzip();
    #[expect(
        clippy::expect_used,
        reason = "the literals are constants, and every test builds this"
    )]
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals)
        .expect("a few dozen short literals fit an automaton");
    Triggers { automaton, rules }
});

/// Examines every literal in the text.
pub(super) fn run(scan: &mut Scan<'_>) {
    let text = scan.text;
    // Matches may overlap: the `s` of `pass` can be the first letter of a prefix.
    for hit in TRIGGERS.automaton.find_overlapping_iter(text) {
        let Some(rule) = TRIGGERS.rules.get(hit.pattern().as_usize()) else {
            continue;
        };
        let (start, end) = (hit.start(), hit.end());
        match rule {
            Rule::Shape => shape::examine(scan, start),
            Rule::Telegram => shape::examine_telegram(scan, start),
            Rule::Azure => shape::examine_azure(scan, end),
            Rule::Jwt => jwt::examine(scan, start),
            Rule::Armour => armour::examine(scan, start, end),
            Rule::Putty => armour::examine_putty(scan, end),
            Rule::Cookies => header::examine_cookies(scan, end),
            Rule::Account => header::examine_account(scan, end),
            Rule::Url => url::examine_password(scan, start),
            Rule::Slack => url::examine_webhook(scan, "Slack webhook", end),
            Rule::Discord => url::examine_webhook(scan, "Discord webhook", end),
            Rule::Authorization => header::examine_authorization(scan, end),
            Rule::Bearer => header::examine_bearer(scan, end),
            Rule::Name => assignment::examine(scan, start, end),
            Rule::Foreign => assignment::examine_foreign(scan, start, end),
        }
    }
}

//! Recognises names of secrets, and the many names that only contain such a word: `max_tokens`,
//! `password_hash`, `nextPageToken`.

/// The kind of value that a name announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Password,
    Secret,
    Token,
    Key,
    AwsSecret,
}

impl Sort {
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Secret => "secret",
            Self::Token => "token",
            Self::Key => "API key",
            Self::AwsSecret => "AWS secret key",
        }
    }
}

/// Words after the secret word that do not change its meaning.
const TAILS: [&str; 17] = [
    "prod",
    "production",
    "dev",
    "development",
    "staging",
    "live",
    "test",
    "default",
    "value",
    "old",
    "new",
    "current",
    "base64",
    "b64",
    "raw",
    "base",
    "plain",
];

/// Words before `token` that make it a part of a text, a page or a form.
const OTHER_TOKENS: [&str; 29] = [
    "next",
    "page",
    "previous",
    "prev",
    "continuation",
    "pagination",
    "cursor",
    "sync",
    "max",
    "min",
    "per",
    "num",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "special",
    "stop",
    "start",
    "end",
    "first",
    "last",
    "cancellation",
    "cancel",
    "design",
    "lock",
];

/// Words before `key` that make it a secret.
const KEYS: [&str; 12] = [
    "api",
    "access",
    "private",
    "secret",
    "auth",
    "encryption",
    "signing",
    "master",
    "shared",
    "account",
    "client",
    "license",
];

/// Returns the kind of the items in a list with this name, which is the name of one item or its
/// plural.
pub(super) fn sort_of_list(name: &str) -> Option<Sort> {
    sort_of(name).or_else(|| {
        let one = name.trim_end_matches(|mark: char| !mark.is_ascii_alphanumeric());
        sort_of(one.strip_suffix(['s', 'S'])?)
    })
}

/// Returns the kind of the value of a name in prose, code or data.
pub(super) fn sort_of(name: &str) -> Option<Sort> {
    let mut words = words(name);
    while words.len() > 1
        && words
            .last()
            .is_some_and(|last| TAILS.contains(&last.as_str()))
    {
        words.pop();
    }
    let last = words.last()?.as_str();
    let before = words
        .len()
        .checked_sub(2)
        .and_then(|at| words.get(at))
        .map_or("", String::as_str);
    match last {
        "pass" | "passe" | "pw" | "pwd" | "passphrase" | "passwd" => Some(Sort::Password),
        _ if last.ends_with("password") || last.ends_with("passwort") => Some(Sort::Password),
        _ if last.ends_with("secret") => Some(Sort::Secret),
        "token" if OTHER_TOKENS.contains(&before) => None,
        _ if last.ends_with("token") => Some(Sort::Token),
        "key" if before == "access" && words.iter().any(|word| word == "secret") => {
            Some(Sort::AwsSecret)
        }
        "key" if before == "secret" && words.iter().any(|word| word == "aws") => {
            Some(Sort::AwsSecret)
        }
        "key" if KEYS.contains(&before) => Some(Sort::Key),
        "apikey" | "accesskey" | "secretkey" | "privatekey" | "authkey" => Some(Sort::Key),
        _ => None,
    }
}

/// Returns the kind of the value of a name in a settings file. Here `STRIPE_KEY` and `SMTP_AUTH`
/// are enough.
pub(super) fn sort_in_settings(name: &str) -> Option<Sort> {
    const OPEN: [&str; 41] = [
        "id",
        "ids",
        "name",
        "file",
        "path",
        "dir",
        "url",
        "uri",
        "host",
        "port",
        "ttl",
        "length",
        "len",
        "size",
        "count",
        "limit",
        "expiry",
        "expires",
        "expiration",
        "expire",
        "type",
        "algorithm",
        "alg",
        "enabled",
        "version",
        "prefix",
        "header",
        "rotation",
        "timeout",
        "days",
        "hours",
        "minutes",
        "seconds",
        "user",
        "username",
        "email",
        "region",
        "tokens",
        "method",
        "provider",
        "mode",
    ];
    if let Some(sort) = sort_of(name) {
        return Some(sort);
    }
    let words = words(name);
    let is_open = words
        .last()
        .is_none_or(|last| OPEN.contains(&last.as_str()))
        || words.iter().any(|word| {
            word == "public" || word == "publishable" || word == "max" || word == "min"
        });
    if is_open {
        return None;
    }
    words.iter().find_map(|word| match word.as_str() {
        "pass" | "passwd" | "pwd" | "pw" | "passphrase" | "password" | "passwords" => {
            Some(Sort::Password)
        }
        "secret" | "secrets" | "credential" | "credentials" | "creds" | "auth" | "salt"
        | "cookie" | "private" => Some(Sort::Secret),
        "token" => Some(Sort::Token),
        "key" | "apikey" => Some(Sort::Key),
        _ => None,
    })
}

/// Splits a name into lower-case words: at marks and at capitals, without digits at their ends.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = name.chars().peekable();
    let mut before = '_';
    while let Some(letter) = letters.next() {
        let after_is_small = letters.peek().is_some_and(char::is_ascii_lowercase);
        let hump = letter.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || (before.is_ascii_uppercase() && after_is_small));
        if hump || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    for word in &mut words {
        if !matches!(word.as_str(), "base64" | "b64") {
            word.truncate(
                word.trim_end_matches(|digit: char| digit.is_ascii_digit())
                    .len(),
            );
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_name_decides() {
        for (name, sort) in [
            ("password", Some(Sort::Password)),
            ("DB_PASSWORD", Some(Sort::Password)),
            ("dbPassword2", Some(Sort::Password)),
            ("smtp_pass", Some(Sort::Password)),
            ("client-secret", Some(Sort::Secret)),
            ("clientSecret", Some(Sort::Secret)),
            ("SECRET_KEY_BASE", Some(Sort::Key)),
            ("APIKey", Some(Sort::Key)),
            ("apikey", Some(Sort::Key)),
            ("x-api-key", Some(Sort::Key)),
            ("api key", Some(Sort::Key)),
            ("accessToken", Some(Sort::Token)),
            ("token_prod", Some(Sort::Token)),
            ("authtoken", Some(Sort::Token)),
            ("AWS_SECRET_ACCESS_KEY", Some(Sort::AwsSecret)),
            ("SecretAccessKey", Some(Sort::AwsSecret)),
            ("token_count", None),
            ("max_tokens", None),
            ("nextPageToken", None),
            ("eos_token", None),
            ("password_hash", None),
            ("secretName", None),
            ("tokenizer", None),
            ("AWS_ACCESS_KEY_ID", None),
            ("public_key", None),
            ("bypass", None),
            ("", None),
            ("__", None),
        ] {
            assert_eq!(sort_of(name), sort, "{name}");
        }
    }

    #[test]
    fn in_settings_any_word_of_a_name_decides() {
        for name in ["STRIPE_KEY", "SMTP_AUTH", "_auth", "APP_KEY", "PASS_FOR_DB"] {
            assert!(sort_in_settings(name).is_some(), "{name}");
        }
        for name in [
            "AWS_ACCESS_KEY_ID",
            "KEY_FILE",
            "MAX_TOKENS",
            "TOKEN_TTL",
            "NEXT_PUBLIC_KEY",
            "KEYBOARD",
            "DEBUG",
        ] {
            assert_eq!(sort_in_settings(name), None, "{name}");
        }
    }
}

//! What a value looks like: random, a password, or only standing where a secret would.

/// Anywhere in a value, in any case, these say that it is none.
const TELLING: [&str; 24] = [
    "example",
    "sample",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "your",
    "insert",
    "replace",
    "dummy",
    "foobar",
    "password",
    "passwd",
    "undefined",
    "omitted",
    "removed",
    "hidden",
    "xxxx",
    "hunter2",
    "deadbeef",
    "default",
    "goes-here",
    "goes_here",
];

/// Whole values, in any case.
const WORDS: [&str; 24] = [
    "none", "null", "nil", "true", "false", "string", "str", "required", "optional", "test",
    "todo", "secret", "token", "abc123", "base64", "sha256", "sha512", "argon2", "argon2id",
    "pbkdf2", "oauth2", "ed25519", "admin123", "test123",
];

/// Whether it only stands for a secret: a reference, a template, a path, or what manuals write.
pub(super) fn is_stand_in(value: &str) -> bool {
    if is_reference(value) || is_repeated(value) || is_path(value) {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    let counted = lower.len() < 20
        && ["123456", "abc123", "abcdef"]
            .iter()
            .any(|row| lower.contains(row));
    counted
        || WORDS.contains(&lower.as_str())
        || TELLING.iter().any(|telling| lower.contains(telling))
        || lower.starts_with("test")
        || lower.starts_with("my-")
        || lower.starts_with("my_")
}

/// Whether it is empty, masked, names where the value is, or opens a block that is masked by its lines.
pub(super) fn is_reference(value: &str) -> bool {
    const TEMPLATES: [&str; 8] = ["${", "$(", "{{", "<%", "#{", "%(", "{%", "..."];
    let wrapped = |open: char, close: char| value.starts_with(open) && value.ends_with(close);
    let variable = value.strip_prefix('$').is_some_and(|name| {
        let mut name = name.trim_start_matches("env:").chars();
        name.all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit())
    });
    value.trim().is_empty()
        || value.contains(super::MARK)
        || value.starts_with("-----BEGIN")
        || variable
        || TEMPLATES.iter().any(|template| value.contains(template))
        || value.contains(['…', '•'])
        || (value.contains('{') && value.contains('}'))
        || wrapped('<', '>')
        || wrapped('%', '%')
        || wrapped('[', ']')
}

/// Whether it is made of at most three characters, as `xxx` and `****` are.
fn is_repeated(value: &str) -> bool {
    let mut seen = [None; 3];
    value.chars().all(|letter| {
        seen.iter_mut()
            .any(|slot| *slot.get_or_insert(letter) == letter)
    })
}

fn is_path(value: &str) -> bool {
    ["/", "./", "../", "~/"]
        .iter()
        .any(|start| value.starts_with(start))
        || value.contains("://")
        || value.contains(":\\")
}

/// Whether the body of a key with a known prefix is written to be shown. Random bodies do not hold such words.
pub(super) fn is_sample_key(body: &str) -> bool {
    const SHOWN: [&str; 5] = ["example", "xxxx", "placeholder", "your", "redacted"];
    let lower = body.to_ascii_lowercase();
    SHOWN.iter().any(|shown| lower.contains(shown)) || body.bytes().all(|byte| byte == b'0')
}

/// Whether it is words and numbers joined by marks: `scram-sha-256`, `claude-3-opus`, `user.password`.
pub(super) fn is_words(value: &str) -> bool {
    let parts = value.split(|mark: char| !mark.is_ascii_alphanumeric());
    parts.filter(|part| !part.is_empty()).all(|part| {
        let number = part.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit())
            || part.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether it looks drawn by lot: at least `min` characters, a digit, many different characters, and letters
/// and digits that change places more often than in a name.
pub(super) fn is_random(value: &str, min: usize) -> bool {
    if value.len() < min || !value.bytes().any(|byte| byte.is_ascii_digit()) || is_date(value) {
        return false;
    }
    let needed = value.len().div_ceil(8).max(3);
    changes(value) >= needed && bits_per_byte(value) >= 2.8
}

/// Whether it begins as `2024-01-15` does.
fn is_date(value: &str) -> bool {
    let mut parts = value.splitn(3, '-');
    let mut number = |length: usize| {
        parts.next().is_some_and(|part| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    number(4) && number(2)
}

/// How often a letter meets a digit, or a small letter a capital that opens no word of a name like `userName`.
fn changes(value: &str) -> usize {
    let bytes = value.as_bytes();
    let after = bytes.iter().skip(2).chain([&b' ']);
    let triples = bytes.iter().zip(bytes.iter().skip(1)).zip(after);
    triples
        .filter(|((one, next), after)| {
            let both = one.is_ascii_alphanumeric() && next.is_ascii_alphanumeric();
            let hump = one.is_ascii_lowercase()
                && next.is_ascii_uppercase()
                && !after.is_ascii_lowercase();
            both && (one.is_ascii_digit() != next.is_ascii_digit() || hump)
        })
        .count()
}

/// Shannon's entropy.
fn bits_per_byte(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = value.len() as f64;
    let used = counts.iter().filter(|count| **count > 0);
    used.map(|count| {
        let share = f64::from(*count) / total;
        -share * share.log2()
    })
    .sum()
}

/// Whether a quoted value looks like a password that a person chose.
pub(super) fn is_password(value: &str) -> bool {
    let core = value.trim_matches(|mark: char| !mark.is_alphanumeric());
    if value.len() < 6 || core.len() < 4 || value.contains(|letter: char| letter.is_whitespace()) {
        return false;
    }
    let letters = core.chars().any(char::is_alphabetic);
    let digits = core.bytes().any(|byte| byte.is_ascii_digit());
    let marks = core.contains(['!', '@', '#', '$', '%', '^', '&', '*', '+', '=', '?', '~']);
    let one_part = core.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let call = value.contains('(') && value.ends_with(')');
    let long = core.len() >= 16 && core.bytes().all(|byte| byte.is_ascii_lowercase());
    !call && letters && (marks || long || (digits && (one_part || !is_words(core))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_are_told_from_names() {
        for value in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "Zx8kQ2mN7pLr4TvW",
            "a1b2c3d4e5f6a7b8",
            "kR+9/vT3xQ2a8Bn0Lz7=",
        ] {
            assert!(is_random(value, 16), "{value}");
        }
        for value in [
            "get_access_token_for_user",
            "getUserById2FromDatabase",
            "claude-3-5-sonnet-20241022",
            "2024-01-15T10:00:00Z",
            "x86_64-unknown-linux-gnu",
            "1111111111111111111111",
            "short1A",
        ] {
            assert!(!is_random(value, 16), "{value}");
        }
    }

    #[test]
    fn passwords_are_told_from_labels() {
        for value in [
            "s3same",
            "Tr0ub4dor&3",
            "p@ssw!rd",
            "correcthorsebatterystaple",
        ] {
            assert!(is_password(value), "{value}");
        }
        for value in [
            "Kennwort",
            "Enter it 2 times",
            "db-user-2",
            "varchar(255)",
            "Required!",
            "#field",
            "a1",
            "Contraseña",
        ] {
            assert!(!is_password(value), "{value}");
        }
    }
}

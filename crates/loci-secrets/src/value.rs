//! Classifies a value: random, a password, or only a placeholder for a secret.

/// Parts of a value, in any case, that show that it is not a secret.
const EXAMPLE_PARTS: [&str; 24] = [
    "not-a-secret",
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
    "deadbeef",
    "default",
    "goes-here",
    "goes_here",
];

/// Complete values, in any case.
const WORDS: [&str; 25] = [
    "none", "null", "nil", "true", "false", "string", "str", "required", "optional", "test",
    "todo", "secret", "token", "abc123", "base64", "sha256", "sha512", "argon2", "argon2id",
    "pbkdf2", "oauth2", "ed25519", "admin123", "test123", "hunter2",
];

/// Whether the value is a placeholder: a reference, a template, a path, or an example from a
/// manual.
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
        || EXAMPLE_PARTS.iter().any(|part| lower.contains(part))
        || lower.starts_with("test")
        || lower.starts_with("my-")
        || lower.starts_with("my_")
}

/// Whether the value is empty, masked, a reference to the value, or the start of a block whose
/// lines are masked.
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
        || has_template(value)
        || wrapped('<', '>')
        || wrapped('%', '%')
        || wrapped('[', ']')
}

/// Whether the value contains a name, a path or a text in braces: `{user}`, `{"a": 1}`.
fn has_template(value: &str) -> bool {
    value.split('{').skip(1).any(|rest| {
        rest.split_once('}').is_some_and(|(inner, _)| {
            inner.chars().all(|letter| {
                letter.is_alphanumeric()
                    || letter.is_whitespace()
                    || "_.-:!,()[]'\"`\\/$?".contains(letter)
            })
        })
    })
}

/// Whether the value has at most three different characters, like `xxx` and `****`.
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

/// Whether the body of a key with a known prefix is an example.
pub(super) fn is_sample_key(body: &str) -> bool {
    sample_word(body).is_some()
}

/// Returns where the first word begins that occurs only in examples. Zeros count too.
pub(super) fn sample_word(body: &str) -> Option<usize> {
    const EXAMPLE_WORDS: [&str; 5] = ["example", "xxxx", "placeholder", "your", "redacted"];
    if body.bytes().all(|byte| byte == b'0') {
        return Some(0);
    }
    let lower = body.to_ascii_lowercase();
    EXAMPLE_WORDS
        .iter()
        .filter_map(|word| lower.find(word))
        .min()
}

/// The length of an AWS secret.
pub(super) const AWS_SECRET: usize = 40;

/// Whether base64 has the form of an AWS secret. A hash has no capitals, so it does not.
pub(super) fn is_aws_secret(key: &str) -> bool {
    key.len() == AWS_SECRET
        && has_both_cases(key)
        && is_random(key, AWS_SECRET)
        && !is_sample_key(key)
}

/// Whether the value is words and numbers joined by marks: `scram-sha-256`, `claude-3-opus`,
/// `user.password`.
pub(super) fn is_words(value: &str) -> bool {
    let parts = value.split(|mark: char| !mark.is_ascii_alphanumeric());
    parts.filter(|part| !part.is_empty()).all(|part| {
        let number = part.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit())
            || part.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether the value is words and numbers joined as in names and URLs. A part that is longer than a
/// word, or in which capitals and digits alternate, does not count.
pub(super) fn is_slug(value: &str) -> bool {
    let mut parts = value.split(|mark: char| !mark.is_ascii_alphanumeric());
    parts.all(|part| part.len() <= 20 && is_words(part) && changes(part) <= 2)
}

pub(super) fn has_both_cases(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_uppercase())
        && value.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether the value has many different characters.
pub(super) fn is_varied(value: &str) -> bool {
    bits_per_byte(value) >= 2.8
}

/// Whether the value looks random: at least `min` characters, a digit, many different characters,
/// and more alternation of letters and digits than in a name.
pub(super) fn is_random(value: &str, min: usize) -> bool {
    if value.len() < min || !value.bytes().any(|byte| byte.is_ascii_digit()) || is_date(value) {
        return false;
    }
    let needed = value.len().div_ceil(8).max(3);
    changes(value) >= needed && is_varied(value)
}

/// Whether the value begins like `2024-01-15`.
fn is_date(value: &str) -> bool {
    let mut parts = value.splitn(3, '-');
    let mut number = |length: usize| {
        parts.next().is_some_and(|part| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    number(4) && number(2)
}

/// Counts the places where a letter meets a digit, or a small letter meets a capital that begins no
/// word. The capital of `userName` begins one, so it does not count.
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

/// Returns the Shannon entropy.
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

/// Whether an unquoted value looks like a password that a person chose: letters, digits and a mark
/// that names in code do not contain.
pub(super) fn is_strong_password(value: &str) -> bool {
    let core = value.trim_matches(|mark: char| !mark.is_alphanumeric());
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    value.len() >= 8 && digits > 0 && core.contains(['!', '$', '%', '^', '*']) && is_password(value)
}

/// Marks that names in code do not contain, and those that also separate names in code.
const STRONG: [char; 9] = ['!', '$', '%', '^', '*', '@', '#', '&', '~'];
const PARTING: [char; 8] = ['(', ',', ';', '=', '?', '<', '[', '{'];

/// Whether an unquoted value with marks looks like a password.
pub(super) fn is_marked_password(value: &str) -> bool {
    let core = value.trim_matches(|mark: char| !mark.is_alphanumeric());
    let digits = core.bytes().any(|byte| byte.is_ascii_digit());
    let letters = core.bytes().any(|byte| byte.is_ascii_alphabetic());
    let parted = core.contains(PARTING) || core.contains('|');
    value.len() >= 8
        && digits
        && letters
        && !is_address(core)
        && ((core.contains(STRONG) && is_password(value))
            || (parted && has_odd_part(core))
            || is_wild(value, 10))
}

/// Whether an unquoted value with marks looks random.
pub(super) fn is_marked_random(value: &str) -> bool {
    let core = value.trim_matches(|mark: char| !mark.is_alphanumeric());
    let strong = STRONG.iter().filter(|mark| core.contains(**mark)).count();
    is_wild(value, 12)
        || (is_random(value, 12) && !is_address(core) && (strong >= 2 || has_odd_part(core)))
}

/// Whether small letters, capitals, digits and marks alternate as in no text: at least `min`
/// characters, no word of four small letters, and a change at every second character.
pub(super) fn is_wild(value: &str, min: usize) -> bool {
    let sort = |byte: u8| match byte {
        b'a'..=b'z' => 0_usize,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let all = (0..4).all(|wanted| value.bytes().any(|byte| sort(byte) == wanted));
    let pairs = value.bytes().zip(value.bytes().skip(1));
    let turns = pairs
        .filter(|(one, next)| sort(*one) != sort(*next))
        .count();
    let mut runs = value.split(|letter: char| !letter.is_ascii_lowercase());
    let plain = value.bytes().all(|byte| byte.is_ascii_graphic());
    value.len() >= min && plain && all && turns * 2 >= value.len() && runs.all(|run| run.len() < 4)
}

/// Whether a part between marks is not a name: letters and digits alternate as in `Fd7X` or
/// `i9pz4`, unlike `Uint8Array` and `user1`.
fn has_odd_part(value: &str) -> bool {
    let mut parts = value.split(|mark: char| !mark.is_ascii_alphanumeric());
    parts.any(|part| {
        let mut runs = part.split(|letter: char| !letter.is_ascii_lowercase());
        let worded = runs.any(|run| run.len() >= 3) && changes(part) <= 2;
        !worded && !is_words(part)
    })
}

/// Whether the value is an email address, or a package and its version.
fn is_address(value: &str) -> bool {
    value.matches(STRONG).count() == 1
        && value.contains('@')
        && value.contains(['.', '/'])
        && is_words(value)
}

/// Whether the value is code: a call, an index, a type, a path, a pattern, a template.
pub(super) fn is_code(value: &str) -> bool {
    const SIGNS: [&str; 22] = [
        "()", "&&", "||", "=>", "->", "==", "!=", "+=", "::", "?.", "/>", "{{", "]+", "]*", "]{",
        "0-9", "a-z", "A-Z", ".*", ".+", "(?", "&lt;",
    ];
    let opened = value.starts_with(['[', '(', '{', '<']) || value.starts_with("&#");
    opened
        || (SIGNS.iter().any(|sign| value.contains(sign)) && !is_wild(value, 12))
        || value.split(['=', ',']).enumerate().any(|(place, part)| {
            let part = part.trim_start_matches(['&', '*', '!', '-', '+', '@', '$']);
            let rest = part.trim_start_matches(|letter: char| {
                letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')
            });
            let name = part.get(..part.len() - rest.len()).unwrap_or_default();
            let mut runs = name.split(|letter: char| !letter.is_ascii_lowercase());
            // Inside a value only a word makes a call: `str=Field(…)`, not `x,P(`.
            let worded = place == 0 || runs.any(|run| run.len() >= 3);
            name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && worded
                && (rest.starts_with(['(', '[', '<'])
                    || (place == 0 && (rest.starts_with("?.") || rest.starts_with("::"))))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_are_distinguished_from_names() {
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
    fn wild_values_are_distinguished_from_code() {
        for value in ["C-6n,P[#NG6q}5", "D;g5i,PdAJ[7]b3]+M", "qqYX2xf/Wxh-4m<})$"] {
            assert!(is_wild(value, 10), "{value}");
        }
        for value in [
            "Vec<Option<u8>>",
            "user1.getName(2)",
            "X-Request-Id:1a",
            "2024-01-15T10:00:00Z",
        ] {
            assert!(!is_wild(value, 10), "{value}");
        }
    }

    #[test]
    fn passwords_are_distinguished_from_labels() {
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

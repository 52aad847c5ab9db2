//! Finds the name of the speaker at the start of a text.

/// Maximum length of a name, in bytes and in words.
const NAME_BYTES: usize = 40;
const NAME_WORDS: usize = 3;

/// Labels of roles. They do not name a person.
const ROLES: [&str; 9] = [
    "user",
    "assistant",
    "human",
    "system",
    "ai",
    "tool",
    "bot",
    "model",
    "agent",
];

/// The name before the first colon, if the text starts with one: `Caroline: I went to…`. A role
/// such as `User` is not a name.
///
/// ```
/// assert_eq!(loci_text::opening_label("Ann Lee: hello"), Some("Ann Lee"));
/// assert_eq!(loci_text::opening_label("note to self: buy milk"), None);
/// assert_eq!(loci_text::opening_label("https://example.org"), None);
/// ```
pub fn opening_label(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let colon = text.find(':').filter(|at| *at <= NAME_BYTES)?;
    let (name, rest) = text.split_at_checked(colon)?;
    let spoken = rest
        .strip_prefix(':')?
        .starts_with(|next: char| next.is_whitespace());
    let words: Vec<&str> = name.split(' ').collect();
    let is_name = |word: &&str| {
        word.starts_with(|first: char| first.is_alphabetic() && !first.is_lowercase())
            && word
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '\'' | '’' | '-' | '_'))
    };
    let is_role = ROLES.iter().any(|role| name.eq_ignore_ascii_case(role));
    (spoken && !is_role && words.len() <= NAME_WORDS && words.iter().all(is_name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_short_name_followed_by_a_colon_and_a_space() {
        for (text, label) in [
            ("Caroline: I went", Some("Caroline")),
            ("  Dr. Ann O'Neil-Lee: x", Some("Dr. Ann O'Neil-Lee")),
            ("ANN:\nhello", Some("ANN")),
            ("李: 你好", Some("李")),
            ("User: hello", None),
            ("ASSISTANT: hello", None),
            ("Ann:hello", None),
            ("12:30 we met", None),
            (": nothing", None),
            ("One Two Three Four: x", None),
            ("What I want: peace", None),
            ("", None),
        ] {
            assert_eq!(opening_label(text), label, "{text:?}");
        }
    }
}

//! Cuts the part of a drawer that matches some words, within a number of tokens.

use loci_palace::count_tokens;

/// How many characters before the first match are included.
const LEAD: usize = 60;

/// Returns the text itself, or the part around the first match, and whether it is only a part.
pub(super) fn excerpt(text: &str, words: &[String], tokens: usize) -> (String, bool) {
    let text = text.trim();
    if count_tokens(text) <= tokens {
        return (text.to_owned(), false);
    }
    let start = start_of(text, words);
    // A token has about four characters. A part that is still too long is cut further.
    let mut length = tokens * 4;
    loop {
        let end = floor(text, start.saturating_add(length));
        let part = text.get(start..end).unwrap_or_default().trim();
        if part.is_empty() {
            return (String::new(), true);
        }
        let before = if start > 0 { "…" } else { "" };
        let after = if end < text.len() { "…" } else { "" };
        let shown = format!("{before}{part}{after}");
        let excess = count_tokens(&shown).saturating_sub(tokens);
        if excess == 0 {
            return (shown, true);
        }
        length = length.saturating_sub(excess.max(8) * 2);
    }
}

/// Returns where the part begins: a little before the first match, at the beginning of a word.
fn start_of(text: &str, words: &[String]) -> usize {
    let lower = text.to_lowercase();
    // Lower case may have another length, and then the positions do not match.
    if lower.len() != text.len() {
        return 0;
    }
    let first = words
        .iter()
        .filter_map(|word| lower.find(word.as_str()))
        .min();
    let Some(first) = first.filter(|first| *first > LEAD) else {
        return 0;
    };
    let start = floor(text, first - LEAD);
    let lead = text.get(start..first).unwrap_or_default();
    start + lead.find(char::is_whitespace).map_or(0, |space| space + 1)
}

/// Returns the beginning of a text, at most this many bytes.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..floor(text, bytes)).unwrap_or(text)
}

/// Returns the end of a text, at most this many bytes.
pub(super) fn ending(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or(text)
}

/// Returns the last character boundary at or before `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_holds_the_words_and_keeps_to_the_tokens() {
        let text = format!(
            "{} the fuse is blown {}",
            "lorem ipsum ".repeat(200),
            "dolor sit ".repeat(200)
        );
        let (shown, cut) = excerpt(&text, &["fuse".to_owned()], 40);
        assert!(cut && shown.contains("the fuse is blown"), "{shown}");
        assert!(count_tokens(&shown) <= 40, "{shown}");
        assert_eq!((beginning("aüb", 2), ending("aüb", 2)), ("a", "b"));
        assert_eq!((beginning("aüb", 3), ending("aüb", 9)), ("aü", "aüb"));
        assert_eq!(excerpt(" short ", &[], 40), ("short".to_owned(), false));
        assert_eq!(excerpt(&text, &[], 0).0, "");
        let unbroken = "ü".repeat(5_000);
        assert!(count_tokens(&excerpt(&unbroken, &[], 20).0) <= 20);
    }
}

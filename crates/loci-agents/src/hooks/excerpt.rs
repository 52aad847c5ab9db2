//! Cuts the part of a drawer that matches some words, within a number of tokens.

use std::collections::BTreeSet;

use loci_palace::count_tokens;

/// How many matches of a word are compared.
const MOST_MATCHES: usize = 200;
/// How many bytes before the first match are included, at most.
const LEAD: usize = 60;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The part, with an ellipsis where the text goes on.
    pub(super) text: String,
    /// Whether it is not all of the text.
    pub(super) is_cut: bool,
    /// How many lines of the text are before it.
    pub(super) line: usize,
}

/// Returns the text itself, or the part with the most of the words.
pub(super) fn excerpt(text: &str, words: &[String], tokens: usize) -> Excerpt {
    let whole = text.trim();
    let before = text.len() - text.trim_start().len();
    let line = |at: usize| {
        let skipped = text.get(..before + at).unwrap_or_default();
        skipped.matches('\n').count()
    };
    if count_tokens(whole) <= tokens {
        return Excerpt {
            text: whole.to_owned(),
            is_cut: false,
            line: line(0),
        };
    }
    let text = whole;
    // A token has about four characters. A part that is still too long is cut further.
    let mut length = tokens * 4;
    loop {
        let start = start_of(text, words, length);
        let end = floor(text, start.saturating_add(length));
        let part = text.get(start..end).unwrap_or_default();
        let start = start + part.len() - part.trim_start().len();
        let part = part.trim();
        if part.is_empty() {
            return Excerpt {
                text: String::new(),
                is_cut: true,
                line: 0,
            };
        }
        let before = if start > 0 { "…" } else { "" };
        let after = if end < text.len() { "…" } else { "" };
        let shown = format!("{before}{part}{after}");
        let excess = count_tokens(&shown).saturating_sub(tokens);
        if excess == 0 {
            return Excerpt {
                text: shown,
                is_cut: true,
                line: line(start),
            };
        }
        length = length.saturating_sub(excess.max(8) * 2);
    }
}

/// Returns where the part of this length with the most different words begins: a little before the
/// first of them, at the beginning of a line if there is one, else of a word.
fn start_of(text: &str, words: &[String], length: usize) -> usize {
    let lower = text.to_lowercase();
    // Lower case may have another length, and then the positions do not match.
    if lower.len() != text.len() {
        return 0;
    }
    let mut matches: Vec<(usize, usize)> = Vec::new();
    for (word, name) in words.iter().enumerate() {
        let name = name.to_lowercase();
        let found = lower.match_indices(&name).take(MOST_MATCHES);
        matches.extend(found.map(|(at, _)| (at, word)));
    }
    matches.sort_unstable();
    let reach = length.saturating_sub(LEAD);
    let mut best = (0, 0);
    for (at, (first, _)) in matches.iter().enumerate() {
        let after = matches.iter().skip(at);
        let within = after.take_while(|(place, _)| *place < first.saturating_add(reach));
        let different: BTreeSet<usize> = within.map(|(_, word)| *word).collect();
        if different.len() > best.0 {
            best = (different.len(), *first);
        }
    }
    let first = best.1;
    let start = floor(text, first.saturating_sub(LEAD));
    let lead = text.get(start..first).unwrap_or_default();
    if start == 0 {
        return 0;
    }
    let line = lead.rfind('\n').map(|at| at + 1);
    start
        + line
            .or_else(|| Some(lead.find(char::is_whitespace)? + 1))
            .unwrap_or(0)
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
        let found = excerpt(&text, &["fuse".to_owned()], 40);
        let shown = &found.text;
        assert!(
            found.is_cut && shown.contains("the fuse is blown"),
            "{shown}"
        );
        assert!(count_tokens(shown) <= 40, "{shown}");
        assert_eq!((beginning("aüb", 2), ending("aüb", 2)), ("a", "b"));
        assert_eq!((beginning("aüb", 3), ending("aüb", 9)), ("aü", "aüb"));
        let short = excerpt("\n short ", &[], 40);
        assert_eq!(
            (short.text.as_str(), short.is_cut, short.line),
            ("short", false, 1)
        );
        assert_eq!(excerpt(&text, &[], 0).text, "");
        let unbroken = "ü".repeat(5_000);
        assert!(count_tokens(&excerpt(&unbroken, &[], 20).text) <= 20);
    }
    #[test]
    fn an_excerpt_is_where_most_of_the_words_are_and_counts_the_lines_before_it() {
        let filler = "The fuse is in a box.\n".repeat(40);
        let text = format!("{filler}The lamp has fuse seventeen.\n{filler}");
        let words = ["fuse".to_owned(), "lamp".to_owned(), "seventeen".to_owned()];
        let found = excerpt(&text, &words, 40);
        assert!(found.text.contains("lamp has fuse seventeen"), "{found:?}");
        let shown = text.lines().nth(found.line).unwrap_or_default();
        assert!(found.text.contains(shown), "{found:?}");
        assert!((36..=40).contains(&found.line), "{found:?}");
    }
}

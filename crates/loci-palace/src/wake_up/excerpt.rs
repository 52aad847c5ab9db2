//! The beginning of a text, cut where a sentence or a line ends.

/// Maximum number of lines and characters of a recalled text.
const MOST_LINES: usize = 3;
const MOST_CHARACTERS: usize = 280;

/// The first lines of a text, word for word; `…` marks a cut.
pub(super) fn excerpt(text: &str) -> String {
    cut(text, MOST_LINES, MOST_CHARACTERS)
}

/// The beginning of a text, with at most this many lines and characters.
pub(super) fn cut(text: &str, lines: usize, characters: usize) -> String {
    let text = text.trim();
    let end = text
        .char_indices()
        .nth(characters)
        .map_or(text.len(), |(at, _)| at);
    let window = text.get(..end).unwrap_or(text);
    let end_of_lines = window
        .match_indices('\n')
        .nth(lines.saturating_sub(1))
        .map_or(window.len(), |(at, _)| at);
    let few = window.get(..end_of_lines).unwrap_or(window);
    if few.len() == text.len() {
        return text.to_owned();
    }
    let at_line = few.len() < window.len();
    let kept = if at_line { few } else { at_an_end(few) };
    format!("{} …", kept.trim_end())
}

/// The text up to the last end of a sentence or line in its second half, else up to its last word.
fn at_an_end(text: &str) -> &str {
    let sentence = text
        .char_indices()
        .filter(|(at, character)| {
            let next = text
                .get(at + character.len_utf8()..)
                .and_then(|rest| rest.chars().next());
            match character {
                '\n' | '。' | '！' | '？' => true,
                '.' | '!' | '?' => next.is_some_and(char::is_whitespace),
                _ => false,
            }
        })
        .map(|(at, character)| at + character.len_utf8())
        .next_back()
        .filter(|at| at * 2 > text.len());
    let end = sentence
        .or_else(|| text.rfind(char::is_whitespace))
        .filter(|at| *at > 0)
        .unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_kept_whole() {
        assert_eq!(excerpt("  one\ntwo\nthree \n"), "one\ntwo\nthree");
        assert_eq!(excerpt(""), "");
    }

    #[test]
    fn a_long_text_ends_with_a_line_a_sentence_or_a_word() {
        assert_eq!(excerpt("one\ntwo\nthree\nfour"), "one\ntwo\nthree …");
        let sentences = "Alice moved to Lyon in May. ".repeat(30);
        let cut_text = excerpt(&sentences);
        assert!(cut_text.ends_with("in May. …"), "{cut_text}");
        assert!(cut_text.chars().count() <= MOST_CHARACTERS + 2);
        assert!(excerpt(&"word ".repeat(200)).ends_with("word …"));
        let endless = "x".repeat(1_000);
        assert_eq!(
            excerpt(&endless),
            format!("{} …", "x".repeat(MOST_CHARACTERS))
        );
        assert!(excerpt(&"日本。".repeat(200)).ends_with("本。 …"));
        assert_eq!(cut("é é é", 1, 3), "é …");
    }
}

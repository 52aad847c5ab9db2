//! Cuts one long text into pieces that join to it exactly.
//!
//! Nothing is left out or changed. No two pieces of one text are equal, so that an id can be
//! derived from the text of a piece.

use std::collections::HashMap;

/// Cuts `text` into pieces of at most `max` bytes, at the end of a paragraph, a line, a sentence or
/// a word, or else between two characters. The pieces join to `text`. Empty text has no pieces.
///
/// A piece exceeds `max` in two cases: by the few characters that make it differ from every earlier
/// piece, and by white space, because no piece is blank unless all of `text` is.
pub fn pieces(text: &str, max: usize) -> Vec<&str> {
    if text.len() <= max || text.trim().is_empty() {
        return if text.is_empty() { vec![] } else { vec![text] };
    }
    let mut pieces = Pieces {
        text,
        ends: Vec::new(),
        seen: HashMap::new(),
        longest: 0,
    };
    let mut start = 0;
    while start < text.len() {
        start = pieces.take(start, max.max(1));
    }
    let starts = std::iter::once(0).chain(pieces.ends.iter().copied());
    starts
        .zip(&pieces.ends)
        .filter_map(|(start, end)| text.get(start..*end))
        .collect()
}

struct Pieces<'a> {
    text: &'a str,
    ends: Vec<usize>,
    /// The pieces so far, each with the length of the longest one that began like it.
    seen: HashMap<&'a str, usize>,
    longest: usize,
}

impl<'a> Pieces<'a> {
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Adds the piece that begins at `start` and returns its end. The rest differs from all pieces
    /// so far, so that the last piece does too.
    fn take(&mut self, start: usize, max: usize) -> usize {
        let rest = self.slice(start, self.text.len());
        let mut end = start + cut(rest, max);
        if self.slice(start, end).trim_start().is_empty() {
            let content = rest.trim_start();
            end = self.text.len() - content.len() + cut(content, max);
        }
        if rest.len() > max && self.slice(end, self.text.len()).trim_start().is_empty() {
            // Trailing white space goes with the last word, not into a piece of its own.
            let content = rest.trim_end();
            let last = content.chars().next_back().map_or(0, char::len_utf8);
            let shorter = start + cut(content, content.len() - last);
            if !self.slice(start, shorter).trim_start().is_empty() {
                end = shorter;
            }
        }
        let base = self.slice(start, end);
        let longest = self.seen.get(base).copied();
        let end = self.settle(start, start + longest.unwrap_or(base.len()));
        if longest.is_some() {
            self.seen.insert(base, end - start);
        }
        self.seen.insert(self.slice(start, end), end - start);
        self.longest = self.longest.max(end - start);
        self.ends.push(end);
        end
    }

    /// Moves `end` forward until both the piece and the rest after it are new.
    fn settle(&self, start: usize, mut end: usize) -> usize {
        let taken = |text: &str| text.len() <= self.longest && self.seen.contains_key(text);
        while end < self.text.len() {
            let (piece, rest) = (self.slice(start, end), self.slice(end, self.text.len()));
            if rest.trim_start().is_empty() {
                break;
            }
            if !taken(piece) && piece != rest && !taken(rest) {
                return end;
            }
            end = self.next_boundary(end);
        }
        self.text.len()
    }

    fn next_boundary(&self, from: usize) -> usize {
        let mut at = from + 1;
        while at < self.text.len() && !self.text.is_char_boundary(at) {
            at += 1;
        }
        at
    }
}

/// Returns the length of the first piece of `text`.
fn cut(text: &str, max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    let mut most = max;
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    if most == 0 {
        return text.chars().next().map_or(text.len(), char::len_utf8);
    }
    let mut least = most / 2;
    while !text.is_char_boundary(least) {
        least += 1;
    }
    let window = text.get(least..most).unwrap_or("");
    let place = paragraph_end(window)
        .or_else(|| window.rfind('\n').map(|at| at + 1))
        .or_else(|| sentence_end(window))
        .or_else(|| word_end(window));
    let split_terminator = window.ends_with('\r') && text.as_bytes().get(most) == Some(&b'\n');
    match place {
        Some(place) => least + place,
        None if split_terminator && most > 1 => most - 1,
        None => most,
    }
}

/// Returns the position after the last blank line.
fn paragraph_end(window: &str) -> Option<usize> {
    let mut end = window.len();
    while let Some(at) = window.get(..end)?.rfind('\n') {
        let before = window.get(..at)?.trim_end_matches([' ', '\t', '\r']);
        if before.ends_with('\n') {
            return Some(at + 1);
        }
        end = before.len();
    }
    None
}

/// Returns the position after the last mark that ends a sentence and the white space that follows.
fn sentence_end(window: &str) -> Option<usize> {
    let mut after = None;
    for (at, mark) in window.char_indices().rev() {
        let place = at + mark.len_utf8();
        match mark {
            '。' | '！' | '？' => return Some(place),
            '.' | '!' | '?' | ';' if after.is_some_and(char::is_whitespace) => {
                let rest = window.get(place..)?;
                return Some(place + rest.len() - rest.trim_start().len());
            }
            _ => after = Some(mark),
        }
    }
    None
}

/// Returns the position after the last white space.
fn word_end(window: &str) -> Option<usize> {
    let at = window.rfind(char::is_whitespace)?;
    let space = window.get(at..)?.chars().next()?;
    Some(at + space.len_utf8())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, max: usize) {
        let pieces = pieces(text, max);
        assert_eq!(pieces.concat(), text);
        let distinct: HashSet<_> = pieces.iter().collect();
        assert_eq!(distinct.len(), pieces.len(), "{pieces:?}");
        if !text.trim().is_empty() {
            assert!(pieces.iter().all(|piece| !piece.trim().is_empty()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pieces_join_to_the_text_and_differ(text in "[a-c \\n.é日]{0,200}", max in 0usize..40) {
            check(&text, max);
        }

        #[test]
        fn pieces_of_any_text_join_to_it(text in "\\PC{0,300}", max in 0usize..60) {
            check(&text, max);
        }

        #[test]
        fn pieces_of_words_are_not_longer_than_asked(words in prop::collection::vec("[a-z]{1,8}", 30..300)) {
            let text = words.iter().enumerate().fold(String::new(), |text, (i, word)| text + word + &i.to_string() + " ");
            for piece in pieces(&text, 64) {
                prop_assert!(piece.len() <= 65 && piece.ends_with(' '), "{piece:?}");
            }
        }
    }

    #[test]
    fn the_best_boundary_in_the_second_half_is_taken() {
        assert_eq!(
            pieces("One two.\n\nThree four. Five\nsix", 18),
            ["One two.\n\n", "Three four. Five\n", "six"]
        );
        assert_eq!(
            pieces("One two three. Four five six", 20),
            ["One two three. ", "Four five six"]
        );
        assert_eq!(
            pieces("alpha beta gamma delta", 12),
            ["alpha beta ", "gamma delta"]
        );
        assert_eq!(
            pieces("これは。それです。あれ", 18),
            ["これは。", "それです。", "あれ"]
        );
    }

    #[test]
    fn equal_pieces_are_made_longer_by_little() {
        let text = "a".repeat(1_000_000);
        let pieces = pieces(&text, 2000);
        assert_eq!(pieces.concat(), text);
        assert!(
            pieces
                .iter()
                .all(|piece| piece.len() <= 2000 + pieces.len() + 1)
        );
        check(&"ab".repeat(50_000), 100);
        check(&"- ".repeat(50_000), 100);
    }

    #[test]
    fn white_space_is_never_a_piece() {
        check(&format!("a{}b", " ".repeat(10_000)), 100);
        check(&format!("{}b", " ".repeat(10_000)), 100);
        check(&format!("b{}", "\n".repeat(10_000)), 100);
        assert_eq!(pieces("one two three  ", 14), ["one two ", "three  "]);
    }
}

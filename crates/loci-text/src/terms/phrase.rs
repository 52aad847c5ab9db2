//! Words that stand one after another in a text.

use std::ops::Range;

use super::class::{Class, class};
use super::parts::without_clitic;
use super::walk::{TermKind, walk};

/// A phrase, which a text contains if it has the same characters in the same order. Letters may
/// differ in case, and white space in its length. The phrase begins and ends where words of the text
/// do: `cap` is not in `capped`, but it is in `the cap's`.
///
/// ```
/// use loci_text::Phrase;
///
/// let phrase = Phrase::new("drops  connections").unwrap();
/// assert!(phrase.is_in("The bank Drops\nconnections."));
/// assert!(!phrase.is_in("It drops the connections."));
/// assert_eq!(phrase.terms(), ["drop", "connect"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    text: String,
    /// In lower case, with single spaces.
    folded: Vec<char>,
    terms: Vec<String>,
}

impl Phrase {
    /// A phrase; `None` if the text has no word and no other visible character.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return None;
        }
        Some(Self {
            folded: text.chars().flat_map(char::to_lowercase).collect(),
            terms: terms_of(&text),
            text,
        })
    }

    /// The phrase as it was written, with single spaces.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Terms that [`crate::index_terms`] gives for every text that contains the phrase. There may be
    /// none, for example if the phrase is a single letter.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Whether a text contains the phrase.
    pub fn is_in(&self, text: &str) -> bool {
        self.next_in(text, 0).is_some()
    }

    /// Where a text contains the phrase, in order. The ranges do not overlap.
    pub fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        while let Some(span) = self.next_in(text, spans.last().map_or(0, |last| last.end)) {
            spans.push(span);
        }
        spans
    }

    fn next_in(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let rest = text.get(from..)?;
        rest.char_indices().find_map(|(at, _)| {
            let start = from + at;
            let end = self.end_in(text, start)?;
            (begins_word(text, start) && ends_word(text, end)).then_some(start..end)
        })
    }

    /// The end of the phrase, if it begins at `start`.
    fn end_in(&self, text: &str, start: usize) -> Option<usize> {
        let mut rest = text.get(start..)?;
        let mut wanted = self.folded.iter().copied();
        while let Some(letter) = wanted.next() {
            if letter == ' ' {
                let after = rest.trim_start();
                if after.len() == rest.len() {
                    return None;
                }
                rest = after;
                continue;
            }
            let mut letters = rest.chars();
            let mut lower = letters.next()?.to_lowercase();
            if lower.next() != Some(letter) || lower.any(|more| wanted.next() != Some(more)) {
                return None;
            }
            rest = letters.as_str();
        }
        Some(text.len() - rest.len())
    }
}

/// The terms that a text has if it contains the phrase, each once. The whole of a compound is not
/// among them, because the phrase may be a part of a longer compound.
fn terms_of(phrase: &str) -> Vec<String> {
    let is_joiner = |letter: Option<char>| letter.map(class) == Some(Class::Joiner);
    if is_joiner(phrase.chars().next()) || is_joiner(phrase.chars().next_back()) {
        return Vec::new();
    }
    let mut terms: Vec<String> = Vec::new();
    walk(phrase, &mut |term| {
        let is_one_run = || {
            let run = phrase.get(term.place.clone()).unwrap_or_default();
            run.chars().all(|letter| class(letter) != Class::Connector)
        };
        let is_long = term.folded.chars().nth(1).is_some();
        let is_in_every_text = match term.kind {
            TermKind::Word | TermKind::Part => is_long,
            TermKind::Whole => is_long && is_one_run(),
            TermKind::Gram => is_long && !term.index_only,
        };
        let is_new = || terms.iter().all(|other| other != term.text);
        if is_in_every_text && !term.text.is_empty() && is_new() {
            terms.push(term.text.to_owned());
        }
    });
    terms
}

fn is_letter(letter: char) -> bool {
    matches!(class(letter), Class::Word | Class::Mark)
}

/// Whether no word goes on across the position. Scripts without spaces have no such words.
fn begins_word(text: &str, at: usize) -> bool {
    let after = text.get(at..).and_then(|rest| rest.chars().next());
    if !after.is_some_and(is_letter) {
        return true;
    }
    let mut before = text.get(..at).unwrap_or_default().chars().rev();
    match before.next() {
        Some(letter) if class(letter) == Class::Joiner => !before.next().is_some_and(is_letter),
        Some(letter) => !is_letter(letter),
        None => true,
    }
}

/// Whether no word goes on across the position, except for a final `'s` and the like.
fn ends_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    if !before.chars().next_back().is_some_and(is_letter) {
        return true;
    }
    let rest = text.get(at..).unwrap_or_default();
    let mut after = rest.chars();
    match after.next() {
        Some(letter) if class(letter) == Class::Joiner => {
            if !after.next().is_some_and(is_letter) {
                return true;
            }
            let goes_on = |letter: char| is_letter(letter) || class(letter) == Class::Joiner;
            let start = before.trim_end_matches(goes_on).len();
            let end = text.len() - rest.trim_start_matches(goes_on).len();
            let run = text.get(start..end).unwrap_or_default();
            start + without_clitic(run).len() == at
        }
        Some(letter) => !is_letter(letter),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index_terms;

    fn is_in(phrase: &str, text: &str) -> bool {
        Phrase::new(phrase).unwrap().is_in(text)
    }

    #[test]
    fn a_phrase_begins_and_ends_with_words_of_the_text() {
        for (phrase, text) in [
            ("cap", "the Cap's size"),
            ("cap", "a (cap)"),
            ("10 s", "we cap it at 10\n  s."),
            ("lock.rs", "see src/lock.rs:4"),
            ("E0382", "error[E0382]: use"),
            ("ПРИВЕТ мир", "привет   Мир!"),
            ("决定", "我们决定用它"),
            ("--json", "pass `--json`"),
            ("$HOME/x", "$HOME/x"),
            ("é", "é"),
        ] {
            assert!(is_in(phrase, text), "{phrase} in {text}");
        }
        for (phrase, text) in [
            ("cap", "capped"),
            ("cap", "recap"),
            ("clock", "o'clock"),
            ("rock", "rock'n'roll"),
            ("drops connections", "drops the connections"),
            ("drops connections", "dropsconnections"),
            ("10", "100"),
        ] {
            assert!(!is_in(phrase, text), "{phrase} in {text}");
        }
        assert_eq!(Phrase::new(" \n"), None);
    }

    #[test]
    fn spans_of_a_phrase_are_those_of_the_text() {
        let text = "A tie. a  TIE, a tier";
        let spans = Phrase::new("a tie").unwrap().spans(text);
        let found: Vec<&str> = spans.iter().map(|span| &text[span.clone()]).collect();
        assert_eq!(found, ["A tie", "a  TIE"]);
    }

    proptest! {
        /// Backends look the terms up before they read any text.
        #[test]
        fn a_text_with_the_phrase_has_its_terms(
            before in "[a-zA-Z0-9éß'’_./ 决定 -]{0,6}",
            phrase in "[a-zA-Z0-9éß'’_./ 决定 -]{1,12}",
            after in "[a-zA-Z0-9éß'’_./ 决定 -]{0,6}",
        ) {
            let text = format!("{before}{phrase}{after}");
            if let Some(phrase) = Phrase::new(&phrase)
                && phrase.is_in(&text)
            {
                let joined = index_terms(&text).joined;
                let found: Vec<&str> = joined.split(' ').collect();
                for term in phrase.terms() {
                    prop_assert!(found.contains(&term.as_str()), "{} of {:?}", term, text);
                }
            }
        }
    }
}

//! Parts of a text that are small enough to state one thing, and what they have in common.

use loci_embed::StaticEmbedder;
use std::cell::OnceCell;
use xxhash_rust::xxh3::xxh3_64;

use super::cues::{CHANGES, CHANGES_ANYWHERE, VALUES};
use crate::relevance::rarity_of;

/// A shorter text is one window.
const SHORT_BYTES: usize = 300;
/// How much of a text is read.
const READ_BYTES: usize = 16 << 10;
/// The most sentences that are read.
const MOST_SENTENCES: usize = 200;
/// Words that are less rare say nothing about a topic.
const LEAST_RARITY: f32 = 0.5;
/// The rarity of a longer word that the table of tokens does not know, and of a shorter one.
const UNKNOWN_LONG: f32 = 4.5;
const UNKNOWN_SHORT: f32 = 2.0;
/// Longer words of other scripts are cut to this many characters, so that their forms are equal.
const BEGINNING: usize = 5;
/// How many words are the beginning of a statement.
const FIRST_WORDS: usize = 2;
/// What a word costs when the best window is chosen, so that the shortest one is.
const COST_OF_WORD: f32 = 0.02;

/// One or two sentences.
#[derive(Debug)]
pub(super) struct Window {
    text: String,
    /// The words by their hashes, in the order of the text, with their rarity. Each is listed once.
    words: Vec<(u64, f32)>,
    /// The same hashes, sorted.
    sorted: Vec<u64>,
    /// The numbers, days and the like, as sorted hashes.
    values: Vec<u64>,
    is_assistants: bool,
    vector: OnceCell<Vec<f32>>,
}

impl Window {
    /// A whole text as one window.
    pub(super) fn of(text: &str) -> Self {
        Self::new(beginning(text, READ_BYTES).to_owned(), false)
    }

    fn new(text: String, is_assistants: bool) -> Self {
        let mut words: Vec<(u64, f32)> = Vec::new();
        let mut values = Vec::new();
        for word in text.split(|letter: char| !(letter.is_alphanumeric() || letter == '\'')) {
            let word = word.trim_matches('\'').to_lowercase();
            if word.is_empty() {
                continue;
            }
            let has_digit = word.contains(|letter: char| letter.is_ascii_digit());
            if has_digit || VALUES.binary_search(&word.as_str()).is_ok() {
                values.push(xxh3_64(word.as_bytes()));
            }
            let rarity = rarity(&word);
            let hash = xxh3_64(stem(&word).as_bytes());
            if rarity >= LEAST_RARITY && !words.iter().any(|(other, _)| *other == hash) {
                words.push((hash, rarity));
            }
        }
        let mut sorted: Vec<u64> = words.iter().map(|(hash, _)| *hash).collect();
        sorted.sort_unstable();
        values.sort_unstable();
        values.dedup();
        Self {
            text,
            words,
            sorted,
            values,
            is_assistants,
            vector: OnceCell::new(),
        }
    }

    fn contains(&self, word: u64) -> bool {
        self.sorted.binary_search(&word).is_ok()
    }

    /// The rarity of all words together.
    pub(super) fn rarity(&self) -> f32 {
        self.words.iter().map(|(_, rarity)| rarity).sum()
    }

    fn rarity_where(&self, wanted: impl Fn(u64) -> bool) -> f32 {
        let words = self.words.iter().filter(|(hash, _)| wanted(*hash));
        words.map(|(_, rarity)| rarity).sum()
    }

    /// The rarity of the words that another window has, too.
    pub(super) fn shared(&self, other: &Self) -> f32 {
        self.rarity_where(|word| other.contains(word))
    }

    /// The rarity of the words that two other windows have, too.
    pub(super) fn shared_by(&self, one: &Self, other: &Self) -> f32 {
        self.rarity_where(|word| one.contains(word) && other.contains(word))
    }

    /// The share of the first words that one of the others has, by rarity.
    pub(super) fn beginning_in(&self, others: &[&Self]) -> f32 {
        let first = self.words.iter().take(FIRST_WORDS);
        let all: f32 = first.clone().map(|(_, rarity)| rarity).sum();
        let is_in = |word: u64| others.iter().any(|other| other.contains(word));
        let found: f32 = first
            .filter(|(hash, _)| is_in(*hash))
            .map(|(_, rarity)| rarity)
            .sum();
        if all > 0.0 { found / all } else { 0.5 }
    }

    /// How close the meanings are.
    pub(super) fn cosine(&self, other: &Self) -> f32 {
        let pairs = self.vector().iter().zip(other.vector());
        pairs.map(|(one, other)| one * other).sum()
    }

    fn vector(&self) -> &[f32] {
        self.vector
            .get_or_init(|| StaticEmbedder::builtin().embed_one(&self.text))
    }

    /// Whether both have values, and the other one lacks some of this one's.
    pub(super) fn values_differ(&self, other: &Self) -> bool {
        let is_missing = |value: &u64| other.values.binary_search(value).is_err();
        !other.values.is_empty() && self.values.iter().any(is_missing)
    }

    /// Whether it contains the words of a change or a decision.
    pub(super) fn changes(&self) -> bool {
        let lower = self.text.to_lowercase();
        CHANGES.iter().any(|cue| has_cue(&lower, cue))
            || CHANGES_ANYWHERE.iter().any(|cue| lower.contains(cue))
    }

    /// Whether it is a question.
    pub(super) fn asks(&self) -> bool {
        is_question(&self.text)
    }

    pub(super) fn is_assistants(&self) -> bool {
        self.is_assistants
    }

    /// Its length: 1 for ten words, at most 3.
    pub(super) fn length(&self) -> f32 {
        (self.words.len() as f32 / 10.0).min(3.0)
    }
}

/// The windows of a text.
#[derive(Debug)]
pub(super) struct Windows(Vec<Window>);

impl Windows {
    /// The windows of a drawer. `is_assistants` says who speaks where the text does not.
    pub(super) fn of(text: &str, is_assistants: bool) -> Self {
        let text = beginning(text, READ_BYTES);
        let sentences = sentences(text, is_assistants);
        let is_short = text.len() <= SHORT_BYTES || sentences.len() < 3;
        let speakers: Vec<bool> = sentences.iter().map(|(_, speaker)| *speaker).collect();
        let first = speakers.first().copied().unwrap_or(is_assistants);
        if is_short && speakers.iter().all(|speaker| *speaker == first) {
            let all: Vec<&str> = sentences.iter().map(|(text, _)| *text).collect();
            return Self(vec![Window::new(all.join(" "), first)]);
        }
        let following = sentences.iter().skip(1).map(Some).chain([None]);
        let windows = sentences
            .iter()
            .zip(following)
            .map(|((text, speaker), next)| match next {
                // A question says nothing without its answer, which somebody else may give.
                Some((next, other)) if other == speaker || is_question(text) => {
                    Window::new(format!("{text} {next}"), *other)
                }
                _ => Window::new((*text).to_owned(), *speaker),
            });
        Self(windows.collect())
    }

    /// The window with the highest value, the first and shortest of several.
    pub(super) fn best(&self, value: impl Fn(&Window) -> f32) -> Option<&Window> {
        let mut best: Option<(f32, &Window)> = None;
        for window in &self.0 {
            let value = value(window) - COST_OF_WORD * window.words.len() as f32;
            if best.is_none_or(|(highest, _)| value > highest) {
                best = Some((value, window));
            }
        }
        best.map(|(_, window)| window)
    }
}

/// The sentences of a text and whether an assistant says them. Lines that only name the speaker, as
/// mined conversations have, are left out.
fn sentences(text: &str, is_assistants: bool) -> Vec<(&str, bool)> {
    let mut sentences = Vec::new();
    let mut speaker = is_assistants;
    for line in text.lines() {
        match line.trim() {
            "" => continue,
            "User:" => speaker = false,
            "Assistant:" => speaker = true,
            line => {
                let mut rest = line;
                while let Some(end) = end_of_sentence(rest) {
                    let (sentence, after) = rest.split_at(end);
                    sentences.push((sentence, speaker));
                    rest = after.trim_start();
                }
                if !rest.is_empty() {
                    sentences.push((rest, speaker));
                }
            }
        }
        if sentences.len() > MOST_SENTENCES {
            break;
        }
    }
    sentences
}

/// Where the first sentence of a line ends, if another one follows.
fn end_of_sentence(line: &str) -> Option<usize> {
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek();
        let is_end = match letter {
            '.' | '!' | '?' | '…' => next.is_some_and(|(_, next)| *next == ' '),
            '。' | '！' | '？' => next.is_some(),
            _ => false,
        };
        if is_end {
            return Some(at + letter.len_utf8());
        }
    }
    None
}

fn is_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？'])
}

fn rarity(word: &str) -> f32 {
    if word.is_ascii() {
        return rarity_of(word);
    }
    match word.chars().count() {
        0..=2 => 0.0,
        3..=4 => UNKNOWN_SHORT,
        _ => UNKNOWN_LONG,
    }
}

/// A form that most inflections of a word share.
fn stem(word: &str) -> String {
    if !word.is_ascii() {
        return word.chars().take(BEGINNING).collect();
    }
    let word = word.strip_suffix("'s").unwrap_or(word);
    let endings = ["ings", "ing", "ies", "ied", "ed", "es", "s"];
    let cut = endings.iter().find_map(|ending| {
        let rest = word.strip_suffix(ending)?;
        (rest.len() >= 3).then_some(rest)
    });
    let mut stem = cut.unwrap_or(word);
    for last in ["e", "y"] {
        stem = stem
            .strip_suffix(last)
            .filter(|rest| rest.len() >= 4)
            .unwrap_or(stem);
    }
    let mut stem = stem.to_owned();
    let mut last = stem.chars().rev();
    if stem.len() > 3 && last.next() == last.next() {
        stem.pop();
    }
    stem
}

/// Whether a text in lower case contains a cue as whole words.
fn has_cue(lower: &str, cue: &str) -> bool {
    let (cue, is_beginning) = match cue.strip_suffix('*') {
        Some(beginning) => (beginning, true),
        None => (cue, false),
    };
    let is_word = |letter: char| letter.is_alphanumeric();
    lower.match_indices(cue).any(|(at, found)| {
        let before = lower.get(..at).unwrap_or_default();
        let after = lower.get(at + found.len()..).unwrap_or_default();
        let ends = is_beginning || !cue.ends_with(is_word) || !after.starts_with(is_word);
        ends && !before.ends_with(is_word)
    })
}

/// The first bytes of a text, up to the end of a character.
fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_for_the_search() {
        assert!(VALUES.is_sorted());
    }

    #[test]
    fn sentences_know_who_speaks_and_labels_are_not_sentences() {
        let text = "User:\nDecision: cap 10 s. Thanks!\n\nAssistant:\nDone.";
        let expected = [
            ("Decision: cap 10 s.", false),
            ("Thanks!", false),
            ("Done.", true),
        ];
        assert_eq!(sentences(text, true), expected);
        assert_eq!(sentences("", false), []);
        assert_eq!(
            sentences("第一句。第二句", false),
            [("第一句。", false), ("第二句", false)]
        );
    }

    #[test]
    fn cues_are_whole_words_unless_they_are_beginnings() {
        assert!(has_cue("we replaced it", "replace*") && !has_cue("we irreplace it", "replace*"));
        assert!(has_cue("drop it", "drop") && !has_cue("dropbox", "drop"));
        assert!(has_cue("update: none", "update:"));
    }

    #[test]
    fn forms_of_a_word_are_equal() {
        for (one, other) in [
            ("approvals", "approval"),
            ("replies", "reply"),
            ("capped", "cap"),
            ("merging", "merge"),
            ("встречаемся", "встречаться"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
    }
}

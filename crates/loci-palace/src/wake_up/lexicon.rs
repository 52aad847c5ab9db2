//! Finds the cues of a sentence.

use std::sync::LazyLock;

use super::cues::{CUES, Cue, LABELS, Label};

/// A cue counts as the opening of a sentence if it begins within this many words.
const OPENING: usize = 2;

/// A cue, sorted by its first word.
struct Entry {
    first: &'static str,
    whole: &'static str,
    cue: Cue,
}

/// The table of cues, sorted once.
struct Lexicon {
    words: Vec<Entry>,
    beginnings: Vec<(&'static str, Cue)>,
    /// Chinese cues, which match anywhere.
    anywhere: Vec<(&'static str, Cue)>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut lexicon = Lexicon {
        words: Vec::new(),
        beginnings: Vec::new(),
        anywhere: Vec::new(),
    };
    for (cue, words) in CUES {
        for word in *words {
            if word.chars().any(is_ideograph) {
                lexicon.anywhere.push((word, *cue));
            } else if let Some(beginning) = word.strip_suffix('*') {
                lexicon.beginnings.push((beginning, *cue));
            } else {
                let end = word.find(|letter| !is_word(letter)).unwrap_or(word.len());
                lexicon.words.push(Entry {
                    first: word.get(..end).unwrap_or(word),
                    whole: word,
                    cue: *cue,
                });
            }
        }
    }
    lexicon.words.sort_unstable_by_key(|entry| entry.first);
    lexicon
});

/// The cues of a sentence.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cues {
    all: u64,
    opening: u64,
    /// The first of `Yes` and `No`, if the sentence opens with one of them.
    pub(super) agrees: Option<bool>,
}

impl Cues {
    pub(super) fn of(sentence: &str) -> Self {
        let text = lowered(sentence);
        let mut cues = Self::default();
        // `todo` is a common word in Spanish.
        if sentence.contains("TODO") {
            cues.add(Cue::Task, 0);
        }
        let mut is_inside = false;
        let mut word = 0;
        for (at, letter) in text.char_indices() {
            let begins = is_word(letter) && !is_inside;
            is_inside = is_word(letter);
            if begins {
                cues.read_word(text.get(at..).unwrap_or_default(), word);
                word += 1;
            }
        }
        if text.chars().any(is_ideograph) {
            for (words, cue) in &LEXICON.anywhere {
                // A single character is part of many words, so it counts at the beginning only.
                let is_single = words.chars().nth(1).is_none();
                match text.find(words) {
                    Some(0) => cues.add(*cue, 0),
                    Some(at) if !is_single => cues.add(*cue, if at <= 6 { 1 } else { OPENING }),
                    _ => {}
                }
            }
        }
        cues
    }

    fn read_word(&mut self, rest: &str, word: usize) {
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let first = rest.get(..end).unwrap_or(rest);
        let words = &LEXICON.words;
        let from = words.partition_point(|entry| entry.first < first);
        for entry in words
            .iter()
            .skip(from)
            .take_while(|entry| entry.first == first)
        {
            let after = rest.strip_prefix(entry.whole);
            let ends_with_word = entry.whole.ends_with(is_word);
            let is_whole = |after: &str| !ends_with_word || !after.starts_with(is_word);
            if after.is_some_and(is_whole) {
                self.add(entry.cue, word);
            }
        }
        for (beginning, cue) in &LEXICON.beginnings {
            if first.as_bytes().first() == beginning.as_bytes().first()
                && first.starts_with(beginning)
            {
                self.add(*cue, word);
            }
        }
    }

    fn add(&mut self, cue: Cue, word: usize) {
        self.all |= bit(cue);
        if word < OPENING {
            self.opening |= bit(cue);
            if matches!(cue, Cue::Yes | Cue::Okay | Cue::No) && self.agrees.is_none() {
                self.agrees = Some(cue != Cue::No);
            }
        }
    }

    pub(super) fn has(self, cue: Cue) -> bool {
        self.all & bit(cue) != 0
    }

    pub(super) fn opens_with(self, cue: Cue) -> bool {
        self.opening & bit(cue) != 0
    }
}

fn bit(cue: Cue) -> u64 {
    1 << cue as u64
}

/// What a heading, or the words before a colon, announce.
pub(super) fn label_of(words: &str) -> Option<Label> {
    let words = lowered(words);
    let words = words.trim_matches(|letter: char| !letter.is_alphanumeric());
    if words.is_empty() || words.chars().count() > 40 {
        return None;
    }
    LABELS.iter().find_map(|(label, names)| {
        let is_named = names.iter().any(|name| {
            let rest = words.strip_prefix(name);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with([' ', '(', ',']) && rest.len() < 24
            })
        });
        is_named.then_some(*label)
    })
}

/// In lower case, with plain apostrophes.
pub(super) fn lowered(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let small = |letter: char| if letter == '’' { '\'' } else { letter };
    text.chars()
        .map(small)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether a character is part of a word of a cue. An apostrophe and a hyphen are.
fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '\'' || letter == '-'
}

/// Whether a character belongs to a script without spaces between words.
pub(super) fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

//! Finds the cues of a sentence.

use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use super::language::{Cue, LANGUAGES, Label};

/// A cue counts as the opening of a sentence if it begins within this many words.
const OPENING: usize = 2;

/// Number of buckets of a table; a power of two.
const BUCKETS: usize = 4_096;
/// Number of bytes by which the beginnings of words are found.
const START: usize = 3;

/// A cue and the word by which it is found: its first word, or its first bytes.
struct Entry {
    first: &'static str,
    whole: &'static str,
    cue: Cue,
}

/// Entries in buckets by the hash of a key.
struct Table {
    entries: Vec<Entry>,
    /// For each bucket, where its entries begin; the end of the last one.
    starts: Vec<u32>,
}

impl Table {
    fn new(mut entries: Vec<Entry>, key: fn(&str) -> &[u8]) -> Self {
        entries.sort_by_cached_key(|entry| bucket(key(entry.first)));
        let mut starts = Vec::with_capacity(BUCKETS + 1);
        let mut next = 0;
        for at in 0..=BUCKETS {
            let is_before = |entry: &Entry| bucket(key(entry.first)) < at;
            while entries.get(next).is_some_and(is_before) {
                next += 1;
            }
            starts.push(next as u32);
        }
        Self { entries, starts }
    }

    /// The entries in the bucket of a key.
    fn get(&self, key: &[u8]) -> &[Entry] {
        let at = bucket(key);
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(from), Some(to)) => self
                .entries
                .get(*from as usize..*to as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }
}

fn bucket(key: &[u8]) -> usize {
    xxh3_64(key) as usize % BUCKETS
}

/// The first bytes of a word.
fn start_of(word: &str) -> &[u8] {
    let bytes = word.as_bytes();
    bytes.get(..START).unwrap_or(bytes)
}

/// The cues of all languages.
struct Lexicon {
    words: Table,
    beginnings: Table,
    /// Chinese cues, which match anywhere.
    anywhere: Vec<(&'static str, Cue)>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let (mut words, mut beginnings, mut anywhere) = (Vec::new(), Vec::new(), Vec::new());
    for (cue, all) in LANGUAGES.iter().flat_map(|language| language.cues) {
        let cue = *cue;
        for &whole in *all {
            if whole.chars().any(is_ideograph) {
                anywhere.push((whole, cue));
            } else if let Some(first) = whole.strip_suffix('*') {
                beginnings.push(Entry { first, whole, cue });
            } else {
                let end = whole.find(|letter| !is_word(letter)).unwrap_or(whole.len());
                let first = whole.get(..end).unwrap_or(whole);
                words.push(Entry { first, whole, cue });
            }
        }
    }
    Lexicon {
        words: Table::new(words, str::as_bytes),
        beginnings: Table::new(beginnings, start_of),
        anywhere,
    }
});

/// The cues of a sentence.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cues {
    all: u64,
    /// Those that begin within the first words, and with the first one.
    opening: u64,
    first: u64,
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
        let mut word = 0;
        let mut rest = text.as_str();
        while let Some(start) = find_word(rest, true) {
            rest = rest.get(start..).unwrap_or_default();
            let end = find_word(rest, false).unwrap_or(rest.len());
            cues.read_word(rest, end, word);
            word += 1;
            rest = rest.get(end..).unwrap_or_default();
        }
        if !text.is_ascii() && text.chars().any(is_ideograph) {
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

    /// Adds the cues that begin with the word at the start of a text, which has `end` bytes.
    fn read_word(&mut self, rest: &str, end: usize, word: usize) {
        let first = rest.get(..end).unwrap_or(rest);
        for entry in LEXICON.words.get(first.as_bytes()) {
            if entry.first != first {
                continue;
            }
            let after = rest.strip_prefix(entry.whole);
            let ends_with_word = entry.whole.ends_with(is_word);
            let is_whole = |after: &str| !ends_with_word || !after.starts_with(is_word);
            if after.is_some_and(is_whole) {
                self.add(entry.cue, word);
            }
        }
        for entry in LEXICON.beginnings.get(start_of(first)) {
            if first.starts_with(entry.first) {
                self.add(entry.cue, word);
            }
        }
    }

    fn add(&mut self, cue: Cue, word: usize) {
        self.all |= bit(cue);
        if word == 0 {
            self.first |= bit(cue);
        }
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

    pub(super) fn is_any(self) -> bool {
        self.all != 0
    }

    pub(super) fn starts_with(self, cue: Cue) -> bool {
        self.first & bit(cue) != 0
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
    let mut labels = LANGUAGES.iter().flat_map(|language| language.labels);
    labels.find_map(|(label, names)| {
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

/// Where the first character is that is, or is not, part of a word.
fn find_word(text: &str, is_part: bool) -> Option<usize> {
    // Most text is ASCII. Bytes are read several times faster than characters.
    let mut bytes = text.bytes();
    let at = bytes.position(|byte| !byte.is_ascii() || is_word_byte(byte) == is_part)?;
    if text.as_bytes().get(at).is_some_and(u8::is_ascii) {
        return Some(at);
    }
    let rest = text.get(at..)?;
    rest.find(|letter| is_word(letter) == is_part)
        .map(|more| at + more)
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'\'' || byte == b'-'
}

/// Whether a character is part of a word of a cue. An apostrophe and a hyphen are.
fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '\'' || letter == '-'
}

/// Whether a character belongs to a script without spaces between words.
pub(super) fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

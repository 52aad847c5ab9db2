//! What a text is about: the beginnings of its longer words, so that forms of a word are equal.

use std::collections::HashMap;
use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use super::lexicon::is_ideograph;

/// Longer words are cut to this many characters.
const STEM: usize = 5;
/// Shorter words are left out, unless they contain a digit or capital letters.
const LEAST: usize = 4;
/// A word that more texts than this contain counts less.
const COMMON: usize = 5;

/// The words that a text is about, as sorted hashes.
#[derive(Debug, Clone, Default)]
pub(super) struct Topic(Vec<u64>);

impl Topic {
    pub(super) fn of(text: &str) -> Self {
        let mut words = Vec::new();
        let mut small = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = end_of_word(rest);
            let word = rest.get(..end).unwrap_or(rest);
            rest = rest.get(end..).unwrap_or_default();
            rest = rest.trim_start_matches(|letter: char| !letter.is_alphanumeric());
            let length = if word.is_ascii() {
                word.len()
            } else {
                word.chars().count()
            };
            if length == 0 {
                continue;
            }
            if !word.is_ascii() && word.chars().any(is_ideograph) {
                let letters: Vec<char> = word.chars().collect();
                let pairs = letters
                    .windows(2)
                    .map(|pair| pair.iter().collect::<String>());
                words.extend(pairs.map(|pair| xxh3_64(pair.as_bytes())));
                continue;
            }
            let is_capital = |letter: &char| letter.is_uppercase() || letter.is_ascii_digit();
            if length < LEAST
                && !(length > 1 && word.chars().filter(is_capital).count() > length / 2)
            {
                continue;
            }
            small.clear();
            if word.is_ascii() {
                small.push_str(word);
                small.make_ascii_lowercase();
            } else {
                small.extend(word.chars().flat_map(char::to_lowercase));
            }
            if COMMON_HASHES
                .binary_search(&xxh3_64(small.as_bytes()))
                .is_err()
            {
                let stem = if small.is_ascii() {
                    small.len().min(STEM)
                } else {
                    small
                        .char_indices()
                        .nth(STEM)
                        .map_or(small.len(), |(at, _)| at)
                };
                words.push(xxh3_64(small.get(..stem).unwrap_or(&small).as_bytes()));
            }
        }
        words.sort_unstable();
        words.dedup();
        Self(words)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.extend(&other.0);
        self.0.sort_unstable();
        self.0.dedup();
    }

    /// Removes the words of another text.
    pub(super) fn without(&mut self, other: &Self) {
        self.0.retain(|word| other.0.binary_search(word).is_err());
    }

    pub(super) fn contains(&self, other: &Self) -> bool {
        other
            .0
            .iter()
            .all(|word| self.0.binary_search(word).is_ok())
    }

    /// Number of words that two texts share.
    pub(super) fn common(&self, other: &Self) -> usize {
        self.shared(other).count()
    }

    /// The words that two texts share.
    fn shared<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u64> + 'a {
        let (few, many) = if self.0.len() < other.0.len() {
            (self, other)
        } else {
            (other, self)
        };
        let words = few.0.iter().copied();
        words.filter(|word| many.0.binary_search(word).is_ok())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The number of bytes of the word at the start of a text.
fn end_of_word(text: &str) -> usize {
    let mut bytes = text.bytes();
    match bytes.position(|byte| !byte.is_ascii_alphanumeric()) {
        None => text.len(),
        Some(at) if text.as_bytes().get(at).is_some_and(u8::is_ascii) => at,
        Some(_) => text
            .find(|letter: char| !letter.is_alphanumeric())
            .unwrap_or(text.len()),
    }
}

/// How many of the read texts contain a word.
#[derive(Debug, Default)]
pub(super) struct Frequencies(HashMap<u64, usize>);

impl Frequencies {
    pub(super) fn count(&mut self, topic: &Topic) {
        for word in &topic.0 {
            *self.0.entry(*word).or_default() += 1;
        }
    }

    /// The weight of the words that two texts share: 1 for each, less for one that many texts
    /// contain.
    pub(super) fn shared(&self, one: &Topic, other: &Topic) -> f32 {
        one.shared(other)
            .map(|word| match self.0.get(&word) {
                Some(texts) if *texts > COMMON => 0.4,
                _ => 1.0,
            })
            .sum()
    }
}

/// The hashes of [`COMMON_WORDS`], sorted.
static COMMON_HASHES: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut hashes: Vec<u64> = COMMON_WORDS
        .iter()
        .map(|word| xxh3_64(word.as_bytes()))
        .collect();
    hashes.sort_unstable();
    hashes
});

/// Words that belong to no topic.
#[rustfmt::skip]
const COMMON_WORDS: &[&str] = &[
    "todo", "done", "with", "that", "this", "then", "from", "into", "have", "will", "would",
    "should", "could", "must", "never", "always", "only", "every", "please", "need", "needs",
    "still", "open", "next", "keep", "make", "just", "also", "them", "they", "their", "there",
    "here", "what", "when", "where", "which", "while", "until", "before", "after", "again", "more",
    "than", "some", "other", "thing", "things", "were", "been", "does", "doing", "going", "about",
    "because", "since", "your", "ours", "want", "wants", "like", "good", "fine", "great", "thanks",
    "week", "today", "time", "times", "first", "last", "each", "both", "uses", "used", "using",
    "works", "work", "everything", "anything", "nothing", "decided", "decision", "default",
    "exactly", "agreed", "sounds", "right", "okay",
    "nicht", "noch", "eine", "einen", "einem", "einer", "auch", "aber", "oder", "dann", "wenn",
    "sind", "wird", "werden", "haben", "habe", "hast", "nach", "beim", "über", "unter", "immer",
    "muss", "müssen", "alle", "alles", "mehr", "jetzt", "schon", "erledigt", "offen", "bitte",
    "machen", "nehmen", "ganz", "ganze", "genau", "wochenende", "passt",
    "надо", "нужно", "только", "чтобы", "когда", "если", "пока", "было", "были", "есть", "будет",
    "очень", "также", "тоже", "можно", "всегда", "никогда", "теперь", "просто", "потом", "сделать",
    "готово", "больше", "этого", "этот", "делаем", "давай", "хорошо", "отлично", "решили",
    "para", "como", "pero", "esta", "este", "esto", "están", "cuando", "donde", "desde", "hasta",
    "todo", "todos", "todas", "siempre", "nunca", "solo", "sobre", "porque", "tiene", "tienen",
    "hacer", "hecho", "falta", "queda", "entonces", "ahora",
    "pour", "dans", "avec", "sans", "mais", "plus", "tout", "tous", "toutes", "toujours", "jamais",
    "fait", "faire", "encore", "comme", "cette", "leur", "sont", "être", "avoir", "aussi", "donc",
    "alors", "quand", "reste",
];

//! What a text is about: the beginnings of its longer words, so that forms of a word are equal.

use std::collections::{HashMap, HashSet};

use super::lexicon::{is_ideograph, lowered};

/// Longer words are cut to this many characters.
const STEM: usize = 5;
/// Shorter words say little, unless they contain a digit or capital letters.
const LEAST: usize = 4;
/// A word that more texts than this contain says little.
const COMMON: usize = 5;

/// The words of a text that say what it is about.
#[derive(Debug, Clone, Default)]
pub(super) struct Topic(HashSet<String>);

impl Topic {
    pub(super) fn of(text: &str) -> Self {
        let mut words = HashSet::new();
        for word in text.split(|letter: char| !letter.is_alphanumeric()) {
            let length = word.chars().count();
            if word.chars().any(is_ideograph) {
                let letters: Vec<char> = word.chars().collect();
                words.extend(
                    letters
                        .windows(2)
                        .map(|pair| pair.iter().collect::<String>()),
                );
                continue;
            }
            let is_name = length > 1
                && word
                    .chars()
                    .filter(|letter| letter.is_uppercase() || letter.is_ascii_digit())
                    .count()
                    > length / 2;
            if length < LEAST && !is_name {
                continue;
            }
            let small = lowered(word);
            if !COMMON_WORDS.contains(&small.as_str()) {
                words.insert(small.chars().take(STEM).collect());
            }
        }
        Self(words)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    pub(super) fn contains(&self, other: &Self) -> bool {
        other.0.is_subset(&self.0)
    }

    /// Removes the words of another text.
    pub(super) fn without(&mut self, other: &Self) {
        self.0.retain(|word| !other.0.contains(word));
    }

    /// Number of words that two texts share.
    pub(super) fn common(&self, other: &Self) -> usize {
        self.0.intersection(&other.0).count()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// How many of the read texts contain a word.
#[derive(Debug, Default)]
pub(super) struct Frequencies(HashMap<String, usize>);

impl Frequencies {
    pub(super) fn count(&mut self, topic: &Topic) {
        for word in &topic.0 {
            *self.0.entry(word.clone()).or_default() += 1;
        }
    }

    /// The weight of the words that two texts share: 1 for each, less for one that many texts
    /// contain.
    pub(super) fn shared(&self, one: &Topic, other: &Topic) -> f32 {
        one.0
            .intersection(&other.0)
            .map(|word| match self.0.get(word) {
                Some(texts) if *texts > COMMON => 0.4,
                _ => 1.0,
            })
            .sum()
    }
}

/// Words that say nothing about a topic.
#[rustfmt::skip]
const COMMON_WORDS: &[&str] = &[
    "todo", "done", "with", "that", "this", "then", "from", "into", "have", "will", "would", "should", "could", "must", "never", "always", "only", "every", "please", "need", "needs", "still", "open", "next", "keep", "make", "just", "also", "them", "they", "their", "there", "here", "what", "when", "where", "which", "while", "until", "before", "after", "again", "more", "than", "some", "other", "thing", "things", "were", "been", "does", "doing", "going", "about", "because", "since", "your", "ours", "want", "wants", "like", "good", "fine", "great", "thanks", "week", "today", "time", "times", "first", "last", "each", "both", "uses", "used", "using", "works", "work", "everything", "anything", "nothing", "decided", "decision", "default", "exactly", "agreed", "sounds", "right", "okay",
    "nicht", "noch", "eine", "einen", "einem", "einer", "auch", "aber", "oder", "dann", "wenn", "sind", "wird", "werden", "haben", "habe", "hast", "nach", "beim", "über", "unter", "immer", "muss", "müssen", "alle", "alles", "mehr", "jetzt", "schon", "erledigt", "offen", "bitte", "machen", "nehmen", "ganz", "ganze", "genau", "wochenende", "passt",
    "надо", "нужно", "только", "чтобы", "когда", "если", "пока", "было", "были", "есть", "будет", "очень", "также", "тоже", "можно", "всегда", "никогда", "теперь", "просто", "потом", "сделать", "готово", "больше", "этого", "этот", "делаем", "давай", "хорошо", "отлично", "решили",
    "para", "como", "pero", "esta", "este", "esto", "están", "cuando", "donde", "desde", "hasta", "todo", "todos", "todas", "siempre", "nunca", "solo", "sobre", "porque", "tiene", "tienen", "hacer", "hecho", "falta", "queda", "entonces", "ahora",
    "pour", "dans", "avec", "sans", "mais", "plus", "tout", "tous", "toutes", "toujours", "jamais", "fait", "faire", "encore", "comme", "cette", "leur", "sont", "être", "avoir", "aussi", "donc", "alors", "quand", "reste",
];

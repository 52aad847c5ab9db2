//! The vocabulary of pieces, and the map from text to id.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The number of a token in the vocabulary.
pub type TokenId = u16;

/// Represents a word that cannot be built from pieces.
pub(super) const UNKNOWN: TokenId = 100;
/// Marks the start of a text.
pub const BEGIN: TokenId = 101;
/// Marks the end of a text.
pub const END: TokenId = 102;

/// Tokens that are recognised in text in their exact spelling.
pub(super) const SPECIALS: [(&str, TokenId); 5] = [
    ("[PAD]", 0),
    ("[UNK]", UNKNOWN),
    ("[CLS]", BEGIN),
    ("[SEP]", END),
    ("[MASK]", 103),
];

type Map<'a> = HashMap<&'a str, TokenId, BuildHasherDefault<Multiply>>;

/// Two maps: pieces that begin a word, and pieces that continue one.
#[derive(Debug)]
pub(super) struct Vocabulary<'a> {
    tokens: Vec<&'a str>,
    first: Map<'a>,
    rest: Map<'a>,
    longest_bytes: usize,
}

impl<'a> Vocabulary<'a> {
    /// Parses one token per line. The line number is the id of the token.
    pub(super) fn new(lines: &'a str) -> Self {
        let tokens: Vec<&str> = lines.lines().collect();
        let mut made = Self {
            first: Map::with_capacity_and_hasher(tokens.len(), BuildHasherDefault::default()),
            rest: Map::with_capacity_and_hasher(tokens.len() / 4, BuildHasherDefault::default()),
            longest_bytes: tokens
                .iter()
                .map(|token| token.len())
                .max()
                .unwrap_or_default(),
            tokens,
        };
        for (token, id) in made.tokens.iter().zip(0..=TokenId::MAX) {
            match token.strip_prefix("##") {
                Some(piece) if !piece.is_empty() => made.rest.insert(piece, id),
                _ => made.first.insert(token, id),
            };
        }
        made
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn token(&self, id: TokenId) -> Option<&'a str> {
        self.tokens.get(usize::from(id)).copied()
    }

    /// The token of this whole word.
    pub(super) fn first(&self, word: &str) -> Option<TokenId> {
        self.first.get(word).copied()
    }

    /// The longest token that `text` begins with, and its length in bytes.
    pub(super) fn longest(&self, text: &str, continues: bool) -> Option<(TokenId, usize)> {
        let map = if continues { &self.rest } else { &self.first };
        (1..=text.len().min(self.longest_bytes))
            .rev()
            .filter_map(|length| Some((text.get(..length)?, length)))
            .find_map(|(piece, length)| Some((*map.get(piece)?, length)))
    }
}

/// A short multiplicative hash. The keys are our own vocabulary, so nobody can choose colliding
/// ones.
#[derive(Debug, Default)]
pub(super) struct Multiply(u64);

impl Multiply {
    fn mix(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = rest.len() as u64;
        for byte in rest {
            last = last << 8 | u64::from(*byte);
        }
        self.mix(last);
    }

    fn write_u8(&mut self, _end_of_str: u8) {}

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_have_the_ids_of_the_vocabulary() {
        let vocabulary = Vocabulary::new(include_str!("../../data/vocab.txt"));
        assert_eq!(vocabulary.len(), 30_522);
        for (name, id) in SPECIALS {
            assert_eq!(vocabulary.first(name), Some(id));
        }
    }
}

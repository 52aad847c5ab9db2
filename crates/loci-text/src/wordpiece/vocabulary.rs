//! The vocabulary of pieces, and the map from text to id.

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

/// The tokens, and a hash table of their numbers. Every process that searches builds it, so that it
/// is filled in one pass, without growing.
#[derive(Debug)]
pub(super) struct Vocabulary<'a> {
    tokens: Vec<&'a str>,
    /// Numbers plus 1, at the hash of the piece or after it; 0 is free. Some slots are always free.
    slots: Vec<TokenId>,
    longest_bytes: usize,
}

impl<'a> Vocabulary<'a> {
    /// Parses one token per line. The line number is the id of the token. Of equal tokens, the first
    /// counts.
    pub(super) fn new(lines: &'a str) -> Self {
        let mut tokens: Vec<&str> = lines.lines().collect();
        tokens.truncate(usize::from(TokenId::MAX));
        let slots = (2 * tokens.len()).next_power_of_two();
        let mut made = Self {
            slots: vec![0; slots],
            longest_bytes: tokens
                .iter()
                .map(|token| token.len())
                .max()
                .unwrap_or_default(),
            tokens,
        };
        for (token, number) in made.tokens.iter().zip(1..=TokenId::MAX) {
            let (piece, continues) = piece_of(token);
            let mut at = hash(piece, continues);
            while let Some(slot) = made.slots.get_mut(at & (slots - 1)) {
                if *slot == 0 {
                    *slot = number;
                    break;
                }
                at += 1;
            }
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
        self.find(word, false)
    }

    /// The longest token that `text` begins with, and its length in bytes.
    pub(super) fn longest(&self, text: &str, continues: bool) -> Option<(TokenId, usize)> {
        (1..=text.len().min(self.longest_bytes))
            .rev()
            .filter_map(|length| Some((text.get(..length)?, length)))
            .find_map(|(piece, length)| Some((self.find(piece, continues)?, length)))
    }

    fn find(&self, piece: &str, continues: bool) -> Option<TokenId> {
        let mut at = hash(piece, continues);
        loop {
            let id = self
                .slots
                .get(at & self.slots.len().checked_sub(1)?)?
                .checked_sub(1)?;
            if piece_of(self.token(id)?) == (piece, continues) {
                return Some(id);
            }
            at += 1;
        }
    }
}

/// The text of a token, and whether it continues a word.
fn piece_of(token: &str) -> (&str, bool) {
    match token.strip_prefix("##") {
        Some(piece) if !piece.is_empty() => (piece, true),
        _ => (token, false),
    }
}

/// A short multiplicative hash. The keys are our own vocabulary, so nobody can choose colliding
/// ones.
fn hash(piece: &str, continues: bool) -> usize {
    let mix =
        |sum: u64, value: u64| (sum.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (words, rest) = piece.as_bytes().as_chunks::<8>();
    let sum = words.iter().fold(u64::from(continues), |sum, word| {
        mix(sum, u64::from_le_bytes(*word))
    });
    let last = rest
        .iter()
        .fold(rest.len() as u64, |last, byte| last << 8 | u64::from(*byte));
    (mix(sum, last) >> 32) as usize
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

    #[test]
    fn every_token_is_found_under_its_own_number_and_nothing_else_is() {
        let vocabulary = Vocabulary::new(include_str!("../../data/vocab.txt"));
        for (token, id) in vocabulary.tokens.iter().zip(0..) {
            let (piece, continues) = piece_of(token);
            assert_eq!(vocabulary.find(piece, continues), Some(id), "{token}");
            assert_ne!(vocabulary.find(piece, !continues), Some(id), "{token}");
        }
        for unknown in ["", "##", "##ing", "quaggaquagga", "the "] {
            assert_eq!(vocabulary.first(unknown), None, "{unknown}");
        }
        assert_eq!(Vocabulary::new("").first("a"), None);
    }
}

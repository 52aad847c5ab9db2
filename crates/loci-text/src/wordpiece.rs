//! BERT's uncased WordPiece tokenizer, which all-MiniLM-L6-v2 was trained with.
//!
//! Text is cleaned, lower-cased, stripped of accents, and split at white space and punctuation.
//! Each word is then split into the longest pieces of the vocabulary, from left to right. Any text
//! has tokens; no function fails.

mod normalise;
mod vocabulary;

use std::sync::OnceLock;

use normalise::Words;
pub use vocabulary::{BEGIN, END, TokenId};

use vocabulary::{SPECIALS, UNKNOWN, Vocabulary};

/// A word with more characters counts as unknown.
const LONGEST_WORD: usize = 100;

/// Converts text into token ids.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary<'static>,
}

impl Tokenizer {
    /// The tokenizer of all-MiniLM-L6-v2, created on first use.
    pub fn builtin() -> &'static Self {
        static TOKENIZER: OnceLock<Tokenizer> = OnceLock::new();
        TOKENIZER.get_or_init(|| Self {
            vocabulary: Vocabulary::new(include_str!("../data/vocab.txt")),
        })
    }

    /// Number of tokens in the vocabulary.
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// Whether the vocabulary is empty.
    pub fn is_empty(&self) -> bool {
        self.vocabulary.len() == 0
    }

    /// The text of a token, with `##` before a piece that continues a word.
    pub fn token(&self, id: TokenId) -> Option<&'static str> {
        self.vocabulary.token(id)
    }

    /// The tokens of `text`, without special tokens.
    ///
    /// ```
    /// use loci_text::Tokenizer;
    /// let tokenizer = Tokenizer::builtin();
    /// let pieces: Vec<_> = tokenizer.encode("Café palaces").into_iter().filter_map(|id| tokenizer.token(id)).collect();
    /// assert_eq!(pieces, ["cafe", "palaces"]);
    /// ```
    pub fn encode(&self, text: &str) -> Vec<TokenId> {
        let mut ids = Vec::with_capacity(text.len() / 4 + 1);
        self.encode_up_to(text, usize::MAX, &mut ids);
        ids
    }

    /// Appends at most `limit` tokens of `text`. Reads no more text than necessary.
    pub fn encode_up_to(&self, text: &str, limit: usize, ids: &mut Vec<TokenId>) {
        let end = ids.len().saturating_add(limit);
        let mut words = Words::default();
        let mut rest = text;
        while ids.len() < end {
            let (plain, special) = next_special(rest);
            words.each(plain, |word| {
                self.pieces(word, ids);
                ids.len() < end
            });
            let Some((name, id)) = special else { break };
            ids.push(id);
            rest = rest.get(plain.len() + name.len()..).unwrap_or_default();
        }
        ids.truncate(end);
    }

    /// Appends the pieces of one word.
    fn pieces(&self, word: &str, ids: &mut Vec<TokenId>) {
        if let Some(id) = self.vocabulary.first(word) {
            ids.push(id);
            return;
        }
        let start = ids.len();
        let mut rest = word;
        if word.len() > LONGEST_WORD && word.chars().count() > LONGEST_WORD {
            rest = "";
            ids.push(UNKNOWN);
        }
        while !rest.is_empty() {
            match self.vocabulary.longest(rest, ids.len() > start) {
                Some((id, length)) => {
                    ids.push(id);
                    rest = rest.get(length..).unwrap_or_default();
                }
                None => {
                    ids.truncate(start);
                    ids.push(UNKNOWN);
                    return;
                }
            }
        }
    }
}

/// The text before the first special token, and that token. Like the reference, it recognises
/// special tokens only in their exact spelling.
fn next_special(text: &str) -> (&str, Option<(&'static str, TokenId)>) {
    for (place, _) in text.match_indices('[') {
        let (plain, rest) = text.split_at(place);
        if let Some(special) = SPECIALS
            .into_iter()
            .find(|(name, _)| rest.starts_with(name))
        {
            return (plain, Some(special));
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(text: &str) -> Vec<&'static str> {
        let tokenizer = Tokenizer::builtin();
        tokenizer
            .encode(text)
            .into_iter()
            .filter_map(|id| tokenizer.token(id))
            .collect()
    }

    #[test]
    fn words_split_into_the_longest_pieces() {
        assert_eq!(pieces("unaffable"), ["una", "##ffa", "##ble"]);
        assert_eq!(pieces("don't stop!"), ["don", "'", "t", "stop", "!"]);
        assert_eq!(pieces("東京"), ["東", "京"]);
    }

    #[test]
    fn words_of_more_than_a_hundred_characters_are_unknown() {
        assert_eq!(pieces(&"x".repeat(101)), ["[UNK]"]);
        assert_ne!(pieces(&"x".repeat(100)), ["[UNK]"]);
    }

    proptest! {
        #[test]
        fn any_text_gives_tokens_and_a_limit_gives_a_prefix(text in ".*", limit in 0..20_usize) {
            let tokenizer = Tokenizer::builtin();
            let all = tokenizer.encode(&text);
            let mut some = Vec::new();
            tokenizer.encode_up_to(&text, limit, &mut some);
            prop_assert_eq!(&some[..], &all[..limit.min(all.len())]);
        }
    }
}

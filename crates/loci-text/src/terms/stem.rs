//! English stems, with a cache.
//!
//! Stemming a word takes a few hundred nanoseconds, and texts repeat their words, so each thread
//! caches the stems of short words. A lookup compares the whole word, so the cache never changes a
//! result.

use std::cell::Cell;

use rust_stemmers::{Algorithm, Stemmer};

const SLOTS: usize = 8192;
/// Maximum number of letters of a word in a slot.
const SHORT: usize = 16;
/// A longer word is not an English word.
const LONGEST_WORD: usize = 32;

thread_local! {
    static KEPT: Cell<Option<Stems>> = const { Cell::new(None) };
}

/// A word and its stem, both padded with zeros.
#[derive(Clone, Copy, Default)]
struct Slot {
    word: [u8; SHORT],
    stem: [u8; SHORT],
    length: u8,
}

/// Stems folded words.
pub(super) struct Stems {
    stemmer: Stemmer,
    slots: Vec<Slot>,
    long: String,
}

impl Stems {
    /// The stems of this thread, or a new cache while they are borrowed.
    pub(super) fn borrow() -> Self {
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        kept.unwrap_or_else(|| Self {
            stemmer: Stemmer::create(Algorithm::English),
            slots: vec![Slot::default(); SLOTS],
            long: String::new(),
        })
    }

    /// Returns the stems to the thread.
    pub(super) fn give_back(self) {
        let _ = KEPT.try_with(|kept| kept.set(Some(self)));
    }

    /// The stem of a word of at least three ASCII letters. Other words are their own stem.
    pub(super) fn stem<'a>(&'a mut self, word: &'a str) -> &'a str {
        let length = word.len();
        if !(3..=LONGEST_WORD).contains(&length)
            || !word.bytes().all(|byte| byte.is_ascii_lowercase())
        {
            return word;
        }
        let mut padded = [0; SHORT];
        let Some(target) = padded.get_mut(..length) else {
            self.long.clear();
            self.long.push_str(&self.stemmer.stem(word));
            return &self.long;
        };
        target.copy_from_slice(word.as_bytes());
        let Some(slot) = self.slots.get_mut(slot_of(padded)) else {
            return word;
        };
        if slot.word != padded {
            let stem = self.stemmer.stem(word);
            let mut made = Slot {
                word: padded,
                length: stem.len() as u8,
                ..Slot::default()
            };
            let Some(target) = made.stem.get_mut(..stem.len()) else {
                return word;
            };
            target.copy_from_slice(stem.as_bytes());
            *slot = made;
        }
        slot.stem
            .get(..usize::from(slot.length))
            .and_then(|stem| str::from_utf8(stem).ok())
            .filter(|stem| !stem.is_empty())
            .unwrap_or(word)
    }
}

fn slot_of(padded: [u8; SHORT]) -> usize {
    let number = u128::from_le_bytes(padded);
    let mixed = ((number as u64) ^ ((number >> 64) as u64).rotate_left(31))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        let mut stems = Stems::borrow();
        for (word, expected) in [
            ("running", "run"),
            ("runs", "run"),
            ("melanie", "melani"),
            ("database", "databas"),
            ("databases", "databas"),
            ("internationalization", "internation"),
            ("is", "is"),
            ("utf8s", "utf8s"),
            ("größe", "größe"),
        ] {
            assert_eq!(stems.stem(word), expected);
        }
    }

    proptest! {
        #[test]
        fn the_cache_never_changes_a_result(words in prop::collection::vec("[a-z]{1,40}", 1..50)) {
            let mut stems = Stems::borrow();
            let plain = Stemmer::create(Algorithm::English);
            for word in words.iter().chain(&words) {
                let expected = if (3..=LONGEST_WORD).contains(&word.len()) {
                    plain.stem(word).into_owned()
                } else {
                    word.clone()
                };
                prop_assert_eq!(stems.stem(word), expected);
            }
            stems.give_back();
        }
    }
}

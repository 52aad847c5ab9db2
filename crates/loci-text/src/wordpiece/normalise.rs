//! From raw text to the words that the vocabulary is asked for.

use unicode_categories::UnicodeCategories as _;
use unicode_normalization::UnicodeNormalization as _;

/// Splits text into cleaned words, with buffers that are kept between texts.
#[derive(Debug, Default)]
pub(super) struct Words {
    word: String,
    kept: String,
}

impl Words {
    /// Calls `take` with each word in turn until it says `false`.
    pub(super) fn each(&mut self, text: &str, mut take: impl FnMut(&str) -> bool) {
        self.word.clear();
        if text.is_ascii() {
            self.ascii(text, &mut take);
        } else {
            self.unicode(text, &mut take);
        }
    }

    fn ascii(&mut self, text: &str, take: &mut impl FnMut(&str) -> bool) {
        for &byte in text.as_bytes() {
            if byte.is_ascii_alphanumeric() {
                self.word.push(char::from(byte.to_ascii_lowercase()));
            } else if byte.is_ascii_punctuation() {
                if !self.end_word(take) || !take(char::from(byte).encode_utf8(&mut [0; 4])) {
                    return;
                }
            } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') && !self.end_word(take) {
                return;
            }
        }
        self.end_word(take);
    }

    /// The order of steps matters: marks are reordered over the whole cleaned text before they are dropped.
    fn unicode(&mut self, text: &str, take: &mut impl FnMut(&str) -> bool) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        for c in text.chars().filter(|&c| !is_dropped(c)) {
            if c.is_whitespace() {
                kept.push(' ');
            } else if is_ideograph(c) {
                kept.extend([' ', c, ' ']);
            } else {
                kept.push(c);
            }
        }
        let going = kept
            .nfd()
            .filter(|c| !c.is_mark_nonspacing())
            .flat_map(char::to_lowercase)
            .all(|c| self.push(c, take));
        self.kept = kept;
        if going {
            self.end_word(take);
        }
    }

    fn push(&mut self, c: char, take: &mut impl FnMut(&str) -> bool) -> bool {
        if c.is_whitespace() {
            self.end_word(take)
        } else if c.is_ascii_punctuation() || c.is_punctuation() {
            self.end_word(take) && take(c.encode_utf8(&mut [0; 4]))
        } else {
            self.word.push(c);
            true
        }
    }

    fn end_word(&mut self, take: &mut impl FnMut(&str) -> bool) -> bool {
        if self.word.is_empty() {
            return true;
        }
        let going = take(&self.word);
        self.word.clear();
        going
    }
}

fn is_dropped(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{fffd}' => true,
        _ => !c.is_ascii_graphic() && c != ' ' && c.is_other(),
    }
}

/// The blocks of ideographs that stand for a word each; kana and hangul are not among them.
fn is_ideograph(c: char) -> bool {
    matches!(
        u32::from(c),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B73F
            | 0x2_B740..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0xF900..=0xFAFF
            | 0x2_F800..=0x2_FA1F
    )
}

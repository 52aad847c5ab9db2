//! Normalises raw text and splits it into the words that are looked up in the vocabulary.

use unicode_categories::UnicodeCategories as _;
use unicode_normalization::UnicodeNormalization as _;

/// Splits text into cleaned words. The buffers are reused between texts.
#[derive(Debug, Default)]
pub(super) struct Words {
    word: String,
    kept: String,
}

impl Words {
    /// Calls `take` with each word until it returns `false`.
    ///
    /// ASCII characters do not depend on their neighbours, and marks are never reordered across
    /// them. Runs of ASCII therefore take a fast path, whatever else is in the text.
    pub(super) fn each(&mut self, text: &str, mut take: impl FnMut(&str) -> bool) {
        self.word.clear();
        let mut rest = text;
        while !rest.is_empty() {
            let length = rest
                .bytes()
                .position(|byte| !byte.is_ascii())
                .unwrap_or(rest.len());
            let (ascii, other) = rest.split_at(length);
            let length = other
                .bytes()
                .position(|byte| byte.is_ascii())
                .unwrap_or(other.len());
            let (other, behind) = other.split_at(length);
            if !self.ascii(ascii, &mut take) || !self.unicode(other, &mut take) {
                return;
            }
            rest = behind;
        }
        self.end_word(&mut take);
    }

    fn ascii(&mut self, text: &str, take: &mut impl FnMut(&str) -> bool) -> bool {
        let mut rest = text;
        while !rest.is_empty() {
            let length = rest
                .bytes()
                .position(|byte| !byte.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            let (word, behind) = rest.split_at(length);
            let begun = self.word.len();
            self.word.push_str(word);
            if let Some(pushed) = self.word.get_mut(begun..) {
                pushed.make_ascii_lowercase();
            }
            let Some(&byte) = behind.as_bytes().first() else {
                return true;
            };
            let (one, behind) = behind.split_at(1);
            let going = if byte.is_ascii_punctuation() {
                self.end_word(take) && take(one)
            } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                self.end_word(take)
            } else {
                true
            };
            if !going {
                return false;
            }
            rest = behind;
        }
        true
    }

    /// The order of the steps matters: marks are reordered over the whole cleaned run before they
    /// are removed.
    fn unicode(&mut self, text: &str, take: &mut impl FnMut(&str) -> bool) -> bool {
        if text.is_empty() {
            return true;
        }
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
        going
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

/// The blocks of ideographs that are one word each. Kana and hangul are not among them.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Words::default().each(text, |word| {
            found.push(word.to_owned());
            true
        });
        found
    }

    /// Processes the whole text as one run, as the reference does.
    fn in_one_run(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut words = Words::default();
        let mut take = |word: &str| {
            found.push(word.to_owned());
            true
        };
        words.unicode(text, &mut take);
        words.end_word(&mut take);
        found
    }

    #[test]
    fn a_mark_behind_an_ascii_letter_leaves_the_letter() {
        assert_eq!(
            all("cafe\u{301}s \u{2014} A\u{30a}"),
            ["cafes", "\u{2014}", "a"]
        );
    }

    proptest! {
        #[test]
        fn runs_give_the_words_of_the_whole_text(
            text in "([a-zA-Z0-9 .,\\[\\]\\t\\n\u{0}-\u{1f}]|[\u{300}-\u{345}]|[À-ÿ]|[一-三]|[’—…]|[İΣσß\u{fffd}\u{200d}]|\\PC){0,40}"
        ) {
            prop_assert_eq!(all(&text), in_one_run(&text));
        }
    }
}

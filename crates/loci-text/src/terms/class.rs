//! Classifies characters for the word walker.

use unicode_normalization::char::is_combining_mark;

/// The class of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter or digit of a script with spaces between words.
    Word,
    /// A combining mark: it belongs to the character before it.
    Mark,
    /// A character inside a word that is not part of it: apostrophes, soft hyphens, joiners.
    Joiner,
    /// Joins two words to a compound.
    Connector,
    /// A character of a script that is indexed by pairs.
    Gram,
    /// A symbol that is a term by itself.
    Symbol,
    /// White space, punctuation and everything else.
    Other,
}

pub(super) fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Word,
        '\'' | '\u{2019}' | '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' => Class::Joiner,
        '_' | '-' | '.' | '/' | ':' | '@' | '#' | '+' | '~' | '\\' | '\u{2010}' | '\u{2011}' => {
            Class::Connector
        }
        '\0'..='\u{7f}' => Class::Other,
        // Vowel signs are both alphabetic and marks, so marks are checked first.
        _ if is_combining_mark(c) => letter(c, Class::Mark),
        _ if c.is_alphanumeric() => letter(c, Class::Word),
        _ if is_symbol(c) => Class::Symbol,
        _ => Class::Other,
    }
}

pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

fn letter(c: char, spaced: Class) -> Class {
    if is_gram_script(c) {
        Class::Gram
    } else {
        spaced
    }
}

/// Han, kana, Bopomofo, Hangul, Thai, Lao, Khmer and Myanmar, with their marks.
fn is_gram_script(c: char) -> bool {
    matches!(
        u32::from(c),
        0x0E00..=0x0EFF
            | 0x1000..=0x109F
            | 0x1100..=0x11FF
            | 0x1780..=0x17FF
            | 0x2E80..=0x2FDF
            | 0x3005..=0x3007
            | 0x3021..=0x3029
            | 0x302A..=0x302F
            | 0x3031..=0x3035
            | 0x3038..=0x303C
            | 0x3040..=0x318F
            | 0x31A0..=0x31BF
            | 0x31F0..=0x31FF
            | 0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xA960..=0xA97F
            | 0xA9E0..=0xA9FF
            | 0xAA60..=0xAA7F
            | 0xAC00..=0xD7FF
            | 0xF900..=0xFAFF
            | 0xFF66..=0xFFDC
            | 0x1_AFF0..=0x1_B16F
            | 0x2_0000..=0x3_FFFF
    )
}

/// Emoji, pictographs and currency signs. These are ranges instead of Unicode categories, because
/// the terms must not change with the tables of a library. Arrows, box drawing and skin tones are
/// excluded.
fn is_symbol(c: char) -> bool {
    matches!(
        u32::from(c),
        0xA3 | 0xA5
            | 0x20A0..=0x20CF
            | 0x2300..=0x23FF
            | 0x2600..=0x27BF
            | 0x2B1B..=0x2B1C
            | 0x2B50..=0x2B55
            | 0x1_F000..=0x1_F3FA
            | 0x1_F400..=0x1_FAFF
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_belong_to_the_script_they_are_written_in() {
        assert_eq!(class('\u{0301}'), Class::Mark);
        assert_eq!(class('\u{093f}'), Class::Mark);
        assert_eq!(class('\u{0e34}'), Class::Gram);
        assert_eq!(class('\u{3099}'), Class::Gram);
    }

    #[test]
    fn symbols_are_terms_and_punctuation_is_not() {
        for c in ['🎉', '€', '☕', '⭐', '🤷'] {
            assert_eq!(class(c), Class::Symbol, "{c}");
        }
        for c in [
            '。',
            '・',
            '฿',
            '—',
            '→',
            '─',
            '!',
            '\u{1f3fb}',
            '\u{200b}',
            '\u{fffd}',
        ] {
            assert_ne!(class(c), Class::Word, "{c}");
            assert_ne!(class(c), Class::Gram, "{c}");
        }
        assert_eq!(class('─'), Class::Other);
    }
}

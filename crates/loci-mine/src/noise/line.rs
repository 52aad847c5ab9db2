//! Counts what a line consists of.

/// The shortest run of letters that counts as a word.
const WORD: usize = 3;
/// Prose has at least this many pairs of words in a thousand bytes. Minified code has three to ten,
/// records without text have none.
const PAIRS_IN_CODE: usize = 15;
const PAIRS_IN_RECORDS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Space,
    Digit,
    Upper,
    Lower,
    /// Punctuation that code has and prose rarely has.
    Code,
    Other,
    /// A byte beyond ASCII.
    High,
}

pub(super) fn class(byte: u8) -> Class {
    match byte {
        b'0'..=b'9' => Class::Digit,
        b'a'..=b'z' => Class::Lower,
        b'A'..=b'Z' => Class::Upper,
        b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => Class::Space,
        b'(' | b')' | b'{' | b'}' | b'[' | b']' | b';' | b':' | b'=' | b'&' | b'!' | b'?'
        | b'<' | b'>' | b'"' | b'\'' | b'$' => Class::Code,
        0x80.. => Class::High,
        _ => Class::Other,
    }
}

/// The counts of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Bytes that are not white space.
    pub(super) bytes: usize,
    pub(super) spaces: usize,
    pub(super) digits: usize,
    pub(super) code: usize,
    /// Bytes beyond ASCII.
    pub(super) high: usize,
    /// Words: runs of at least three letters, in any script, that are not part of a hexadecimal
    /// number.
    pub(super) words: usize,
    pub(super) word_bytes: usize,
}

impl Counts {
    pub(super) fn of(line: &str) -> Self {
        let mut counts = Self::default();
        each_word(line, |word| {
            counts.words += 1;
            counts.word_bytes += word.len();
        });
        for byte in line.bytes() {
            match class(byte) {
                Class::Space => counts.spaces += 1,
                Class::Digit => counts.digits += 1,
                Class::Code => counts.code += 1,
                Class::High => counts.high += 1,
                Class::Upper | Class::Lower | Class::Other => {}
            }
        }
        counts.bytes = line.len() - counts.spaces;
        counts
    }

    /// Whether the line consists of numbers and punctuation.
    pub(super) fn is_numeric(&self) -> bool {
        self.high == 0 && self.digits * 4 >= self.bytes && self.word_bytes * 8 <= self.bytes
    }

    /// Whether the line consists of punctuation.
    pub(super) fn is_neutral(&self) -> bool {
        self.bytes <= 8 && self.high == 0 && self.words == 0
    }

    /// Whether the line, with these counts, is code without white space.
    pub(super) fn is_minified(&self, line: &str, is_code: bool) -> bool {
        let all = self.bytes + self.spaces;
        self.spaces * 100 <= all * 6
            && self.code * 100 >= all * 12
            && self.high * 20 <= all
            && !has_prose(
                line,
                if is_code {
                    PAIRS_IN_CODE
                } else {
                    PAIRS_IN_RECORDS
                },
            )
    }
}

/// Calls `each` with the words of a line.
pub(super) fn each_word<'a>(line: &'a str, mut each: impl FnMut(&'a str)) {
    let bytes = line.as_bytes();
    let mut start = None;
    for at in 0..=bytes.len() {
        let byte = bytes.get(at).copied().unwrap_or(b' ');
        if byte.is_ascii_alphabetic() || !byte.is_ascii() {
            start.get_or_insert(at);
        } else if let Some(start) = start.take()
            && is_word(bytes, start, at)
            && let Some(word) = line.get(start..at)
        {
            each(word);
        }
    }
}

/// Whether the letters from `start` to `end` are a word.
pub(super) fn is_word(bytes: &[u8], start: usize, end: usize) -> bool {
    let Some(run) = bytes.get(start..end) else {
        return false;
    };
    if !run.is_ascii() {
        return true;
    }
    if run.len() < WORD {
        return is_escaped_letter(bytes, start);
    }
    if is_escaped_letter(bytes, start) {
        return true;
    }
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'X');
    let beside = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'#')
    };
    !(run.iter().all(is_hex) && (beside(start.checked_sub(1)) || beside(Some(end))))
}

/// Whether `\u0431` stands before this position, a letter that is escaped.
fn is_escaped_letter(bytes: &[u8], start: usize) -> bool {
    let digits = bytes.get(start + 1..start + 5);
    start > 0
        && bytes.get(start - 1) == Some(&b'\\')
        && bytes.get(start) == Some(&b'u')
        && digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Whether words with a space between them are frequent, as in prose and in messages.
fn has_prose(line: &str, least: usize) -> bool {
    let letter =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || !byte.is_ascii());
    let bytes = line.as_bytes();
    let pairs = memchr::memchr_iter(b' ', bytes).filter(|at| {
        *at >= 2
            && letter(bytes.get(at - 1))
            && letter(bytes.get(at - 2))
            && letter(bytes.get(at + 1))
            && letter(bytes.get(at + 2))
    });
    pairs.count() * 1_000 >= line.len() * least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_in_every_script_and_hexadecimal_numbers_are_not_words() {
        let words = |line: &str| Counts::of(line).words;
        assert_eq!(words("The tea is hot"), 3 - 1 + 1);
        assert_eq!(words("Чай горячий, 茶很热"), 3);
        assert_eq!(words("0xdeadbeef, #ffaa00, 12ab34cdef56"), 0);
        assert_eq!(words(r"\u0427\u0430\u0439"), 3);
        assert_eq!(words("M10.5 3c1-2.5 4,5 6,7z"), 0);
    }
}

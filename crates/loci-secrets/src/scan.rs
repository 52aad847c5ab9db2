//! One pass over a text: its position and the secrets found.

use super::setting::Setting;
use super::shape::ALPHABETS;

/// The most bytes of numbers in a control sequence, such as `38;2;255;255;255`.
const MAX_NUMBERS: usize = 24;

/// The kind of text before a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// No letter, digit or joining mark, or an escape sequence such as `\n`, `%20` or `[31m`.
    Open,
    /// `_` or `-`, as in `my_` and in Markdown.
    Joined,
    /// A letter or a digit.
    Glued,
}

/// A range of the text to be replaced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: &'static str,
    /// Whether it counts as a secret. Only the first line of a block does.
    pub(super) counts: bool,
    /// Whether the replacement omits the kind.
    pub(super) bare: bool,
}

/// The text and the spans found in it. Spans begin and end next to ASCII characters, so they are at
/// character boundaries.
pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// Whether a secret name is enough, whatever its value looks like.
    pub(super) lenient: bool,
    /// The end of the last examined name.
    pub(super) name_end: usize,
    /// The end of the last examined private key block.
    pub(super) block_end: usize,
    /// The end of the last examined cookie line.
    pub(super) cookies_end: usize,
    /// The end of the last key with a known prefix.
    pub(super) key_end: usize,
    /// The last run of each alphabet of keys, so that a run is read once however many prefixes it
    /// contains.
    pub(super) runs: [(usize, usize); ALPHABETS],
    /// Secrets recognised by their own form.
    certain: Vec<Span>,
    /// Secrets recognised by the text before them.
    named: Vec<Span>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str, setting: Setting) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            lenient: setting == Setting::DotEnv,
            name_end: 0,
            block_end: 0,
            cookies_end: 0,
            key_end: 0,
            runs: [(0, 0); ALPHABETS],
            certain: Vec::new(),
            named: Vec::new(),
        }
    }

    /// The byte at `at`, or a line end after the end of the text.
    pub(super) fn at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(b'\n')
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns where the bytes from `from` stop being `allowed`, at most `max` bytes further.
    pub(super) fn run(&self, from: usize, max: usize, allowed: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        let length = rest
            .iter()
            .take(max)
            .take_while(|byte| allowed(**byte))
            .count();
        from + length
    }

    /// Returns where the bytes before `from` stop being `allowed`, at most `max` bytes back.
    pub(super) fn run_back(&self, from: usize, max: usize, allowed: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(..from).unwrap_or_default();
        let length = rest
            .iter()
            .rev()
            .take(max)
            .take_while(|byte| allowed(**byte))
            .count();
        from - length
    }

    /// Returns the end of the blanks from `from`.
    pub(super) fn blanks(&self, from: usize) -> usize {
        self.run(from, 64, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// Returns the kind of text before `at`.
    pub(super) fn edge(&self, at: usize) -> Edge {
        match at.checked_sub(1).map(|before| self.at(before)) {
            Some(b'_' | b'-') => Edge::Joined,
            Some(byte) if byte.is_ascii_alphanumeric() && !self.ends_sequence(at) => Edge::Glued,
            _ => Edge::Open,
        }
    }

    /// Whether the letter or digit before `at` ends an escape sequence: an escape, a
    /// percent-encoded byte, or a terminal colour.
    fn ends_sequence(&self, at: usize) -> bool {
        let before = self.bytes.get(..at).unwrap_or_default();
        match before {
            [
                ..,
                b'\\',
                b'n' | b'r' | b't' | b'f' | b'v' | b'b' | b'a' | b'e' | b'0',
            ] => true,
            [.., b'%', high, low]
            | [.., b'\\', b'x', high, low]
            | [.., b'\\', b'u', b'0', b'0', high, low] => {
                high.is_ascii_hexdigit() && low.is_ascii_hexdigit()
            }
            [.., b'\\', b'0', high, low] => high.is_ascii_digit() && low.is_ascii_digit(),
            [.., last] if last.is_ascii_alphabetic() => self.ends_colour(at - 1),
            _ => false,
        }
    }

    /// Whether the letter at `letter` ends a control sequence of a terminal: `[31m`, or `[K` after
    /// an escape character. Logs lose that character, so numbers are enough.
    fn ends_colour(&self, letter: usize) -> bool {
        const ESCAPES: [&[u8]; 6] = [b"\x1b", b"001b", b"001B", b"x1b", b"x1B", b"033"];
        let numbers = self.run_back(letter, MAX_NUMBERS, |byte| {
            byte.is_ascii_digit() || matches!(byte, b';' | b':' | b'?')
        });
        let before = self.bytes.get(..numbers).unwrap_or_default();
        before.strip_suffix(b"[").is_some_and(|before| {
            numbers < letter || ESCAPES.iter().any(|escape| before.ends_with(escape))
        })
    }

    /// Adds a secret that is recognised by its own form.
    pub(super) fn certain(&mut self, kind: &'static str, start: usize, end: usize) {
        self.certain.push(Span {
            start,
            end,
            kind,
            counts: true,
            bare: false,
        });
    }

    /// Adds one line of a block.
    pub(super) fn line(&mut self, kind: &'static str, start: usize, end: usize, first: bool) {
        self.certain.push(Span {
            start,
            end,
            kind,
            counts: first,
            bare: true,
        });
    }

    /// Adds a secret that is recognised by its name or position.
    pub(super) fn named(&mut self, kind: &'static str, start: usize, end: usize) {
        self.named.push(Span {
            start,
            end,
            kind,
            counts: true,
            bare: false,
        });
    }

    /// Returns the spans in order. Overlapping spans are merged, with the kind of the first and
    /// longest, so that no part of either is left in the masked text.
    pub(super) fn into_spans(self) -> Vec<Span> {
        let mut spans = self.certain;
        spans.extend(self.named);
        // The sort is stable: of two equal spans the certain one comes first.
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        spans.dedup_by(|span, kept| {
            let overlaps = span.start < kept.end;
            if overlaps {
                kept.end = kept.end.max(span.end);
            }
            overlaps
        });
        spans
    }
}

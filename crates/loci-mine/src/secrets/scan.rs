//! One pass over a text: where it stands and what it has found.

use super::setting::Setting;

/// A part of the text to be replaced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: &'static str,
    /// Whether it counts as a secret: of a block only the first line does.
    pub(super) counts: bool,
    /// Whether the replacement leaves out the kind.
    pub(super) bare: bool,
}

/// The text and the spans found in it. Spans begin and end beside ASCII, so at boundaries of characters.
pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// Whether a value need not look like a secret if its name does.
    pub(super) lenient: bool,
    /// Where the last name that was examined ends.
    pub(super) name_end: usize,
    /// Recognised by their own form.
    certain: Vec<Span>,
    /// Recognised by what stands before them.
    named: Vec<Span>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str, setting: Setting) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            lenient: setting == Setting::DotEnv,
            name_end: 0,
            certain: Vec::new(),
            named: Vec::new(),
        }
    }

    /// The byte at `at`; a line end where the text ends.
    pub(super) fn at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(b'\n')
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Where the bytes from `from` stop being `allowed`, at most `max` bytes further.
    pub(super) fn run(&self, from: usize, max: usize, allowed: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        let length = rest
            .iter()
            .take(max)
            .take_while(|byte| allowed(**byte))
            .count();
        from + length
    }

    /// Where the bytes before `from` stop being `allowed`, at most `max` bytes back.
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

    /// Where the blanks from `from` end.
    pub(super) fn blanks(&self, from: usize) -> usize {
        self.run(from, 64, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// Whether a word can begin at `at`. An escaped `\n` before it is no letter.
    pub(super) fn opens(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return true;
        };
        let byte = self.at(before);
        let escaped = matches!(byte, b'n' | b'r' | b't')
            && before.checked_sub(1).is_some_and(|at| self.at(at) == b'\\');
        escaped || !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    }

    /// Notes a secret that is one by its own form.
    pub(super) fn certain(&mut self, kind: &'static str, start: usize, end: usize) {
        self.certain.push(Span {
            start,
            end,
            kind,
            counts: true,
            bare: false,
        });
    }

    /// Notes one line of a block.
    pub(super) fn line(&mut self, kind: &'static str, start: usize, end: usize, first: bool) {
        self.certain.push(Span {
            start,
            end,
            kind,
            counts: first,
            bare: true,
        });
    }

    /// Notes a secret that its name or place gives away.
    pub(super) fn named(&mut self, kind: &'static str, start: usize, end: usize) {
        self.named.push(Span {
            start,
            end,
            kind,
            counts: true,
            bare: false,
        });
    }

    /// The spans in order. Those that overlap are one, of the kind of the first and longest: so nothing of either is left
    /// to be found in the masked text.
    pub(super) fn into_spans(self) -> Vec<Span> {
        let mut spans = self.certain;
        spans.extend(self.named);
        // Stable: of two equal spans the certain one is first.
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

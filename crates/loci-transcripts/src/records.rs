//! The records of one file: its lines, or the elements of its array.

use super::elements::Elements;
use super::lines::Lines;
use super::utterance::RecordSpan;
use std::io::{self, BufRead};

/// A longer line is skipped and counted.
pub(super) const MAX_RECORD_BYTES: usize = 64 << 20;

/// The result of reading one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Record(RecordSpan),
    /// The last line, without a line end.
    Unfinished(RecordSpan),
    TooLong,
    /// The array ended. Other fields may follow it.
    Closed,
    End,
    /// The JSON ends too early, or is not an array.
    Broken(&'static str),
}

#[derive(Debug)]
pub(super) enum Records<R> {
    Lines(Lines<R>),
    Elements(Elements<R>),
}

impl<R: BufRead> Records<R> {
    pub(super) fn next(&mut self) -> io::Result<Next> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Elements(elements) => elements.next(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Lines(lines) => lines.bytes(),
            Self::Elements(elements) => elements.bytes(),
        }
    }

    /// The fields outside the array, as one JSON object; empty for lines.
    pub(super) fn frame(&self) -> &[u8] {
        match self {
            Self::Lines(_) => &[],
            Self::Elements(elements) => elements.frame(),
        }
    }
}

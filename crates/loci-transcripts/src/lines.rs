//! Reads a file line by line, with the position of each line.

use super::records::{MAX_RECORD_BYTES, Next};
use super::utterance::{Point, RecordSpan};
use std::io::{self, BufRead, Read};

const KEPT_BUFFER_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    /// The position after the last line that was read.
    point: Point,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, point: Point) -> Self {
        Self {
            input,
            point,
            line: Vec::new(),
        }
    }

    /// Reads a line. Its bytes are in [`Lines::bytes`], without the line end.
    pub(super) fn next(&mut self) -> io::Result<Next> {
        self.line.clear();
        if self.line.capacity() > KEPT_BUFFER_BYTES {
            self.line.shrink_to(KEPT_BUFFER_BYTES);
        }
        let from = self.point;
        let limit = MAX_RECORD_BYTES as u64 + 1;
        let mut length = self
            .input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut self.line)? as u64;
        let too_long = length == limit && self.line.last() != Some(&b'\n');
        let mut ended = self.line.last() == Some(&b'\n');
        if too_long {
            self.line.clear();
            loop {
                let more = self
                    .input
                    .by_ref()
                    .take(1 << 20)
                    .read_until(b'\n', &mut self.line)?;
                length += more as u64;
                ended = self.line.last() == Some(&b'\n');
                self.line.clear();
                if ended || more == 0 {
                    break;
                }
            }
        }
        if length == 0 {
            return Ok(Next::End);
        }
        if ended {
            self.line.pop_if(|last| *last == b'\n');
            self.line.pop_if(|last| *last == b'\r');
        }
        if from.offset == 0 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        self.point.offset += length;
        self.point.line += 1;
        let place = RecordSpan {
            number: u32::try_from(self.point.line).unwrap_or(u32::MAX),
            from: Some(from),
            to: ended.then_some(self.point),
        };
        Ok(match (too_long, ended) {
            (true, true) => Next::TooLong,
            // The writer has not finished this line, so the next read takes it.
            (true, false) => Next::End,
            (false, true) => Next::Record(place),
            (false, false) => Next::Unfinished(place),
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.line
    }
}

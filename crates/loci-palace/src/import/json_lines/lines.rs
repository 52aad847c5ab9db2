//! Reads the lines of an import one at a time, with bounded memory.

use std::io::BufRead;

use loci_core::{Error, Result};

/// A longer line is refused instead of being read into memory.
const MAX_LINE_BYTES: usize = 8 << 20;

/// The end of a longer line is not searched for: the input may be endless, such as a device or a
/// program that never stops.
const MAX_SKIPPED_BYTES: usize = 64 << 20;

/// Lines of bounded length. A line that is too long or not UTF-8 is an error of that line only.
pub(crate) struct Lines<'a> {
    input: &'a mut dyn BufRead,
    number: u64,
    /// The last line was too long to be skipped; nothing after it is read.
    endless: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(input: &'a mut dyn BufRead) -> Self {
        Self {
            input,
            number: 0,
            endless: false,
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<(u64, Result<String>)>> {
        if self.endless {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let (mut length, mut too_long) = (0_usize, false);
        loop {
            let fail = |source| Error::io("cannot read", "the import", source);
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                other => other.map_err(fail)?,
            };
            if available.is_empty() {
                if bytes.is_empty() && !too_long {
                    return Ok(None);
                }
                break;
            }
            let (taken, ended) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (available.len(), false),
            };
            length = length.saturating_add(taken);
            if length > MAX_LINE_BYTES {
                too_long = true;
                bytes = Vec::new();
            }
            if !too_long {
                bytes.extend_from_slice(available.get(..taken).unwrap_or_default());
            }
            self.input.consume(taken);
            self.endless = length > MAX_SKIPPED_BYTES;
            if ended || self.endless {
                break;
            }
        }
        self.number += 1;
        let text = if self.endless {
            Err(Error::invalid(
                "line",
                format!(
                    "longer than {MAX_SKIPPED_BYTES} bytes; nothing after its beginning was read"
                ),
            ))
        } else if too_long {
            Err(Error::invalid(
                "line",
                format!("longer than {MAX_LINE_BYTES} bytes"),
            ))
        } else {
            String::from_utf8(bytes).map_err(|_| Error::invalid("line", "not valid UTF-8"))
        };
        Ok(Some((self.number, text)))
    }
}

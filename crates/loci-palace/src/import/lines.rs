//! The lines of an import, one at a time, however long the file is.

use std::io::BufRead;

use loci_core::{Error, Result};

/// A longer line is refused instead of being read into memory.
const MAX_LINE_BYTES: usize = 8 << 20;

/// Lines of bounded length; one that is too long or not UTF-8 is an error of that line.
pub(super) struct Lines<'a> {
    pub(super) input: &'a mut dyn BufRead,
    pub(super) number: u64,
}

impl Lines<'_> {
    pub(super) fn next(&mut self) -> Result<Option<(u64, Result<String>)>> {
        let mut bytes = Vec::new();
        let mut too_long = false;
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
            if bytes.len() + taken > MAX_LINE_BYTES {
                too_long = true;
                bytes.clear();
            }
            if !too_long {
                bytes.extend_from_slice(available.get(..taken).unwrap_or_default());
            }
            self.input.consume(taken);
            if ended {
                break;
            }
        }
        self.number += 1;
        let text = if too_long {
            Err(Error::invalid(
                "line",
                format!("longer than {MAX_LINE_BYTES} bytes"),
            ))
        } else {
            String::from_utf8(bytes).map_err(|_| Error::invalid("line", "is not valid UTF-8"))
        };
        Ok(Some((self.number, text)))
    }
}

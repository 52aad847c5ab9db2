//! Copies an input that can be read only once, while it is read.

use std::io::{BufRead, BufReader, Read, Result as IoResult, Write};

use loci_core::{Error, Result};
use tempfile::SpooledTempFile;

/// A longer input is copied to a temporary file.
const IN_MEMORY: usize = 4 << 20;

/// A reader that copies everything it reads.
pub(super) struct Spool<'a> {
    input: &'a mut dyn BufRead,
    copy: SpooledTempFile,
    failed: Option<std::io::Error>,
}

impl<'a> Spool<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead) -> Self {
        Self {
            input,
            copy: SpooledTempFile::new(IN_MEMORY),
            failed: None,
        }
    }

    /// The copy, after the input has been read.
    pub(super) fn finish(self) -> Result<BufReader<SpooledTempFile>> {
        match self.failed {
            Some(source) => Err(Error::io(
                "cannot keep a copy of",
                "the import, which is read twice; a file needs no copy",
                source,
            )),
            None => Ok(BufReader::new(self.copy)),
        }
    }
}

impl Read for Spool<'_> {
    fn read(&mut self, into: &mut [u8]) -> IoResult<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Spool<'_> {
    fn fill_buf(&mut self) -> IoResult<&[u8]> {
        match self.failed {
            // After a failed copy, the input ends here.
            Some(_) => Ok(&[]),
            None => self.input.fill_buf(),
        }
    }

    fn consume(&mut self, bytes: usize) {
        // Buffered bytes are returned again, but copied only once.
        let copied = self.input.fill_buf().and_then(|buffered| {
            let taken = buffered.get(..bytes).unwrap_or(buffered);
            self.copy.write_all(taken)
        });
        if let Err(error) = copied {
            self.failed = Some(error);
        }
        self.input.consume(bytes);
    }
}

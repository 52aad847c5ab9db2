//! Records which log and which log index every process works on.
//!
//! SQLite opens `-wal` and `-shm` by name and creates them if they are missing. If another program
//! removes one of them, processes that have it open continue with the removed file, and a new
//! process creates another. These processes see neither each other's locks nor each other's
//! commits.
//!
//! So `palace.lock` names the two files by device and inode. A connection is used only while its
//! files are the named ones. The record changes only under the exclusive lock. A write holds the
//! shared lock from its last check of the record until after its commit.

use std::path::Path;

use loci_core::{Error, Result};
use loci_files::FileLock;
use loci_files::palace::FileId;

use super::palace_files::{Marks, PalaceFiles};

/// The length of the record at the start of `palace.lock`.
const RECORD_BYTES: usize = 96;

/// The files that the lock names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogFiles {
    log: FileId,
    log_index: FileId,
}

impl LogFiles {
    /// The files under the palace's names, or `None` if one is missing.
    pub(crate) fn of(marks: &Marks) -> Option<Self> {
        Some(Self {
            log: marks.log?.id(),
            log_index: marks.log_index?.id(),
        })
    }

    /// The files that the lock names, or `None` if the record is empty or unreadable.
    pub(crate) fn named_in(lock: &FileLock) -> Option<Self> {
        Self::parse(&lock.note(RECORD_BYTES).ok()?)
    }

    /// The files that the lock at this path names, read without taking the lock.
    pub(crate) fn named_at(lock: &Path) -> Option<Self> {
        Self::parse(&FileLock::note_at(lock, RECORD_BYTES).ok()?)
    }

    /// Whether a process has ever written a record into the lock at this path. A record without
    /// files counts too.
    pub(crate) fn is_recorded_at(lock: &Path) -> bool {
        FileLock::note_at(lock, RECORD_BYTES).is_ok_and(|bytes| is_record(&bytes))
    }

    /// [`LogFiles::is_recorded_at`] for a lock that is held.
    pub(crate) fn is_recorded_in(lock: &FileLock) -> bool {
        lock.note(RECORD_BYTES).is_ok_and(|bytes| is_record(&bytes))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut words = text.split_whitespace();
        if words.next() != Some("log") {
            return None;
        }
        let mut number = || words.next()?.parse().ok();
        Some(Self {
            log: FileId::new(number()?, number()?),
            log_index: FileId::new(number()?, number()?),
        })
    }

    /// Whether these marks have the named log.
    pub(crate) fn has_log_of(&self, marks: &Marks) -> bool {
        marks.log.is_some_and(|log| log.id() == self.log)
    }

    /// Names the files, or none. The caller holds the lock exclusively. The record is short and
    /// written in one call, so a crash leaves the old record or the new one. It is not synced here;
    /// the next process that opens the palace replaces a record that it cannot read.
    pub(crate) fn name_in(files: Option<Self>, lock: &FileLock, place: &PalaceFiles) -> Result<()> {
        let mut record = match files {
            Some(Self { log, log_index }) => format!(
                "log {} {} {} {}",
                log.device(),
                log.inode(),
                log_index.device(),
                log_index.inode()
            ),
            None => "none".to_owned(),
        };
        while record.len() + 1 < RECORD_BYTES {
            record.push(' ');
        }
        record.push('\n');
        lock.set_note(record.as_bytes())
            .map_err(|source| Error::io("cannot write", place.lock(), source))
    }
}

/// Whether these are the first bytes of a record. A power cut may leave zeros, which prove nothing.
fn is_record(bytes: &[u8]) -> bool {
    bytes.starts_with(b"log ") || bytes.starts_with(b"none")
}

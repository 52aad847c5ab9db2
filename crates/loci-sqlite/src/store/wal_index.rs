//! Reads the header of the wal-index (`-shm`) without SQLite.
//!
//! Closing any descriptor of a file drops every POSIX lock that this process holds on it, and SQLite
//! keeps its locks on this file. So a descriptor that was opened here is never closed. One is kept
//! per file, and only logs with a suspect tail have their index read at all.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use loci_salvage::WAL_INDEX_HEADER_BYTES;

static KEPT: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// The header as it is at this moment; `None` if the file is missing, too short or no file.
pub(crate) fn read_header(path: &Path) -> Option<[u8; WAL_INDEX_HEADER_BYTES]> {
    let at_path = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let same = |file: &&File| {
        file.metadata()
            .is_ok_and(|opened| (opened.dev(), opened.ino()) == (at_path.dev(), at_path.ino()))
    };
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut header = [0; WAL_INDEX_HEADER_BYTES];
    if let Some(file) = kept.iter().find(same) {
        file.read_exact_at(&mut header, 0).ok()?;
        return Some(header);
    }
    let file = File::open(path).ok()?;
    let read = file.read_exact_at(&mut header, 0);
    kept.push(file);
    read.ok().map(|()| header)
}

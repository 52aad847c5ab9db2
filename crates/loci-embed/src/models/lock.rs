//! Advisory locks on files that are never unlinked. The kernel drops them with the process.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use loci_core::{Error, Result};

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits until the lock is ours.
    pub(super) fn exclusive(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(|error| Error::io("cannot open", path, error))?;
        file.lock()
            .map_err(|error| Error::io("cannot lock", path, error))?;
        Ok(Self { _file: file })
    }

    /// Waits while somebody holds the lock exclusively. `None` where there is no lock file, or none that may
    /// be read: a look at a directory makes nothing in it.
    pub(super) fn shared(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        file.lock_shared().ok()?;
        Some(Self { _file: file })
    }
}

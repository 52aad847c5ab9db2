//! Advisory locks on files that are never unlinked: `palace.lock` for creation, migration and
//! restore, `index.lock` for building and setting aside. The kernel drops them with the process.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use loci_core::{Error, Result};

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits until the lock is ours.
    pub(crate) fn exclusive(path: &Path) -> Result<Self> {
        let file = open(path)?;
        file.lock()
            .map_err(|source| Error::io("cannot lock", path, source))?;
        Ok(Self { _file: file })
    }

    /// Waits while somebody holds the lock exclusively. `None` where there is no lock file: then
    /// nobody holds it, and a look at a directory makes nothing in it.
    pub(crate) fn shared(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        file.lock_shared().ok()?;
        Some(Self { _file: file })
    }

    /// Takes the lock if nobody holds it.
    pub(crate) fn try_exclusive(path: &Path) -> Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(Error::io("cannot lock", path, source)),
        }
    }
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|source| Error::io("cannot open", path, source))
}

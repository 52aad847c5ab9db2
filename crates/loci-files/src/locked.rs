//! Directories that one process fills, and that the next process removes if it was killed.
//!
//! The process that makes such a directory holds a `flock` on it for as long as it exists. The
//! kernel releases the lock when the process ends, so a directory without a lock was abandoned. The
//! lock is on the directory and not on a file in it, because SQLite locks its files itself.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use crate::{own, owner};

/// The end of the name of every such directory.
const SUFFIX: &str = ".tmp";
/// Attempts to find a name. An attempt fails if another process looks at the new directory before
/// it is locked.
const ATTEMPTS: usize = 100;

/// A directory of this process (0700). Dropping it removes it with everything in it.
#[derive(Debug)]
pub struct LockedDirectory {
    path: PathBuf,
    _lock: File,
}

impl LockedDirectory {
    /// Creates an empty directory `PREFIX` + 16 hexadecimal digits + `.tmp`.
    pub fn create(parent: &Path, prefix: &str) -> Result<Self> {
        for _ in 0..ATTEMPTS {
            let path = parent.join(format!("{prefix}{:016x}{SUFFIX}", fastrand::u64(..)));
            let fail = |source| Error::io("cannot create", &path, source);
            DirBuilder::new().mode(0o700).create(&path).map_err(fail)?;
            // Until this process has the lock, the directory looks abandoned and may be removed.
            // The loop then tries another name.
            let handed_over = owner::hand_over_directory(&path);
            let lock = match handed_over.and_then(|()| own::open(&path)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(fail)?,
            };
            match lock.try_lock() {
                Ok(()) if leads_to(&path, &lock) => return Ok(Self { path, _lock: lock }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => {
                    return Err(Error::io("cannot lock", &path, source));
                }
            }
        }
        Err(Error::Conflict {
            what: format!(
                "working copies in `{}` are removed right after they are created",
                parent.display()
            ),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LockedDirectory {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, "a working directory was not removed; the next process removes it");
            }
            _ => {}
        }
    }
}

/// Removes directories with this prefix that killed processes of this user left in `parent`. Files,
/// links, directories of other users and directories in use stay.
pub fn remove_abandoned(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = entry
            .metadata()
            .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == owner::current());
        if !ours || !name.starts_with(prefix) || !name.ends_with(SUFFIX) {
            continue;
        }
        let path = entry.path();
        let Ok(lock) = own::open(&path) else { continue };
        if lock.try_lock().is_ok() && leads_to(&path, &lock) {
            // We hold the lock, so no process uses the directory or can start to. A crash during
            // the removal leaves a directory without a lock, which the next process removes.
            if let Err(error) = fs::remove_dir_all(&path) {
                tracing::debug!(%error, "an abandoned working directory was not removed");
            }
        }
    }
}

/// Whether the path still leads to the opened file.
pub fn leads_to(path: &Path, opened: &File) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (fs::symlink_metadata(path), opened.metadata()) {
        (Ok(at_path), Ok(opened)) => identity(at_path) == identity(opened),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abandoned_directory_is_removed_and_nothing_else_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("x-1.tmp")).unwrap();
        crate::own::write(&at("x-1.tmp/file"), "text").unwrap();
        fs::create_dir(at("y-1.tmp")).unwrap();
        crate::own::write(&at("x-2.tmp"), "a file").unwrap();
        std::os::unix::fs::symlink(at("y-1.tmp"), at("x-3.tmp")).unwrap();
        let used = LockedDirectory::create(place.path(), "x-").unwrap();
        remove_abandoned(place.path(), "x-");
        assert!(!at("x-1.tmp").exists());
        for kept in [
            at("y-1.tmp"),
            at("x-2.tmp"),
            at("x-3.tmp"),
            used.path().into(),
        ] {
            assert!(fs::symlink_metadata(&kept).is_ok(), "{}", kept.display());
        }
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}

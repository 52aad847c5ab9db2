//! Writes durable files, and replaces a directory by another in one step.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use loci_core::{Error, Result};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Creates a file and syncs it to disk.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    loci_files::own::create_new(path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .map_err(|error| Error::io("cannot write", path, error))
}

/// Syncs the names in a directory to disk.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    loci_files::sync_directory(path).map_err(|error| Error::io("cannot write", path, error))
}

/// Moves `new` to `place` and returns whether something was there. If so, it is then at `new` or at
/// `old`. If the file system cannot exchange directories, a kill between two renames leaves `place`
/// empty and the previous directory at `old`.
pub(super) fn into_place(new: &Path, place: &Path, old: &Path) -> Result<bool> {
    let failed = |error| Error::io("cannot replace", place, error);
    let occupied = place.exists();
    if occupied {
        // Both directories are complete. The exchange is atomic, so a crash leaves the old model or
        // the new one in place.
        match renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => by_two_renames(new, place, old)?,
            Err(errno) => return Err(failed(errno.into())),
        }
    } else {
        // The files of `new` are complete and synced. A crash before this line leaves no model and a
        // directory that the next call removes.
        fs::rename(new, place).map_err(failed)?;
    }
    // The swap must be durable before the caller removes the old directory.
    if let Some(directory) = place.parent() {
        sync_directory(directory)?;
    }
    Ok(occupied)
}

fn by_two_renames(new: &Path, place: &Path, old: &Path) -> Result<()> {
    // If the process is killed between the renames, `ModelStore::sweep` moves `old` back.
    fs::rename(place, old)
        .and_then(|()| fs::rename(new, place))
        .map_err(|error| Error::io("cannot replace", place, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_renames_leave_the_new_directory_in_place_and_the_old_one_beside() {
        let dir = tempfile::tempdir().unwrap();
        let [new, place, old] = ["new", "place", "old"].map(|name| dir.path().join(name));
        fs::create_dir(&new).unwrap();
        fs::create_dir(&place).unwrap();
        write(&new.join("new"), b"").unwrap();
        by_two_renames(&new, &place, &old).unwrap();
        assert!(place.join("new").exists() && old.is_dir() && !new.exists());
    }
}

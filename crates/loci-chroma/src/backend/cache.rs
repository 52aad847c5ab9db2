//! The cache of mirrors, with one directory per source and a subdirectory per state of the source.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::clock;
use tempfile::TempDir;

use super::about::About;

/// The prefix of mirrors that are being built.
const BUILDING: &str = ".building-";
/// Files that a killed process left behind are removed after this time.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// `$XDG_CACHE_HOME/loci/mirrors`; `None` if there is no home directory.
pub(super) fn of_user() -> Option<PathBuf> {
    Some(loci_files::user_cache()?.join("mirrors"))
}

/// Creates a directory for a new mirror that only its owner can read. It is in the system's
/// temporary directory if `shelf` is not writable.
pub(super) fn staging(shelf: Option<&Path>) -> io::Result<TempDir> {
    let made = shelf.map(|shelf| -> io::Result<TempDir> {
        loci_files::create_directory(shelf)?;
        let directory = private(BUILDING).tempdir_in(shelf)?;
        loci_files::owner::hand_over_directory(directory.path())?;
        Ok(directory)
    });
    match made {
        Some(Ok(directory)) => Ok(directory),
        Some(Err(_)) | None => private("loci-mirror-").tempdir(),
    }
}

fn private(prefix: &str) -> tempfile::Builder<'_, '_> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder
}

/// Removes everything from a shelf except the mirror `kept` and the mirrors that other processes
/// are building.
pub(super) fn clear(shelf: &Path, kept: &str) {
    let Ok(entries) = std::fs::read_dir(shelf) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name == kept || (name.starts_with(BUILDING) && !is_abandoned(&entry.path())) {
            continue;
        }
        remove(&entry.path());
    }
}

/// Removes the mirrors of directories that are gone, so that deleted text does not stay in the
/// cache.
pub(super) fn sweep(mirrors: &Path) {
    let Ok(shelves) = std::fs::read_dir(mirrors) else {
        return;
    };
    for shelf in shelves.filter_map(Result::ok) {
        let Ok(kept) = std::fs::read_dir(shelf.path()) else {
            continue;
        };
        let abouts = kept
            .filter_map(Result::ok)
            .map(|entry| About::read(&entry.path()));
        let abouts: Option<Vec<About>> = abouts.collect();
        if abouts.is_some_and(|abouts| abouts.iter().any(About::is_orphaned)) {
            remove(&shelf.path());
        }
    }
}

pub(super) fn remove(path: &Path) {
    // Mirrors are derived: a removed one is built again from its source.
    if let Err(error) = std::fs::remove_dir_all(path) {
        tracing::debug!("cannot remove {}: {error}", path.display());
    }
}

fn is_abandoned(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|info| info.modified());
    changed.is_ok_and(|changed| {
        clock::system_time()
            .duration_since(changed)
            .is_ok_and(|age| age > ABANDONED)
    })
}

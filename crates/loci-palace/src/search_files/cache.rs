//! The cache of searched files: `$XDG_CACHE_HOME/loci/files`, one directory for each set of paths.
//!
//! A directory contains `paths.json` (the paths, for the clean-up) and `palace`. Every part can be
//! deleted at any time, even while it is in use. A directory is renamed before it is removed, so
//! that no process opens a half-removed palace.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{Error, Result, clock};
use loci_mine::walk::FollowLinks;
use tempfile::TempDir;
use uuid::Uuid;

/// The file with the paths of a directory, as JSON. Its modification time is the last use.
const PATHS: &str = "paths.json";
/// Prefix of a directory that is being removed.
const REMOVED: &str = ".removed-";
/// A directory that was not used for this long is removed.
const UNUSED: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// The key of a directory.
pub(super) struct Key<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) follow_links: FollowLinks,
    pub(super) embedder: Option<&'a str>,
}

/// A directory of the cache.
pub(super) struct Entry {
    directory: PathBuf,
    /// Set if there is no cache: the directory is removed after the search.
    temporary: Option<TempDir>,
}

impl Entry {
    /// The directory for these paths. Removes directories whose paths are gone or that are unused.
    pub(super) fn of(key: &Key<'_>) -> Result<Self> {
        let mut paths = Vec::with_capacity(key.paths.len());
        for path in key.paths {
            let full = path.canonicalize();
            paths.push(full.map_err(|error| Error::io("cannot read", path, error))?);
        }
        paths.sort();
        paths.dedup();
        if let Some(files) = directory()
            && loci_files::create_directory(&files).is_ok()
        {
            let entry = files.join(name_of(key, &paths));
            clean_up(&files, &entry);
            if note_use(&entry, &paths).is_ok() {
                return Ok(Self {
                    directory: entry,
                    temporary: None,
                });
            }
        }
        let temporary = tempfile::Builder::new()
            .prefix("loci-files-")
            .tempdir()
            .map_err(|error| Error::io("cannot create", std::env::temp_dir(), error))?;
        Ok(Self {
            directory: temporary.path().to_owned(),
            temporary: Some(temporary),
        })
    }

    /// Where its palace is.
    pub(super) fn palace(&self) -> PathBuf {
        self.directory.join("palace")
    }

    /// Whether something that is not a palace has the place of the palace or of its lock.
    pub(super) fn is_blocked(&self) -> bool {
        let palace = self.palace();
        let is_other = |path: &Path, is_expected: fn(&fs::Metadata) -> bool| {
            fs::symlink_metadata(path).is_ok_and(|metadata| !is_expected(&metadata))
        };
        is_other(&palace, fs::Metadata::is_dir)
            || is_other(&palace.join("palace.lock"), fs::Metadata::is_file)
    }

    /// Removes the palace.
    pub(super) fn discard(&self) -> Result<()> {
        // Beside the entries, where the clean-up finds what a kill leaves.
        let beside = match self.temporary {
            Some(_) => &self.directory,
            None => self.directory.parent().unwrap_or(&self.directory),
        };
        remove(&self.palace(), beside)
            .map_err(|error| Error::io("cannot remove", self.palace(), error))
    }
}

/// Removes the whole cache. Returns the removed directories.
pub(crate) fn remove_all() -> Result<Vec<PathBuf>> {
    let Some(files) = directory() else {
        return Ok(Vec::new());
    };
    let mut removed = Vec::new();
    for path in entries(&files).map_err(|error| Error::io("cannot list", &files, error))? {
        remove(&path, &files).map_err(|error| Error::io("cannot remove", &path, error))?;
        removed.push(path);
    }
    removed.sort();
    Ok(removed)
}

fn directory() -> Option<PathBuf> {
    Some(loci_files::user_cache()?.join("files"))
}

fn name_of(key: &Key<'_>, paths: &[PathBuf]) -> String {
    let mut hash = blake3::Hasher::new();
    for path in paths {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update(b"\0");
    }
    hash.update(format!("{:?}\0{:?}", key.follow_links, key.embedder).as_bytes());
    hash.finalize().to_hex().chars().take(32).collect()
}

/// Creates the directory of an entry, and records its use.
fn note_use(entry: &Path, paths: &[PathBuf]) -> io::Result<()> {
    loci_files::create_directory(entry)?;
    // Another process may read the file to decide whether to remove the entry, so the file must
    // be complete when it appears under its name.
    let new = entry.join(format!("{PATHS}.{}", Uuid::new_v4()));
    let names: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    loci_files::own::create_with(&new, &options)?.write_all(&serde_json::to_vec(&names)?)?;
    // Not synced: the cache is derived. After a power cut the entry may lack this file, and is then
    // removed when it is old.
    fs::rename(&new, entry.join(PATHS))
}

/// Removes entries that are not needed any more. A later call retries those that cannot be removed.
fn clean_up(files: &Path, in_use: &Path) {
    for path in entries(files).unwrap_or_default() {
        if path == in_use || !(is_removed(&path) || is_orphaned(&path) || is_unused(&path)) {
            continue;
        }
        if let Err(error) = remove(&path, files) {
            tracing::debug!("cannot remove {}: {error}", path.display());
        }
    }
}

/// Whether the removal of this entry was interrupted.
fn is_removed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with(REMOVED)
}

/// Whether none of its paths exists. The text of a deleted folder must not stay in the cache.
fn is_orphaned(entry: &Path) -> bool {
    let text = loci_files::own::read_to_string(&entry.join(PATHS));
    let paths: Option<Vec<PathBuf>> = text.ok().and_then(|text| serde_json::from_str(&text).ok());
    let is_gone = |path: &PathBuf| path.try_exists().is_ok_and(|exists| !exists);
    paths.is_some_and(|paths| !paths.is_empty() && paths.iter().all(is_gone))
}

fn is_unused(entry: &Path) -> bool {
    let used = fs::metadata(entry.join(PATHS)).or_else(|_| fs::metadata(entry));
    let age = used
        .and_then(|file| file.modified())
        .map(|used| clock::system_time().duration_since(used));
    matches!(age, Ok(Ok(age)) if age > UNUSED)
}

/// All entries of the cache; empty if there is no cache.
fn entries(files: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(files) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Renames a directory within `beside`, then removes it, so that a process that opens it meanwhile
/// finds all of it or nothing.
fn remove(path: &Path, beside: &Path) -> io::Result<()> {
    let doomed = if is_removed(path) {
        path.to_owned()
    } else {
        let doomed = beside.join(format!("{REMOVED}{}", Uuid::new_v4()));
        // A crash after this line leaves a directory whose name says that its removal began. The next
        // call continues.
        match fs::rename(path, &doomed) {
            Ok(()) => doomed,
            // Another process removed it first.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    };
    let removed = match fs::symlink_metadata(&doomed) {
        Ok(metadata) if !metadata.is_dir() => fs::remove_file(&doomed),
        _ => fs::remove_dir_all(&doomed),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

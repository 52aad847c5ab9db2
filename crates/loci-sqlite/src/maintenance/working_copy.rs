//! Working copies: private copies of stored text that exist only while a process works with them.
//!
//! A copy is a directory `copy-PURPOSE-PID-RANDOM.tmp` (0700) in the palace. The process that makes
//! it holds a `flock` on the directory for as long as it exists. The kernel releases the lock when
//! the process ends, so a directory without a lock was abandoned, and the next process removes it.
//! The lock is on the directory and not on the file in it, because SQLite locks the file itself.

use std::fmt;
use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loci_core::{Error, Result};
use loci_files::locked::{self, LockedDirectory, leads_to};
use loci_files::{foreign, own};
use rusqlite::{Connection, OpenFlags};

use super::{backup, free_path};
use crate::fault::Attempt;
use crate::store::Store;
use crate::store::palace_files::{PalaceFiles, sync_directory};

const PREFIX: &str = "copy-";
/// Prefix of working copies of older builds: files, which nobody locks.
const OLD_PREFIX: &str = "verify-";
const SUFFIX: &str = ".tmp";
/// The pause between two checks of the copies of others.
const POLL: Duration = Duration::from_millis(10);

/// The purpose of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The check of the postings.
    Verify,
    /// The copy that is kept of a palace before a repair changes it.
    Repair,
    /// The copy that is kept of a damaged log.
    Log,
    /// The copy of a palace that its reader cannot write.
    Reader,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Repair => "repair",
            Self::Log => "log",
            Self::Reader => "reader",
        }
    }
}

/// A copy that a process is using.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveCopy {
    name: String,
}

impl fmt::Display for LiveCopy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.name.trim_start_matches(PREFIX).split('-');
        match (parts.next(), parts.next()) {
            (Some(purpose), Some(pid)) => write!(
                out,
                "process {pid} (`{purpose}`) still holds the working copy `{}`",
                self.name
            ),
            _ => write!(
                out,
                "a process still holds the working copy `{}`",
                self.name
            ),
        }
    }
}

/// A copy of this process. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct WorkingCopy {
    directory: LockedDirectory,
}

impl WorkingCopy {
    /// Makes an empty copy. The text must be read after this call, so that a `forget` that commits
    /// in between finds the copy.
    pub(crate) fn create(place: &PalaceFiles, purpose: Purpose) -> Result<Self> {
        Self::create_in(&place.directory, purpose)
    }

    /// [`WorkingCopy::create`] in any directory.
    pub(crate) fn create_in(parent: &Path, purpose: Purpose) -> Result<Self> {
        let prefix = format!("{PREFIX}{}-{}-", purpose.as_str(), std::process::id());
        let directory = LockedDirectory::create(parent, &prefix)?;
        Ok(Self { directory })
    }

    /// The directory of the copy.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The file of the copy.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("copy")
    }

    /// Fills the copy with one state of the palace, and syncs it.
    pub(crate) fn of_palace(store: &Store, purpose: Purpose) -> Result<Self> {
        let copy = Self::create(&store.place, purpose)?;
        backup::copy_to(store, &copy.file())?;
        Ok(copy)
    }

    /// Returns a connection to the copy and unlinks it. A kill from here on leaves nothing, and no
    /// `forget` needs to wait for it.
    #[expect(clippy::disallowed_methods, reason = "a private copy")]
    pub(crate) fn into_connection(self) -> Attempt<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(self.file(), flags)?;
        // No file may appear beside a file that has no name.
        db.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
        db.pragma_update(None, "temp_store", "MEMORY")?;
        db.pragma_update(None, "trusted_schema", false)?;
        db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        // SQLite has the file open, so it can be unlinked. A kill before that leaves a directory
        // without a lock, which the next process removes.
        self.remove()?;
        Ok(db)
    }

    /// Gives the complete and synced copy the name `target`. Returns false if that name is taken;
    /// the copy then stays as it is.
    pub(crate) fn publish(&self, target: &Path) -> Result<bool> {
        // The lock is held until the name exists, so a `forget` that waits for this copy finds the
        // file under its new name afterwards. A kill between link and unlink leaves both names, and
        // the working one counts as abandoned. A rename would replace a file that has appeared in
        // the meantime.
        let linked = match fs::hard_link(self.file(), target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            // Not every file system has hard links.
            Err(_) => fs::rename(self.file(), target),
            Ok(()) => Ok(()),
        };
        linked.map_err(|source| Error::io("cannot create", target, source))?;
        if let Some(parent) = target.parent() {
            // The new name is durable before the working one is unlinked.
            sync_directory(parent)?;
        }
        self.remove()?;
        Ok(true)
    }

    fn remove(&self) -> Result<()> {
        remove(self.directory.path())
    }
}

/// Keeps a copy of the palace as `STEM-TIME` in its directory.
pub(crate) fn keep_palace(store: &Store, stem: &str) -> Result<PathBuf> {
    let copy = WorkingCopy::of_palace(store, Purpose::Repair)?;
    loop {
        let target = free_path(&store.place.directory, stem);
        if copy.publish(&target)? {
            return Ok(target);
        }
    }
}

/// Keeps a copy of a log as `target`, unless that exists.
pub(crate) fn keep_log(place: &PalaceFiles, log: &Path, target: &Path) -> Result<()> {
    let copy = WorkingCopy::create(place, Purpose::Log)?;
    // The copy keeps the mode of the log, 0600. Its content is synced before it gets the name that
    // says it is complete.
    foreign::copy(log, &copy.file())
        .and_then(|_| own::open(&copy.file())?.sync_all())
        .map_err(|source| Error::io("cannot keep the damaged log as", target, source))?;
    copy.publish(target).map(|_| ())
}

/// Removes abandoned copies and returns their names.
pub(crate) fn remove_abandoned(place: &PalaceFiles) -> Result<Vec<String>> {
    Ok(find_copies(place)?.removed)
}

/// Removes copies of read-only palaces that killed readers of this user left in a directory. Other
/// users may share the directory.
pub(crate) fn remove_abandoned_readers(parent: &Path) {
    let prefix = format!("{PREFIX}{}-", Purpose::Reader.as_str());
    locked::remove_abandoned(parent, &prefix);
}

/// Like [`remove_abandoned`], for callers with other work to do. A failure is logged.
pub(crate) fn tidy(place: &PalaceFiles) {
    if let Err(error) = remove_abandoned(place) {
        tracing::warn!(%error, "an abandoned working copy was not removed");
    }
}

/// Waits until the copies that exist at this moment are gone, up to `limit`. Returns those that are
/// still in use. Copies that are made later do not count, because they are made of the current
/// palace.
pub(crate) fn wait_for_others(place: &PalaceFiles, limit: Duration) -> Result<Vec<LiveCopy>> {
    let since = Instant::now();
    let mut live = find_copies(place)?.live;
    while !live.is_empty() && since.elapsed() < limit {
        std::thread::sleep(POLL);
        let now = find_copies(place)?.live;
        live.retain(|copy| now.contains(copy));
    }
    Ok(live)
}

struct FoundCopies {
    removed: Vec<String>,
    live: Vec<LiveCopy>,
}

fn find_copies(place: &PalaceFiles) -> Result<FoundCopies> {
    let mut found = FoundCopies {
        removed: Vec::new(),
        live: Vec::new(),
    };
    let Ok(entries) = fs::read_dir(&place.directory) else {
        return Ok(found);
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = [PREFIX, OLD_PREFIX]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        // Nothing else is opened: a pipe would block, and a link would lead elsewhere.
        let openable = entry
            .file_type()
            .is_ok_and(|kind| kind.is_dir() || kind.is_file());
        if !ours || !name.ends_with(SUFFIX) || !openable {
            continue;
        }
        let path = entry.path();
        let lock = match own::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(|source| Error::io("cannot open", &path, source))?,
        };
        match lock.try_lock() {
            Ok(()) if leads_to(&path, &lock) => {
                // We hold the lock, so no process uses the copy or can start to. A crash during the
                // removal leaves a directory without a lock, which the next process removes.
                remove(&path)?;
                found.removed.push(name);
            }
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => found.live.push(LiveCopy { name }),
            Err(TryLockError::Error(source)) => {
                return Err(Error::io("cannot lock", &path, source));
            }
        }
    }
    Ok(found)
}

/// Removes a file or directory that nothing refers to, such as an abandoned copy. A crash in between
/// leaves a part that nobody locks, and the next process removes it.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove", path, error))
        }
        _ => Ok(()),
    }
}

//! Palaces that this process can read but not write: another user's, or one on a read-only file
//! system.
//!
//! Another user's palace is read-only even if its files may be written. The files that this process
//! creates in it would belong to this user, with mode 0600, and the owner could not open the palace
//! any more. Only root can give files to the owner.
//!
//! SQLite needs to write to files beside a database with a log, even to read it. `immutable=1`
//! avoids that, but it is correct only if nobody writes the files, and that cannot be known: a
//! mount that is read-only here may be written elsewhere. So such a palace is read through a
//! private copy. The copy is made under `palace.lock`, belongs to one process, and is removed when
//! that process ends. If the process is killed, the next process that makes a copy removes it,
//! because nobody holds its lock.
//!
//! Index files are not copied. Searches compare all vectors, and no index is built.

use std::fs::{self, Metadata};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use loci_core::{Error, Result, Warning, clock};
use loci_files::scratch::Scratch;
use loci_files::{FileLock, LOCK_LIMIT, create_directory, foreign, own, owner};
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::lost;
use super::palace_files::{DATABASE, PalaceFiles};
use crate::maintenance::working_copy::{Purpose, WorkingCopy, remove_abandoned_readers};

/// How long a file system with precise file times may take to show a change.
const FINE: Duration = Duration::from_millis(50);
/// The same for file times in whole milliseconds or seconds.
const COARSE: Duration = Duration::from_millis(2_500);
/// How long a copy without a lock is tried again while the files change.
const UNLOCKED_LIMIT: Duration = Duration::from_secs(5);

/// Why this process cannot write the palace, or `None` if it can, or if there is no palace.
pub(crate) fn reason(place: &PalaceFiles) -> Result<Option<String>> {
    let [log, log_index] = place.companions();
    if !fs::metadata(&place.database).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    for path in [&place.database, &log] {
        if let Err(Errno::ACCESS | Errno::PERM) = access(path, Access::READ_OK) {
            let problem = format!("this user may not read it{}", owner_note(path));
            let source = io::Error::new(io::ErrorKind::PermissionDenied, problem);
            return Err(Error::io("cannot read", path, source));
        }
    }
    let files = [
        &place.directory,
        &place.database,
        &log,
        &log_index,
        &place.lock(),
    ];
    for path in files {
        match access(path, Access::WRITE_OK) {
            Err(Errno::ROFS) => {
                let reason = "it is on a file system that is mounted read-only";
                return Ok(Some(reason.to_owned()));
            }
            Err(Errno::ACCESS | Errno::PERM) => {
                let (name, owner) = (path.display(), owner_note(path));
                return Ok(Some(format!("this user may not write `{name}`{owner}")));
            }
            _ => {}
        }
    }
    Ok(not_owned(place))
}

/// Why a palace must not be written although its permissions allow it: it belongs to another user,
/// and this user is not root. The owner is the user who owns the database. The owner of the
/// directory may write it too, because a directory of root may hold a user's palace, as mounted
/// volumes do.
fn not_owned(place: &PalaceFiles) -> Option<String> {
    let owner_of = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.uid());
    let me = owner::current();
    let owner = owner_of(&place.database).or_else(|| owner_of(&place.lock()))?;
    if owner::is_root() || owner == me || owner_of(&place.directory) == Some(me) {
        return None;
    }
    let (owner, me) = (owner::named(owner), owner::named(me));
    Some(format!(
        "it belongs to {owner}, and the owner could not open files that {me} creates in it"
    ))
}

/// The warning for every reader of such a palace.
pub(crate) fn warning(place: &PalaceFiles, reason: &str) -> Warning {
    Warning::ReadOnly {
        path: place.directory.clone(),
        reason: reason.to_owned(),
    }
}

/// Refuses a palace that cannot be written, before anything is done.
pub(crate) fn refuse(place: &PalaceFiles) -> Result<()> {
    // A palace without a database still has an owner.
    match reason(place)?.or_else(|| not_owned(place)) {
        None => Ok(()),
        Some(reason) => Err(Error::ReadOnly {
            path: place.directory.clone(),
            reason,
        }),
    }
}

/// Returns `, which belongs to …` for a file of another user.
fn owner_note(path: &Path) -> String {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.uid() != owner::current() => {
            format!(", which belongs to {}", owner::named(metadata.uid()))
        }
        _ => String::new(),
    }
}

/// A private copy of a palace, for one process. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct PrivateCopy {
    origin: PalaceFiles,
    reason: String,
    copied: Fingerprint,
    directory: WorkingCopy,
    /// Dropped after the directory is removed.
    _scratch: Scratch,
}

impl PrivateCopy {
    /// Copies the current state of the palace.
    pub(crate) fn of(origin: PalaceFiles, reason: String) -> Result<Self> {
        let directory = private_directory()?;
        let scratch = Scratch::register(directory.directory());
        let copied = copy(&origin, directory.directory())?;
        Ok(Self {
            origin,
            reason,
            copied,
            directory,
            _scratch: scratch,
        })
    }

    /// The palace that was copied.
    pub(crate) fn origin(&self) -> &PalaceFiles {
        &self.origin
    }

    /// The copy.
    pub(crate) fn place(&self) -> PalaceFiles {
        PalaceFiles::new(self.directory.directory())
    }

    /// Whether the palace is unchanged since it was copied. A change within the resolution of the
    /// file times may be invisible, so a copy of files that had just changed does not count as
    /// current.
    pub(crate) fn is_current(&self) -> bool {
        self.copied.is_settled()
            && Fingerprint::of(&self.origin).is_ok_and(|now| now.is_same(&self.copied))
    }

    /// The error for every write.
    pub(crate) fn refusal(&self) -> Error {
        Error::ReadOnly {
            path: self.origin.directory.clone(),
            reason: self.reason.clone(),
        }
    }

    /// The warning for every reader.
    pub(crate) fn warning(&self) -> Warning {
        warning(&self.origin, &self.reason)
    }

    /// Replaces the path of the copy in an error by the path of the palace.
    pub(crate) fn at_origin(&self, error: Error) -> Error {
        let moved = |path: PathBuf| match path.strip_prefix(self.directory.directory()) {
            Ok(rest) if rest.as_os_str().is_empty() => self.origin.directory.clone(),
            Ok(rest) => self.origin.directory.join(rest),
            Err(_) => path,
        };
        match error {
            Error::PalaceNotFound { path } => Error::PalaceNotFound { path: moved(path) },
            Error::Corrupt { what, path, detail } => Error::Corrupt {
                what,
                path: moved(path),
                detail,
            },
            Error::NewerFormat {
                path,
                found,
                supported,
            } => Error::NewerFormat {
                path: moved(path),
                found,
                supported,
            },
            Error::BackendMismatch { path, found, asked } => Error::BackendMismatch {
                path: moved(path),
                found,
                asked,
            },
            error => error,
        }
    }
}

/// An empty directory in the user's cache, or in the system's directory for temporary files.
fn private_directory() -> Result<WorkingCopy> {
    let readers = loci_files::user_cache().map(|cache| cache.join("readers"));
    if let Some(readers) = readers
        && create_directory(&readers).is_ok()
    {
        remove_abandoned_readers(&readers);
        if let Ok(copy) = WorkingCopy::create_in(&readers, Purpose::Reader) {
            return Ok(copy);
        }
    }
    let temporary = std::env::temp_dir();
    remove_abandoned_readers(&temporary);
    WorkingCopy::create_in(&temporary, Purpose::Reader)
}

/// Copies database and log as of one moment. Every process that changes one of them holds the lock
/// shared, so they are copied under the exclusive lock. A database that has not changed lately is
/// copied after the lock is released: writers continue and append to the log. If the database
/// changes after all, the copy is made again under the lock.
fn copy(origin: &PalaceFiles, to: &Path) -> Result<Fingerprint> {
    let since = Instant::now();
    let [log, _] = origin.companions();
    let [log_copy, _] = PalaceFiles::new(to).companions();
    let mut first = true;
    loop {
        let mut lock = FileLock::exclusive_if_present(&origin.lock(), LOCK_LIMIT)?;
        let had_lock = lock.is_some();
        let before = Fingerprint::of(origin)?;
        if lost::is_empty(origin) {
            lost::refuse(origin)?;
        }
        let Some(database) = before.database else {
            return Err(Error::PalaceNotFound {
                path: origin.directory.clone(),
            });
        };
        let is_quiet = database.is_settled(before.at);
        // The log is copied first, and under the lock if there is one. Commits that follow are
        // appended to the original log and are not in the copy. Only a checkpoint changes the
        // database, and that is detected below.
        copy_file(&log, &log_copy)?;
        if is_quiet && first {
            lock = None;
        }
        copy_file(&origin.database, &to.join(DATABASE))?;
        let after = Fingerprint::of(origin)?;
        let same_database = is_quiet && before.database == after.database;
        let same_log = had_lock || (before.is_settled() && before.log == after.log);
        if lock.is_some() || (same_database && same_log) {
            return Ok(before);
        }
        first = false;
        if since.elapsed() > UNLOCKED_LIMIT && !had_lock {
            return Err(Error::Busy {
                what: format!(
                    "copying the read-only palace `{}`, which other processes keep writing",
                    origin.directory.display()
                ),
                waited: since.elapsed(),
            });
        }
        std::thread::sleep(FINE);
    }
}

/// Copies a file to a private one and replaces an earlier copy. If the file is missing, there is no
/// copy.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let fail = |source| Error::io("cannot write", to, source);
    // This removes the earlier private copy, never a file of the palace. The new file is created
    // exclusively, so the old one must go first.
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    let mut source = match foreign::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(|source| Error::io("cannot read", from, source))?,
    };
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    let mut target =
        BufWriter::with_capacity(1 << 20, own::create_with(to, &options).map_err(fail)?);
    io::copy(&mut source, &mut target)
        .and_then(|_| target.flush())
        .map_err(fail)
}

/// The `stat` data of the files of a palace that change when it is written.
#[derive(Debug, Clone, Copy)]
struct Fingerprint {
    database: Option<Stamp>,
    log: Option<Stamp>,
    /// When the files were checked, since 1970.
    at: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Fingerprint {
    fn of(place: &PalaceFiles) -> Result<Self> {
        let [log, _] = place.companions();
        // The clock is read first, so that a later change counts as new.
        let at = clock::system_time()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            database: Stamp::of(&place.database)?,
            log: Stamp::of(&log)?,
            at,
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.database == other.database && self.log == other.log
    }

    /// Whether a change after this check would show in the file times.
    fn is_settled(&self) -> bool {
        [self.database, self.log]
            .iter()
            .flatten()
            .all(|stamp| stamp.is_settled(self.at))
    }
}

impl Stamp {
    fn of(path: &Path) -> Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::from(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("cannot read the metadata of", path, error)),
        }
    }

    /// Whether a change after `at` would give the file another time. A change within the resolution
    /// of the clock might not.
    fn is_settled(&self, at: Duration) -> bool {
        let (seconds, nanoseconds) = self.modified.max(self.changed);
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u64::try_from(nanoseconds))
        else {
            return true;
        };
        let resolution = match nanoseconds % 1_000_000 {
            0 => COARSE,
            _ => FINE,
        };
        let stamp = Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanoseconds));
        stamp.abs_diff(at) > resolution
    }
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

//! Advisory locks (`flock`) on files that are never removed. The kernel releases them when the
//! process ends.
//!
//! Every wait has a deadline, so that a stopped process cannot block all others. After the
//! deadline, the error names the process that holds the lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use loci_core::{Error, Result};
use rustix::fs::OFlags;

use crate::palace::FileId;
use crate::{holders, own};

/// How long a process waits for a lock by default.
pub const LOCK_LIMIT: Duration = Duration::from_secs(30);
/// The longest pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A symlink with the name of a lock file is not followed, and the open does not wait for a pipe.
const FLAGS: i32 = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .bits()
    .cast_signed();

/// A held lock. Dropping it releases the lock.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Shared,
    Exclusive,
}

impl FileLock {
    /// Takes the lock exclusively. Waits for other processes up to [`LOCK_LIMIT`].
    pub fn exclusive(path: &Path) -> Result<Self> {
        Self::exclusive_within(path, LOCK_LIMIT)
    }

    /// [`FileLock::exclusive`] with another limit.
    pub fn exclusive_within(path: &Path, limit: Duration) -> Result<Self> {
        take(path, Mode::Exclusive, limit, &open).map(|file| Self { file })
    }

    /// Takes the lock in shared mode. Waits while a process holds it exclusively, up to
    /// [`LOCK_LIMIT`]. `None` if there is no lock file, or none that may be read. In that case
    /// nobody holds the lock, and the directory is not changed.
    pub fn shared(path: &Path) -> Result<Option<Self>> {
        Self::shared_within(path, LOCK_LIMIT)
    }

    /// [`FileLock::shared`] with another limit.
    pub fn shared_within(path: &Path, limit: Duration) -> Result<Option<Self>> {
        match take(path, Mode::Shared, limit, &open_existing) {
            Ok(file) => Ok(Some(Self { file })),
            Err(Error::Io { source, .. })
                if matches!(
                    source.kind(),
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// [`FileLock::exclusive_within`] on a lock file that this process may only read. `None` if
    /// there is no lock file, if it may not be read, or if the file system requires write
    /// permission for an exclusive lock.
    pub fn exclusive_if_present(path: &Path, limit: Duration) -> Result<Option<Self>> {
        match take(path, Mode::Exclusive, limit, &open_existing) {
            Ok(file) => Ok(Some(Self { file })),
            Err(Error::Io { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the lock in shared mode without waiting. Creates the file.
    pub fn try_shared(path: &Path) -> Result<Option<Self>> {
        none_if_busy(take(path, Mode::Shared, Duration::ZERO, &open))
    }

    /// Takes the lock without waiting; `None` if another process holds it.
    pub fn try_exclusive(path: &Path) -> Result<Option<Self>> {
        none_if_busy(take(path, Mode::Exclusive, Duration::ZERO, &open))
    }

    /// The first bytes of the lock file, at most `limit`.
    pub fn note(&self, limit: usize) -> std::io::Result<Vec<u8>> {
        read_note(&self.file, limit)
    }

    /// [`FileLock::note`] without taking the lock.
    pub fn note_at(path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
        read_note(&open_existing(path)?, limit)
    }

    /// Writes the first bytes of the lock file in one call. Requires the exclusive lock.
    pub fn set_note(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all_at(bytes, 0)
    }

    /// Makes the bytes that [`FileLock::set_note`] wrote durable.
    pub fn sync(&self) -> std::io::Result<()> {
        self.file.sync_data()
    }

    /// Waits until nobody holds the lock exclusively, up to `limit`.
    pub fn wait(path: &Path, limit: Duration) -> Result<()> {
        Self::shared_within(path, limit).map(drop)
    }
}

fn none_if_busy(taken: Result<File>) -> Result<Option<FileLock>> {
    match taken {
        Ok(file) => Ok(Some(FileLock { file })),
        Err(Error::Locked { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn take(
    path: &Path,
    mode: Mode,
    limit: Duration,
    open: &dyn Fn(&Path) -> std::io::Result<File>,
) -> Result<File> {
    let since = Instant::now();
    let mut attempt = 0_u32;
    loop {
        let file = open(path).map_err(|source| Error::io("cannot open", path, source))?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            let source = std::io::Error::other("it is not a regular file");
            return Err(Error::io("cannot lock", path, source));
        }
        let taken = match mode {
            Mode::Shared => file.try_lock_shared(),
            Mode::Exclusive => file.try_lock(),
        };
        match taken {
            // If the lock file was removed and created again, the new file is another lock: take
            // that one.
            Ok(()) if is_still_at(&file, path) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if since.elapsed() >= limit => {
                return Err(busy(path, limit));
            }
            Err(TryLockError::WouldBlock) => {
                // Jitter keeps processes that failed at the same time from retrying at the same
                // time.
                let ceiling = (1_u64 << attempt.min(5)).min(PAUSE.as_millis() as u64);
                let pause = Duration::from_micros(fastrand::u64(200..=ceiling * 1_000));
                std::thread::sleep(pause.min(limit));
                attempt += 1;
            }
            Err(TryLockError::Error(source)) => {
                return Err(Error::io("cannot lock", path, source));
            }
        }
    }
}

fn read_note(file: &File, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; limit];
    let length = file.read_at(&mut bytes, 0)?;
    bytes.truncate(length);
    Ok(bytes)
}

fn is_still_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    FileId::of(&open) == FileId::of(&named)
}

fn busy(path: &Path, waited: Duration) -> Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let holders = holders::holders_of([path]);
    Error::Locked {
        lock: format!("`{name}`"),
        holder: holders::listed(&holders).unwrap_or_else(|| "another process".into()),
        waited,
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(FLAGS);
    own::open_or_create(path, &options)
}

fn open_existing(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(FLAGS);
    own::open_with(path, &options)
}

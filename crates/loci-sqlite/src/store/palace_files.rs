//! The files of a palace: where they are, how they are created, and how a replaced file is
//! detected. Existing files are only examined with `stat`, because closing a descriptor drops
//! SQLite's locks on the file.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loci_core::{Error, Result};
use loci_files::owner::with_owner;
use loci_files::palace::FileId;

/// Name of the database file.
pub(crate) const DATABASE: &str = "palace.sqlite3";

/// The files of one palace.
#[derive(Debug, Clone)]
pub(crate) struct PalaceFiles {
    pub(crate) directory: PathBuf,
    pub(crate) database: PathBuf,
}

impl PalaceFiles {
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.into(),
            database: directory.join(DATABASE),
        }
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.directory.join("palace.lock")
    }

    pub(crate) fn restore_lock(&self) -> PathBuf {
        self.directory.join("restore.lock")
    }

    pub(crate) fn index_lock(&self) -> PathBuf {
        self.directory.join("index.lock")
    }

    pub(crate) fn index_directory(&self) -> PathBuf {
        self.directory.join("index")
    }

    /// `-wal` and `-shm`.
    pub(crate) fn companions(&self) -> [PathBuf; 2] {
        ["-wal", "-shm"].map(|suffix| self.directory.join(format!("{DATABASE}{suffix}")))
    }

    /// Creates the directory (mode 0700) unless it exists.
    pub(crate) fn ensure_directory(&self) -> Result<()> {
        ensure_private_directory(&self.directory)
    }

    /// Creates an empty database file (mode 0600) unless one exists. SQLite gives `-wal` and `-shm`
    /// the same mode.
    pub(crate) fn ensure_database_file(&self) -> Result<()> {
        let mut options = fs::OpenOptions::new();
        options.write(true).mode(0o600);
        match loci_files::own::create_with(&self.database, &options) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Error::io("cannot create", &self.database, error)),
        }
    }

    /// The identity of the database, its log and the log index, or `None` if there is no database.
    /// Uses `stat` alone, because opening and closing a file would drop SQLite's POSIX locks in
    /// this process.
    pub(crate) fn marks(&self) -> Result<Option<Marks>> {
        let Some(database) = self.mark()? else {
            return Ok(None);
        };
        let [log, log_index] = self.companions();
        Ok(Some(Marks {
            database,
            log: mark_of(&log, 0)?,
            log_index: mark_of(&log_index, LOG_INDEX_BYTES)?,
        }))
    }

    /// The identity of the database file, or `None` if there is none.
    pub(crate) fn mark(&self) -> Result<Option<FileMark>> {
        match fs::symlink_metadata(&self.database) {
            Ok(metadata) if metadata.is_file() => Ok(Some(FileMark::of(&metadata))),
            Ok(metadata) if metadata.is_symlink() => Err(self.link_refused()),
            Ok(_) => Err(Error::Corrupt {
                what: "the database".into(),
                path: self.database.clone(),
                detail: "it is not a file".into(),
            }),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(Error::io(
                "cannot read the metadata of",
                &self.database,
                with_owner(error, &self.directory),
            )),
        }
    }
}

impl PalaceFiles {
    /// The error for a database that is a symbolic link. SQLite keeps the log beside the target of
    /// the link, where it may belong to another palace with another lock.
    fn link_refused(&self) -> Error {
        let target = fs::read_link(&self.database).unwrap_or_default();
        Error::invalid(
            format!("palace `{}`", self.directory.display()),
            format!(
                "its `{DATABASE}` is a symbolic link to `{}`; name the directory of that file as \
                 the palace instead, or make a link to that directory",
                target.display()
            ),
        )
    }
}

/// Creates a directory with mode 0700 unless it exists. Its name is durable when this returns.
pub(crate) fn ensure_private_directory(path: &Path) -> Result<()> {
    match loci_files::create_directory(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::invalid(
            format!("palace `{}`", path.display()),
            "is a file, not a directory",
        )),
        Err(error) => Err(Error::io("cannot create", path, error)),
    }
}

/// Syncs a directory. Until this returns, a power cut can undo the creation, rename or removal of a
/// file in it.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    loci_files::sync_directory(path).map_err(|source| Error::io("cannot sync", path, source))
}

/// The smallest length of a `-shm` file that SQLite has set up. A shorter file was truncated, or is
/// being created.
const LOG_INDEX_BYTES: u64 = 32 << 10;

/// The identities of the three files that a connection works on. A process that works on another
/// log, or on another index of the same log, does not see our locks, and we do not see its commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) database: FileMark,
    /// `palace.sqlite3-wal`.
    pub(crate) log: Option<FileMark>,
    /// `palace.sqlite3-shm`; `None` also if it is too short to be one.
    pub(crate) log_index: Option<FileMark>,
}

impl Marks {
    /// The identities of the files that exist, the database first.
    pub(crate) fn ids(&self) -> Vec<FileId> {
        let files = [Some(self.database), self.log, self.log_index];
        files.iter().flatten().map(FileMark::id).collect()
    }

    /// Whether SQLite has nothing to create when it opens the database.
    pub(crate) fn are_complete(&self) -> bool {
        self.log.is_some() && self.log_index.is_some()
    }
}

fn mark_of(path: &Path, least_bytes: u64) -> Result<Option<FileMark>> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(Error::Corrupt {
            what: "the log".into(),
            path: path.into(),
            detail: "it is not a file".into(),
        }),
        Ok(metadata) => Ok((metadata.len() >= least_bytes).then(|| FileMark::of(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("cannot read the metadata of", path, error)),
    }
}

/// Identity of a file as `stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileMark {
    device: u64,
    inode: u64,
    /// Inode numbers are reused; the time of creation, where the file system has one, tells files
    /// apart.
    created: Option<SystemTime>,
    /// Set only if the file system has no inode numbers. Any change of length or time then counts
    /// as another file, which costs a reopen and never gives a wrong answer.
    fallback: Option<(u64, i64, i64)>,
}

impl FileMark {
    /// Device and inode.
    pub(crate) fn id(&self) -> FileId {
        FileId::new(self.device, self.inode)
    }

    fn of(metadata: &fs::Metadata) -> Self {
        let inode = metadata.ino();
        let fallback =
            (inode == 0).then(|| (metadata.len(), metadata.mtime(), metadata.mtime_nsec()));
        Self {
            device: metadata.dev(),
            inode,
            created: metadata.created().ok(),
            fallback,
        }
    }
}

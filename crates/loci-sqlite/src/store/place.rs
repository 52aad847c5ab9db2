//! Where the files of a palace are, how they are created, and how a replaced database is noticed.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loci_core::{Error, Result};

/// Name of the database file.
pub(crate) const DATABASE: &str = "palace.sqlite3";

/// The files of one palace.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) database: PathBuf,
}

impl Place {
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

    /// Creates an empty database file (mode 0600) unless one exists. SQLite gives `-wal` and
    /// `-shm` the same mode.
    pub(crate) fn ensure_database_file(&self) -> Result<()> {
        match fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.database)
        {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Error::io("cannot create", &self.database, error)),
        }
    }

    /// What the database file looks like from outside, or `None` when there is none. Uses `stat`
    /// alone: opening and closing the file would drop SQLite's own POSIX locks in this process.
    pub(crate) fn mark(&self) -> Result<Option<FileMark>> {
        match fs::metadata(&self.database) {
            Ok(metadata) if metadata.is_file() => Ok(Some(FileMark::of(&metadata))),
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
            Err(error) => Err(Error::io("cannot look at", &self.database, error)),
        }
    }
}

/// Creates a directory with mode 0700 unless it exists.
pub(crate) fn ensure_private_directory(path: &Path) -> Result<()> {
    match fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
    {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::invalid(
            format!("palace `{}`", path.display()),
            "is a file, not a directory",
        )),
        Err(error) => Err(Error::io("cannot create", path, error)),
    }
}

/// Makes renames in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    fs::File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| Error::io("cannot sync", path, source))
}

/// Identity of a file as `stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileMark {
    device: u64,
    inode: u64,
    /// Inode numbers are used again; the time of creation, where there is one, is not.
    created: Option<SystemTime>,
    /// Only where the file system has no inode numbers: then any change of length or time makes
    /// us look again, which costs a reopen and never a wrong answer.
    fallback: Option<(u64, i64, i64)>,
}

impl FileMark {
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

//! The directories of the user, and the free space on their disk.

use std::path::{Path, PathBuf};

use loci_core::serialize_optional_path;
use serde::Serialize;

use crate::config::{data_directory, state_directory, user_file};

/// The directories and files of a user. `None` without a home directory. They need not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UserDirectories {
    /// The user's configuration file.
    #[serde(serialize_with = "serialize_optional_path")]
    pub config: Option<PathBuf>,
    /// The directory of palace and models, unless configured elsewhere.
    #[serde(serialize_with = "serialize_optional_path")]
    pub data: Option<PathBuf>,
    /// The records of hooks and of `connect`.
    #[serde(serialize_with = "serialize_optional_path")]
    pub state: Option<PathBuf>,
    /// Files that can be deleted at any time: mirrors of other programs' palaces, and the cache of
    /// `search --in`.
    #[serde(serialize_with = "serialize_optional_path")]
    pub cache: Option<PathBuf>,
}

impl UserDirectories {
    /// The directories and files of the current user.
    pub fn of_user() -> Self {
        Self {
            config: user_file(),
            data: data_directory().ok(),
            state: state_directory(),
            cache: loci_files::user_cache(),
        }
    }
}

/// Space on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// Bytes that this user may still write.
    pub free: u64,
    /// Total bytes.
    pub size: u64,
}

/// The disk of a path, which need not exist yet.
pub fn disk_of(path: &Path) -> Option<Disk> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find(|place| place.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(Disk {
        free: disk.f_bavail.saturating_mul(disk.f_frsize),
        size: disk.f_blocks.saturating_mul(disk.f_frsize),
    })
}

/// Length of the write-ahead log of a palace.
pub fn wal_bytes(palace: &Path) -> u64 {
    std::fs::metadata(palace.join("palace.sqlite3-wal")).map_or(0, |log| log.len())
}

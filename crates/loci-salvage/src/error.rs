//! Errors that stop a salvage before it starts. Damage inside the file is never an error; the
//! `Report` counts it.

use std::io;
use std::path::PathBuf;

/// Why a database file could not be opened for salvage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SalvageError {
    /// The file, or the WAL beside it, is missing or not readable.
    #[error("failed to open `{}`", path.display())]
    Open {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The path names a directory or a device.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The hint is not a page size that SQLite knows: a power of two from 512 to 65536.
    #[error("`{hint}` is not a page size")]
    PageSizeHint {
        /// The hint.
        hint: u32,
    },
}

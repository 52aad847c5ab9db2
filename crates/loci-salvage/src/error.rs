//! What can stop a salvage before it starts. Damage inside the file is never an error; it is
//! counted in the `Report`.

use std::io;
use std::path::PathBuf;

/// Why a database file could not be opened for salvage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SalvageError {
    /// The file, or the WAL beside it, is missing or may not be read.
    #[error("failed to open `{}`", path.display())]
    Open {
        /// The file that was asked for.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The path names a directory or a device.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The hint is not a page size that SQLite knows: a power of two from 512 to 65536.
    #[error("`{hint}` is not a page size")]
    PageSizeHint {
        /// The hint that was given.
        hint: u32,
    },
}

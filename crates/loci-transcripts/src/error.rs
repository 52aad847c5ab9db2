//! Errors that stop the reading of a conversation. A malformed record is not an error; it is
//! counted in the tally.

use std::io;
use std::path::PathBuf;

/// The reason that reading stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file, or one of its companion files, could not be read.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is an SQLite database that could not be opened.
    #[error("failed to open the database `{}`", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// The error of the database reader.
        source: loci_salvage::SalvageError,
    },
    /// The JSON of the file ends too early, or does not have the shape of its format. Everything
    /// that was read before is valid.
    #[error("`{}` is incomplete or malformed: {detail}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What was expected.
        detail: &'static str,
    },
    /// The content before the mark has changed, so the source must be read again from its start.
    #[error("`{}` was rewritten since it was read", path.display())]
    Rewritten {
        /// The file.
        path: PathBuf,
    },
}

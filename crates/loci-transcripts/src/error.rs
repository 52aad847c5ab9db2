//! Why a conversation cannot be read on. What is wrong inside a record is never an error; it is
//! counted in the tally.

use std::io;
use std::path::PathBuf;

/// Why reading stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file, or one that belongs to it, could not be read.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is an SQLite database that could not be opened.
    #[error("failed to open the database `{}`", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: loci_salvage::SalvageError,
    },
    /// The file ends inside its JSON, or is not the JSON that its format promises. What was read
    /// before holds.
    #[error("`{}` is not whole: {detail}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What was expected.
        detail: &'static str,
    },
    /// What was read before the mark is no longer there: read the source again from its start.
    #[error("`{}` was rewritten since it was read", path.display())]
    Rewritten {
        /// The file.
        path: PathBuf,
    },
}

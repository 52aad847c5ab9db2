//! Reasons why an index file cannot be used. For a reader none of them is an error: the answer
//! comes from the vectors in the palace instead, and the file is quarantined.

use std::io;

use rustix::io::Errno;

/// What is wrong with a snapshot file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// There is no such file, so there is nothing to quarantine.
    #[error("the file is gone")]
    Missing,
    /// The registered name is not a valid name of a snapshot, so no file was opened.
    #[error("`{}` is not a name of a snapshot file", .0.escape_debug())]
    Name(String),
    /// Something else has its name: a directory, a symlink, a FIFO, …
    #[error("it is not a regular file")]
    NotAFile,
    /// The system failed to open or read it.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// Truncated or extended.
    #[error("the file has {found} bytes, {expected} were registered")]
    Length {
        /// Registered length in bytes.
        expected: u64,
        /// Actual length in bytes.
        found: u64,
    },
    /// The header is invalid, or is not the registered one.
    #[error("its header {0}")]
    Header(&'static str),
    /// A snapshot of another palace.
    #[error("the file belongs to another palace")]
    ForeignPalace,
    /// A snapshot of another generation of this palace, for example from before a restore.
    #[error("the file is of generation {found}, not {expected}")]
    OtherGeneration {
        /// Registered generation.
        expected: u64,
        /// Generation in the file.
        found: u64,
    },
    /// A snapshot of another collection of this palace.
    #[error("the file is of collection {found}, not {expected}")]
    OtherCollection {
        /// Registered collection.
        expected: u64,
        /// Collection in the file.
        found: u64,
    },
    /// A valid snapshot of this collection, older or newer than the registered one.
    #[error("the file covers changes up to {found}, not {expected}")]
    OtherCoverage {
        /// Registered sequence number.
        expected: u64,
        /// Sequence number in the file.
        found: u64,
    },
    /// The bytes of a section differ from what was written.
    #[error("its section `{name}` is damaged")]
    Section {
        /// The section.
        name: &'static str,
    },
}

impl Damage {
    /// Whether there is something to quarantine.
    pub fn leaves_something(&self) -> bool {
        !matches!(self, Self::Missing | Self::Name(_))
    }

    pub(crate) fn from_open(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => Self::Missing,
            // A symlink, a directory, a socket.
            Some(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => Self::NotAFile,
            _ => Self::Unreadable(error),
        }
    }
}

//! Why a derived file cannot be used. None of these is an error for a reader: the answer comes from
//! the truth instead, and the file is set aside.

use std::io;

use rustix::io::Errno;

/// What is wrong with a snapshot file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// There is no such file; nothing to set aside.
    #[error("the file is gone")]
    Missing,
    /// The registered name is not one that a snapshot can have, so nothing was looked at.
    #[error("`{}` is not a name of a snapshot file", .0.escape_debug())]
    Name(String),
    /// A directory, symlink, FIFO, … stands in its place.
    #[error("what stands in its place is not a regular file")]
    NotAFile,
    /// The system refused to open or read it.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// Truncated or extended.
    #[error("the file has {found} bytes, {expected} were registered")]
    Length {
        /// Bytes registered.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// The header is not one, or not the registered one.
    #[error("its header {0}")]
    Header(&'static str),
    /// A snapshot of another palace.
    #[error("the file belongs to another palace")]
    ForeignPalace,
    /// A snapshot from another history of this palace, as after a restore.
    #[error("the file is of generation {found}, not {expected}")]
    OtherGeneration {
        /// Generation registered.
        expected: u64,
        /// Generation in the file.
        found: u64,
    },
    /// A snapshot of another collection of this palace.
    #[error("the file is of collection {found}, not {expected}")]
    OtherCollection {
        /// Collection registered.
        expected: u64,
        /// Collection in the file.
        found: u64,
    },
    /// A sound snapshot of this collection, older or newer than the registered one.
    #[error("the file covers changes up to {found}, not {expected}")]
    OtherCoverage {
        /// Sequence number registered.
        expected: u64,
        /// Sequence number in the file.
        found: u64,
    },
    /// A section's bytes are not those that were written.
    #[error("its section `{name}` is damaged")]
    Section {
        /// The section.
        name: &'static str,
    },
}

impl Damage {
    /// Whether something stands at the file's place that should be set aside.
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

//! The error type inside this crate. `store::error` turns it into an error of the contract.

use loci_core::Error;
use rusqlite::ErrorCode;

/// An error inside this crate. It becomes an [`Error`] at the edge of the crate, where the path is
/// known.
#[derive(Debug)]
pub(crate) enum Fault {
    Core(Error),
    Sql(rusqlite::Error),
    /// Another process changed a text after it was checked, so it has no vector. The writer embeds
    /// everything and tries again.
    EmbedAgain,
}

pub(crate) type Attempt<T> = std::result::Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Fault {
    /// Whether SQLite found the file itself to be damaged.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Core(error) => matches!(error, Error::Corrupt { .. }),
            Self::Sql(error) => Self::is_damage_of_file(error),
            Self::EmbedAgain => false,
        }
    }

    pub(crate) fn is_damage_of_file(error: &rusqlite::Error) -> bool {
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
    }
}

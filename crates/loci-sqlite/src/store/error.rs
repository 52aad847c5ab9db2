//! Maps SQLite's errors to the errors of the contract. No other module does this, so the same
//! error code always leads to the same kind of error.

use std::path::Path;

use loci_core::Error;
use loci_files::holders;
use rusqlite::{ErrorCode, ffi};

use super::connection::BUSY_LIMIT;
use super::schema_check;
use crate::fault::Fault;

/// The byte of `-shm` that SQLite locks to write.
const WRITE_BYTE: u64 = 120;

impl Fault {
    /// The error for the caller of this crate, which knows the path and what it was doing.
    pub(crate) fn into_error(self, path: &Path, doing: &str) -> Error {
        match self {
            Self::Core(error) => error,
            Self::Sql(error) => from_sql(&error, path, doing),
            Self::EmbedAgain => Error::Internal {
                doing: doing.to_owned(),
                detail: "another process changed a text, which has no vector yet".into(),
            },
        }
    }
}

fn from_sql(error: &rusqlite::Error, path: &Path, doing: &str) -> Error {
    let detail = error.to_string();
    let extended = match error {
        rusqlite::Error::SqliteFailure(failure, _) => failure.extended_code,
        _ => 0,
    };
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed,
        ) => busy(path, doing),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Corrupt {
            what: "the database".into(),
            path: path.into(),
            detail,
        },
        Some(ErrorCode::DiskFull) => Error::Full { path: path.into() },
        // A short read means that the file is shorter than its header says.
        Some(ErrorCode::SystemIoFailure) if extended == ffi::SQLITE_IOERR_SHORT_READ => {
            Error::Corrupt {
                what: "the database".into(),
                path: path.into(),
                detail,
            }
        }
        // Beyond a file-size limit SQLite reports a failed write, not a full disk.
        Some(ErrorCode::SystemIoFailure)
            if matches!(
                extended,
                ffi::SQLITE_IOERR_WRITE
                    | ffi::SQLITE_IOERR_FSYNC
                    | ffi::SQLITE_IOERR_TRUNCATE
                    | ffi::SQLITE_IOERR_SHMSIZE
            ) =>
        {
            Error::Full { path: path.into() }
        }
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly,
        ) => Error::Io {
            action: "SQLite cannot use",
            path: path.into(),
            source: std::io::Error::new(
                match error.sqlite_error_code() {
                    Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
                        std::io::ErrorKind::PermissionDenied
                    }
                    _ => std::io::ErrorKind::Other,
                },
                format!("{detail} (code {extended})"),
            ),
        },
        _ => match error {
            // A column has another type than in the schema, so these bytes were not written by
            // Loci.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => Error::Corrupt {
                what: "a row".into(),
                path: path.into(),
                detail,
            },
            // Our statements fit our schema. A missing table or column, or a failed constraint,
            // means another schema. If it is not one that Loci creates, its text is damaged.
            _ => match schema_check::damage_at(path) {
                Some(damage) => Error::Corrupt {
                    what: "the database".into(),
                    path: path.into(),
                    detail: damage,
                },
                None => Error::Internal {
                    doing: doing.into(),
                    detail,
                },
            },
        },
    }
}

/// Another process held SQLite's write lock for too long. The error names it if the system reports
/// it.
fn busy(database: &Path, doing: &str) -> Error {
    let mut log_index = database.as_os_str().to_owned();
    log_index.push("-shm");
    let writers: Vec<holders::Holder> = holders::locks_on(Path::new(&log_index))
        .into_iter()
        .filter(|lock| lock.posix && lock.exclusive && lock.start == WRITE_BYTE)
        .filter(|lock| lock.pid != std::process::id())
        .map(|lock| holders::holder(lock.pid))
        .collect();
    let waited = BUSY_LIMIT;
    match holders::listed(&writers) {
        Some(holder) => Error::Locked {
            lock: format!("the palace, while {doing},"),
            holder,
            waited,
        },
        None => Error::Busy {
            what: doing.into(),
            waited,
        },
    }
}

//! The connection that writes, and its transaction.

use std::path::Path;
use std::time::Duration;

use loci_core::{Error, Result};
use loci_foreign::chroma::DATABASE;
use loci_salvage::snapshot::unreadable;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

/// Opens the database for writing. Triggers and views of its schema do not run.
#[expect(clippy::disallowed_methods, reason = "the path is checked first")]
pub(super) fn open(path: &Path) -> Result<Connection> {
    loci_files::foreign::check(path).map_err(|source| Error::io("cannot open", path, source))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        prepare(&connection)?;
        Ok(connection)
    };
    opened().map_err(|error| failed(path, "opening", &error))
}

/// Configures a connection that writes a foreign schema.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    for (setting, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        // ChromaDB declares references to a table that does not exist.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false),
    ] {
        connection.set_db_config(setting, value)?;
    }
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "synchronous", "FULL")
}

/// Begins a transaction that locks out all other connections.
pub(super) fn exclusive<'a>(
    connection: &'a mut Connection,
    path: &Path,
) -> Result<Transaction<'a>> {
    connection
        .transaction_with_behavior(TransactionBehavior::Exclusive)
        .map_err(|error| failed(path, "locking", &error))
}

/// Values that change with every write of ChromaDB: counts, highest rows and watermarks.
pub(super) fn fingerprint(connection: &Connection) -> Result<Vec<String>> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let mut print = Vec::new();
        for table in [
            "collections",
            "segments",
            "embeddings",
            "embedding_metadata",
            "embeddings_queue",
            "max_seq_id",
        ] {
            if has_table(connection, table)? {
                print.push(connection.query_row(
                    &format!("SELECT count(*) || ' ' || coalesce(max(rowid), 0) FROM \"{table}\""),
                    [],
                    |row| row.get(0),
                )?);
            }
        }
        if has_table(connection, "max_seq_id")? {
            let mut statement = connection
                .prepare("SELECT quote(segment_id) || quote(seq_id) FROM max_seq_id ORDER BY 1")?;
            for mark in statement.query_map([], |row| row.get(0))? {
                print.push(mark?);
            }
        }
        Ok(print)
    };
    read().map_err(|error| failed(Path::new(DATABASE), "reading", &error))
}

/// Whether a table of this name exists.
pub(super) fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?
        .exists([name])
}

/// Another program wrote between the diagnosis and the lock.
pub(super) fn changed(path: &Path) -> Error {
    Error::Busy {
        what: format!(
            "repairing `{}`: another program wrote to it in the meantime; stop it and try again",
            path.display()
        ),
        waited: Duration::ZERO,
    }
}

/// An error of SQLite while writing.
pub(super) fn failed(path: &Path, doing: &str, error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy {
            what: format!(
                "{doing} `{}`, which another program is using; stop it",
                path.display()
            ),
            waited: Duration::ZERO,
        },
        Some(ErrorCode::DiskFull) => Error::Full {
            path: path.to_owned(),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => unreadable(path, error),
        _ => Error::Internal {
            doing: format!("{doing} `{}`", path.display()),
            detail: error.to_string(),
        },
    }
}

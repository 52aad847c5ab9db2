//! Checks a backup without changing it: before a restore, and before a new backup is trusted.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use loci_core::{Advice, BackupContents, Error, Result};
use loci_files::foreign;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::collection::read::fetch;
use crate::fault::{Attempt, Fault};
use crate::relations::{facts, links};
use crate::store::connection::keep_temporary_in_memory;
use crate::store::{identity_text, schema, schema_check};

/// What a backup holds. With `deep`, the whole file is read and all checksums are compared;
/// otherwise only what says which palace it is of, and whether it was cut.
pub(crate) fn check(backup: &Path, deep: bool) -> Result<BackupContents> {
    refuse_unlikely(backup)?;
    refuse_cut(backup)?;
    let read = || -> Attempt<BackupContents> {
        let db = open(backup)?;
        if deep {
            refuse_damaged_pages(&db, backup)?;
        }
        let identity = db.query_row("SELECT identity FROM palace WHERE id = 1", [], |row| {
            row.get(0).map(identity_text)
        })?;
        let drawers: i64 = db.query_row(
            "SELECT coalesce(sum(drawers), 0) FROM collections",
            [],
            |row| row.get(0),
        )?;
        // Rows of an older format have the checksums of that format.
        let comparable = deep && schema::format(&db)? == schema::FORMAT;
        Ok(BackupContents {
            identity,
            drawers: drawers as u64,
            damaged: if comparable { damaged(&db)? } else { 0 },
        })
    };
    read().map_err(|fault| of_backup(fault, backup))
}

/// Refuses anything but a backup of a palace that this build can read.
pub(super) fn refuse_unusable(backup: &Path) -> Result<()> {
    refuse_unlikely(backup)?;
    let read = || -> Attempt<()> {
        let db = open(backup)?;
        refuse_damaged_pages(&db, backup)
    };
    read().map_err(|fault| of_backup(fault, backup))
}

/// Refuses what is seen without opening the file: anything but a file, and a palace in use.
fn refuse_unlikely(backup: &Path) -> Result<()> {
    if !fs::metadata(backup)
        .map_err(|source| Error::io("cannot read", backup, source))?
        .is_file()
    {
        return Err(Error::invalid(
            format!("backup `{}`", backup.display()),
            "is not a file",
        ));
    }
    let mut log = backup.as_os_str().to_owned();
    log.push("-wal");
    if fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0) {
        return Err(Error::invalid(
            format!("backup `{}`", backup.display()),
            "has a log beside it, so it is a palace in use; back it up and restore the backup",
        )
        .advise(Advice::BackUp));
    }
    foreign::check(backup).map_err(|source| Error::io("cannot read", backup, source))
}

/// Refuses a file that is shorter or longer than its header says. SQLite would notice a cut file
/// only where it reads a missing page.
fn refuse_cut(backup: &Path) -> Result<()> {
    const HEADER: usize = 100;
    let fail = |source| Error::io("cannot read", backup, source);
    let mut file = foreign::open(backup).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let mut header = Vec::with_capacity(HEADER);
    file.by_ref()
        .take(HEADER as u64)
        .read_to_end(&mut header)
        .map_err(fail)?;
    let (page, pages) = (header.get(16..18), header.get(28..32));
    let (Some(&[high, low]), Some(&[a, b, c, d])) = (page, pages) else {
        return Err(not_a_backup(backup));
    };
    let page = match u64::from(u16::from_be_bytes([high, low])) {
        1 => 65_536,
        page => page,
    };
    let expected = page * u64::from(u32::from_be_bytes([a, b, c, d]));
    if header.starts_with(b"SQLite format 3\0") && length != expected {
        return Err(Error::Corrupt {
            what: "the backup".into(),
            path: backup.into(),
            detail: format!("it has {length} bytes instead of {expected}"),
        });
    }
    Ok(())
}

/// Opens a backup for reading, and refuses what is not a palace of a format that this build reads.
#[expect(clippy::disallowed_methods, reason = "the path is checked first")]
fn open(backup: &Path) -> Attempt<Connection> {
    // Opened as immutable, because no file may appear beside the user's file.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(immutable_uri(backup)?, flags)?;
    db.pragma_update(None, "trusted_schema", false)?;
    keep_temporary_in_memory(&db)?;
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if application != schema::APPLICATION_ID {
        return Err(Error::invalid(
            format!("backup `{}`", backup.display()),
            "is not a backup of a palace",
        )
        .into());
    }
    if format > schema::FORMAT {
        return Err(Error::NewerFormat {
            path: backup.into(),
            found: format,
            supported: schema::FORMAT,
        }
        .into());
    }
    // The schema is checked before anything that reads more than the schema.
    refuse_foreign_schema(&db, backup)?;
    Ok(db)
}

/// Refuses a schema that is not exactly that of a palace. A trigger would run at every write, and a
/// view could replace a table.
pub(super) fn refuse_foreign_schema(db: &Connection, backup: &Path) -> Attempt<()> {
    let differences = schema_check::differences(db)?;
    if differences.is_empty() {
        return Ok(());
    }
    let problem = format!(
        "does not have the schema of a palace: {}",
        schema_check::describe(&differences)
    );
    Err(Error::invalid(format!("backup `{}`", backup.display()), problem).into())
}

fn refuse_damaged_pages(db: &Connection, backup: &Path) -> Attempt<()> {
    let verdict: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(Error::Corrupt {
        what: "the backup".into(),
        path: backup.into(),
        detail: verdict,
    }
    .into())
}

/// Number of drawers, facts and links whose bytes are not what was written.
fn damaged(db: &Connection) -> Attempt<u64> {
    let mut damaged = 0;
    let mut rows = db.prepare("SELECT row FROM drawers")?;
    let mut found = rows.query([])?;
    while let Some(columns) = found.next()? {
        let row = columns.get::<_, i64>(0)? as u64;
        let intact = matches!(fetch(db, row)?, Some(Ok(stored)) if stored.is_intact());
        damaged += u64::from(!intact);
    }
    let mut note = |_: i64, _: String| damaged += 1;
    facts::each_damaged(db, &mut note)?;
    links::each_damaged(db, &mut note)?;
    Ok(damaged)
}

fn of_backup(fault: Fault, backup: &Path) -> Error {
    match fault {
        Fault::Sql(error) if is_unreadable(&error) => not_a_backup(backup),
        fault => fault.into_error(backup, "checking the backup"),
    }
}

fn not_a_backup(backup: &Path) -> Error {
    Error::invalid(
        format!("backup `{}`", backup.display()),
        "is not a readable backup of a palace",
    )
}

/// Whether the file is damaged, or the statements do not fit its schema.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    Fault::is_damage_of_file(error) || error.sqlite_error_code() == Some(ErrorCode::Unknown)
}

fn immutable_uri(path: &Path) -> Result<String> {
    let path =
        std::path::absolute(path).map_err(|source| Error::io("cannot resolve", path, source))?;
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let encoded: Vec<String> = bytes
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                char::from(*byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    Ok(format!("file://{}?immutable=1", encoded.concat()))
}

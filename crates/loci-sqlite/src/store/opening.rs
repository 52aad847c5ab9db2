//! How a palace comes to be: creation, migration, refusal of what is not ours. All of it under the
//! palace lock, with a second look inside; a palace that is current is opened without waiting.

use std::time::{Duration, Instant};

use loci_core::{Error, Result};
use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::connection::{Db, Durability};
use super::lock::FileLock;
use super::place::Place;
use super::{BUSY_LIMIT, duplicates, new_generation, now_ms, schema};
use crate::fault::{Attempt, Fault};

/// Makes sure that the palace exists in the current format. The fast path takes no lock.
pub(crate) fn ensure_ready(place: &Place, create: bool, durability: Durability) -> Result<Db> {
    let doing = "opening the palace";
    let fail = |fault: Fault| fault.into_error(&place.database, doing);
    if place.mark()?.is_some() {
        match open_current(place, durability) {
            Ok(Some(db)) => return Ok(db),
            // After an error too, look again under the lock: somebody may be creating, migrating or
            // restoring right now.
            Ok(None) | Err(Fault::Sql(_)) => {}
            Err(fault) => return Err(fail(fault)),
        }
    }
    // Without a lock file nobody is creating or restoring, so an empty file is no palace either.
    let empty = std::fs::metadata(&place.database).map_or(true, |metadata| metadata.len() == 0);
    if !create && empty && !place.lock().exists() {
        return Err(Error::PalaceNotFound {
            path: place.directory.clone(),
        });
    }
    if create {
        place.ensure_directory()?;
    }
    let _lock = FileLock::exclusive(&place.lock())?;
    crate::care::restore::finish_interrupted(place)?;
    // An empty file is what a process leaves that was killed while creating.
    if place.mark()?.is_none() {
        if !create {
            return Err(Error::PalaceNotFound {
                path: place.directory.clone(),
            });
        }
        place.ensure_database_file()?;
    }
    let db = Db::open(&place.database, durability).map_err(fail)?;
    prepare(&db, place, create).map_err(fail)?;
    Ok(db)
}

pub(crate) fn open_with_log(place: &Place, durability: Durability) -> Attempt<Db> {
    let db = Db::open(&place.database, durability)?;
    db.sql
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(db)
}

/// Refuses foreign and newer files; the connection when nothing is left to do.
fn open_current(place: &Place, durability: Durability) -> Attempt<Option<Db>> {
    let _shared = FileLock::shared(&place.lock());
    let db = open_with_log(place, durability)?;
    check_owner(&db.sql, place)?;
    let current = schema::format(&db.sql)? == schema::FORMAT && schema::has_mined_index(&db.sql)?;
    Ok(current.then_some(db))
}

fn check_owner(db: &Connection, place: &Place) -> Attempt<()> {
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format = schema::format(db)?;
    if application == schema::APPLICATION_ID {
        if format > schema::FORMAT {
            return Err(Error::NewerFormat {
                path: place.directory.clone(),
                found: format,
                supported: schema::FORMAT,
            }
            .into());
        }
        return Ok(());
    }
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables > 0 || application != 0 || format != 0 {
        return Err(Error::BackendMismatch {
            path: place.directory.clone(),
            found: "foreign SQLite".into(),
            asked: crate::BACKEND_NAME.into(),
        }
        .into());
    }
    Ok(())
}

/// Creation, migration and the removal of duplicates; the creation lock is held.
fn prepare(db: &Db, place: &Place, create: bool) -> Attempt<()> {
    let sql = &db.sql;
    check_owner(sql, place)?;
    let mut format = schema::format(sql)?;
    if format == 0 {
        if !create {
            return Err(Error::PalaceNotFound {
                path: place.directory.clone(),
            }
            .into());
        }
        sql.pragma_update(None, "page_size", schema::PAGE_SIZE)?;
        let mode = switch_to_wal(sql)?;
        if !mode.eq_ignore_ascii_case("wal") {
            return Err(Error::UnsupportedCapability {
                capability: "write-ahead log".into(),
                reason: format!(
                    "SQLite answers journal mode `{mode}`; is this a network file system?"
                ),
            }
            .into());
        }
    }
    sql.execute_batch("BEGIN IMMEDIATE")?;
    let result = (|| {
        format = schema::format(sql)?;
        if format < schema::FORMAT {
            schema::migrate(sql, format)?;
        }
        let found = sql
            .query_row("SELECT 1 FROM palace WHERE id = 1", [], |_| Ok(()))
            .optional()?;
        if found.is_none() {
            sql.execute(
                "INSERT INTO palace (id, identity, generation, seq, created_at) VALUES (1, ?1, ?2, 0, ?3)",
                (uuid::Uuid::new_v4().as_bytes(), new_generation(), now_ms()),
            )?;
        }
        if !schema::has_mined_index(sql)? {
            duplicates::remove(sql)?;
            sql.execute_batch(schema::MINED_INDEX)?;
        }
        Ok(())
    })();
    match result {
        Ok(()) => Ok(sql.execute_batch("COMMIT")?),
        Err(fault) => {
            let _ = sql.execute_batch("ROLLBACK");
            Err(fault)
        }
    }
}

/// SQLite does not call the busy handler everywhere in this switch, and another process may be
/// looking at the file at this very moment.
fn switch_to_wal(sql: &Connection) -> Attempt<String> {
    let since = Instant::now();
    loop {
        match sql.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)) {
            Err(error) if is_busy(&error) && since.elapsed() < BUSY_LIMIT => {
                std::thread::sleep(Duration::from_millis(fastrand::u64(1..20)));
            }
            result => return Ok(result?),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

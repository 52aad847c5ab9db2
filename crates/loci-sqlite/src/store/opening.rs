//! Opening a palace: creation, migration, and refusal of files that are not a palace. All changes
//! happen under the exclusive palace lock, after the state is checked again inside it. A palace
//! that has the current format is opened under the shared lock.

use std::time::{Duration, Instant};

use loci_core::{Durability, Error, MachineSource, Result};
use loci_files::palace::{self, RawAccess};
use loci_files::{foreign, holders};
use loci_salvage::WAL_INDEX_HEADER_BYTES;
use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::connection::{BUSY_LIMIT, Db, patience};
use super::lock::FileLock;
use super::log_files::LogFiles;
use super::palace_files::{PalaceFiles, sync_directory};
use super::{Head, creation, duplicates, lost, new_generation, now_ms, schema, schema_check};
use crate::fault::{Attempt, Fault};
use crate::maintenance::working_copy;

/// An open connection, with what the schema check read along the way.
pub(crate) struct Opened {
    pub(crate) db: Db,
    pub(crate) unfinished: Unfinished,
    state: State,
}

impl Opened {
    /// Whether the palace has the format that this build writes.
    pub(crate) fn has_current_format(&self) -> bool {
        self.state.format == schema::FORMAT
    }
}

/// Work that another process left undone.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    /// Numbers of dropped collections that still have drawers.
    pub(crate) dropped: Vec<i64>,
    /// Whether the text of forgotten drawers may still be in a file.
    pub(crate) purge: bool,
}

impl Unfinished {
    fn read(sql: &Connection) -> Attempt<Self> {
        let mut statement = sql.prepare_cached("SELECT id FROM collections WHERE dropped <> 0")?;
        let dropped = statement.query_map([], |row| row.get(0))?;
        Ok(Self {
            dropped: dropped.collect::<rusqlite::Result<_>>()?,
            purge: Head::read(sql)?.purge_pending > 0,
        })
    }
}

/// The facts that decide whether a palace can be used as it is.
#[derive(Debug, Clone, Copy)]
struct State {
    application: i64,
    format: i64,
    /// Number of tables and indexes in the schema.
    objects: i64,
    has_mined_index: bool,
    has_log: bool,
}

impl State {
    fn read(sql: &Connection) -> Attempt<Self> {
        Ok(Self {
            application: sql.pragma_query_value(None, "application_id", |row| row.get(0))?,
            format: schema::format(sql)?,
            objects: sql.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
            has_mined_index: schema::has_mined_index(sql)?,
            has_log: has_log(sql)?,
        })
    }

    fn is_current(&self) -> bool {
        self.application == schema::APPLICATION_ID
            && self.format == schema::FORMAT
            && self.has_mined_index
            && self.has_log
    }

    /// Refuses a database of another program or of a newer format.
    fn check_owner(&self, place: &PalaceFiles) -> Attempt<()> {
        if self.application == schema::APPLICATION_ID {
            if self.format > schema::FORMAT {
                return Err(Error::NewerFormat {
                    path: place.directory.clone(),
                    found: self.format,
                    supported: schema::FORMAT,
                }
                .into());
            }
            return Ok(());
        }
        if self.objects > 0 || self.application != 0 || self.format != 0 {
            return Err(Error::BackendMismatch {
                path: place.directory.clone(),
                found: "foreign SQLite".into(),
                asked: crate::BACKEND_NAME.into(),
            }
            .into());
        }
        Ok(())
    }
}

/// Makes sure that the palace exists in the current format. A palace that is already current is
/// opened under the shared lock alone.
pub(crate) fn ensure_ready(
    place: &PalaceFiles,
    create: bool,
    durability: Durability,
    machine: &MachineSource,
) -> Result<Opened> {
    let doing = "opening the palace";
    let fail = |fault: Fault| fault.into_error(&place.database, doing);
    // SQLite treats an empty file as a new database and removes the log beside it. So the file is
    // checked before SQLite opens anything.
    if !lost::is_empty(place) {
        match open_current(place, durability) {
            Ok(Some(opened)) => return Ok(opened),
            // Check again under the lock, even after an error: another process may be creating,
            // migrating or restoring the palace.
            Ok(None) | Err(Fault::Sql(_)) => {}
            Err(fault) => return Err(fail(fault)),
        }
    }
    {
        // A restore between its renames looks like a palace that has lost its database. It holds
        // the lock exclusively, so this waits for it.
        let lock = FileLock::shared(&place.lock())?;
        if lost::is_empty(place) {
            lost::refuse(place)?;
            // Without a lock file nobody is creating or restoring, so an empty file is not a
            // palace.
            if !create && lock.is_none() {
                return Err(Error::PalaceNotFound {
                    path: place.directory.clone(),
                });
            }
        }
    }
    if create {
        place.ensure_directory()?;
    }
    let lock = FileLock::exclusive(&place.lock())?;
    crate::maintenance::restore::finish_interrupted(place)?;
    if lost::is_empty(place) {
        lost::refuse(place)?;
    }
    if lost::is_empty(place) {
        if !create {
            return Err(Error::PalaceNotFound {
                path: place.directory.clone(),
            });
        }
        creation::create_database(place)?;
    }
    refuse_removed_log(place, &lock)?;
    let before = place.mark()?;
    let mut db = Db::open(&place.database, durability).map_err(fail)?;
    // SQLite opens the log by name at this first read. If the directory was moved in between, that
    // is the log of another palace, and nothing may be written.
    let read: Attempt<()> = db
        .sql
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(Fault::from);
    if place.mark()? != before {
        return Err(Error::Busy {
            what: format!("{doing}: its directory was moved during the call"),
            waited: Duration::ZERO,
        });
    }
    read.map_err(fail)?;
    // A migration may sort every drawer, which needs temporary files.
    db.with_temporary_files(&place.directory, || prepare(&db, place, create, machine))
        .map_err(fail)?;
    let state = State::read(&db.sql).map_err(fail)?;
    let unfinished = Unfinished::read(&db.sql).map_err(fail)?;
    db.hold(place);
    let is_first = !LogFiles::is_recorded_in(&lock);
    name_log_files(place, &lock)?;
    if is_first {
        // From here on, the record proves that this directory had a database; see `lost`. A crash
        // before this leaves a whole database, and the next process writes the record.
        lock.sync()
            .map_err(|source| Error::io("cannot sync", place.lock(), source))?;
    }
    // The names of the new files are durable before the palace is used. Otherwise a power cut could
    // remove a palace whose writes were acknowledged. The directory itself was synced when it was
    // created.
    sync_directory(&place.directory)?;
    Ok(Opened {
        db,
        unfinished,
        state,
    })
}

/// Opens a connection to a palace whose log and log index are the ones that `palace.lock` names. If
/// one of them was removed or replaced, the new files are named under the exclusive lock, when no
/// process is in the middle of a write. Returns `None` if a file is missing, or if another
/// connection of this process still holds a replaced file, because SQLite would reuse that file for
/// the new connection.
pub(crate) fn open_named(place: &PalaceFiles, durability: Durability) -> Attempt<Option<Opened>> {
    if let Some(lock) = FileLock::shared_within(&place.lock(), patience())?
        && are_named(place, &lock)?
    {
        if holds_replaced(place)? {
            return Ok(None);
        }
        let opened = open_with_log(place, durability)?;
        // SQLite may have created a file that another program removed a moment ago. Such a file is
        // not named.
        if opened.is_some() && are_named(place, &lock)? {
            return Ok(opened);
        }
    }
    let lock = FileLock::exclusive_within(&place.lock(), patience())?;
    refuse_removed_log(place, &lock)?;
    remove_unnamed_log_index(place, &lock)?;
    if holds_replaced(place)? {
        return Ok(None);
    }
    let opened = open_with_log(place, durability)?;
    let named = opened.is_some() && name_log_files(place, &lock)?;
    Ok(opened.filter(|_| named))
}

/// Removes a log index that is not the named one. A file that was moved away and came back knows
/// nothing of the commits since then. The caller holds the lock exclusively, so nobody writes, and
/// no connection that holds the removed file is used again.
fn remove_unnamed_log_index(place: &PalaceFiles, lock: &FileLock) -> Result<()> {
    let [_, log_index] = place.companions();
    let (Some(named), Some(marks)) = (LogFiles::named_in(lock), place.marks()?) else {
        return Ok(());
    };
    if marks.log_index.is_none() || LogFiles::of(&marks) == Some(named) {
        return Ok(());
    }
    // Nothing is lost: SQLite rebuilds the log index from the log at the next open, also after a
    // crash here. It must be gone before SQLite opens the database, or SQLite would trust it.
    match std::fs::remove_file(&log_index) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove", log_index, error))
        }
        _ => Ok(()),
    }
}

fn holds_replaced(place: &PalaceFiles) -> Result<bool> {
    Ok(place
        .marks()?
        .is_some_and(|marks| palace::holds_with_others(&marks.ids())))
}

fn are_named(place: &PalaceFiles, lock: &FileLock) -> Result<bool> {
    let there = place.marks()?.as_ref().and_then(LogFiles::of);
    Ok(there.is_some() && there == LogFiles::named_in(lock))
}

/// Names the current files in the lock. Returns false if one is missing.
fn name_log_files(place: &PalaceFiles, lock: &FileLock) -> Result<bool> {
    let there = place.marks()?.as_ref().and_then(LogFiles::of);
    if there.is_some() && there != LogFiles::named_in(lock) {
        LogFiles::name_in(there, lock, place)?;
    }
    Ok(there.is_some())
}

/// Refuses to start a new log while another process uses a removed one. That process still has
/// commits in it, and moves them into the database at its next call.
fn refuse_removed_log(place: &PalaceFiles, lock: &FileLock) -> Result<()> {
    let [log, log_index] = place.companions();
    let removed = match (LogFiles::named_in(lock), place.marks()?) {
        (Some(named), Some(marks)) => !named.has_log_of(&marks),
        _ => false,
    };
    if !removed {
        return Ok(());
    }
    let users = holders::holders_of([&place.database, &log_index]);
    let Some(users) = holders::listed(&users) else {
        return Ok(());
    };
    let source = std::io::Error::other(format!(
        "it was removed while {users} uses the palace and still has commits in it; \
         let that process finish, then try again"
    ));
    Err(Error::io("cannot use the log", log, source))
}

/// Prefix of a kept log that `verify` still reports.
pub(crate) const DAMAGED_LOG: &str = "palace.sqlite3.damaged-log-";

/// Keeps a copy of a log whose last commits SQLite is about to drop because an earlier frame is
/// damaged. `verify` reports the copy. This reads the log without SQLite, so it does nothing if
/// this process already has the palace open; the log was checked before that.
pub(crate) fn keep_damaged_log(place: &PalaceFiles) -> Result<()> {
    let Some(_raw) = RawAccess::begin(&place.directory) else {
        return Ok(());
    };
    let [log, index] = place.companions();
    let _shared = FileLock::shared(&place.lock())?;
    let found = loci_salvage::damaged_log(&log, || wal_index_header(&index))
        .map_err(|source| Error::io("cannot read", &log, source))?;
    let Some(damaged) = found else {
        return Ok(());
    };
    let copy = place
        .directory
        .join(format!("{DAMAGED_LOG}{:016x}", damaged.run));
    if std::fs::symlink_metadata(&copy).is_ok() {
        return Ok(());
    }
    // The copy is published whole or not at all, so that a kill never leaves half a copy under the
    // final name. It is made before SQLite opens the log, because recovery drops the frames behind
    // the damage.
    working_copy::keep_log(place, &log, &copy)?;
    tracing::warn!(
        "the log is damaged: {} commit(s) are lost; it is kept as `{}`",
        damaged.lost_commits,
        copy.display()
    );
    Ok(())
}

/// The current header of the wal-index, or `None` if it cannot be read.
fn wal_index_header(path: &std::path::Path) -> Option<[u8; WAL_INDEX_HEADER_BYTES]> {
    let mut header = [0; WAL_INDEX_HEADER_BYTES];
    let file = foreign::open(path).ok()?;
    file.read_exact_at(&mut header, 0).ok()?;
    Some(header)
}

/// Opens the database with its log, which SQLite opens at the first read, and checks the schema.
/// Returns `None` if the palace was moved or replaced in between, because the log may be another
/// palace's.
pub(crate) fn open_with_log(
    place: &PalaceFiles,
    durability: Durability,
) -> Attempt<Option<Opened>> {
    let before = place.mark()?;
    let mut db = Db::open(&place.database, durability)?;
    // One read transaction, because another process may migrate between two reads of the schema.
    // Its COMMIT writes nothing.
    db.sql.execute_batch("BEGIN")?;
    let checked = look(&db.sql, place);
    db.sql.execute_batch("COMMIT")?;
    if place.mark()? != before {
        return Ok(None);
    }
    let (state, unfinished) = checked?;
    db.hold(place);
    Ok(Some(Opened {
        db,
        unfinished,
        state,
    }))
}

/// Checks the schema and reads what opening a palace needs.
fn look(sql: &Connection, place: &PalaceFiles) -> Attempt<(State, Unfinished)> {
    schema_check::refuse_damaged(sql, &place.database)?;
    let state = State::read(sql)?;
    let unfinished = if state.is_current() {
        Unfinished::read(sql)?
    } else {
        Unfinished::default()
    };
    Ok((state, unfinished))
}

/// Refuses foreign and newer files. Returns the connection if the palace needs no further work.
fn open_current(place: &PalaceFiles, durability: Durability) -> Attempt<Option<Opened>> {
    // A directory without a lock file may belong to another program, so nothing may be created in
    // it.
    let opened = if place.lock().exists() {
        open_named(place, durability)?
    } else {
        open_with_log(place, durability)?
    };
    let Some(opened) = opened else {
        return Ok(None);
    };
    if let Err(fault) = opened.state.check_owner(place) {
        // The database is not a palace, so SQLite removes the empty log that this connection
        // created. A log with content belongs to the other program and stays.
        let [log, _] = place.companions();
        if std::fs::metadata(log).is_ok_and(|metadata| metadata.len() == 0) {
            opened.db.remove_log_on_close();
        }
        return Err(fault);
    }
    if !place.lock().exists() {
        // This is a palace without a lock file. The caller names the log files under the lock.
        return Ok(None);
    }
    Ok(Some(opened).filter(|opened| opened.state.is_current()))
}

/// Creates, migrates and removes duplicates. The caller holds the palace lock exclusively.
fn prepare(db: &Db, place: &PalaceFiles, create: bool, machine: &MachineSource) -> Attempt<()> {
    let sql = &db.sql;
    State::read(sql)?.check_owner(place)?;
    schema_check::refuse_damaged(sql, &place.database)?;
    let format = schema::format(sql)?;
    if format == 0 {
        if !create {
            return Err(Error::PalaceNotFound {
                path: place.directory.clone(),
            }
            .into());
        }
        // SQLite fixes the page size with the first page, so it is set before anything is written.
        sql.pragma_update(None, "page_size", schema::PAGE_SIZE)?;
    }
    // SQLite cannot change the journal mode inside a transaction, so this comes first. A backup
    // that was copied over the database has no log either. A crash after the switch leaves the old
    // format with a log, and the next opener migrates it.
    if !has_log(sql)? {
        let mode = switch_to_wal(sql)?;
        if !mode.eq_ignore_ascii_case("wal") {
            return Err(Error::UnsupportedCapability {
                capability: "write-ahead log".into(),
                reason: format!(
                    "SQLite reports journal mode `{mode}`; is this a network file system?"
                ),
            }
            .into());
        }
    }
    sql.execute_batch("BEGIN IMMEDIATE")?;
    match bring_up(sql, machine) {
        // One commit holds the whole migration. A crash before it leaves the old format, and the
        // next opener migrates again. The exclusive lock is held, so no process writes in the old
        // format meanwhile.
        Ok(()) => Ok(sql.execute_batch("COMMIT")?),
        Err(fault) => {
            let _ = sql.execute_batch("ROLLBACK");
            Err(fault)
        }
    }
}

/// Brings the schema to the current format inside the caller's transaction.
pub(super) fn bring_up(sql: &Connection, machine: &MachineSource) -> Attempt<()> {
    let format = schema::format(sql)?;
    if format < schema::FORMAT {
        schema::migrate(sql, format, &machine.machine())?;
    }
    let found = sql
        .query_row("SELECT 1 FROM palace WHERE id = 1", [], |_| Ok(()))
        .optional()?;
    if found.is_none() {
        sql.execute(
            "INSERT INTO palace (id, identity, generation, seq, created_at) VALUES (1, ?1, ?2, 0, ?3)",
            (uuid::Uuid::new_v4().as_bytes(), new_generation(), now_ms()),
        )?;
        schema::ensure_forget_key(sql)?;
    }
    if !schema::has_mined_index(sql)? {
        duplicates::remove(sql)?;
        sql.execute_batch(schema::MINED_INDEX)?;
    }
    Ok(())
}

fn has_log(sql: &Connection) -> Attempt<bool> {
    let mode: String = sql.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    Ok(mode.eq_ignore_ascii_case("wal"))
}

/// Switches to WAL. SQLite does not call the busy handler everywhere in this switch, and another
/// process may be reading the file, so it is repeated.
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

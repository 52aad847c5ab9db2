//! One open palace: its connections, its caches, and the rules for reading and writing it.
//!
//! Every read runs in one read transaction, every write in one `BEGIN IMMEDIATE`. Before each, the
//! file is looked at with `stat`: a palace that was deleted, replaced or restored under us is
//! noticed and opened anew.

pub(crate) mod connection;
pub(crate) mod duplicates;
pub(crate) mod lock;
pub(crate) mod opening;
pub(crate) mod place;
pub(crate) mod schema;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loci_core::{Error, Result};
use rusqlite::Connection;

use self::connection::{Db, Durability};
use self::lock::FileLock;
use self::opening::{ensure_ready, is_empty, open_with_log};
use self::place::{FileMark, Place};
use crate::care::purge::{Patience, purge};
use crate::collection::rowset::RowSetCache;
use crate::collection::usage::{self, Usage};
use crate::fault::{Attempt, Fault};
use crate::index::build::{self, When};
use crate::index::live::Live;

/// How long a writer waits for others before it answers `Busy`.
pub(crate) const BUSY_LIMIT: Duration = crate::fault::busy_limit();
/// Written records between two looks at the length of the tail.
const TAIL_CHECK: u64 = 2_000;
/// How long a process that writes much does not write between two writes.
const ROOM: Duration = Duration::from_millis(4);
/// Connections kept for reading.
const IDLE_READERS: usize = 4;

/// One palace, shared by all handles of this process.
pub(crate) struct Store {
    pub(crate) place: Place,
    durability: Durability,
    closed: AtomicBool,
    damaged: AtomicBool,
    connections: Mutex<Connections>,
    writer: Mutex<Option<(FileMark, Db)>>,
    live: Mutex<HashMap<String, Arc<Mutex<Live>>>>,
    pub(crate) row_sets: RowSetCache,
    pub(crate) usage: Usage,
    pub(crate) forgotten: crate::ledger::forgotten::Cache,
    pub(crate) builder: Mutex<Option<std::thread::JoinHandle<()>>>,
    /// Collections that this process wrote to or queried: at close their index is brought up.
    touched: Mutex<BTreeSet<String>>,
    written: AtomicU64,
}

struct Connections {
    mark: Option<FileMark>,
    epoch: u64,
    idle: Vec<Db>,
}

/// The palace row, read inside a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) identity: [u8; 16],
    pub(crate) generation: u64,
    pub(crate) seq: u64,
    pub(crate) tombstone_floor: u64,
    /// Number of the last forgotten drawer whose text may still be in a file; 0 when there is none.
    pub(crate) purge_pending: u64,
}

impl Head {
    pub(crate) fn read(db: &Connection) -> Attempt<Self> {
        let mut statement = db.prepare_cached(
            "SELECT identity, generation, seq, tombstone_floor, purge_pending FROM palace WHERE id = 1",
        )?;
        Ok(statement.query_row([], |row| {
            Ok(Self {
                identity: row.get(0)?,
                generation: row.get::<_, i64>(1)? as u64,
                seq: row.get::<_, i64>(2)? as u64,
                tombstone_floor: row.get::<_, i64>(3)? as u64,
                purge_pending: row.get::<_, i64>(4)? as u64,
            })
        })?)
    }
}

impl Store {
    /// Opens a palace; with `create`, makes it when missing. Without, nothing is created.
    pub(crate) fn open(directory: &Path, create: bool, durability: Durability) -> Result<Self> {
        let place = Place::new(directory);
        opening::keep_damaged_log(&place)?;
        // The connection that looked is the first of the pool, unless the file was replaced since.
        let mark = place.mark()?;
        let first = ensure_ready(&place, create, durability)?;
        let idle = if mark.is_some() && place.mark()? == mark {
            vec![first]
        } else {
            Vec::new()
        };
        Ok(Self {
            place,
            durability,
            closed: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
            connections: Mutex::new(Connections {
                mark,
                epoch: 0,
                idle,
            }),
            writer: Mutex::new(None),
            live: Mutex::default(),
            row_sets: RowSetCache::default(),
            usage: Usage::default(),
            forgotten: crate::ledger::forgotten::Cache::default(),
            builder: Mutex::new(None),
            touched: Mutex::default(),
            written: AtomicU64::new(0),
        })
    }

    /// Notes that this process used a collection's index.
    pub(crate) fn touch(&self, collection: &str) {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        if !touched.contains(collection) {
            touched.insert(collection.to_owned());
        }
    }

    /// Notes that this process wrote records.
    pub(crate) fn wrote(&self, collection: &str, records: u64) {
        self.touch(collection);
        self.written.fetch_add(records, Ordering::Relaxed);
    }

    /// True once in a few thousand written records: counting the tail is not free.
    pub(crate) fn should_check_tail(&self) -> bool {
        self.written
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |written| {
                (written >= TAIL_CHECK).then_some(0)
            })
            .is_ok()
    }

    /// What a process does before it goes: writes access counts, joins a running build, brings the indexes it touched
    /// up, completes a pending purge.
    pub(crate) fn finish(&self) {
        if self.ensure_open().is_err() {
            return;
        }
        usage::flush(self);
        build::join(self);
        let touched =
            std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner));
        for collection in touched {
            if let Err(error) = build::build(self, &collection, When::Due { patience: 1 }) {
                tracing::warn!(collection, %error, "the index was not built; answers stay exact");
            }
        }
        match self.read("looking for a pending purge", |db| Head::read(&db.sql)) {
            Ok(head) if head.purge_pending > 0 => {
                // A process that ends after other work never waits for another one.
                if let Err(error) = purge(self, Patience::None) {
                    tracing::warn!(%error, "the purge stays pending");
                }
            }
            _ => {}
        }
    }

    /// Makes the palace if it was deleted under us.
    pub(crate) fn ensure_created(&self) -> Result<()> {
        self.ensure_open()?;
        ensure_ready(&self.place, true, self.durability)?;
        Ok(())
    }

    /// Runs `work` in one read transaction.
    pub(crate) fn read<T>(&self, doing: &str, work: impl FnOnce(&Db) -> Attempt<T>) -> Result<T> {
        let (mark, db) = self.begin_read(doing)?;
        let result = self.watch(work(&db));
        let ended = db
            .sql
            .execute_batch("COMMIT")
            .or_else(|_| db.sql.execute_batch("ROLLBACK"));
        let result = result.and_then(|value| Ok(ended.map(|()| value)?));
        if !matches!(&result, Err(Fault::Sql(_))) {
            self.keep(mark, db);
        }
        result.map_err(|fault| fault.into_error(&self.place.database, doing))
    }

    /// A connection inside a read transaction that has seen its state.
    fn begin_read(&self, doing: &str) -> Result<(FileMark, Db)> {
        loop {
            let (mark, db) = self.reader(doing)?;
            // The first read fixes what the transaction sees.
            let begun = begin(&db.sql);
            match self.watch(begun) {
                Ok(()) => return Ok((mark, db)),
                Err(fault) => self.unless_replaced(mark, fault, doing)?,
            }
        }
    }

    /// Runs `work` in one write transaction: all of it is committed, or nothing. If the palace is
    /// replaced meanwhile, it is done again on the new one.
    pub(crate) fn write<T>(
        &self,
        doing: &str,
        mut work: impl FnMut(&Db) -> Attempt<T>,
    ) -> Result<T> {
        let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let current = self.current_mark()?;
            if slot.as_ref().is_none_or(|(opened, _)| *opened != current) {
                *slot = None;
                *slot = Some(self.connect_marked(doing)?);
            }
            // The mark of the file that is really written to: it may be newer than the one looked at.
            let Some((mark, db)) = slot.as_ref().map(|(mark, db)| (*mark, db)) else {
                continue;
            };
            let result = self.watch(in_transaction(db, &mut work));
            if matches!(&result, Err(Fault::Sql(_))) {
                // A connection that saw a failed write or a damaged page starts afresh next time.
                *slot = None;
            }
            match result {
                // Committed to a file that was replaced meanwhile: that is no commit of this palace.
                Ok(_) if self.place.mark()? != Some(mark) => *slot = None,
                Ok(value) => return Ok(value),
                Err(fault) => self.unless_replaced(mark, fault, doing)?,
            }
        }
    }

    /// Lets writers of other processes in between two long writes of this one: they sleep for some milliseconds between
    /// their attempts, and would else hardly ever meet a moment in which nobody writes.
    pub(crate) fn make_room(&self) {
        let _slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(ROOM);
    }

    /// Swallows SQLite's error if the palace was replaced since: then the call starts again.
    fn unless_replaced(&self, mark: FileMark, fault: Fault, doing: &str) -> Result<()> {
        if matches!(fault, Fault::Sql(_)) && self.place.mark()? != Some(mark) {
            return Ok(());
        }
        Err(fault.into_error(&self.place.database, doing))
    }

    /// A connection of our own outside any pool, for long work in small steps.
    ///
    /// SQLite opens the log by name, and only at the first read. Until then no restore may swap the
    /// files: the palace lock is shared meanwhile.
    pub(crate) fn connect(&self, doing: &str) -> Result<Db> {
        self.connect_marked(doing).map(|(_, db)| db)
    }

    /// [`Store::connect`], with the mark of the file that was opened.
    fn connect_marked(&self, doing: &str) -> Result<(FileMark, Db)> {
        loop {
            let mark = self.current_mark()?;
            if is_empty(&self.place) {
                // Somebody is creating it anew, or it was emptied and its log must not be touched.
                ensure_ready(&self.place, false, self.durability)?;
                continue;
            }
            let _shared = FileLock::shared(&self.place.lock());
            if self.place.mark()? != Some(mark) {
                continue;
            }
            match open_with_log(&self.place, self.durability) {
                Ok(mut db) => {
                    db.epoch = self.note(mark);
                    return Ok((mark, db));
                }
                Err(fault) => self.unless_replaced(mark, fault, doing)?,
            }
        }
    }

    /// The epoch of a database file; a new one ends the old epoch and its idle connections.
    fn note(&self, mark: FileMark) -> u64 {
        let mut connections = self.lock_connections();
        if connections.mark != Some(mark) {
            let epoch = connections.epoch + 1;
            *connections = Connections {
                mark: Some(mark),
                epoch,
                idle: Vec::new(),
            };
        }
        connections.epoch
    }

    pub(crate) fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::BackendClosed {
                backend: crate::BACKEND_NAME.into(),
            });
        }
        Ok(())
    }

    /// Lets go of every connection; later calls answer `BackendClosed`.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.release();
    }

    /// From now on the files are left as they are: the database is damaged, and moving the log into
    /// it could overwrite what can still be saved.
    pub(crate) fn leave_files_alone(&self) {
        self.damaged.store(true, Ordering::Release);
    }

    /// Passes a result on; damage found by SQLite makes us leave the files alone.
    fn watch<T>(&self, result: Attempt<T>) -> Attempt<T> {
        if result.as_ref().is_err_and(Fault::is_damage) {
            self.leave_files_alone();
        }
        result
    }

    /// Drops every connection of this process to the database file, after one of them has emptied
    /// the log.
    pub(crate) fn release(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut idle = std::mem::take(&mut self.lock_connections().idle);
        let last = writer.take().map(|(_, db)| db).or_else(|| idle.pop());
        drop(idle);
        if let Some(mut db) = last.filter(|_| !self.damaged.load(Ordering::Acquire))
            && let Err(fault) = db.checkpoint()
        {
            tracing::debug!(?fault, "the log stays for the next process");
        }
    }

    /// The in-memory side of a collection's index.
    pub(crate) fn live(&self, collection: &str) -> Arc<Mutex<Live>> {
        let mut map = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(collection.to_owned()).or_default())
    }

    fn current_mark(&self) -> Result<FileMark> {
        self.ensure_open()?;
        loop {
            if let Some(mark) = self.place.mark()? {
                return Ok(mark);
            }
            // Missing: deleted, or a restore is between its renames. The latter holds the lock, and
            // the former is an error once we have it.
            ensure_ready(&self.place, false, self.durability)?;
        }
    }

    fn reader(&self, doing: &str) -> Result<(FileMark, Db)> {
        let mark = self.current_mark()?;
        self.note(mark);
        if let Some(db) = self.lock_connections().idle.pop() {
            return Ok((mark, db));
        }
        let (mark, db) = self.connect_marked(doing)?;
        // A palace that was replaced may be of another format or half made.
        let format = schema::format(&db.sql)
            .map_err(|fault| fault.into_error(&self.place.database, doing))?;
        if format != schema::FORMAT {
            drop(db);
            ensure_ready(&self.place, false, self.durability)?;
            return self.connect_marked(doing);
        }
        Ok((mark, db))
    }

    fn keep(&self, mark: FileMark, db: Db) {
        let mut connections = self.lock_connections();
        if connections.mark == Some(mark)
            && connections.idle.len() < IDLE_READERS
            && !self.closed.load(Ordering::Acquire)
        {
            connections.idle.push(db);
        }
    }

    fn lock_connections(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// `work` between BEGIN IMMEDIATE and COMMIT, rolled back if anything fails.
fn in_transaction<T>(db: &Db, work: &mut impl FnMut(&Db) -> Attempt<T>) -> Attempt<T> {
    db.sql.execute_batch("BEGIN IMMEDIATE")?;
    let result = work(db).and_then(|value| {
        db.sql.execute_batch("COMMIT")?;
        Ok(value)
    });
    if result.is_err() {
        // After some errors SQLite has rolled back by itself.
        let _ = db.sql.execute_batch("ROLLBACK");
    }
    result
}

fn begin(db: &Connection) -> Attempt<()> {
    db.prepare_cached("BEGIN")?.execute([])?;
    db.prepare_cached("SELECT 1 FROM palace")?.exists([])?;
    Ok(())
}

/// A number that no other history of this palace has.
pub(crate) fn new_generation() -> i64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    (high >> 1) as i64
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as i64)
}

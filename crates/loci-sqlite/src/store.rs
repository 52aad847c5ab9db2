//! One open palace: its connections, its caches, and the rules for reading and writing it.
//!
//! Every read runs in one read transaction, every write in one `BEGIN IMMEDIATE`. Before each of
//! them, the store calls `stat` on the database, its log and the log index. If one of the files was
//! deleted, replaced or restored, the store drops its connections and opens new ones.
//!
//! Two processes that use different log indexes of one log do not see each other's locks. So a
//! write holds `palace.lock` shared from before its last check of the files until after its commit,
//! and a missing log or log index is created only under the exclusive lock.

pub(crate) mod connection;
mod creation;
pub(crate) mod duplicates;
pub(crate) mod lock;
mod log_files;
pub(crate) mod opening;
pub(crate) mod palace_files;
pub(crate) mod read_only;
mod replaced;
pub(crate) mod schema;
pub(crate) mod schema_check;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use loci_core::clock::now_ms;
use loci_core::{Durability, Error, MachineSource, Result, Warning};
use loci_files::palace::{OpenPalace, holds_with_others};
use rusqlite::Connection;

use self::connection::{Db, patience};
use self::lock::FileLock;
use self::opening::{Opened, ensure_ready, is_empty, open_named};
use self::palace_files::{Marks, PalaceFiles};
use self::read_only::PrivateCopy;
use self::replaced::give_up_after;
use crate::collection::rowset::RowSetCache;
use crate::collection::usage::{self, Usage};
use crate::fault::{Attempt, Fault};
use crate::index::build::{self, When};
use crate::index::live::Live;
use crate::maintenance::purge::{Patience, purge};

/// How long a writer waits for other writers before it returns `Busy`.
pub(crate) const BUSY_LIMIT: Duration = crate::fault::busy_limit();
/// The tail of the index is counted again after this many written records.
const TAIL_CHECK: u64 = 2_000;
/// The pause between two writes of a process that writes a lot.
const ROOM: Duration = Duration::from_millis(4);
/// The largest number of idle connections kept for reading.
const IDLE_READERS: usize = 4;

/// One palace, shared by all handles of this process.
pub(crate) struct Store {
    pub(crate) place: PalaceFiles,
    durability: Durability,
    machine: MachineSource,
    closed: AtomicBool,
    damaged: AtomicBool,
    /// Held for as long as there may be connections.
    registration: Mutex<Option<OpenPalace>>,
    connections: Mutex<Connections>,
    writer: Mutex<Option<(Marks, Db)>>,
    live: Mutex<HashMap<String, Arc<Mutex<Live>>>>,
    pub(crate) row_sets: RowSetCache,
    pub(crate) usage: Usage,
    pub(crate) forgotten: crate::ledger::forgotten::Cache,
    pub(crate) builder: Mutex<Option<std::thread::JoinHandle<()>>>,
    /// Collections whose index is updated at close, because this process wrote to them or found
    /// their index out of date.
    touched: Mutex<BTreeSet<String>>,
    written: AtomicU64,
    /// Whether a transaction of this process saw a pending purge.
    saw_pending_purge: AtomicBool,
    /// Dropped collections that still had drawers when the palace was opened.
    dropped: Vec<i64>,
    /// Set if the palace cannot be written; `place` is then the private copy. Declared last, so
    /// that its files are removed after the connections to them are closed.
    private: Option<PrivateCopy>,
}

struct Connections {
    marks: Option<Marks>,
    epoch: u64,
    idle: Vec<Db>,
}

/// The row of the table `palace`, read inside a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) identity: [u8; 16],
    pub(crate) generation: u64,
    pub(crate) seq: u64,
    pub(crate) tombstone_floor: u64,
    /// Sequence number of the last forgotten drawer whose text may still be in a file, or 0.
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
    /// Opens a palace. With `create`, a missing palace is created; without it, nothing is created.
    pub(crate) fn open(
        directory: &Path,
        create: bool,
        durability: Durability,
        machine: &MachineSource,
    ) -> Result<Self> {
        let place = PalaceFiles::new(directory);
        // Refuses anything that is not a regular file before it is opened: opening a pipe would
        // block forever.
        place.marks()?;
        let Some(reason) = read_only::reason(&place)? else {
            return Self::open_place(place, create, durability, machine.clone());
        };
        let private = PrivateCopy::of(place, reason)?;
        tracing::info!("{}", private.warning());
        // The private copy is migrated for its readers only, so its sources are assigned to no
        // machine.
        match Self::open_place(private.place(), false, durability, MachineSource::default()) {
            Ok(mut store) => {
                store.private = Some(private);
                store.leave_indexes_out();
                Ok(store)
            }
            Err(error) => Err(private.at_origin(error)),
        }
    }

    fn open_place(
        place: PalaceFiles,
        create: bool,
        durability: Durability,
        machine: MachineSource,
    ) -> Result<Self> {
        opening::keep_damaged_log(&place)?;
        let registration = OpenPalace::register(&place.directory)?;
        // The connection that checked the schema becomes the first of the pool, unless a file was
        // replaced in between.
        let Opened {
            db: first,
            unfinished,
            ..
        } = ensure_ready(&place, create, durability, &machine)?;
        let marks = place.marks()?.filter(|marks| first.holds(marks));
        let idle = marks.map(|_| first).into_iter().collect();
        Ok(Self {
            place,
            durability,
            machine,
            closed: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
            registration: Mutex::new(Some(registration)),
            connections: Mutex::new(Connections {
                marks,
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
            saw_pending_purge: AtomicBool::new(unfinished.purge),
            dropped: unfinished.dropped,
            private: None,
        })
    }

    /// The warning for every reader of a palace that cannot be written.
    pub(crate) fn read_only(&self) -> Option<Warning> {
        self.private.as_ref().map(PrivateCopy::warning)
    }

    /// Whether the palace has changed since its private copy was made.
    pub(crate) fn is_outdated(&self) -> bool {
        self.private
            .as_ref()
            .is_some_and(|private| !private.is_current())
    }

    /// The palace that this store was opened for; `place` may be a private copy of it.
    pub(crate) fn origin(&self) -> &PalaceFiles {
        self.private
            .as_ref()
            .map_or(&self.place, PrivateCopy::origin)
    }

    pub(crate) fn refuse_read_only(&self) -> Result<()> {
        match &self.private {
            None => Ok(()),
            Some(private) => Err(private.refusal()),
        }
    }

    /// Replaces the path of a private copy in an error by the path of the palace.
    fn at_origin(&self, error: Error) -> Error {
        match &self.private {
            None => error,
            Some(private) => private.at_origin(error),
        }
    }

    /// Removes the registrations of index files from a private copy, because index files are not
    /// copied. This changes the copy only, never the palace. A database that is too damaged for it
    /// is read as it is.
    fn leave_indexes_out(&self) {
        let connections = self.lock_connections();
        if let Some(db) = connections.idle.first()
            && let Err(error) = db.sql.execute_batch("DELETE FROM snapshots")
        {
            tracing::debug!(%error, "the index registrations of a private copy were not removed");
        }
    }

    /// Marks a collection whose index must be checked before this process ends.
    pub(crate) fn touch(&self, collection: &str) {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        if !touched.contains(collection) {
            touched.insert(collection.to_owned());
        }
    }

    /// Records how many records this process wrote to a collection.
    pub(crate) fn wrote(&self, collection: &str, records: u64) {
        self.touch(collection);
        self.written.fetch_add(records, Ordering::Relaxed);
    }

    /// Returns true once every few thousand written records, because counting the tail takes time.
    pub(crate) fn should_check_tail(&self) -> bool {
        self.written
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |written| {
                (written >= TAIL_CHECK).then_some(0)
            })
            .is_ok()
    }

    /// Completes the work of this process before the palace is closed: writes access counts, waits
    /// for a running index build, updates the indexes of the collections it touched, and completes
    /// a pending purge.
    pub(crate) fn finish(&self) {
        if self.ensure_open().is_err() || self.private.is_some() {
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
        self.finish_purge();
    }

    /// Completes a pending purge that a transaction of this process saw, unless another process has
    /// completed it.
    fn finish_purge(&self) {
        if !self.saw_pending_purge.load(Ordering::Relaxed) {
            return;
        }
        let still = self.read("looking for a pending purge", |db| {
            Ok(Head::read(&db.sql)?.purge_pending > 0)
        });
        // A process that closes the palace after other work never waits for another process.
        let done = match still {
            Ok(false) => return,
            Ok(true) => purge(self, Patience::None).map(|_| ()),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "the purge is still pending");
        }
    }

    /// Refuses a palace that was moved or deleted after it was opened. A new, empty palace in its
    /// place would hide the loss, and the next writes would go there.
    pub(crate) fn ensure_still_there(&self) -> Result<()> {
        self.current_marks().map(|_| ())
    }

    /// Runs `work` in one read transaction.
    pub(crate) fn read<T>(&self, doing: &str, work: impl FnOnce(&Db) -> Attempt<T>) -> Result<T> {
        let (marks, db) = self
            .begin_read(doing)
            .map_err(|error| self.at_origin(error))?;
        let result = self.watch(work(&db));
        // Ends the read transaction. It wrote nothing, so a ROLLBACK ends it as well if COMMIT
        // fails.
        let ended = db
            .sql
            .execute_batch("COMMIT")
            .or_else(|_| db.sql.execute_batch("ROLLBACK"));
        let result = result.and_then(|value| Ok(ended.map(|()| value)?));
        self.refuse_second_log_index(&marks, doing)?;
        if !matches!(&result, Err(Fault::Sql(_))) {
            self.keep(marks, db);
        }
        result.map_err(|fault| self.at_origin(fault.into_error(&self.place.database, doing)))
    }

    /// Returns a connection inside a read transaction whose snapshot is already fixed.
    fn begin_read(&self, doing: &str) -> Result<(Marks, Db)> {
        loop {
            let (marks, db) = self.reader(doing)?;
            // The first read of a transaction fixes the state that it sees.
            let begun = begin(&db.sql);
            match self.watch(begun) {
                Ok(pending) => {
                    self.note_purge(pending);
                    return Ok((marks, db));
                }
                Err(fault) => self.unless_replaced(&marks, fault, doing)?,
            }
        }
    }

    /// Runs `work` in one write transaction. All of it is committed, or nothing. If the palace was
    /// replaced, `work` runs again on the new one.
    pub(crate) fn write<T>(&self, doing: &str, work: impl FnMut(&Db) -> Attempt<T>) -> Result<T> {
        self.write_embedded(doing, work)?
            .ok_or_else(|| Fault::EmbedAgain.into_error(&self.place.directory, doing))
    }

    /// Like [`Store::write`], for work that needs a vector for each text. If a vector is missing,
    /// nothing is written and the result is `None`; the caller embeds more texts and tries again.
    pub(crate) fn write_embedded<T>(
        &self,
        doing: &str,
        mut work: impl FnMut(&Db) -> Attempt<T>,
    ) -> Result<Option<T>> {
        self.refuse_read_only()?;
        let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let since = Instant::now();
        loop {
            let current = self.current_marks()?;
            self.leave_replaced_log(&current, &mut slot, doing)?;
            if slot.as_ref().is_none_or(|(opened, _)| *opened != current) {
                *slot = None;
                // An idle read connection to the same files can write too, and is already open.
                *slot = match self.idle(&current) {
                    Some(db) => Some((current, db)),
                    None => self.connect_once(doing, since)?,
                };
            }
            // The files of the connection count, because they may be newer than those checked
            // above.
            let Some((marks, db)) = slot.as_ref().map(|(marks, db)| (*marks, db)) else {
                continue;
            };
            let result = self.watch(self.in_transaction(&marks, db, &mut work));
            if matches!(&result, Err(Fault::Sql(_))) {
                // A connection that saw a failed write or a damaged page is not used again.
                *slot = None;
            }
            match result {
                Ok(Turn::Committed(value)) => return Ok(Some(value)),
                Ok(Turn::Replaced) => *slot = None,
                Ok(Turn::Locked) => FileLock::wait(&self.place.lock(), patience())?,
                Err(Fault::EmbedAgain) => return Ok(None),
                Err(fault) => self.unless_replaced(&marks, fault, doing)?,
            }
        }
    }

    /// Runs `work` between BEGIN IMMEDIATE and COMMIT. Rolls back if anything fails.
    fn in_transaction<T>(
        &self,
        marks: &Marks,
        db: &Db,
        work: &mut impl FnMut(&Db) -> Attempt<T>,
    ) -> Attempt<Turn<T>> {
        db.sql.execute_batch("BEGIN IMMEDIATE")?;
        let roll_back = || {
            // SQLite has already rolled back after some errors, so a failure here is ignored.
            let _ = db.sql.execute_batch("ROLLBACK");
        };
        // This must not wait: a process that holds the lock exclusively may be waiting for SQLite's
        // write lock, which this transaction holds.
        let lock = match FileLock::try_shared(&self.place.lock()) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                roll_back();
                return Ok(Turn::Locked);
            }
            Err(error) => {
                roll_back();
                return Err(error.into());
            }
        };
        // Until the lock is released, no Loci process swaps the files or creates a second log or
        // log index. Another program may still remove them.
        match self.is_current(marks, &lock) {
            Ok(true) => {}
            Ok(false) => {
                roll_back();
                return Ok(Turn::Replaced);
            }
            Err(error) => {
                roll_back();
                return Err(error.into());
            }
        }
        let result = work(db).and_then(|value| {
            // The write is in the log when COMMIT returns, and on the disk with durability `full`.
            // A crash before that leaves nothing of the write. Index files follow later, because they
            // are derived from the database. `palace.lock` is still held, so the checked files are the
            // ones written to.
            db.sql.execute_batch("COMMIT")?;
            Ok(value)
        });
        match result {
            Ok(value) => {
                // Checked after the commit and before the lock is released. If another program
                // removed the database in between, the commit went to a file that is not part of
                // the palace, and the caller must not report it as written.
                let kept = self.is_kept(marks, db)?;
                drop(lock);
                Ok(if kept {
                    Turn::Committed(value)
                } else {
                    Turn::Replaced
                })
            }
            Err(fault) => {
                roll_back();
                Err(fault)
            }
        }
    }

    /// Runs `work` on a connection of its own, outside any transaction, for VACUUM and checkpoints.
    /// The shared lock keeps other processes from swapping the files while it runs.
    pub(crate) fn alone<T>(&self, doing: &str, work: impl FnOnce(&Db) -> Attempt<T>) -> Result<T> {
        self.refuse_read_only()?;
        loop {
            let (marks, db) = self.connect_marked(doing)?;
            let Some(lock) = FileLock::try_shared(&self.place.lock())? else {
                FileLock::wait(&self.place.lock(), patience())?;
                continue;
            };
            if !self.is_current(&marks, &lock)? {
                continue;
            }
            return self
                .watch(work(&db))
                .map_err(|fault| fault.into_error(&self.place.database, doing));
        }
    }

    /// Lets writers of other processes in between two long writes of this process. They sleep for
    /// some milliseconds between their attempts, and would otherwise hardly ever find the write
    /// lock free.
    pub(crate) fn make_room(&self) {
        let _slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(ROOM);
    }

    /// Ignores an error of SQLite if the palace was replaced in the meantime; the call then starts
    /// again.
    fn unless_replaced(&self, marks: &Marks, fault: Fault, doing: &str) -> Result<()> {
        if matches!(fault, Fault::Sql(_)) && self.place.marks()? != Some(*marks) {
            return Ok(());
        }
        Err(fault.into_error(&self.place.database, doing))
    }

    /// Opens a connection outside the pool, for long work in small steps.
    ///
    /// SQLite opens the log by name, and only at the first read. The palace lock is held shared
    /// until then, so that no restore swaps the files in between.
    pub(crate) fn connect(&self, doing: &str) -> Result<Db> {
        self.connect_marked(doing).map(|(_, db)| db)
    }

    /// Like [`Store::connect`], and returns the identity of the files that were opened.
    fn connect_marked(&self, doing: &str) -> Result<(Marks, Db)> {
        let since = Instant::now();
        loop {
            let current = self.current_marks()?;
            self.leave_replaced_log_as_reader(&current, doing)?;
            if let Some(connected) = self.connect_once(doing, since)? {
                return Ok(connected);
            }
        }
    }

    /// Makes one attempt at [`Store::connect_marked`]. Returns `None` if a file was replaced in
    /// between, and an error if that has been going on for too long since `since`.
    fn connect_once(&self, doing: &str, since: Instant) -> Result<Option<(Marks, Db)>> {
        let current = self.current_marks()?;
        if is_empty(&self.place) {
            // Another process is creating the database, or the file was emptied and its log must
            // not be touched.
            ensure_ready(&self.place, false, self.durability, &self.machine)?;
            return Ok(None);
        }
        match open_named(&self.place, self.durability) {
            Ok(Some(opened)) if !opened.has_current_format() => {
                // A palace that was replaced may have another format or be incomplete.
                drop(opened);
                ensure_ready(&self.place, false, self.durability, &self.machine)?;
            }
            Ok(Some(Opened { mut db, .. })) => {
                let now = self.place.marks()?.filter(|now| db.holds(now));
                if let Some(marks) = now {
                    db.epoch = self.note(marks);
                    return Ok(Some((marks, db)));
                }
            }
            // A backup was copied over the database, so it has no log yet.
            Ok(None) if !holds_with_others(&current.ids()) => {
                ensure_ready(&self.place, false, self.durability, &self.machine)?;
            }
            Ok(None) => {}
            Err(fault) => self.unless_replaced(&current, fault, doing)?,
        }
        give_up_after(since, doing)?;
        Ok(None)
    }

    /// Returns the epoch of the files. Other files start a new epoch and end the idle connections.
    fn note(&self, marks: Marks) -> u64 {
        let mut connections = self.lock_connections();
        if connections.marks != Some(marks) {
            let epoch = connections.epoch + 1;
            *connections = Connections {
                marks: Some(marks),
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

    /// Drops every connection. Later calls return `BackendClosed`.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.release();
        // Connections that other threads still use have registrations of their own.
        self.registration
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// Leaves the files as they are from this point on. The database is damaged, and a checkpoint
    /// could overwrite pages that can still be salvaged.
    pub(crate) fn leave_files_alone(&self) {
        self.damaged.store(true, Ordering::Release);
    }

    /// Passes a result on. If SQLite found damage, the files are left alone from then on.
    fn watch<T>(&self, result: Attempt<T>) -> Attempt<T> {
        if result.as_ref().is_err_and(Fault::is_damage) {
            self.leave_files_alone();
        }
        result
    }

    /// Drops every connection of this process to the database, after one of them has emptied the
    /// log. The log of a damaged database is not emptied.
    pub(crate) fn release(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let (idle_marks, mut idle) = {
            let mut connections = self.lock_connections();
            (connections.marks, std::mem::take(&mut connections.idle))
        };
        let last = writer
            .take()
            .or_else(|| idle_marks.zip(idle.pop()))
            .filter(|_| !self.damaged.load(Ordering::Acquire));
        drop(idle);
        if let Some((marks, mut db)) = last
            && let Err(fault) = self.empty_log(&marks, &mut db)
        {
            tracing::debug!(?fault, "the log was not emptied; the next process does it");
        }
    }

    /// The in-memory part of a collection's index.
    pub(crate) fn live(&self, collection: &str) -> Arc<Mutex<Live>> {
        let mut map = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(collection.to_owned()).or_default())
    }

    fn current_marks(&self) -> Result<Marks> {
        self.ensure_open()?;
        loop {
            if let Some(marks) = self.place.marks()? {
                return Ok(marks);
            }
            // The database was deleted or moved, or a restore is between its renames. A restore
            // holds the lock, so it has ended once `ensure_ready` has taken it.
            match ensure_ready(&self.place, false, self.durability, &self.machine) {
                Ok(_) => {}
                Err(Error::PalaceNotFound { path }) => return Err(Error::PalaceGone { path }),
                Err(error) => return Err(error),
            }
        }
    }

    fn reader(&self, doing: &str) -> Result<(Marks, Db)> {
        let current = self.current_marks()?;
        self.leave_replaced_log_as_reader(&current, doing)?;
        match self.idle(&current).or_else(|| self.idle_writer(&current)) {
            Some(db) => Ok((current, db)),
            None => self.connect_marked(doing),
        }
    }

    /// The writer's connection, if nobody is writing. A process that does one thing at a time needs
    /// no second connection. It joins the pool after the read.
    fn idle_writer(&self, current: &Marks) -> Option<Db> {
        let mut slot = self.writer.try_lock().ok()?;
        let (_, db) = slot.take_if(|(marks, _)| marks == current)?;
        Some(db)
    }

    /// A pooled connection to these files, if they are the ones that `palace.lock` names.
    fn idle(&self, current: &Marks) -> Option<Db> {
        if !current.are_complete() || !self.is_named(current) {
            return None;
        }
        self.note(*current);
        self.lock_connections().idle.pop()
    }

    /// Dropped collections that still had drawers when the palace was opened.
    pub(crate) fn dropped_at_opening(&self) -> &[i64] {
        &self.dropped
    }

    fn note_purge(&self, pending: bool) {
        if pending {
            self.saw_pending_purge.store(true, Ordering::Relaxed);
        }
    }

    fn keep(&self, marks: Marks, db: Db) {
        let mut connections = self.lock_connections();
        if connections.marks == Some(marks)
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

/// How one attempt at a write transaction ended, unless with an error.
enum Turn<T> {
    Committed(T),
    /// The connection works on files that are not the palace's. Nothing was written to the palace.
    Replaced,
    /// Another process is creating, migrating or replacing the palace. Nothing was written.
    Locked,
}

/// Begins a read transaction and returns whether a purge is pending.
fn begin(db: &Connection) -> Attempt<bool> {
    db.prepare_cached("BEGIN")?.execute([])?;
    let mut statement = db.prepare_cached("SELECT purge_pending > 0 FROM palace WHERE id = 1")?;
    let mut rows = statement.query([])?;
    Ok(match rows.next()? {
        Some(row) => row.get_ref(0)?.as_i64().unwrap_or_default() != 0,
        None => false,
    })
}

/// A random number that distinguishes this history of the palace from every other one.
pub(crate) fn new_generation() -> i64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    (high >> 1) as i64
}

//! One open palace: its connections, its caches, and the rules for reading and writing it.
//!
//! Every read runs in one read transaction, every write in one `BEGIN IMMEDIATE`. Before each, the
//! database, its log and the log's index are looked at with `stat`. If one of them was deleted,
//! replaced or restored, the connections are dropped and opened again.
//!
//! Two processes that work on different indexes of one log do not see each other's locks. So a
//! write holds `palace.lock` shared from before its last look at the files until after its commit,
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
    pub(crate) place: PalaceFiles,
    durability: Durability,
    machine: MachineSource,
    closed: AtomicBool,
    damaged: AtomicBool,
    /// Held while there may be connections.
    registration: Mutex<Option<OpenPalace>>,
    connections: Mutex<Connections>,
    writer: Mutex<Option<(Marks, Db)>>,
    live: Mutex<HashMap<String, Arc<Mutex<Live>>>>,
    pub(crate) row_sets: RowSetCache,
    pub(crate) usage: Usage,
    pub(crate) forgotten: crate::ledger::forgotten::Cache,
    pub(crate) builder: Mutex<Option<std::thread::JoinHandle<()>>>,
    /// Collections whose index is brought up at close: this process wrote to them, or found that it
    /// is due.
    touched: Mutex<BTreeSet<String>>,
    written: AtomicU64,
    /// Whether a transaction of this process saw a purge that is pending.
    saw_pending_purge: AtomicBool,
    /// Dropped collections that were there at opening and have drawers left.
    dropped: Vec<i64>,
    /// The palace cannot be written, and this is what `place` leads to. Declared last: its files go
    /// after the connections to them.
    private: Option<PrivateCopy>,
}

struct Connections {
    marks: Option<Marks>,
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
    pub(crate) fn open(
        directory: &Path,
        create: bool,
        durability: Durability,
        machine: &MachineSource,
    ) -> Result<Self> {
        let place = PalaceFiles::new(directory);
        // Refuses what is no file before anything is opened: a pipe would wait without end.
        place.marks()?;
        let Some(reason) = read_only::reason(&place)? else {
            return Self::open_place(place, create, durability, machine.clone());
        };
        let private = PrivateCopy::of(place, reason)?;
        tracing::info!("{}", private.warning());
        // A copy that serves readers is migrated for them alone: its sources stay nobody's.
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
        // The connection that looked is the first of the pool, unless a file was replaced since.
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

    /// The palace cannot be written: the warning that every reader should get.
    pub(crate) fn read_only(&self) -> Option<Warning> {
        self.private.as_ref().map(PrivateCopy::warning)
    }

    /// Whether a private copy is not the palace's state any more.
    pub(crate) fn is_outdated(&self) -> bool {
        self.private
            .as_ref()
            .is_some_and(|private| !private.is_current())
    }

    /// The palace that this store is about; `place` may be a private copy of it.
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

    /// An error that names a file of a private copy names the palace's instead.
    fn at_origin(&self, error: Error) -> Error {
        match &self.private {
            None => error,
            Some(private) => private.at_origin(error),
        }
    }

    /// Index files are not part of a private copy, so it must not name any. A database that is too
    /// damaged for this is read as it is.
    fn leave_indexes_out(&self) {
        let connections = self.lock_connections();
        if let Some(db) = connections.idle.first()
            && let Err(error) = db.sql.execute_batch("DELETE FROM snapshots")
        {
            tracing::debug!(%error, "a private copy names index files");
        }
    }

    /// Notes that a collection's index is to be looked at before this process ends.
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

    /// Completes a purge that a transaction of this process saw pending, unless somebody has since.
    fn finish_purge(&self) {
        if !self.saw_pending_purge.load(Ordering::Relaxed) {
            return;
        }
        let still = self.read("looking for a pending purge", |db| {
            Ok(Head::read(&db.sql)?.purge_pending > 0)
        });
        // A process that ends after other work never waits for another one.
        let done = match still {
            Ok(false) => return,
            Ok(true) => purge(self, Patience::None).map(|_| ()),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "the purge stays pending");
        }
    }

    /// Refuses a palace that was moved or deleted since it was opened: a new, empty one in its place
    /// would hide the loss, and the next writes would go there.
    pub(crate) fn ensure_still_there(&self) -> Result<()> {
        self.current_marks().map(|_| ())
    }

    /// Runs `work` in one read transaction.
    pub(crate) fn read<T>(&self, doing: &str, work: impl FnOnce(&Db) -> Attempt<T>) -> Result<T> {
        let (marks, db) = self
            .begin_read(doing)
            .map_err(|error| self.at_origin(error))?;
        let result = self.watch(work(&db));
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

    /// A connection inside a read transaction that has seen its state.
    fn begin_read(&self, doing: &str) -> Result<(Marks, Db)> {
        loop {
            let (marks, db) = self.reader(doing)?;
            // The first read fixes what the transaction sees.
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

    /// Runs `work` in one write transaction: all of it is committed, or nothing. If the palace was
    /// replaced, it runs again on the new one.
    pub(crate) fn write<T>(&self, doing: &str, work: impl FnMut(&Db) -> Attempt<T>) -> Result<T> {
        self.write_embedded(doing, work)?
            .ok_or_else(|| Fault::EmbedAgain.into_error(&self.place.directory, doing))
    }

    /// The same for work that needs a vector for each text. Nothing is written and nothing comes
    /// back if one is missing: embed more and try again.
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
                // A connection that has only read so far serves as well, and is open already.
                *slot = match self.idle(&current) {
                    Some(db) => Some((current, db)),
                    None => self.connect_once(doing, since)?,
                };
            }
            // The files that are really written to: they may be newer than the ones looked at.
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

    /// `work` between BEGIN IMMEDIATE and COMMIT, rolled back if anything fails.
    fn in_transaction<T>(
        &self,
        marks: &Marks,
        db: &Db,
        work: &mut impl FnMut(&Db) -> Attempt<T>,
    ) -> Attempt<Turn<T>> {
        db.sql.execute_batch("BEGIN IMMEDIATE")?;
        let roll_back = || {
            // After some errors SQLite has rolled back by itself.
            let _ = db.sql.execute_batch("ROLLBACK");
        };
        // Never wait here: a process that holds the lock exclusively may wait for SQLite's lock,
        // which we hold.
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
        // From here to the end of the lock nobody swaps the files, and nobody creates a second log
        // or log index. Another program may still remove them.
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
            // Durable from here on: in the log, and on the disk with durability `full`. A crash
            // before this line leaves nothing of the write.
            db.sql.execute_batch("COMMIT")?;
            Ok(value)
        });
        match result {
            Ok(value) => {
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

    /// Runs `work` on a connection of its own outside any transaction, with nobody swapping files
    /// meanwhile: for VACUUM and checkpoints.
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

    /// Lets writers of other processes in between two long writes of this one: they sleep for some milliseconds between
    /// their attempts, and would else hardly ever meet a moment in which nobody writes.
    pub(crate) fn make_room(&self) {
        let _slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(ROOM);
    }

    /// Drops SQLite's error if the palace was replaced since: then the call starts again.
    fn unless_replaced(&self, marks: &Marks, fault: Fault, doing: &str) -> Result<()> {
        if matches!(fault, Fault::Sql(_)) && self.place.marks()? != Some(*marks) {
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

    /// [`Store::connect`], with the identity of the files that were opened.
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

    /// One attempt at [`Store::connect_marked`]; `None` if a file was replaced meanwhile. An error
    /// when that goes on since `since`.
    fn connect_once(&self, doing: &str, since: Instant) -> Result<Option<(Marks, Db)>> {
        let current = self.current_marks()?;
        if is_empty(&self.place) {
            // Another process is creating it, or it was emptied and its log must not be touched.
            ensure_ready(&self.place, false, self.durability, &self.machine)?;
            return Ok(None);
        }
        match open_named(&self.place, self.durability) {
            Ok(Some(opened)) if !opened.has_current_format() => {
                // A palace that was replaced may be of another format or half made.
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
            // A backup was copied over the database: it has no log yet.
            Ok(None) if !holds_with_others(&current.ids()) => {
                ensure_ready(&self.place, false, self.durability, &self.machine)?;
            }
            Ok(None) => {}
            Err(fault) => self.unless_replaced(&current, fault, doing)?,
        }
        give_up_after(since, doing)?;
        Ok(None)
    }

    /// The epoch of the files; other files begin a new epoch and end the idle connections.
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

    /// Lets go of every connection; later calls answer `BackendClosed`.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.release();
        // Connections that other threads still use are registered by themselves.
        self.registration
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
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
            tracing::debug!(?fault, "the log stays for the next process");
        }
    }

    /// The in-memory side of a collection's index.
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
            // Missing: deleted, moved, or a restore is between its renames. The last holds the lock
            // and has ended once we have it.
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

    /// The writer's connection, if nobody writes: a process that does one thing at a time needs no
    /// second one. It joins the pool after the read.
    fn idle_writer(&self, current: &Marks) -> Option<Db> {
        let mut slot = self.writer.try_lock().ok()?;
        let (_, db) = slot.take_if(|(marks, _)| marks == current)?;
        Some(db)
    }

    /// A connection of the pool to these files, if they are the ones that `palace.lock` names.
    fn idle(&self, current: &Marks) -> Option<Db> {
        if !current.are_complete() || !self.is_named(current) {
            return None;
        }
        self.note(*current);
        self.lock_connections().idle.pop()
    }

    /// Dropped collections that were there at opening and have drawers left.
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

/// How one attempt at a write transaction ended, if not with an error.
enum Turn<T> {
    Committed(T),
    /// The files are not the ones that the connection works on. Nothing was written to the palace.
    Replaced,
    /// Another process creates, migrates or replaces the palace. Nothing was written.
    Locked,
}

/// Begins a read transaction; gives whether a purge is pending.
fn begin(db: &Connection) -> Attempt<bool> {
    db.prepare_cached("BEGIN")?.execute([])?;
    let mut statement = db.prepare_cached("SELECT purge_pending > 0 FROM palace WHERE id = 1")?;
    let mut rows = statement.query([])?;
    Ok(match rows.next()? {
        Some(row) => row.get_ref(0)?.as_i64().unwrap_or_default() != 0,
        None => false,
    })
}

/// A number that no other history of this palace has.
pub(crate) fn new_generation() -> i64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    (high >> 1) as i64
}

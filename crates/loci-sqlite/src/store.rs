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
mod error;
mod head;
pub(crate) mod lock;
mod log_files;
pub(crate) mod lost;
pub(crate) mod opening;
pub(crate) mod palace_files;
mod pool;
pub(crate) mod read_only;
mod replaced;
pub(crate) mod schema;
pub(crate) mod schema_check;
mod transaction;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use loci_core::clock::now_ms;
use loci_core::{Durability, Error, MachineSource, Result, Warning};
use loci_files::palace::OpenPalace;

use self::connection::Db;
pub(crate) use self::head::{Head, identity_text, new_generation};
use self::opening::{Opened, ensure_ready};
use self::palace_files::{Marks, PalaceFiles};
use self::pool::Connections;
use self::read_only::PrivateCopy;
use crate::collection::facets::FacetCache;
use crate::collection::rowset::RowSetCache;
use crate::collection::usage::{self, Usage};
use crate::fault::{Attempt, Fault};
use crate::index::build::{self, When};
use crate::index::live::Live;
use crate::maintenance::purge::{PurgeWait, purge};

/// The tail of the index is counted again after this many written records.
const TAIL_CHECK: u64 = 2_000;

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
    pub(crate) facets: FacetCache,
    pub(crate) usage: Usage,
    pub(crate) forgotten: crate::ledger::forgotten::Cache,
    pub(crate) running: crate::ledger::running::RunningRuns,
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
            facets: FacetCache::default(),
            usage: Usage::default(),
            forgotten: crate::ledger::forgotten::Cache::default(),
            running: crate::ledger::running::RunningRuns::default(),
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
            Ok(true) => purge(self, PurgeWait::None).map(|_| ()),
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

    /// The in-memory part of a collection's index.
    pub(crate) fn live(&self, collection: &str) -> Arc<Mutex<Live>> {
        let mut map = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(collection.to_owned()).or_default())
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
}

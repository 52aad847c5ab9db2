//! The SQLite backend: the palaces that are open in this process, and their collections. One store
//! per palace is shared by all handles.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{
    Backend, BackupContents, Capabilities, Capability, Collection, CollectionInfo,
    CollectionOptions, Durability, Embedder, Error, ForgetOutcome, Health, MachineSource,
    PalaceRef, PalaceState, ReembedProgress, Reembedded, Relations, RepairOptions, RepairReport,
    Restored, Result, Selection, SelfTest, VerifyReport, Warning, validate_collection_name,
};
use rusqlite::params;

use crate::collection::SqliteCollection;
use crate::collection::meta::CollectionRow;
use crate::collection::rows::{rebuild_postings, take_row};
use crate::fault::Attempt;
use crate::maintenance;
use crate::relations::{SqliteRelations, links};
use crate::store::connection::Db;
use crate::store::palace_files::{DATABASE, PalaceFiles};
use crate::store::{Head, Store, lost, read_only};

/// The default backend: one SQLite file per palace.
///
/// ```
/// use loci_core::{Backend, Batch, CollectionOptions, PalaceRef, Query};
/// use loci_sqlite::SqliteBackend;
/// let directory = tempfile::tempdir()?;
/// let palace = PalaceRef::local(directory.path().join("palace"));
/// let backend = SqliteBackend::default();
/// let drawers = backend.get_collection(&palace, "drawers", true, &CollectionOptions::default())?;
/// drawers.add(&Batch::new(["a"]).documents(["Alice moved to Lyon."]).embeddings([vec![1.0, 0.0]]))?;
/// let answer = drawers.query(&Query::vector(vec![0.9, 0.1]))?;
/// assert_eq!(answer.ids, [["a"]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct SqliteBackend {
    durability: Durability,
    machine: MachineSource,
    closed: AtomicBool,
    stores: Mutex<HashMap<PathBuf, Arc<Store>>>,
}

impl SqliteBackend {
    /// A backend whose commits are as durable as `durability` says.
    pub fn new(durability: Durability) -> Self {
        Self {
            durability,
            machine: MachineSource::default(),
            closed: AtomicBool::new(false),
            stores: Mutex::default(),
        }
    }

    pub(crate) fn machine(&self) -> &MachineSource {
        &self.machine
    }

    /// The machine that the sources of a palace without recorded machines are assigned to when this
    /// backend migrates it. Without one, their machine stays unknown.
    #[must_use]
    pub fn on_machine(mut self, machine: MachineSource) -> Self {
        self.machine = machine;
        self
    }

    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    /// The open palace. Opens it if needed.
    pub(crate) fn store(&self, palace: &PalaceRef, create: bool) -> Result<Arc<Store>> {
        self.ensure_open()?;
        let key = absolute(palace)?;
        let mut stores = self.lock_stores();
        // A private copy shows one moment. Calls that are running continue with the old copy.
        if stores.get(&key).is_some_and(|store| store.is_outdated()) {
            stores.remove(&key);
        }
        if let Some(store) = stores.get(&key) {
            if create {
                store.ensure_still_there()?;
            }
            return Ok(Arc::clone(store));
        }
        let store = Arc::new(Store::open(&key, create, self.durability, &self.machine)?);
        if store.read_only().is_none() {
            purge_dropped(&store, store.dropped_at_opening())?;
        }
        stores.insert(key, Arc::clone(&store));
        Ok(store)
    }

    /// Removes the store of one palace from this backend and returns it, so that its files may be
    /// moved. The caller closes it.
    pub(crate) fn forget_store(&self, palace: &PalaceRef) -> Option<Arc<Store>> {
        let key = absolute(palace).ok()?;
        self.lock_stores().remove(&key)
    }

    pub(crate) fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::BackendClosed {
                backend: crate::BACKEND_NAME.into(),
            });
        }
        Ok(())
    }

    fn lock_stores(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Store>>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        create: Create,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        validate_collection_name(name)?;
        let store = self.store(palace, create != Create::Never)?;
        let found = store.read("opening a collection", |db| {
            CollectionRow::find(&db.sql, &Head::read(&db.sql)?, name)
        })?;
        let row = match (found, create) {
            (Some(_), Create::Always) => return Err(exists(name)),
            (Some(row), _) => row,
            (None, Create::Never) => {
                return Err(Error::CollectionNotInitialized {
                    collection: name.into(),
                });
            }
            (None, _) => store.write("creating a collection", |db| {
                create_row(db, name, create, options)
            })?,
        };
        let info = row.info();
        check_options(&info, options)?;
        Ok(Arc::new(SqliteCollection {
            store,
            name: name.to_owned(),
            metric: row.metric,
            info,
            embedder: options.embedder.clone(),
            opened: (row.generation, row.id),
        }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Create {
    Never,
    IfMissing,
    Always,
}

fn exists(name: &str) -> Error {
    Error::Conflict {
        what: format!("collection `{name}` already exists"),
    }
}

pub(crate) fn create_row(
    db: &Db,
    name: &str,
    create: Create,
    options: &CollectionOptions,
) -> Attempt<CollectionRow> {
    let head = Head::read(&db.sql)?;
    // Another process may have created the collection since the caller looked. Under the write lock
    // this check is final.
    if let Some(row) = CollectionRow::find(&db.sql, &head, name)? {
        if create == Create::Always {
            return Err(exists(name).into());
        }
        return Ok(row);
    }
    let identity = options
        .embedder
        .as_ref()
        .map(|embedder| embedder.identity());
    let json = identity
        .as_ref()
        .and_then(|identity| serde_json::to_string(identity).ok());
    // The number of a collection is a sequence number, so it is never reused.
    let id = head.seq + 1;
    db.sql.execute(
        "INSERT INTO collections (id, name, metric, dimension, embedder, seq) VALUES (?1, ?2, ?3, ?4, ?5, ?1)",
        params![
            id as i64,
            name,
            options.metric.unwrap_or_default().as_str(),
            identity.map(|identity| identity.dimension as i64),
            json
        ],
    )?;
    db.sql
        .execute("UPDATE palace SET seq = ?1 WHERE id = 1", [id as i64])?;
    CollectionRow::require(&db.sql, &head, name)
}

fn check_options(info: &CollectionInfo, options: &CollectionOptions) -> Result<()> {
    if let Some(metric) = options.metric.filter(|metric| *metric != info.metric) {
        return Err(Error::Conflict {
            what: format!(
                "collection `{}` has metric {}, fixed when it was created; {} was requested",
                info.name,
                info.metric.as_str(),
                metric.as_str()
            ),
        });
    }
    match &options.embedder {
        Some(embedder) => info.check_embedder(embedder.as_ref()),
        None => Ok(()),
    }
}

/// Removes the rows of dropped collections in slices. A kill in between leaves the rest for the
/// next process that opens the palace.
fn purge_dropped(store: &Store, dropped: &[i64]) -> Result<()> {
    for collection in dropped {
        while store.write("removing a dropped collection", |db| {
            purge_slice(db, *collection)
        })? {}
    }
    Ok(())
}

fn purge_slice(db: &Db, collection: i64) -> Attempt<bool> {
    let rows: Vec<i64> = {
        let mut statement = db.sql.prepare_cached(
            "SELECT row FROM drawers INDEXED BY drawers_order WHERE collection = ?1 LIMIT 500",
        )?;
        statement
            .query_map([collection], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?
    };
    let mut postings_left = false;
    for row in &rows {
        let removed = take_row(&db.sql, collection, *row as u64)?;
        postings_left |= removed.is_some_and(|removed| removed.postings_left);
    }
    if postings_left {
        rebuild_postings(&db.sql)?;
    }
    // Committed when this returns: up to 500 drawers less. The row of the collection goes last,
    // because `dropped` in it tells the next process that rows are left.
    if !rows.is_empty() {
        return Ok(true);
    }
    for table in [
        "vectors",
        "passages",
        "other_vectors",
        "fresh_vectors",
        "reembeddings",
        "labels",
        "tombstones",
        "snapshots",
        "index_failures",
        "removed_duplicates",
        "damaged_drawers",
        "sources",
        "kept_drawers",
        "forgotten",
        "projects",
    ] {
        db.sql.execute(
            &format!("DELETE FROM {table} WHERE collection = ?1"),
            [collection],
        )?;
    }
    for sql in [
        "DELETE FROM run_sources WHERE run IN (SELECT id FROM runs WHERE collection = ?1)",
        "DELETE FROM runs WHERE collection = ?1",
        "DELETE FROM collections WHERE id = ?1",
    ] {
        db.sql.execute(sql, [collection])?;
    }
    Ok(false)
}

impl Backend for SqliteBackend {
    fn name(&self) -> &'static str {
        crate::BACKEND_NAME
    }

    fn capabilities(&self) -> Capabilities {
        [
            Capability::Writing,
            Capability::EmbeddingsIn,
            Capability::EmbeddingsOut,
            Capability::EstimatedCount,
            Capability::MetadataFilters,
            Capability::RangeFilters,
            Capability::LexicalSearch,
            Capability::Recall,
            Capability::RecencyOrder,
            Capability::MetadataFacets,
            Capability::ChangeFeed,
            Capability::ManyProcesses,
            Capability::LocalMode,
            Capability::Mining,
            Capability::Relations,
            Capability::Projects,
            Capability::Forgetting,
            Capability::Status,
            Capability::Verification,
            Capability::Repair,
            Capability::Backups,
            Capability::Reembedding,
            Capability::SelfTest,
        ]
        .into()
    }

    fn open_palace(&self, palace: &PalaceRef) -> Result<()> {
        self.store(palace, false).map(|_| ())
    }

    fn get_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        create: bool,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        let create = if create {
            Create::IfMissing
        } else {
            Create::Never
        };
        self.open_collection(palace, name, create, options)
    }

    fn create_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.open_collection(palace, name, Create::Always, options)
    }

    fn delete_collection(&self, palace: &PalaceRef, name: &str) -> Result<()> {
        let store = self.store(palace, false)?;
        let dropped = store.write("deleting a collection", |db| {
            let head = Head::read(&db.sql)?;
            let row = CollectionRow::require(&db.sql, &head, name)?;
            // The collection is invisible at once. Its new name holds a control character, which no
            // collection's name can.
            db.sql.execute(
                "UPDATE collections SET dropped = 1, name = char(1) || id WHERE id = ?1",
                [row.id],
            )?;
            db.sql
                .execute("DELETE FROM snapshots WHERE collection = ?1", [row.id])?;
            links::remove_of_collection(&db.sql, name)?;
            db.sql
                .execute("UPDATE palace SET seq = seq + 1 WHERE id = 1", [])?;
            // Committed when this returns: the collection is gone for every reader. Its rows go
            // afterwards in slices, so that no other writer waits long. A crash in between leaves
            // rows that nobody sees, and the next process that opens the palace removes them.
            Ok(row.id)
        })?;
        purge_dropped(&store, &[dropped])
    }

    fn list_collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        let store = self.store(palace, false)?;
        let rows = store.read("listing collections", |db| {
            CollectionRow::all(&db.sql, &Head::read(&db.sql)?)
        })?;
        Ok(rows.iter().map(CollectionRow::info).collect())
    }

    fn close_palace(&self, palace: &PalaceRef) -> Result<()> {
        self.ensure_open()?;
        if let Some(store) = self.forget_store(palace) {
            store.finish();
            store.close();
        }
        Ok(())
    }

    fn close(&self) -> Result<()> {
        let stores: Vec<_> = self.lock_stores().drain().collect();
        self.closed.store(true, Ordering::Release);
        for (_, store) in stores {
            store.finish();
            store.close();
        }
        Ok(())
    }

    fn health(&self) -> Health {
        if self.ensure_open().is_err() {
            return Health {
                ok: false,
                detail: "the backend is closed".into(),
            };
        }
        Health {
            ok: true,
            detail: format!("{} palace(s) open", self.lock_stores().len()),
        }
    }

    fn detect(&self, palace: &PalaceRef) -> bool {
        let Some(directory) = palace.as_directory() else {
            return false;
        };
        // A palace that has lost its database is still a palace: every call reports the loss.
        directory.join(DATABASE).is_file() || lost::is_lost(&PalaceFiles::new(directory))
    }

    fn create_palace(&self, palace: &PalaceRef) -> Result<bool> {
        let missing = !self.detect(palace);
        self.store(palace, true)?;
        Ok(missing)
    }

    fn relations(&self, palace: &PalaceRef) -> Result<Option<Arc<dyn Relations>>> {
        let store = self.store(palace, false)?;
        Ok(Some(Arc::new(SqliteRelations { store })))
    }

    fn generation(&self, palace: &PalaceRef) -> Result<u64> {
        self.store(palace, false)?
            .read("reading the generation", |db| {
                Ok(Head::read(&db.sql)?.generation)
            })
    }

    fn read_only(&self, palace: &PalaceRef) -> Result<Option<Warning>> {
        let place = PalaceFiles::of(palace)?;
        let reason = read_only::reason(&place)?;
        Ok(reason.map(|reason| read_only::warning(&place, &reason)))
    }

    fn state(&self, palace: &PalaceRef) -> Result<PalaceState> {
        maintenance::state(self, palace)
    }

    fn forget(
        &self,
        palace: &PalaceRef,
        collection: &str,
        selection: &Selection,
    ) -> Result<ForgetOutcome> {
        let only = [collection.to_owned()];
        maintenance::forget(self, palace, &only, selection, &mut |_, _| Ok(()))
    }

    fn forget_in(
        &self,
        palace: &PalaceRef,
        collections: &[String],
        selection: &Selection,
        before_each: &mut dyn FnMut(usize, &ForgetOutcome) -> Result<()>,
    ) -> Result<ForgetOutcome> {
        maintenance::forget(self, palace, collections, selection, before_each)
    }

    fn verify(&self, palace: &PalaceRef, deep: bool) -> Result<VerifyReport> {
        maintenance::verify(self, palace, deep)
    }

    fn repair(&self, palace: &PalaceRef, options: RepairOptions) -> Result<RepairReport> {
        maintenance::repair(self, palace, options)
    }

    fn backup(&self, palace: &PalaceRef, target: &Path) -> Result<u64> {
        maintenance::backup(self, palace, target)
    }

    fn check_backup(&self, _: &PalaceRef, backup: &Path, deep: bool) -> Result<BackupContents> {
        self.ensure_open()?;
        maintenance::check_backup(backup, deep)
    }

    fn restore(&self, palace: &PalaceRef, backup: &Path, replace: bool) -> Result<Restored> {
        maintenance::restore(self, palace, backup, replace)
    }

    fn reembed(
        &self,
        palace: &PalaceRef,
        collection: &str,
        embedder: &dyn Embedder,
        progress: &mut dyn FnMut(ReembedProgress),
    ) -> Result<Reembedded> {
        maintenance::reembed(self, palace, collection, embedder, progress)
    }

    fn self_test(&self, palace: &PalaceRef, text: &str, vector: &[f32]) -> Result<SelfTest> {
        maintenance::self_test(self, palace, text, vector)
    }
}

impl Drop for SqliteBackend {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl PalaceFiles {
    /// The palace that a reference names.
    pub(crate) fn of(palace: &PalaceRef) -> Result<Self> {
        Ok(Self::new(&absolute(palace)?))
    }
}

fn absolute(palace: &PalaceRef) -> Result<PathBuf> {
    Ok(palace.absolute()?.directory()?.to_path_buf())
}

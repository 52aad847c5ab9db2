//! The reference backend: maps in memory, brute force, [`Filter::matches`] and no optimisation.
//!
//! It is the shortest implementation of the contract, and property tests compare real backends with
//! it. Palaces are entries of a map, so it touches no files and detects no palaces. Every write
//! works on a copy of the palace, which replaces the original only if the write succeeds.
//!
//! [`Filter::matches`]: loci_core::Filter::matches

mod collection;
mod ledger;
mod maintenance;
mod projects;
mod relations;
mod search;
mod state;
mod write;
mod written;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{
    Backend, Capabilities, Capability, Collection, CollectionInfo, CollectionOptions, Embedder,
    Error, ForgetOutcome, Health, PalaceRef, PalaceState, ReembedProgress, Reembedded, Relations,
    RepairOptions, RepairReport, Result, Selection, SelfTest, VerifyReport,
    validate_collection_name,
};

use collection::MemoryCollection;
use relations::MemoryRelations;
use state::{Palace, State};
pub use written::{Written, WrittenCollection, WrittenDrawer};

/// A backend whose palaces live as long as it does.
///
/// ```
/// use loci_contract::memory::MemoryBackend;
/// use loci_core::{Backend, Batch, CollectionOptions, PalaceRef};
/// let backend = MemoryBackend::new();
/// let palace = PalaceRef::local("anywhere");
/// let drawers = backend.get_collection(&palace, "drawers", true, &CollectionOptions::default())?;
/// drawers.add(&Batch::new(["a"]).documents(["Alice moved to Lyon."]))?;
/// assert_eq!(drawers.count()?, 1);
/// # Ok::<(), loci_core::Error>(())
/// ```
pub struct MemoryBackend {
    name: &'static str,
    store: Arc<Mutex<Store>>,
    sessions: Mutex<Sessions>,
}

/// The palaces of one or more instances, behind one lock.
#[derive(Default)]
struct Store {
    palaces: HashMap<PalaceRef, Palace>,
}

/// The open palaces of one instance.
#[derive(Default)]
struct Sessions {
    closed: bool,
    of_palaces: HashMap<PalaceRef, Arc<Session>>,
}

/// The time between opening and closing a palace. Its handles become invalid at the end.
#[derive(Default)]
struct Session {
    closed: AtomicBool,
}

impl Session {
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    fn check(&self, backend: &str) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed(backend));
        }
        Ok(())
    }
}

impl MemoryBackend {
    /// An empty backend named `memory`.
    pub fn new() -> Self {
        Self::named("memory")
    }

    /// An empty backend with another name, for registries with several backends.
    pub fn named(name: &'static str) -> Self {
        Self {
            name,
            store: Arc::default(),
            sessions: Mutex::default(),
        }
    }

    /// Another instance on the same palaces, as in another process. Closing one leaves the other
    /// open.
    #[must_use]
    pub fn another_instance(&self) -> Self {
        Self {
            name: self.name,
            store: Arc::clone(&self.store),
            sessions: Mutex::default(),
        }
    }

    fn open(&self) -> Result<MutexGuard<'_, Store>> {
        drop(self.open_sessions()?);
        Ok(lock(&self.store))
    }

    fn open_sessions(&self) -> Result<MutexGuard<'_, Sessions>> {
        let sessions = lock(&self.sessions);
        if sessions.closed {
            return Err(closed(self.name));
        }
        Ok(sessions)
    }

    fn session(&self, palace: &PalaceRef) -> Arc<Session> {
        let mut sessions = lock(&self.sessions);
        Arc::clone(sessions.of_palaces.entry(palace.clone()).or_default())
    }

    fn with<T>(
        &self,
        palace: &PalaceRef,
        call: impl FnOnce(&mut Palace) -> Result<T>,
    ) -> Result<T> {
        let mut store = self.open()?;
        let missing = no_palace(palace);
        call(store.palaces.get_mut(palace).ok_or(missing)?)
    }

    fn handle(
        &self,
        palace: &PalaceRef,
        name: &str,
        options: &CollectionOptions,
        mode: Open,
    ) -> Result<Arc<dyn Collection>> {
        let mut store = self.open()?;
        validate_collection_name(name)?;
        let known = store.palaces.get(palace);
        match (known.and_then(|palace| palace.collections.get(name)), mode) {
            (Some(_), Open::New) => {
                return Err(Error::Conflict {
                    what: format!("collection `{name}` exists"),
                });
            }
            (Some(state), Open::Existing | Open::Either) => state.check_options(name, options)?,
            (None, Open::New | Open::Either) => {
                let palace = store
                    .palaces
                    .entry(palace.clone())
                    .or_insert_with(Palace::new);
                palace.create(name, options);
            }
            (None, Open::Existing) if known.is_none() => return Err(no_palace(palace)),
            (None, Open::Existing) => return Err(no_collection(name)),
        }
        let state = store
            .palaces
            .get(palace)
            .ok_or_else(|| no_palace(palace))?
            .collection(name)?;
        Ok(Arc::new(MemoryCollection {
            backend: self.name,
            store: Arc::clone(&self.store),
            place: palace.clone(),
            session: self.session(palace),
            name: name.into(),
            number: state.number,
            metric: state.metric,
            info: state.info(name),
            embedder: options.embedder.clone(),
        }))
    }
}

#[derive(Clone, Copy)]
enum Open {
    Existing,
    New,
    Either,
}

impl Default for MemoryBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend for MemoryBackend {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["memory"]
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
            Capability::Relations,
            Capability::Projects,
            Capability::Mining,
            Capability::Forgetting,
            Capability::Status,
            Capability::Verification,
            Capability::Repair,
            Capability::Reembedding,
            Capability::SelfTest,
        ]
        .into()
    }

    fn get_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        create: bool,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        let mode = if create { Open::Either } else { Open::Existing };
        self.handle(palace, name, options, mode)
    }

    fn create_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.handle(palace, name, options, Open::New)
    }

    fn delete_collection(&self, palace: &PalaceRef, name: &str) -> Result<()> {
        let mut store = self.open()?;
        let state = store
            .palaces
            .get_mut(palace)
            .ok_or_else(|| no_palace(palace))?;
        match state.collections.remove(name) {
            Some(_) => {
                state.unlink(|drawer| drawer.collection == name);
                Ok(())
            }
            None => Err(no_collection(name)),
        }
    }

    fn list_collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        let store = self.open()?;
        let state = store.palaces.get(palace).ok_or_else(|| no_palace(palace))?;
        Ok(state
            .collections
            .iter()
            .map(|(name, state)| state.info(name))
            .collect())
    }

    fn close_palace(&self, palace: &PalaceRef) -> Result<()> {
        if let Some(session) = self.open_sessions()?.of_palaces.remove(palace) {
            session.close();
        }
        Ok(())
    }

    fn close(&self) -> Result<()> {
        let mut sessions = self.open_sessions()?;
        sessions.closed = true;
        for (_, session) in sessions.of_palaces.drain() {
            session.close();
        }
        Ok(())
    }

    fn health(&self) -> Health {
        match self.open() {
            Ok(_) => Health {
                ok: true,
                detail: "serving from memory".into(),
            },
            Err(error) => Health {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn detect(&self, palace: &PalaceRef) -> bool {
        lock(&self.store).palaces.contains_key(palace)
    }

    fn create_palace(&self, palace: &PalaceRef) -> Result<bool> {
        let mut store = self.open()?;
        let missing = !store.palaces.contains_key(palace);
        store
            .palaces
            .entry(palace.clone())
            .or_insert_with(Palace::new);
        Ok(missing)
    }

    fn generation(&self, palace: &PalaceRef) -> Result<u64> {
        // A palace in memory is never replaced.
        self.with(palace, |_| Ok(0))
    }

    fn state(&self, palace: &PalaceRef) -> Result<PalaceState> {
        self.with(palace, |palace| Ok(maintenance::state_of(palace)))
    }

    fn forget(
        &self,
        palace: &PalaceRef,
        collection: &str,
        selection: &Selection,
    ) -> Result<ForgetOutcome> {
        self.with(palace, |palace| {
            let mut copy = palace.clone();
            let outcome = ledger::forget(&mut copy, collection, selection)?;
            *palace = copy;
            Ok(outcome)
        })
    }

    fn verify(&self, palace: &PalaceRef, deep: bool) -> Result<VerifyReport> {
        self.with(palace, |palace| Ok(maintenance::verify(palace, deep)))
    }

    fn repair(&self, palace: &PalaceRef, _: RepairOptions) -> Result<RepairReport> {
        self.with(palace, |palace| Ok(maintenance::repair(palace)))
    }

    fn reembed(
        &self,
        palace: &PalaceRef,
        collection: &str,
        embedder: &dyn Embedder,
        progress: &mut dyn FnMut(ReembedProgress),
    ) -> Result<Reembedded> {
        let identity = embedder.identity();
        let (resumed, before) = self.with(palace, |palace| {
            let state = palace.collection_mut(collection)?;
            let resumed = maintenance::begin_reembedding(state, &identity)?;
            Ok((resumed, state.embedder.clone()))
        })?;
        let mut made = 0;
        // The lock is not held while texts are embedded, so readers and writers are not blocked.
        loop {
            let texts = self.with(palace, |palace| {
                Ok(maintenance::missing(palace.collection(collection)?))
            })?;
            if texts.is_empty() {
                let switched =
                    self.with(palace, |palace| maintenance::switch(palace, collection))?;
                if let Some(drawers) = switched {
                    return Ok(Reembedded {
                        drawers,
                        made,
                        resumed,
                        before,
                    });
                }
                continue;
            }
            let vectors = maintenance::embed(embedder, &texts)?;
            made += vectors.len() as u64;
            let (done, total) = self.with(palace, |palace| {
                let state = palace.collection_mut(collection)?;
                Ok(maintenance::keep_fresh(state, vectors))
            })?;
            progress(ReembedProgress { done, total });
        }
    }

    fn self_test(&self, palace: &PalaceRef, text: &str, vector: &[f32]) -> Result<SelfTest> {
        self.with(palace, |palace| {
            Ok(maintenance::self_test(palace, text, vector))
        })
    }

    fn relations(&self, palace: &PalaceRef) -> Result<Option<Arc<dyn Relations>>> {
        let store = self.open()?;
        if !store.palaces.contains_key(palace) {
            return Err(no_palace(palace));
        }
        Ok(Some(Arc::new(MemoryRelations {
            backend: self.name,
            store: Arc::clone(&self.store),
            place: palace.clone(),
            session: self.session(palace),
        })))
    }
}

impl Palace {
    fn collection(&self, name: &str) -> Result<&State> {
        self.collections
            .get(name)
            .ok_or_else(|| no_collection(name))
    }

    fn collection_mut(&mut self, name: &str) -> Result<&mut State> {
        self.collections
            .get_mut(name)
            .ok_or_else(|| no_collection(name))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed(backend: &str) -> Error {
    Error::BackendClosed {
        backend: backend.into(),
    }
}

fn no_palace(palace: &PalaceRef) -> Error {
    Error::PalaceNotFound {
        path: palace.to_string().into(),
    }
}

fn no_collection(name: &str) -> Error {
    Error::CollectionNotInitialized {
        collection: name.into(),
    }
}

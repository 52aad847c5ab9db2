//! A read-only backend over anything that can be read into rows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::collection::RowsCollection;
use super::loaded::LoadedPalace;
use super::source::Source;
use crate::backend::{Backend, CollectionInfo, CollectionOptions};
use crate::batch::validate_collection_name;
use crate::capability::{Capabilities, Capability};
use crate::collection::Collection;
use crate::error::{Error, Result};
use crate::maintenance::PalaceState;
use crate::palace_ref::PalaceRef;
use crate::result::Health;

/// Maximum number of attempts to read a palace whose files change while they are read. After that
/// the last reading is used, and the next call reads again.
const ATTEMPTS: usize = 3;

/// A read-only backend over a [`Source`].
///
/// It reads a palace on first use and again when its stamp changes, so every call sees the latest
/// state. It answers by brute force, like [`super::Rows`]. A palace that contradicts itself (a
/// duplicate id or record number, vectors of two lengths) is [`Error::Corrupt`] at every call until
/// its files are repaired.
pub struct RowsBackend<S: Source> {
    source: Arc<S>,
    closed: AtomicBool,
    palaces: Mutex<HashMap<PalaceRef, Arc<OpenPalace<S>>>>,
}

impl<S: Source> RowsBackend<S> {
    /// A backend that reads through this source.
    pub fn new(source: S) -> Self {
        Self {
            source: Arc::new(source),
            closed: AtomicBool::new(false),
            palaces: Mutex::default(),
        }
    }

    fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed(&*self.source));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PalaceRef, Arc<OpenPalace<S>>>> {
        self.palaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The palace, opened in this process. Reads nothing yet.
    fn palace(&self, palace: &PalaceRef) -> Result<Arc<OpenPalace<S>>> {
        self.ensure_open()?;
        if !self.source.detect(palace) {
            return Err(no_palace(palace));
        }
        let mut palaces = self.lock();
        let opened = palaces
            .entry(palace.absolute()?)
            .or_insert_with_key(|place| {
                Arc::new(OpenPalace {
                    source: Arc::clone(&self.source),
                    place: place.clone(),
                    closed: AtomicBool::new(false),
                    current: Mutex::new(None),
                })
            });
        Ok(Arc::clone(opened))
    }
}

/// An open palace, and its rows as of the last call.
pub(super) struct OpenPalace<S: Source> {
    pub(super) source: Arc<S>,
    place: PalaceRef,
    closed: AtomicBool,
    current: Mutex<Option<(S::Stamp, Arc<LoadedPalace>)>>,
}

impl<S: Source> OpenPalace<S> {
    /// The current rows. One thread reads while the others wait.
    pub(super) fn loaded(&self) -> Result<Arc<LoadedPalace>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed(&*self.source));
        }
        if !self.source.detect(&self.place) {
            return Err(no_palace(&self.place));
        }
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stamp = self.source.stamp(&self.place)?;
        if let Some((of, loaded)) = &*current
            && *of == stamp
        {
            return Ok(Arc::clone(loaded));
        }
        for attempt in 1.. {
            let read = self.source.load(&self.place);
            let after = self.source.stamp(&self.place)?;
            if after != stamp && attempt < ATTEMPTS {
                stamp = after;
                continue;
            }
            // The rows are stored with the stamp from before the reading. If the files changed in
            // the meantime, the next call sees another stamp and reads again.
            let loaded = Arc::new(LoadedPalace::new(&self.place, read?)?);
            *current = Some((stamp, Arc::clone(&loaded)));
            return Ok(loaded);
        }
        Err(Error::Internal {
            doing: "reading a palace".into(),
            detail: "it was never read".into(),
        })
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.take();
    }
}

impl<S: Source> Backend for RowsBackend<S> {
    fn name(&self) -> &'static str {
        self.source.name()
    }

    fn schemes(&self) -> &'static [&'static str] {
        self.source.schemes()
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = Capabilities::from([
            Capability::EmbeddingsOut,
            Capability::EstimatedCount,
            Capability::MetadataFilters,
            Capability::RangeFilters,
            Capability::LexicalSearch,
            Capability::Recall,
            Capability::RecencyOrder,
            Capability::MetadataFacets,
            Capability::ManyProcesses,
            Capability::Status,
        ]);
        if self.schemes().is_empty() {
            offered.insert(Capability::LocalMode);
        }
        offered
    }

    fn detect(&self, palace: &PalaceRef) -> bool {
        self.source.detect(palace)
    }

    fn can_be_imported(&self) -> bool {
        self.source.can_be_imported()
    }

    fn default_collection(&self, palace: &PalaceRef) -> Result<Option<String>> {
        let loaded = self.palace(palace)?.loaded()?;
        let names: Vec<&str> = loaded.collections.keys().map(String::as_str).collect();
        Ok(self.source.default_collection(&names))
    }

    fn create_palace(&self, _palace: &PalaceRef) -> Result<bool> {
        self.ensure_open()?;
        Err(self.lacks(Capability::Writing))
    }

    fn get_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        create: bool,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.ensure_open()?;
        validate_collection_name(name)?;
        let opened = match self.palace(palace) {
            Err(Error::PalaceNotFound { .. }) if create => {
                return Err(self.lacks(Capability::Writing));
            }
            opened => opened?,
        };
        let loaded = opened.loaded()?;
        let Some(found) = loaded.collections.get(name) else {
            return Err(if create {
                self.lacks(Capability::Writing)
            } else {
                no_collection(name)
            });
        };
        let handle = RowsCollection::open(opened, found, options)?;
        Ok(Arc::new(handle))
    }

    fn create_collection(
        &self,
        _palace: &PalaceRef,
        name: &str,
        _options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.ensure_open()?;
        validate_collection_name(name)?;
        Err(self.lacks(Capability::Writing))
    }

    fn delete_collection(&self, palace: &PalaceRef, _name: &str) -> Result<()> {
        self.palace(palace)?;
        Err(self.lacks(Capability::Writing))
    }

    fn list_collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        let loaded = self.palace(palace)?.loaded()?;
        let infos = loaded.collections.values().map(|of| of.info.clone());
        Ok(infos.collect())
    }

    fn close_palace(&self, palace: &PalaceRef) -> Result<()> {
        self.ensure_open()?;
        if let Some(opened) = self.lock().remove(&palace.absolute()?) {
            opened.close();
        }
        Ok(())
    }

    fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        for (_, opened) in self.lock().drain() {
            opened.close();
        }
        Ok(())
    }

    fn health(&self) -> Health {
        match self.ensure_open() {
            Ok(()) => Health {
                ok: true,
                detail: format!("{} palace(s) open for reading", self.lock().len()),
            },
            Err(error) => Health {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn state(&self, palace: &PalaceRef) -> Result<PalaceState> {
        let loaded = self.palace(palace)?.loaded()?;
        let seqs = loaded.collections.values().map(|of| of.seq);
        Ok(PalaceState {
            seq: seqs.max().unwrap_or_default(),
            bytes: self.source.bytes(palace)?,
            ..PalaceState::default()
        })
    }
}

fn closed(source: &impl Source) -> Error {
    Error::BackendClosed {
        backend: source.name().into(),
    }
}

fn no_palace(palace: &PalaceRef) -> Error {
    Error::PalaceNotFound {
        path: palace.to_string().into(),
    }
}

pub(super) fn no_collection(name: &str) -> Error {
    Error::CollectionNotInitialized {
        collection: name.into(),
    }
}

//! A ChromaDB directory as a read-only backend.
//!
//! Opening a directory reads it once and builds a *mirror*: a private Loci palace in the user's
//! cache that answers every call. Each call first checks that the directory has not changed since.
//! Nothing is ever written into the directory itself.

mod about;
mod cache;
mod collection;
mod duplicates;
mod filling;
mod fingerprint;
mod fitting;
mod mirror;
mod recency;
mod restored_view;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{
    Advice, Backend, Capabilities, Capability, Collection, CollectionInfo, CollectionOptions,
    DEFAULT_COLLECTION, EmbedderIdentity, Error, Health, PalaceRef, PalaceState, Result,
    validate_collection_name,
};
use loci_foreign::chroma::{CollectionRow, DATABASE};
use loci_sqlite::SqliteBackend;

use collection::ChromaCollection;
use mirror::{Mirror, Settings};

/// The name of this backend in the registry.
pub const BACKEND_NAME: &str = "chroma";
/// The collection in which MemPalace keeps its drawers.
const MEMPALACE_DRAWERS: &str = "mempalace_drawers";
/// The prefix of MemPalace's collections. They are embedded with ChromaDB's default unless they say
/// otherwise.
const MEMPALACE: &str = "mempalace_";
/// The name of ChromaDB's own embedding function.
const DEFAULT_FUNCTION: &str = "default";

/// Finds an embedder by the name that ChromaDB records and the length of its vectors.
pub type KnownEmbedders = fn(&str, usize) -> Option<EmbedderIdentity>;

/// Reads ChromaDB directories and refuses every write.
pub struct ChromaBackend {
    settings: Settings,
    closed: AtomicBool,
    palaces: Mutex<HashMap<PathBuf, Arc<OpenPalace>>>,
}

impl ChromaBackend {
    /// Creates a backend with mirrors in the user's cache directory. `LOCI_NO_DRIFT_CHECK=1`
    /// silences its warnings.
    pub fn new(known: KnownEmbedders) -> Self {
        let silent = std::env::var_os("LOCI_NO_DRIFT_CHECK").is_some_and(|value| value == "1");
        Self {
            settings: Settings {
                known,
                mirrors: cache::of_user(),
                drift_check: !silent,
            },
            closed: AtomicBool::new(false),
            palaces: Mutex::default(),
        }
    }

    /// Keeps mirrors in this directory.
    #[must_use]
    pub fn mirrors_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.settings.mirrors = Some(directory.into());
        self
    }

    /// Sets whether answers warn about problems of the directory.
    #[must_use]
    pub fn drift_check(mut self, check: bool) -> Self {
        self.settings.drift_check = check;
        self
    }

    /// The embedder that made the vectors of a collection, if it is known.
    pub fn embedder_of(&self, collection: &CollectionRow) -> Option<EmbedderIdentity> {
        embedder_of(self.settings.known, collection, collection.dimension)
    }

    fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<OpenPalace>>> {
        self.palaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The palace, opened in this process without reading anything.
    fn palace(&self, palace: &PalaceRef) -> Result<Arc<OpenPalace>> {
        self.ensure_open()?;
        let directory = palace.directory()?;
        if !is_chroma(directory) {
            return Err(Error::PalaceNotFound {
                path: directory.to_path_buf(),
            });
        }
        let key = key(palace)?;
        let opened = self
            .lock()
            .entry(key)
            .or_insert_with_key(|path| {
                Arc::new(OpenPalace {
                    path: path.clone(),
                    settings: self.settings.clone(),
                    closed: AtomicBool::new(false),
                    mirror: Mutex::default(),
                })
            })
            .clone();
        Ok(opened)
    }
}

/// A directory that this process reads, and its mirror as of the last call.
struct OpenPalace {
    path: PathBuf,
    settings: Settings,
    closed: AtomicBool,
    mirror: Mutex<Option<Arc<Mirror>>>,
}

impl OpenPalace {
    /// The mirror of the directory in its current state. One thread builds it while the others
    /// wait.
    fn mirror(&self) -> Result<Arc<Mirror>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        if !is_chroma(&self.path) {
            return Err(Error::PalaceNotFound {
                path: self.path.clone(),
            });
        }
        let mut current = self.mirror.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mirror) = current.as_ref().filter(|mirror| mirror.holds(&self.path)) {
            return Ok(Arc::clone(mirror));
        }
        let mirror = Arc::new(Mirror::of(&self.path, &self.settings)?);
        *current = Some(Arc::clone(&mirror));
        Ok(mirror)
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.mirror
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// The error of a call that would write.
    fn refusal(&self, call: &str) -> Error {
        refusal(call, &self.path)
    }
}

impl Backend for ChromaBackend {
    fn name(&self) -> &'static str {
        BACKEND_NAME
    }

    /// The capabilities of the mirror, except the change feed: its numbers would start again with
    /// every mirror.
    fn capabilities(&self) -> Capabilities {
        [
            Capability::EmbeddingsOut,
            Capability::EstimatedCount,
            Capability::MetadataFilters,
            Capability::RangeFilters,
            Capability::LexicalSearch,
            Capability::Recall,
            Capability::RecencyOrder,
            Capability::MetadataFacets,
            Capability::ManyProcesses,
            Capability::LocalMode,
            Capability::Status,
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
        self.ensure_open()?;
        validate_collection_name(name)?;
        let opened = match self.palace(palace) {
            Err(Error::PalaceNotFound { .. }) if create => {
                return Err(refusal("creating a palace", palace.directory()?));
            }
            opened => opened?,
        };
        let mirror = opened.mirror()?;
        let Some(found) = mirror.named(name) else {
            return Err(if create {
                opened.refusal("creating a collection")
            } else {
                Error::CollectionNotInitialized {
                    collection: name.into(),
                }
            });
        };
        let (name, id) = (found.name.clone(), found.id.clone());
        let collection = ChromaCollection::open(opened, mirror, name, id, options)?;
        Ok(Arc::new(collection))
    }

    fn create_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        _options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.ensure_open()?;
        validate_collection_name(name)?;
        Err(refusal("creating a collection", palace.directory()?))
    }

    fn delete_collection(&self, palace: &PalaceRef, _name: &str) -> Result<()> {
        Err(self.palace(palace)?.refusal("deleting a collection"))
    }

    fn list_collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.palace(palace)?.mirror()?.list()
    }

    fn close_palace(&self, palace: &PalaceRef) -> Result<()> {
        self.ensure_open()?;
        if let Some(opened) = self.lock().remove(&key(palace)?) {
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
                detail: format!("{} directories open for reading", self.lock().len()),
            },
            Err(error) => Health {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn detect(&self, palace: &PalaceRef) -> bool {
        palace.as_directory().is_some_and(is_chroma)
    }

    fn can_be_imported(&self) -> bool {
        true
    }

    /// MemPalace's drawers, or else the only collection.
    fn default_collection(&self, palace: &PalaceRef) -> Result<Option<String>> {
        let mirror = self.palace(palace)?.mirror()?;
        let names = mirror.names();
        Ok(match names.as_slice() {
            _ if names.contains(&DEFAULT_COLLECTION) => None,
            _ if names.contains(&MEMPALACE_DRAWERS) => Some(MEMPALACE_DRAWERS.into()),
            [only] => Some((*only).into()),
            _ => None,
        })
    }

    fn lacks(&self, capability: Capability) -> Error {
        Error::UnsupportedCapability {
            capability: capability.words().into(),
            reason: "ChromaDB directories are read-only".into(),
        }
        .advise(Advice::Import { path: None })
    }

    fn state(&self, palace: &PalaceRef) -> Result<PalaceState> {
        let opened = self.palace(palace)?;
        opened.mirror()?;
        Ok(PalaceState {
            bytes: bytes_of(&opened.path),
            ..PalaceState::default()
        })
    }

    fn create_palace(&self, palace: &PalaceRef) -> Result<bool> {
        Err(refusal("creating a palace", palace.directory()?))
    }
}

fn embedder_of(
    known: KnownEmbedders,
    collection: &CollectionRow,
    dimension: Option<usize>,
) -> Option<EmbedderIdentity> {
    let function = match &collection.embedding_function {
        Some(name) => name,
        None if collection.name.starts_with(MEMPALACE) => DEFAULT_FUNCTION,
        None => return None,
    };
    let dimension = dimension?;
    known(function, dimension).filter(|identity| identity.dimension == dimension)
}

/// The size of the files in a directory and in its subdirectories.
fn bytes_of(directory: &Path) -> u64 {
    let files = |directory: &Path| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
    };
    let bytes = |(path, info): (PathBuf, std::fs::Metadata)| {
        if info.is_dir() {
            files(&path).map(|(_, info)| info.len()).sum()
        } else {
            info.len()
        }
    };
    files(directory).map(bytes).sum()
}

fn is_chroma(path: &Path) -> bool {
    path.join(DATABASE).is_file() && !SqliteBackend::default().detect(&PalaceRef::local(path))
}

fn key(palace: &PalaceRef) -> Result<PathBuf> {
    Ok(palace.absolute()?.directory()?.to_path_buf())
}

fn closed() -> Error {
    Error::BackendClosed {
        backend: BACKEND_NAME.into(),
    }
}

fn refusal(call: &str, path: &Path) -> Error {
    Error::UnsupportedCapability {
        capability: call.into(),
        reason: "ChromaDB directories are read-only".into(),
    }
    .advise(Advice::Import {
        path: Some(path.to_owned()),
    })
}

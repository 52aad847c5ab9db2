//! One palace and everything a front end does with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_chroma::ChromaBackend;
use loci_core::{
    Backend, BackendChoice, Collection, CollectionInfo, CollectionOptions, Embedder,
    EmbedderIdentity, Error, MaintenanceState, Metric, PalaceRef, Registry, Relations, Result,
    Selection, Warning,
};
use loci_embed::ModelStore;
use loci_sqlite::{
    Durability, ForgetOutcome, PalaceState, RepairOptions, RepairReport, Restored, SqliteBackend,
    VerifyReport,
};

use crate::config::Config;
use crate::embedders::{Embedders, Purpose, Resolved};
use crate::rescue::known_maker;

/// Collection used when none is named.
pub const DEFAULT_COLLECTION: &str = "drawers";

/// How a palace is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Make the palace if there is none.
    pub create: bool,
    /// Backend by name; otherwise configuration, environment, detection and default decide.
    pub backend: Option<String>,
    /// How hard commits try to reach the disk; otherwise configuration and default decide.
    pub durability: Option<Durability>,
    /// Embedder by name (`static`, `minilm`, `openai`, `none`); otherwise what made a collection's vectors decides.
    pub embedder: Option<String>,
}

impl OpenOptions {
    /// Makes the palace when it is missing.
    pub fn create() -> Self {
        Self {
            create: true,
            ..Self::default()
        }
    }

    /// Opens a palace that exists; creates nothing.
    pub fn existing() -> Self {
        Self::default()
    }
}

/// An open palace. Close it when done: a process that wrote much brings the index up before it goes.
pub struct Palace {
    reference: PalaceRef,
    backend: Arc<dyn Backend>,
    sqlite: Arc<SqliteBackend>,
    embedders: Embedders,
}

/// A collection together with the embedder that it is used with.
pub struct Memory {
    /// The collection, opened with the embedder.
    pub collection: Arc<dyn Collection>,
    /// `None`: words only.
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// A collection with the state of its index.
#[derive(Debug, Clone)]
pub struct CollectionStatus {
    /// Counts and settings.
    pub info: CollectionInfo,
    /// How far its index is behind.
    pub index: MaintenanceState,
}

/// What `status` shows.
#[derive(Debug, Clone)]
pub struct Status {
    /// Drawers of all collections.
    pub drawers: u64,
    /// Each collection.
    pub collections: Vec<CollectionStatus>,
    /// The palace as a whole.
    pub state: PalaceState,
}

impl Palace {
    /// Opens the palace in `path`. The backend is the one named explicitly, else in the palace's
    /// configuration, else in `LOCI_BACKEND`, else the one whose files are there, else `sqlite`.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let palace = Self::connect(path, options)?;
        if options.create && palace.is_local() {
            palace.sqlite.ensure_palace(&palace.reference)?;
        } else {
            palace.backend.list_collections(&palace.reference)?;
        }
        Ok(palace)
    }

    /// Names a palace without looking whether it can be opened, for `verify` and `repair`.
    pub fn connect(path: &Path, options: &OpenOptions) -> Result<Self> {
        Self::connect_with(path, options, Config::of_palace(path)?, Config::of_user()?)
    }

    /// [`Palace::connect`] with the configuration given.
    pub(crate) fn connect_with(
        path: &Path,
        options: &OpenOptions,
        of_palace: Config,
        of_user: Config,
    ) -> Result<Self> {
        let durability = match options.durability {
            Some(durability) => durability,
            None => of_palace
                .durability()?
                .or(of_user.durability()?)
                .unwrap_or_default(),
        };
        let sqlite = Arc::new(SqliteBackend::new(durability));
        let mut registry = Registry::new();
        registry.register(Arc::clone(&sqlite) as Arc<dyn Backend>);
        registry.register(Arc::new(ChromaBackend::new(known_maker)));
        let environment = std::env::var("LOCI_BACKEND")
            .ok()
            .filter(|name| !name.is_empty());
        let embedders = Embedders::new(options.embedder.as_deref(), path, &of_palace, &of_user)?;
        let config = of_palace.backend.or(of_user.backend);
        let choice = BackendChoice {
            explicit: options.backend.as_deref(),
            config: config.as_deref(),
            environment: environment.as_deref(),
        };
        let backend = registry.resolve(choice, path)?;
        Ok(Self {
            reference: PalaceRef::local(path),
            backend,
            sqlite,
            embedders,
        })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.reference.path
    }

    /// Name of the backend that serves it.
    pub fn backend_name(&self) -> &'static str {
        self.backend.name()
    }

    /// A collection with its embedder: texts that come without a vector get one. The warnings say when that is another
    /// embedder than expected, or none.
    pub fn memory(&self, name: &str, create: bool) -> Result<(Memory, Vec<Warning>)> {
        self.resolved(name, create, Purpose::Write)
    }

    /// The same for reading: what embeds the questions. A model that is named and missing is only a warning.
    pub(crate) fn reading(&self, name: &str) -> Result<(Memory, Vec<Warning>)> {
        self.resolved(name, false, Purpose::Read)
    }

    fn resolved(
        &self,
        name: &str,
        create: bool,
        purpose: Purpose,
    ) -> Result<(Memory, Vec<Warning>)> {
        let plain = self.collection(name, create)?;
        let pinned = plain.embedder()?;
        let resolved =
            self.embedders
                .resolve(name, pinned.as_ref(), plain.dimension()?, purpose)?;
        let collection = match &resolved.embedder {
            None => plain,
            Some(embedder) => {
                let options = CollectionOptions {
                    metric: None,
                    embedder: Some(Arc::clone(embedder)),
                };
                self.collection_with(name, false, &options)?
            }
        };
        let memory = Memory {
            collection,
            embedder: resolved.embedder,
        };
        Ok((memory, resolved.warnings))
    }

    /// The embedder that would write into a collection whose vectors `pinned` made.
    pub(crate) fn embedder_for(
        &self,
        name: &str,
        pinned: Option<&EmbedderIdentity>,
        dimension: Option<usize>,
    ) -> Result<Resolved> {
        self.embedders
            .resolve(name, pinned, dimension, Purpose::Write)
    }

    /// An embedder by name; nothing for `none`.
    pub fn embedder(&self, name: &str) -> Result<Option<Arc<dyn Embedder>>> {
        self.embedders.open(name)
    }

    /// The models that were added on this machine.
    pub fn models(&self) -> &ModelStore {
        self.embedders.models()
    }

    /// The model that `[openai]` names, if it is configured.
    pub(crate) fn configured_model(&self) -> Option<&str> {
        self.embedders.configured_model()
    }

    /// A collection as it is, without an embedder; with `create`, made when missing.
    pub fn collection(&self, name: &str, create: bool) -> Result<Arc<dyn Collection>> {
        self.collection_with(name, create, &CollectionOptions::default())
    }

    /// A collection with options.
    pub fn collection_with(
        &self,
        name: &str,
        create: bool,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.backend
            .get_collection(&self.reference, name, create, options)
    }

    /// Creates a collection; a conflict if it exists.
    pub fn create_collection(&self, name: &str, metric: Metric) -> Result<Arc<dyn Collection>> {
        let options = CollectionOptions {
            metric: Some(metric),
            embedder: None,
        };
        self.backend
            .create_collection(&self.reference, name, &options)
    }

    /// Removes a collection and everything in it.
    pub fn delete_collection(&self, name: &str) -> Result<()> {
        self.backend.delete_collection(&self.reference, name)
    }

    /// All collections, by name.
    pub fn collections(&self) -> Result<Vec<CollectionInfo>> {
        self.backend.list_collections(&self.reference)
    }

    /// The named collection, or all of them when none is named.
    pub fn scope(&self, collection: Option<&str>) -> Result<Vec<Arc<dyn Collection>>> {
        match collection {
            Some(name) => Ok(vec![self.collection(name, false)?]),
            None => self
                .collections()?
                .into_iter()
                .map(|info| self.collection(&info.name, false))
                .collect(),
        }
    }

    /// Exact counts and the state of everything derived.
    pub fn status(&self) -> Result<Status> {
        let mut collections = Vec::new();
        for info in self.collections()? {
            let index = self.collection(&info.name, false)?.maintenance_state()?;
            collections.push(CollectionStatus { info, index });
        }
        Ok(Status {
            drawers: collections
                .iter()
                .map(|collection| collection.info.count)
                .sum(),
            collections,
            state: self.local()?.state(&self.reference)?,
        })
    }

    /// Removes drawers and every trace of their text.
    pub fn forget(&self, collection: &str, selection: &Selection) -> Result<ForgetOutcome> {
        self.local()?.forget(&self.reference, collection, selection)
    }

    /// Compares everything derived with the truth; with `deep`, recomputes it.
    pub fn verify(&self, deep: bool) -> Result<VerifyReport> {
        self.local()?.verify(&self.reference, deep)
    }

    /// Repairs what verify finds. A database that cannot be read is salvaged into a new palace
    /// beside it; the report names every drawer that is lost.
    pub fn repair(&self) -> Result<RepairReport> {
        self.repair_with(RepairOptions::default())
    }

    /// [`Palace::repair`], with options.
    pub fn repair_with(&self, options: RepairOptions) -> Result<RepairReport> {
        self.local()?.repair(&self.reference, options)
    }

    /// Writes a consistent copy to a new file; gives its size.
    pub fn backup(&self, target: &Path) -> Result<u64> {
        self.refuse_inside(target)?;
        self.local()?.backup(&self.reference, target)
    }

    /// Makes this palace the state of a backup.
    pub fn restore(&self, backup: &Path, replace: bool) -> Result<Restored> {
        self.local()?.restore(backup, &self.reference, replace)
    }

    /// Refuses a file inside the palace as a target: it could overwrite the palace, and `forget`
    /// would not know it.
    pub fn refuse_inside(&self, target: &Path) -> Result<()> {
        let parent = target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let inside = match (parent.canonicalize(), self.reference.path.canonicalize()) {
            (Ok(parent), Ok(palace)) => parent.starts_with(palace),
            _ => false,
        };
        if inside {
            return Err(Error::invalid(
                format!("target `{}`", target.display()),
                "lies inside the palace; choose a place outside",
            ));
        }
        Ok(())
    }

    /// Directory of the derived index files.
    pub fn index_directory(&self) -> PathBuf {
        self.reference.path.join("index")
    }

    /// Brings indexes up if they are due and lets go of the palace.
    pub fn close(&self) -> Result<()> {
        self.backend.close()
    }

    pub(crate) fn reference(&self) -> &PalaceRef {
        &self.reference
    }

    /// Facts and links; nothing where the backend keeps none.
    pub fn relations(&self) -> Result<Option<Arc<dyn Relations>>> {
        self.backend.relations(&self.reference)
    }

    pub(crate) fn local(&self) -> Result<&SqliteBackend> {
        if self.is_local() {
            return Ok(&self.sqlite);
        }
        Err(Error::UnsupportedCapability {
            capability: "care of local files".into(),
            reason: format!(
                "a palace of backend `{}` is only read; `loci import '{}'` makes it one of ours",
                self.backend.name(),
                self.reference.path.display()
            ),
        })
    }

    fn is_local(&self) -> bool {
        self.backend.name() == loci_sqlite::BACKEND_NAME
    }
}

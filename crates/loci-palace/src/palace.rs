//! The type [`Palace`]: opening and closing a palace, and access to its collections.

use std::path::Path;
use std::sync::Arc;

use loci_chroma::ChromaBackend;
use loci_core::{
    Advice, Backend, BackendChoice, Capabilities, Capability, Collection, CollectionInfo,
    CollectionOptions, Durability, Embedder, EmbedderIdentity, Error, ErrorKind, Machine,
    MachineSource, Metric, PalaceRef, Registry, Relations, Result, Warning, path_text,
};
use loci_embed::ModelStore;
use loci_sqlite::SqliteBackend;

use crate::config::{Config, name_in_variable};
use crate::creation::refuse_among_other_files;
use crate::embedders::{Embedders, Purpose, Resolved};
use crate::foreign_embedder::known_embedder;
use crate::machine;
use crate::secrets::{self, MaskingCollection, MaskingRelations, Policy};

pub use loci_core::DEFAULT_COLLECTION;

/// How a palace is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Create the palace if it does not exist.
    pub create: bool,
    /// Create it even in a directory that contains other files.
    pub among_other_files: bool,
    /// Backend by name; otherwise the configuration, the environment, the files and the default
    /// decide.
    pub backend: Option<String>,
    /// Additional backends of the caller.
    pub backends: Registry,
    /// Durability of commits; otherwise the configuration and the default decide.
    pub durability: Option<Durability>,
    /// Embedder by name (`static`, `minilm`, `openai`, `none`); otherwise the one that made a
    /// collection's vectors.
    pub embedder: Option<String>,
    /// Store secrets unmasked, whatever the configuration says. Otherwise `secrets` in
    /// `palace.toml`, else in `config.toml`, decides. By default they are masked.
    pub keep_secrets: bool,
    /// The machine that sources are mined on; otherwise `LOCI_MACHINE` or the system decides.
    pub machine: Option<Machine>,
}

impl OpenOptions {
    /// Creates the palace if it is missing.
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

    pub(crate) fn machine_source(&self) -> MachineSource {
        match self.machine.clone() {
            Some(machine) => MachineSource::new(move || machine.clone()),
            None => MachineSource::new(machine::this_machine),
        }
    }
}

/// An open palace. Close it when done: closing rebuilds the index after many writes.
pub struct Palace {
    pub(crate) reference: PalaceRef,
    pub(crate) backend: Arc<dyn Backend>,
    embedders: Embedders,
    pub(crate) policy: Policy,
    machine: MachineSource,
    created: bool,
}

/// A collection together with the embedder that it is used with.
pub struct Memory {
    /// The collection, opened with the embedder.
    pub collection: Arc<dyn Collection>,
    /// The embedder; `None` means that only words are searched.
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// The configuration files that affect how a palace is opened.
#[derive(Debug, Default)]
pub(crate) struct Configured {
    pub(crate) of_palace: Config,
    pub(crate) of_user: Config,
}

impl Configured {
    fn read(palace: &PalaceRef) -> Result<Self> {
        Ok(Self {
            of_palace: Config::of_palace(palace)?,
            of_user: Config::of_user()?,
        })
    }

    /// The backends of this build.
    pub(crate) fn registry(&self, options: &OpenOptions) -> Result<Registry> {
        let durability = match options.durability {
            Some(durability) => durability,
            None => self
                .of_palace
                .durability()?
                .or(self.of_user.durability()?)
                .unwrap_or_default(),
        };
        let mut registry = Registry::new();
        registry.register(Arc::new(
            SqliteBackend::new(durability).on_machine(options.machine_source()),
        ));
        registry.register(Arc::new(ChromaBackend::new(known_embedder)));
        registry.extend(&options.backends);
        Ok(registry)
    }
}

impl Palace {
    /// Opens a palace: a directory, or a URL. The backend is the one named explicitly, else the one
    /// of the URL's scheme, else the one in the palace's configuration, else in `LOCI_BACKEND`,
    /// else the one whose files are in the directory, else `sqlite`.
    pub fn open(place: impl Into<PalaceRef>, options: &OpenOptions) -> Result<Self> {
        let reference = place.into();
        let configured = Configured::read(&reference)?;
        let registry = configured.registry(options)?;
        Self::connect_with(&registry, reference, options, configured)?.opened(&registry, options)
    }

    fn opened(mut self, registry: &Registry, options: &OpenOptions) -> Result<Self> {
        if options.create && self.offers(Capability::Writing) {
            self.refuse_inside_another(registry)?;
            if !options.among_other_files {
                self.refuse_among_other_files()?;
            }
            self.created = self.backend.create_palace(&self.reference)?;
        } else {
            let opened = self.backend.open_palace(&self.reference);
            opened.map_err(|error| self.or_is_a_file(error))?;
        }
        Ok(self)
    }

    /// The better error for a palace that cannot be found because a file has its name.
    fn or_is_a_file(&self, error: Error) -> Error {
        match self.directory().filter(|path| path.is_file()) {
            Some(path) if error.kind() == ErrorKind::NotFound => Error::invalid(
                format!("palace `{}`", path_text(path)),
                "a file, not a directory; name the directory of a palace",
            ),
            _ => error,
        }
    }

    /// Locates a palace without checking whether it can be opened, for `verify` and `repair`.
    pub fn connect(place: impl Into<PalaceRef>, options: &OpenOptions) -> Result<Self> {
        let reference = place.into();
        let configured = Configured::read(&reference)?;
        let registry = configured.registry(options)?;
        Self::connect_with(&registry, reference, options, configured)
    }

    pub(crate) fn connect_with(
        registry: &Registry,
        reference: PalaceRef,
        options: &OpenOptions,
        configured: Configured,
    ) -> Result<Self> {
        let Configured { of_palace, of_user } = configured;
        let environment = name_in_variable("LOCI_BACKEND")?;
        let embedders = Embedders::new(
            options.embedder.as_deref(),
            reference.as_directory(),
            &of_palace,
            &of_user,
        )?;
        let policy = if options.keep_secrets {
            Policy::Keep
        } else {
            secrets::policy_of(&of_palace, &of_user)?
        };
        let config = of_palace.backend.or(of_user.backend);
        let choice = BackendChoice {
            explicit: options.backend.as_deref(),
            config: config.as_deref(),
            environment: environment.as_deref(),
        };
        let backend = registry.resolve(choice, &reference)?;
        Ok(Self {
            reference,
            backend,
            embedders,
            policy,
            machine: options.machine_source(),
            created: false,
        })
    }

    /// The machine that this palace mines on.
    pub fn machine(&self) -> Machine {
        self.machine.machine()
    }

    /// The capabilities of its backend.
    pub fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    /// Whether its backend has a capability.
    pub fn offers(&self, capability: Capability) -> bool {
        self.backend.capabilities().contains(&capability)
    }

    /// Fails unless its backend has a capability.
    pub fn require(&self, capability: Capability) -> Result<()> {
        if self.offers(capability) {
            return Ok(());
        }
        Err(self.backend.lacks(capability))
    }

    /// Whether opening it created it.
    pub fn was_created(&self) -> bool {
        self.created
    }

    /// The warning about a palace that this process cannot write to.
    pub fn read_only(&self) -> Result<Option<Warning>> {
        self.backend.read_only(&self.reference)
    }

    /// Where it is. Its printed form contains no password.
    pub fn place(&self) -> &PalaceRef {
        &self.reference
    }

    /// Its directory; `None` if a URL names it.
    pub fn directory(&self) -> Option<&Path> {
        self.reference.as_directory()
    }

    /// Name of the backend that serves it.
    pub fn backend_name(&self) -> &'static str {
        self.backend.name()
    }

    /// A collection with its embedder, which computes the vectors of texts that have none. The
    /// warnings say if it is another embedder than expected, or none.
    pub fn memory(&self, name: &str, create: bool) -> Result<(Memory, Vec<Warning>)> {
        self.resolved(name, create, Purpose::Write)
    }

    /// The same for reading: the embedder of the questions. A named model that is missing is only a
    /// warning.
    pub(crate) fn reading(&self, name: &str) -> Result<(Memory, Vec<Warning>)> {
        self.resolved(name, false, Purpose::Read)
    }

    fn resolved(
        &self,
        name: &str,
        create: bool,
        purpose: Purpose,
    ) -> Result<(Memory, Vec<Warning>)> {
        let plain = self
            .collection(name, create)
            .map_err(|error| self.name_collections(error))?;
        let info = plain.info();
        let resolved =
            self.embedders
                .resolve(name, info.embedder.as_ref(), info.dimension, purpose)?;
        let collection = match &resolved.embedder {
            None => plain,
            Some(embedder) => plain.with_embedder(Arc::clone(embedder))?,
        };
        let memory = Memory {
            collection,
            embedder: resolved.embedder,
        };
        let mut warnings = resolved.warnings;
        warnings.extend(self.read_only()?);
        Ok((memory, warnings))
    }

    /// The embedder for writing into a collection whose vectors `pinned` made.
    pub(crate) fn embedder_for(
        &self,
        name: &str,
        pinned: Option<&EmbedderIdentity>,
        dimension: Option<usize>,
    ) -> Result<Resolved> {
        self.embedders
            .resolve(name, pinned, dimension, Purpose::Write)
    }

    /// An embedder by name; `None` for `none`.
    pub fn embedder(&self, name: &str) -> Result<Option<Arc<dyn Embedder>>> {
        self.embedders.open(name)
    }

    /// The models that are installed on this machine.
    pub fn models(&self) -> &ModelStore {
        self.embedders.models()
    }

    /// The model that `[openai]` names, if it is configured.
    pub(crate) fn configured_model(&self) -> Option<&str> {
        self.embedders.configured_model()
    }

    /// A collection without an embedder; with `create`, it is created if missing.
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
        let other = self.other_default(name)?;
        let name = other.as_deref().unwrap_or(name);
        let collection = self
            .backend
            .get_collection(&self.reference, name, create, options)?;
        Ok(MaskingCollection::around(collection, self.policy))
    }

    /// The collection that the default name means in a format with other names.
    fn other_default(&self, name: &str) -> Result<Option<String>> {
        if name != DEFAULT_COLLECTION || self.offers(Capability::Writing) {
            return Ok(None);
        }
        self.backend.default_collection(&self.reference)
    }

    /// Adds the names of the existing collections to an error about a missing one. This costs a
    /// read, so only calls in which the user chose the collection do it.
    fn name_collections(&self, error: Error) -> Error {
        if !matches!(error, Error::CollectionNotInitialized { .. }) {
            return error;
        }
        let infos = self.collections().unwrap_or_default();
        let collections: Vec<String> = infos.into_iter().map(|info| info.name).collect();
        if collections.is_empty() {
            return error;
        }
        error.advise(Advice::NameCollection { collections })
    }

    /// Creates a collection; a conflict if it exists.
    pub fn create_collection(&self, name: &str, metric: Metric) -> Result<Arc<dyn Collection>> {
        let options = CollectionOptions {
            metric: Some(metric),
            embedder: None,
        };
        let collection = self
            .backend
            .create_collection(&self.reference, name, &options)?;
        Ok(MaskingCollection::around(collection, self.policy))
    }

    /// Removes a collection and everything in it.
    pub fn delete_collection(&self, name: &str) -> Result<()> {
        self.backend.delete_collection(&self.reference, name)
    }

    /// Counts, dimension, metric and embedder of a collection.
    pub fn collection_info(&self, name: &str) -> Result<CollectionInfo> {
        Ok(self.collection(name, false)?.info().clone())
    }

    /// Whether the vector index of a collection should be rebuilt soon. Closing the palace rebuilds
    /// it.
    pub fn index_due(&self, name: &str) -> Result<bool> {
        Ok(self.collection(name, false)?.maintenance_state()?.due)
    }

    /// All collections, by name.
    pub fn collections(&self) -> Result<Vec<CollectionInfo>> {
        self.backend.list_collections(&self.reference)
    }

    /// The named collection, or all of them if none is named.
    pub fn scope(&self, collection: Option<&str>) -> Result<Vec<Arc<dyn Collection>>> {
        match collection {
            Some(name) => {
                let named = self.collection(name, false);
                Ok(vec![named.map_err(|error| self.name_collections(error))?])
            }
            None => self
                .collections()?
                .into_iter()
                .map(|info| self.collection(&info.name, false))
                .collect(),
        }
    }

    /// Fails if its backend cannot create palaces. The error says what can be done instead.
    pub fn require_creation(&self) -> Result<()> {
        if !self.offers(Capability::Writing) {
            self.backend.create_palace(&self.reference)?;
        }
        Ok(())
    }

    /// Refuses to create a palace among the files of a palace that another backend only reads.
    fn refuse_inside_another(&self, registry: &Registry) -> Result<()> {
        let Some(found) = registry.detected(&self.reference) else {
            return Ok(());
        };
        if found.capabilities().contains(&Capability::Writing) {
            return Ok(());
        }
        found.create_palace(&self.reference).map(|_| ())
    }

    /// Refuses to create a palace in a directory that contains other files but no palace.
    pub(crate) fn refuse_among_other_files(&self) -> Result<()> {
        match self.directory() {
            Some(directory) if !self.backend.detect(&self.reference) => {
                refuse_among_other_files(directory)
            }
            _ => Ok(()),
        }
    }

    /// Refuses a target file inside the palace: it could overwrite the palace, and `forget` would
    /// not know about it.
    pub fn refuse_inside(&self, target: &Path) -> Result<()> {
        let parent = target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let palace = self.directory().map(Path::canonicalize);
        let inside = match (parent.canonicalize(), palace) {
            (Ok(parent), Some(Ok(palace))) => parent.starts_with(palace),
            _ => false,
        };
        if inside {
            return Err(Error::invalid(
                format!("target `{}`", target.display()),
                "inside the palace; choose a path outside",
            ));
        }
        Ok(())
    }

    /// Rebuilds indexes that are due, and closes the palace.
    pub fn close(&self) -> Result<()> {
        self.backend.close()
    }

    /// Facts and links; `None` if the backend does not store them.
    pub fn relations(&self) -> Result<Option<Arc<dyn Relations>>> {
        let relations = self.backend.relations(&self.reference)?;
        Ok(relations.map(|relations| MaskingRelations::around(relations, self.policy)))
    }
}

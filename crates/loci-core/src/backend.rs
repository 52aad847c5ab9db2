//! The contract of a backend: something that stores collections.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::advice::Advice;
use crate::capability::{Capabilities, Capability};
use crate::collection::{Collection, Metric, Selection};
use crate::embedder::{Compatibility, Embedder, EmbedderIdentity};
use crate::error::{Error, Result};
use crate::maintenance::{
    ForgetOutcome, PalaceState, ReembedProgress, Reembedded, RepairOptions, RepairReport, Restored,
    SelfTest, VerifyReport,
};
use crate::palace_ref::PalaceRef;
use crate::relations::Relations;
use crate::result::Health;
use crate::warning::Warning;

/// The collection that is used when none is named.
pub const DEFAULT_COLLECTION: &str = "drawers";

/// How a collection is opened or created.
#[derive(Clone, Default)]
pub struct CollectionOptions {
    /// Metric of a new collection; an existing one must have the same if it is given.
    pub metric: Option<Metric>,
    /// Embedder for texts that come without a vector.
    pub embedder: Option<Arc<dyn Embedder>>,
}

impl fmt::Debug for CollectionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectionOptions")
            .field("metric", &self.metric)
            .field(
                "embedder",
                &self.embedder.as_ref().map(|embedder| embedder.identity()),
            )
            .finish()
    }
}

/// Counts and settings of a collection: an entry of `list_collections`, and what opening one tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CollectionInfo {
    /// Its name.
    pub name: String,
    /// Number of drawers.
    #[serde(rename = "drawers")]
    pub count: u64,
    /// Number of drawers with a vector.
    pub vectors: u64,
    /// Its dimension, once the first vector was written.
    pub dimension: Option<usize>,
    /// Its metric.
    pub metric: Metric,
    /// The pinned embedder. JSON has its name.
    #[serde(serialize_with = "name_of")]
    #[schemars(with = "Option<String>")]
    pub embedder: Option<EmbedderIdentity>,
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn name_of<S: Serializer>(
    embedder: &Option<EmbedderIdentity>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    embedder
        .as_ref()
        .map(|pinned| &pinned.name)
        .serialize(serializer)
}

impl CollectionInfo {
    /// Fails if vectors of this embedder cannot be compared with those of the collection.
    pub fn check_embedder(&self, embedder: &dyn Embedder) -> Result<()> {
        let given = embedder.identity();
        match (&self.embedder, self.dimension) {
            (Some(pinned), _) if embedder.compatibility(pinned) == Compatibility::Foreign => {
                Err(Error::EmbedderMismatch {
                    collection: self.name.clone(),
                    pinned: pinned.to_string(),
                    given: given.to_string(),
                })
            }
            (None, Some(expected)) if expected != given.dimension => {
                Err(Error::DimensionMismatch {
                    collection: self.name.clone(),
                    expected,
                    got: given.dimension,
                })
            }
            _ => Ok(()),
        }
    }
}

/// Something that stores palaces and their collections. After `close`, every call but `health` is
/// `BackendClosed`.
///
/// The first part is what every backend does. The second part is maintenance: a backend implements
/// what it can and lists it in `capabilities`. By default, these calls return
/// `UnsupportedCapability`.
pub trait Backend: Send + Sync {
    /// Its name in the registry.
    fn name(&self) -> &'static str;
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// The schemes of URLs that name its palaces. Empty for a backend that serves directories.
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }
    /// Whether there is a palace of this backend. Looks, never opens or creates.
    fn detect(&self, palace: &PalaceRef) -> bool;
    /// Whether an import reads palaces of this format. A call that would write then advises it: see
    /// [`Backend::lacks`]. It is false for a format that no importer knows.
    fn can_be_imported(&self) -> bool {
        false
    }
    /// The collection that is used when none is named, if that is not [`DEFAULT_COLLECTION`]. Only
    /// asked of a backend that cannot write: any other creates the one that is missing.
    fn default_collection(&self, palace: &PalaceRef) -> Result<Option<String>> {
        let _ = palace;
        Ok(None)
    }
    /// Makes the palace unless it exists; gives whether it was made.
    fn create_palace(&self, palace: &PalaceRef) -> Result<bool> {
        let _ = palace;
        Err(self.lacks(Capability::Writing))
    }
    /// Opens a palace that exists. Fails where there is none, or one that cannot be read.
    fn open_palace(&self, palace: &PalaceRef) -> Result<()> {
        self.list_collections(palace).map(|_| ())
    }
    /// Opens a collection; with `create`, makes palace and collection when missing. Without it,
    /// nothing is created.
    fn get_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        create: bool,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>>;
    /// Creates a collection; `Conflict` if it exists.
    fn create_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>>;
    /// Removes a collection and everything in it.
    fn delete_collection(&self, palace: &PalaceRef, name: &str) -> Result<()>;
    /// All collections, by name.
    fn list_collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>>;
    /// Facts and links of a palace; nothing where the backend keeps none.
    fn relations(&self, palace: &PalaceRef) -> Result<Option<Arc<dyn Relations>>> {
        let _ = palace;
        Ok(None)
    }
    /// Lets go of one palace. It can be opened again.
    fn close_palace(&self, palace: &PalaceRef) -> Result<()>;
    /// Lets go of everything, for good.
    fn close(&self) -> Result<()>;
    /// Whether the backend serves. Never an error, also when closed.
    fn health(&self) -> Health;

    /// Changes whenever the palace is replaced by another state, such as a backup.
    fn generation(&self, palace: &PalaceRef) -> Result<u64> {
        let _ = palace;
        Ok(0)
    }
    /// The warning for readers of a palace that this process cannot write. Checks permissions only
    /// and opens nothing.
    fn read_only(&self, palace: &PalaceRef) -> Result<Option<Warning>> {
        let _ = palace;
        Ok(None)
    }
    /// Counts and sizes of the palace as a whole, and what is pending.
    fn state(&self, palace: &PalaceRef) -> Result<PalaceState> {
        let _ = palace;
        Err(self.lacks(Capability::Status))
    }
    /// Removes the selected drawers of a collection and every trace of their text, with the facts
    /// taken from them and the links that end at them. If a drawer is already gone, the facts of
    /// its id are still removed.
    fn forget(
        &self,
        palace: &PalaceRef,
        collection: &str,
        selection: &Selection,
    ) -> Result<ForgetOutcome> {
        let _ = (palace, collection, selection);
        Err(self.lacks(Capability::Forgetting))
    }
    /// Compares everything derived with the truth; with `deep`, recomputes it. Data that cannot be
    /// read is a finding, not an error.
    fn verify(&self, palace: &PalaceRef, deep: bool) -> Result<VerifyReport> {
        let _ = (palace, deep);
        Err(self.lacks(Capability::Verification))
    }
    /// Repairs what `verify` finds. Running it on a healthy palace changes nothing.
    fn repair(&self, palace: &PalaceRef, options: RepairOptions) -> Result<RepairReport> {
        let _ = (palace, options);
        Err(self.lacks(Capability::Repair))
    }
    /// Writes a copy of the palace as of one moment to `target`, which must not exist, and returns
    /// its size in bytes. Readers and writers continue in the meantime.
    fn backup(&self, palace: &PalaceRef, target: &Path) -> Result<u64> {
        let _ = (palace, target);
        Err(self.lacks(Capability::Backups))
    }
    /// Replaces the palace by the state in a backup. With `replace`, an existing palace is kept
    /// beside it; without, an existing palace is a `Conflict`.
    fn restore(&self, palace: &PalaceRef, backup: &Path, replace: bool) -> Result<Restored> {
        let _ = (palace, backup, replace);
        Err(self.lacks(Capability::Backups))
    }
    /// Recomputes all vectors of a collection. Searches use the old vectors until all new ones
    /// exist. A run that was interrupted is resumed by the next one.
    fn reembed(
        &self,
        palace: &PalaceRef,
        collection: &str,
        embedder: &dyn Embedder,
        progress: &mut dyn FnMut(ReembedProgress),
    ) -> Result<Reembedded> {
        let _ = (palace, collection, embedder, progress);
        Err(self.lacks(Capability::Reembedding))
    }
    /// Writes, reads, finds and forgets a drawer, and leaves no trace. No other drawer should have
    /// its text.
    fn self_test(&self, palace: &PalaceRef, text: &str, vector: &[f32]) -> Result<SelfTest> {
        let _ = (palace, text, vector);
        Err(self.lacks(Capability::SelfTest))
    }

    /// The error of a call that this backend does not offer. If writing is missing and the format
    /// can be imported, it advises that.
    fn lacks(&self, capability: Capability) -> Error {
        lacking(self.name(), capability, self.can_be_imported())
    }
}

/// The error of a call that a backend of this name does not offer.
pub(crate) fn lacking(backend: &str, capability: Capability, can_be_imported: bool) -> Error {
    let writing = capability == Capability::Writing;
    let reason = if writing {
        format!("the backend `{backend}` only reads")
    } else {
        format!("the backend `{backend}` does not offer it")
    };
    let error = Error::UnsupportedCapability {
        capability: capability.words().into(),
        reason,
    };
    if writing && can_be_imported {
        return error.advise(Advice::Import { path: None });
    }
    error
}

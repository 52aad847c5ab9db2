//! The contract of a backend, which stores palaces and their collections.

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
    BackupContents, ForgetOutcome, PalaceState, ReembedProgress, Reembedded, RepairOptions,
    RepairReport, Restored, SelfTest, VerifyReport,
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
    /// Metric of a new collection. An existing collection must have the same metric.
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

/// Counts and settings of a collection, as `list_collections` and opening report them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CollectionInfo {
    /// Its name.
    pub name: String,
    /// Number of drawers.
    #[serde(rename = "drawers")]
    pub count: u64,
    /// Number of drawers with a vector.
    pub vectors: u64,
    /// Its dimension. `None` until the first vector is written.
    pub dimension: Option<usize>,
    /// Its metric.
    pub metric: Metric,
    /// The pinned embedder. JSON contains its name only.
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
        let identity = embedder.identity();
        match (&self.embedder, self.dimension) {
            (Some(pinned), _) if embedder.compatibility(pinned) == Compatibility::Foreign => {
                Err(Error::EmbedderMismatch {
                    collection: self.name.clone(),
                    pinned: pinned.to_string(),
                    given: identity.to_string(),
                })
            }
            (None, Some(expected)) if expected != identity.dimension => {
                Err(Error::DimensionMismatch {
                    collection: self.name.clone(),
                    expected,
                    got: identity.dimension,
                })
            }
            _ => Ok(()),
        }
    }
}

/// A store of palaces and their collections. After `close`, every call except `health` returns
/// `BackendClosed`.
///
/// Every backend implements the first part. The second part is maintenance: a backend implements
/// the calls that it supports and lists them in `capabilities`. By default, these calls return
/// `UnsupportedCapability`.
pub trait Backend: Send + Sync {
    /// Its name in the registry.
    fn name(&self) -> &'static str;
    /// The optional calls that it supports.
    fn capabilities(&self) -> Capabilities;
    /// The URL schemes that it serves. Empty for a backend that serves directories.
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }
    /// Whether there is a palace of this backend. Never opens or creates anything.
    fn detect(&self, palace: &PalaceRef) -> bool;
    /// Whether an importer can read palaces of this format. If so, the error of a call that would
    /// write advises an import: see [`Backend::lacks`].
    fn can_be_imported(&self) -> bool {
        false
    }
    /// The collection that is used when none is named, if it is not [`DEFAULT_COLLECTION`]. Called
    /// only on backends that cannot write; the others create the missing default.
    fn default_collection(&self, palace: &PalaceRef) -> Result<Option<String>> {
        let _ = palace;
        Ok(None)
    }
    /// Creates the palace if it does not exist, and returns whether it did.
    fn create_palace(&self, palace: &PalaceRef) -> Result<bool> {
        let _ = palace;
        Err(self.lacks(Capability::Writing))
    }
    /// Opens an existing palace. Fails if there is none or if it cannot be read.
    fn open_palace(&self, palace: &PalaceRef) -> Result<()> {
        self.list_collections(palace).map(|_| ())
    }
    /// Opens a collection. With `create`, a missing palace and a missing collection are created;
    /// without it, nothing is.
    fn get_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        create: bool,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>>;
    /// Creates a collection. `Conflict` if it exists.
    fn create_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>>;
    /// Removes a collection and everything in it.
    fn delete_collection(&self, palace: &PalaceRef, name: &str) -> Result<()>;
    /// All collections, sorted by name.
    fn list_collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>>;
    /// Facts and links of a palace; `None` if the backend does not store them.
    fn relations(&self, palace: &PalaceRef) -> Result<Option<Arc<dyn Relations>>> {
        let _ = palace;
        Ok(None)
    }
    /// Closes one palace. It can be opened again.
    fn close_palace(&self, palace: &PalaceRef) -> Result<()>;
    /// Closes the backend permanently.
    fn close(&self) -> Result<()>;
    /// Whether the backend works. Never an error, even after `close`.
    fn health(&self) -> Health;

    /// A number that changes whenever the palace is replaced by another state, such as a backup.
    fn generation(&self, palace: &PalaceRef) -> Result<u64> {
        let _ = palace;
        Ok(0)
    }
    /// The warning for readers if this process cannot write the palace. Checks permissions only,
    /// and opens nothing.
    fn read_only(&self, palace: &PalaceRef) -> Result<Option<Warning>> {
        let _ = palace;
        Ok(None)
    }
    /// Counts and sizes of the whole palace, and pending work.
    fn state(&self, palace: &PalaceRef) -> Result<PalaceState> {
        let _ = palace;
        Err(self.lacks(Capability::Status))
    }
    /// Removes the selected drawers of a collection and every trace of their text, the facts taken
    /// from them, and the links that end at them. If a drawer is already gone, the facts of its id
    /// are still removed.
    fn forget(
        &self,
        palace: &PalaceRef,
        collection: &str,
        selection: &Selection,
    ) -> Result<ForgetOutcome> {
        let _ = (palace, collection, selection);
        Err(self.lacks(Capability::Forgetting))
    }
    /// [`Backend::forget`] in several collections. `before_each` is called with the number of
    /// collections that are done and the result so far; its error stops the call, and what was
    /// removed stays removed. A backend that rewrites files does so once, at the end.
    fn forget_in(
        &self,
        palace: &PalaceRef,
        collections: &[String],
        selection: &Selection,
        before_each: &mut dyn FnMut(usize, &ForgetOutcome) -> Result<()>,
    ) -> Result<ForgetOutcome> {
        let mut total = ForgetOutcome::default();
        for (done, collection) in collections.iter().enumerate() {
            before_each(done, &total)?;
            total.add(self.forget(palace, collection, selection)?);
        }
        Ok(total)
    }
    /// Compares all derived data with the drawers. With `deep`, recomputes it. Data that cannot be
    /// read is a finding, not an error.
    fn verify(&self, palace: &PalaceRef, deep: bool) -> Result<VerifyReport> {
        let _ = (palace, deep);
        Err(self.lacks(Capability::Verification))
    }
    /// Repairs what `verify` finds. Changes nothing in a healthy palace.
    fn repair(&self, palace: &PalaceRef, options: RepairOptions) -> Result<RepairReport> {
        let _ = (palace, options);
        Err(self.lacks(Capability::Repair))
    }
    /// Writes a consistent copy of the palace to `target`, which must not exist, and returns its
    /// size in bytes. Readers and writers are not blocked.
    fn backup(&self, palace: &PalaceRef, target: &Path) -> Result<u64> {
        let _ = (palace, target);
        Err(self.lacks(Capability::Backups))
    }
    /// Checks a file as `restore` does before it changes anything, and returns what it holds.
    /// Without `deep`, it checks that the file is a backup and was not cut; with it, every byte
    /// that a checksum covers. Changes nothing.
    fn check_backup(
        &self,
        palace: &PalaceRef,
        backup: &Path,
        deep: bool,
    ) -> Result<BackupContents> {
        let _ = (palace, backup, deep);
        Err(self.lacks(Capability::Backups))
    }
    /// Replaces the palace by the state in a backup. With `replace`, an existing palace is kept
    /// under another name; without it, an existing palace is a `Conflict`.
    fn restore(&self, palace: &PalaceRef, backup: &Path, replace: bool) -> Result<Restored> {
        let _ = (palace, backup, replace);
        Err(self.lacks(Capability::Backups))
    }
    /// Recomputes all vectors of a collection. Searches use the old vectors until all new ones
    /// exist. The next call resumes an interrupted run.
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
    /// this text.
    fn self_test(&self, palace: &PalaceRef, text: &str, vector: &[f32]) -> Result<SelfTest> {
        let _ = (palace, text, vector);
        Err(self.lacks(Capability::SelfTest))
    }

    /// The error of a call that this backend does not support. If writing is unsupported and the
    /// format can be imported, the error advises an import.
    fn lacks(&self, capability: Capability) -> Error {
        lacking(self.name(), capability, self.can_be_imported())
    }
}

/// The error of a call that the backend of this name does not support.
pub(crate) fn lacking(backend: &str, capability: Capability, can_be_imported: bool) -> Error {
    let writing = capability == Capability::Writing;
    let reason = if writing {
        format!("the backend `{backend}` is read-only")
    } else {
        format!("the backend `{backend}` does not support it")
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

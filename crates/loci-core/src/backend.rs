//! The contract of a backend: something that stores collections.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::collection::{Collection, Metric};
use crate::embedder::Embedder;
use crate::error::Result;
use crate::relations::Relations;
use crate::result::Health;

/// Names a palace: a local directory now, a remote database later.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PalaceRef {
    /// The directory.
    pub path: PathBuf,
}

impl PalaceRef {
    /// The palace in this directory.
    pub fn local(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

/// Something a backend can do beyond the required calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Takes vectors that the caller made.
    EmbeddingsIn,
    /// Returns stored vectors.
    EmbeddingsOut,
    /// `estimated_count` is cheap.
    EstimatedCount,
    /// Metadata filters.
    MetadataFilters,
    /// `$gt` and its kin.
    RangeFilters,
    /// `lexical_search`.
    LexicalSearch,
    /// `recall` and access counts.
    Recall,
    /// `get_recent` orders by sequence number.
    RecencyOrder,
    /// `facet_counts`.
    MetadataFacets,
    /// `changes_since`.
    ChangeFeed,
    /// Several processes may read and write at once.
    ManyProcesses,
    /// Works on a local directory.
    LocalMode,
}

/// The capabilities of a backend.
pub type Capabilities = BTreeSet<Capability>;

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

/// A line of `list_collections`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionInfo {
    /// Its name.
    pub name: String,
    /// Number of drawers.
    pub count: u64,
    /// Number of drawers with a vector.
    pub vectors: u64,
    /// Its dimension, once the first vector was written.
    pub dimension: Option<usize>,
    /// Its metric.
    pub metric: Metric,
    /// Name of the pinned embedder.
    pub embedder: Option<String>,
}

/// Something that stores collections. After `close`, every call but `health` is `BackendClosed`.
pub trait Backend: Send + Sync {
    /// Its name in the registry.
    fn name(&self) -> &'static str;
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
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
    /// Lets go of one palace. It can be opened again.
    fn close_palace(&self, palace: &PalaceRef) -> Result<()>;
    /// Lets go of everything, for good.
    fn close(&self) -> Result<()>;
    /// Whether the backend serves. Never an error, also when closed.
    fn health(&self) -> Health;
    /// Whether the directory holds a palace of this backend. Looks, never opens or creates.
    fn detect(&self, path: &Path) -> bool;
    /// Facts and links of a palace; nothing where the backend keeps none.
    fn relations(&self, palace: &PalaceRef) -> Result<Option<Arc<dyn Relations>>> {
        let _ = palace;
        Ok(None)
    }
}

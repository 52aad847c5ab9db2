//! The contract of a collection. docs/contract.md numbers its sentences, and `loci-contract` tests
//! them.

use std::sync::Arc;

use crate::backend::CollectionInfo;
use crate::batch::Batch;
use crate::capability::Capability;
use crate::embedder::{Embedder, EmbedderIdentity};
use crate::error::{Error, Result};
use crate::filter::{DocumentFilter, Filter};
use crate::history::{Existing, History};
use crate::ledger::Ledger;
use crate::maintenance::{MaintenanceKind, MaintenanceResult, MaintenanceState};
use crate::metadata::Metadata;
use crate::project::Projects;
use crate::quote::quoted;
use crate::relations::{Fact, Link, Related};
use crate::result::{
    Changes, DeleteResult, FacetCounts, GetResult, Health, Include, QueryResult, WriteResult,
};
use crate::search_view::{SearchView, ViewRequest};
use crate::warning::Warning;

/// How distances are measured. Fixed when the collection is created.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// 1 − cosine. A zero vector has distance 1 to everything.
    #[default]
    Cosine,
    /// Squared Euclidean distance.
    L2,
    /// 1 − inner product.
    Ip,
}

impl Metric {
    /// Stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::L2 => "l2",
            Self::Ip => "ip",
        }
    }

    /// Parses the stable name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "cosine" => Ok(Self::Cosine),
            "l2" => Ok(Self::L2),
            "ip" => Ok(Self::Ip),
            other => Err(Error::invalid(
                "metric",
                format!("`{other}` is not one of cosine, l2, ip"),
            )),
        }
    }
}

/// What `query` searches for: either texts or vectors.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryInput {
    /// Texts, embedded by the collection's embedder.
    Texts(Vec<String>),
    /// Vectors of the collection's dimension.
    Vectors(Vec<Vec<f32>>),
}

impl QueryInput {
    /// Builds the input from the two optional arguments of a front end. Exactly one must be present
    /// and not empty.
    pub fn exactly_one(texts: Option<Vec<String>>, vectors: Option<Vec<Vec<f32>>>) -> Result<Self> {
        match (texts, vectors) {
            (Some(texts), None) if !texts.is_empty() => Ok(Self::Texts(texts)),
            (None, Some(vectors)) if !vectors.is_empty() => Ok(Self::Vectors(vectors)),
            (Some(_), None) | (None, Some(_)) => {
                Err(Error::invalid("query", "needs at least one text or vector"))
            }
            (Some(_), Some(_)) => Err(Error::invalid("query", "takes texts or vectors, not both")),
            (None, None) => Err(Error::invalid("query", "needs texts or vectors")),
        }
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Vectors(vectors) => vectors.len(),
        }
    }

    /// Whether there are no queries. `query` refuses an empty input.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A span of time, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Period {
    /// The first moment inside the period.
    pub since: Option<i64>,
    /// The first moment after the period.
    pub before: Option<i64>,
}

impl Period {
    /// Whether a moment lies in the period.
    pub fn contains(&self, moment: i64) -> bool {
        self.since.is_none_or(|since| moment >= since)
            && self.before.is_none_or(|before| moment < before)
    }
}

/// Which drawers a call applies to. An empty selection means all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Only these ids.
    pub ids: Option<Vec<String>>,
    /// Only drawers whose metadata matches.
    pub filter: Option<Filter>,
    /// Only drawers whose text matches.
    pub document: Option<DocumentFilter>,
    /// Only drawers whose date lies in the period: [`crate::Metadata::authored_at`], or the time of
    /// adding if there is none.
    pub period: Option<Period>,
}

impl Selection {
    /// All drawers.
    pub fn all() -> Self {
        Self::default()
    }

    /// Drawers with these ids.
    pub fn ids<I: Into<String>>(ids: impl IntoIterator<Item = I>) -> Self {
        Self {
            ids: Some(ids.into_iter().map(Into::into).collect()),
            ..Self::default()
        }
    }

    /// Drawers that match a metadata filter.
    pub fn matching(filter: Filter) -> Self {
        Self {
            filter: Some(filter),
            ..Self::default()
        }
    }

    /// Whether it has no restrictions.
    pub fn is_all(&self) -> bool {
        self.ids.is_none()
            && self.filter.is_none()
            && self.document.is_none()
            && self.period.is_none()
    }

    /// Whether it holds a drawer with these values. This is the definition; an index must give the
    /// same answer.
    pub fn holds(
        &self,
        id: &str,
        document: Option<&str>,
        metadata: &Metadata,
        created_at: i64,
    ) -> bool {
        self.ids
            .as_ref()
            .is_none_or(|ids| ids.iter().any(|listed| listed == id))
            && self
                .filter
                .as_ref()
                .is_none_or(|filter| filter.matches(metadata, document))
            && self
                .document
                .as_ref()
                .is_none_or(|filter| filter.matches(document))
            && self
                .period
                .is_none_or(|period| period.contains(metadata.authored_at().unwrap_or(created_at)))
    }
}

/// Arguments of `query`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// What to search for.
    pub input: QueryInput,
    /// Hits per query.
    pub k: usize,
    /// Which drawers are candidates. Applied during retrieval: if at least k drawers match, k are
    /// returned.
    pub selection: Selection,
    /// Fields to return.
    pub include: Include,
}

impl Query {
    /// The ten drawers nearest to one vector, among all drawers.
    pub fn vector(vector: Vec<f32>) -> Self {
        Self {
            input: QueryInput::Vectors(vec![vector]),
            k: 10,
            selection: Selection::all(),
            include: Include::QUERY,
        }
    }

    /// Sets the number of hits.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Restricts the candidates to a selection.
    #[must_use]
    pub fn selection(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }
}

/// Arguments of `get`.
#[derive(Debug, Clone, PartialEq)]
pub struct Get {
    /// Which drawers.
    pub selection: Selection,
    /// Maximum number of drawers, after filtering.
    pub limit: Option<usize>,
    /// Number of drawers to skip, after filtering.
    pub offset: usize,
    /// Fields to return.
    pub include: Include,
}

impl Get {
    /// Returns the default fields for this selection.
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            limit: None,
            offset: 0,
            include: Include::GET,
        }
    }
}

/// A named set of drawers with one dimension, metric and embedder.
///
/// Every call sees the last commit of any process. Every write is one transaction, and it is
/// committed when the call returns.
///
/// By default, writes and the calls of a [`crate::Capability`] return an error. The default methods
/// call `count` first, so that a closed handle or a deleted collection is reported as such. A
/// wrapper around another collection must forward every call, including those with a default.
pub trait Collection: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// Its metric.
    fn metric(&self) -> Metric;
    /// Counts and settings as of the moment when this handle was opened. Reads nothing: counts may
    /// have changed since, and another process may have set the dimension and the embedder.
    fn info(&self) -> &CollectionInfo;
    /// The same collection with an embedder for texts that come without a vector. Reads nothing.
    /// Fails if the embedder does not match [`Collection::info`].
    fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Result<Arc<dyn Collection>>;
    /// Its dimension. `None` until the first vector is written.
    fn dimension(&self) -> Result<Option<usize>>;
    /// The pinned embedder.
    fn embedder(&self) -> Result<Option<EmbedderIdentity>>;
    /// Pins the embedder of vectors that are about to be written. Does nothing if an embedder is
    /// pinned or the collection has vectors.
    fn pin_embedder(&self, identity: &EmbedderIdentity) -> Result<()> {
        let _ = identity;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }

    /// Adds records. An existing id keeps its record, and the outcome is `Exists`.
    fn add(&self, batch: &Batch) -> Result<WriteResult> {
        let _ = batch;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }
    /// Does the same as [`Collection::add`] and writes facts and links in the same transaction. If
    /// a record of the batch turns out to be a duplicate of another drawer, facts and links that
    /// name it are changed to name that drawer.
    fn add_with(
        &self,
        batch: &Batch,
        facts: &[Fact],
        links: &[Link],
    ) -> Result<(WriteResult, Related)> {
        let _ = (batch, facts, links);
        self.count()?;
        Err(self.lacks(Capability::Relations))
    }
    /// Adds or changes records. Metadata is merged.
    fn upsert(&self, batch: &Batch) -> Result<WriteResult> {
        let _ = batch;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }
    /// Changes records. Metadata is merged, and unknown ids are reported.
    fn update(&self, batch: &Batch) -> Result<WriteResult> {
        let _ = batch;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }
    /// Removes drawers by id, by filter, or by both. A selection with neither is an error.
    fn delete(&self, selection: &Selection) -> Result<DeleteResult> {
        let _ = selection;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }

    /// The nearest drawers by vector.
    fn query(&self, query: &Query) -> Result<QueryResult>;
    /// Drawers by id or filter, in insertion order.
    fn get(&self, get: &Get) -> Result<GetResult>;
    /// The drawers with the latest changes, newest first by sequence number.
    fn get_recent(
        &self,
        limit: usize,
        selection: &Selection,
        include: Include,
    ) -> Result<GetResult> {
        let _ = (limit, selection, include);
        self.count()?;
        Err(self.lacks(Capability::RecencyOrder))
    }
    /// Calls `work` with a view of the collection as of one commit, and returns warnings about data
    /// that was missing from it. `loci-recall` searches through this call.
    ///
    /// `work` runs inside the backend's read transaction, so it must be quick and do no I/O of its
    /// own. A backend that has to read again calls it again from the start. An error of `work`
    /// becomes the error of this call.
    fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        let _ = (request, work);
        self.count()?;
        Err(self.lacks(Capability::Recall))
    }
    /// Records that these drawers were shown. The write may be deferred; accesses that are not yet
    /// written are lost if the process is killed.
    fn note_access(&self, records: &[u64]) {
        let _ = records;
    }
    /// How often each drawer was shown, by id. Accesses that are not yet written do not count.
    fn access_counts(&self, ids: &[String]) -> Result<Vec<u64>> {
        Ok(vec![0; ids.len()])
    }

    /// Ids that begin with `prefix`, in order, at most `limit`. The default reads all ids.
    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<String>> {
        let all = self.get(&Get {
            include: Include::NONE,
            ..Get::new(Selection::all())
        })?;
        let mut ids = all.ids;
        ids.retain(|id| id.starts_with(prefix));
        ids.sort_unstable();
        ids.truncate(limit);
        Ok(ids)
    }

    /// The histories of drawers, by id. Empty for unknown ids, and for all ids if the backend keeps
    /// no histories.
    fn histories(&self, ids: &[String]) -> Result<Vec<History>> {
        Ok(vec![History::default(); ids.len()])
    }
    /// Writes records that were drawers of another palace, each with its history, like
    /// [`Collection::add`] or [`Collection::upsert`]. A ledger row that an `origin` names is
    /// created if it is missing; [`Ledger::adopt_sources`] fills it. A drawer never joins a row
    /// that this palace filed itself. A backend that keeps no histories writes the records alone.
    fn import_records(
        &self,
        batch: &Batch,
        histories: &[History],
        existing: Existing,
    ) -> Result<WriteResult> {
        let _ = histories;
        match existing {
            Existing::Keep => self.add(batch),
            Existing::Change => self.upsert(batch),
        }
    }

    /// Exact number of drawers.
    fn count(&self) -> Result<u64>;
    /// Exact number of selected drawers. The default reads all of them; a backend that can count
    /// without reading overrides it.
    fn count_selected(&self, selection: &Selection) -> Result<u64> {
        if selection.is_all() {
            return self.count();
        }
        let found = self.get(&Get {
            include: Include::NONE,
            ..Get::new(selection.clone())
        })?;
        Ok(found.ids.len() as u64)
    }
    /// A number of drawers that is cheap to compute, and exact if the backend can do that.
    fn estimated_count(&self) -> Result<u64>;
    /// Drawers per value of a metadata key.
    fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> Result<FacetCounts> {
        let _ = (key, selection, limit);
        self.count()?;
        Err(self.lacks(Capability::MetadataFacets))
    }
    /// The changes after `seq`.
    fn changes_since(&self, seq: u64, limit: usize) -> Result<Changes> {
        let _ = (seq, limit);
        self.count()?;
        Err(self.lacks(Capability::ChangeFeed))
    }

    /// The ledger of mined sources; `None` if the backend keeps none. There is no default, so that
    /// a wrapper cannot forget to forward it.
    fn ledger(&self) -> Option<&dyn Ledger>;

    /// The projects that its wings belong to; `None` if the backend keeps none.
    fn projects(&self) -> Option<&dyn Projects>;

    /// Whether the collection can be read and written. Never an error.
    fn health(&self) -> Health;
    /// How far the index is behind the collection.
    fn maintenance_state(&self) -> Result<MaintenanceState>;
    /// Runs housekeeping now.
    fn run_maintenance(&self, kind: MaintenanceKind) -> Result<MaintenanceResult> {
        let _ = kind;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }

    /// The error of a call that the backend of this collection does not support. A backend whose
    /// format can be imported adds [`crate::Advice::Import`], as [`crate::Backend::lacks`] does.
    fn lacks(&self, capability: Capability) -> Error {
        Error::UnsupportedCapability {
            capability: capability.words().into(),
            reason: format!(
                "the backend of collection {} does not support it",
                quoted(self.name())
            ),
        }
    }
}

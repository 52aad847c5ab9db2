//! The contract of a collection. docs/contract.md numbers its sentences; `loci-contract` tests
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

/// How distances are measured; fixed when a collection is created.
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

    /// Reads the stable name.
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

/// What `query` searches for: texts or vectors, exactly one of them.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryInput {
    /// Texts, embedded by the collection's embedder.
    Texts(Vec<String>),
    /// Vectors of the collection's dimension.
    Vectors(Vec<Vec<f32>>),
}

impl QueryInput {
    /// From the two optional arguments that front ends have: exactly one, not empty.
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

    /// Whether there are none, which `query` refuses.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A span of time, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Period {
    /// From this moment on.
    pub since: Option<i64>,
    /// Before this moment.
    pub before: Option<i64>,
}

impl Period {
    /// Whether a moment lies in it.
    pub fn contains(&self, moment: i64) -> bool {
        self.since.is_none_or(|since| moment >= since)
            && self.before.is_none_or(|before| moment < before)
    }
}

/// Which drawers a call is about. Empty means all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Only these ids.
    pub ids: Option<Vec<String>>,
    /// Only drawers whose metadata matches.
    pub filter: Option<Filter>,
    /// Only drawers whose text matches.
    pub document: Option<DocumentFilter>,
    /// Only drawers whose date lies in it: [`crate::Metadata::authored_at`], else when they were
    /// added.
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

    /// Whether nothing restricts it.
    pub fn is_all(&self) -> bool {
        self.ids.is_none()
            && self.filter.is_none()
            && self.document.is_none()
            && self.period.is_none()
    }

    /// Whether it holds a drawer of these values, by definition: what an index answers must be the
    /// same.
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
    /// Which drawers are candidates. Applied inside retrieval: if k match, k come back.
    pub selection: Selection,
    /// Fields to return.
    pub include: Include,
}

impl Query {
    /// The ten nearest to one vector, among all drawers.
    pub fn vector(vector: Vec<f32>) -> Self {
        Self {
            input: QueryInput::Vectors(vec![vector]),
            k: 10,
            selection: Selection::all(),
            include: Include::QUERY,
        }
    }

    /// With `k` hits.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Restricted to a selection.
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
    /// At most so many, after filtering.
    pub limit: Option<usize>,
    /// Skip so many, after filtering.
    pub offset: usize,
    /// Fields to return.
    pub include: Include,
}

impl Get {
    /// All fields of the default include for this selection.
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
/// Every call sees the last commit of any process. Every write is one transaction: all of it or
/// nothing. A write that returned is committed.
///
/// By default, writes and what a [`crate::Capability`] names are refused. A handle that is closed,
/// or whose collection is gone, says that instead: the defaults ask `count` first. A wrapper around
/// another collection forwards every call, those with a default too.
pub trait Collection: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// Its metric.
    fn metric(&self) -> Metric;
    /// What was known of it when this handle was opened. Reads nothing: counts may have changed
    /// since, and another process may have set dimension and embedder.
    fn info(&self) -> &CollectionInfo;
    /// The same collection with an embedder for texts that come without a vector. Reads nothing;
    /// fails if the embedder does not fit what [`Collection::info`] says.
    fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Result<Arc<dyn Collection>>;
    /// Its dimension, once the first vector was written.
    fn dimension(&self) -> Result<Option<usize>>;
    /// The embedder pinned in it.
    fn embedder(&self) -> Result<Option<EmbedderIdentity>>;
    /// Pins the embedder that made the vectors which the collection is about to get. Does nothing
    /// if one is pinned, or if there are vectors.
    fn pin_embedder(&self, identity: &EmbedderIdentity) -> Result<()> {
        let _ = identity;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }

    /// Adds records. An id that exists keeps its old record, and the outcome says so.
    fn add(&self, batch: &Batch) -> Result<WriteResult> {
        let _ = batch;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }
    /// [`Collection::add`], with facts and links written in the same transaction. A fact or link
    /// that names a record of the batch which turned out to be the duplicate of another drawer
    /// names that drawer instead.
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
    /// Adds or changes records; metadata is merged.
    fn upsert(&self, batch: &Batch) -> Result<WriteResult> {
        let _ = batch;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }
    /// Changes records; metadata is merged, unknown ids are reported.
    fn update(&self, batch: &Batch) -> Result<WriteResult> {
        let _ = batch;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }
    /// Removes drawers by id, by filter, or by both together. With neither it is an error.
    fn delete(&self, selection: &Selection) -> Result<DeleteResult> {
        let _ = selection;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }

    /// The nearest drawers by vector.
    fn query(&self, query: &Query) -> Result<QueryResult>;
    /// Drawers by id or filter, in the order they were added.
    fn get(&self, get: &Get) -> Result<GetResult>;
    /// The drawers changed last, newest first by sequence number.
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
    /// Lets `work` read the collection as of one commit; returns what is missing from what it read.
    /// `loci-recall` searches through it.
    ///
    /// `work` runs inside the backend's read transaction, so it must be quick and do no I/O of its
    /// own. A backend that has to read again calls it again from the start. Its error is the error
    /// of the call.
    fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        let _ = (request, work);
        self.count()?;
        Err(self.lacks(Capability::Recall))
    }
    /// Notes that these drawers were shown to somebody. Nobody waits for it: it may be written
    /// later, and what was not yet written when a process is killed is lost.
    fn note_access(&self, records: &[u64]) {
        let _ = records;
    }
    /// How often drawers were shown, by id, as far as that is written.
    fn access_counts(&self, ids: &[String]) -> Result<Vec<u64>> {
        Ok(vec![0; ids.len()])
    }

    /// The histories of drawers, by id; empty ones for unknown ids and where the backend keeps
    /// none.
    fn histories(&self, ids: &[String]) -> Result<Vec<History>> {
        Ok(vec![History::default(); ids.len()])
    }
    /// [`Collection::add`] or [`Collection::upsert`] of records that were drawers before, each with
    /// its history. An unknown ledger row of an `origin` is created; [`Ledger::adopt_sources`]
    /// fills it. A drawer never joins a row that this palace filed itself. A backend that keeps no
    /// histories writes the records alone.
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
    /// Exact number of drawers that a selection has; [`Collection::count`] for all of them. The
    /// default reads the drawers: a backend that can count without reading them overrides it.
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
    /// A number of drawers that is cheap to get; exact where the backend can.
    fn estimated_count(&self) -> Result<u64>;
    /// Drawers per value of a metadata key.
    fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> Result<FacetCounts> {
        let _ = (key, selection, limit);
        self.count()?;
        Err(self.lacks(Capability::MetadataFacets))
    }
    /// What changed after `seq`.
    fn changes_since(&self, seq: u64, limit: usize) -> Result<Changes> {
        let _ = (seq, limit);
        self.count()?;
        Err(self.lacks(Capability::ChangeFeed))
    }

    /// What was mined into it; nothing where the backend keeps no ledger. It has no default, so
    /// that a wrapper cannot leave it out.
    fn ledger(&self) -> Option<&dyn Ledger>;

    /// The projects that its wings belong to; nothing where the backend keeps none.
    fn projects(&self) -> Option<&dyn Projects>;

    /// Whether the collection can be read and written. Never an error.
    fn health(&self) -> Health;
    /// How far the derived index is behind.
    fn maintenance_state(&self) -> Result<MaintenanceState>;
    /// Runs housekeeping now.
    fn run_maintenance(&self, kind: MaintenanceKind) -> Result<MaintenanceResult> {
        let _ = kind;
        self.count()?;
        Err(self.lacks(Capability::Writing))
    }

    /// The error of a call that the backend of this collection does not offer. A backend whose
    /// format can be imported adds [`crate::Advice::Import`], as [`crate::Backend::lacks`] does.
    fn lacks(&self, capability: Capability) -> Error {
        Error::UnsupportedCapability {
            capability: capability.words().into(),
            reason: format!(
                "the backend of collection {} does not offer it",
                quoted(self.name())
            ),
        }
    }
}

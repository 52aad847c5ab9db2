//! What calls give back. Shapes are fixed: per query one inner list, also when it is empty, and a
//! field that was asked for has exactly one entry per id.

use schemars::JsonSchema;
use serde::Serialize;

use crate::metadata::Metadata;
use crate::warning::Warning;

/// Which fields a `query` or `get` returns besides ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent fields of an answer"
)]
pub struct Include {
    /// The texts; `""` where a drawer has none.
    pub documents: bool,
    /// The metadata; empty where a drawer has none.
    pub metadatas: bool,
    /// Distances to the query vector (`query` only).
    pub distances: bool,
    /// The vectors; an empty vector where a drawer has none.
    pub embeddings: bool,
}

impl Include {
    /// Ids alone.
    pub const NONE: Self = Self {
        documents: false,
        metadatas: false,
        distances: false,
        embeddings: false,
    };
    /// Everything there is.
    pub const ALL: Self = Self {
        documents: true,
        metadatas: true,
        distances: true,
        embeddings: true,
    };
    /// Default of `query`: documents, metadatas, distances.
    pub const QUERY: Self = Self {
        embeddings: false,
        ..Self::ALL
    };
    /// Default of `get`: documents and metadatas.
    pub const GET: Self = Self {
        distances: false,
        ..Self::QUERY
    };
}

/// Answer to `query`: the outer list has one entry per query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryResult {
    /// Ids, nearest first.
    pub ids: Vec<Vec<String>>,
    /// Texts, or one empty list per query when not asked for.
    pub documents: Vec<Vec<String>>,
    /// Metadata, or one empty list per query when not asked for.
    pub metadatas: Vec<Vec<Metadata>>,
    /// Distances, or one empty list per query when not asked for.
    pub distances: Vec<Vec<f32>>,
    /// Vectors; `None` unless asked for.
    pub embeddings: Option<Vec<Vec<Vec<f32>>>>,
    /// What is missing from the answer or was done differently than usual.
    pub warnings: Vec<Warning>,
}

/// Answer to `get` and `get_recent`: all lists zip with `ids`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GetResult {
    /// Ids.
    pub ids: Vec<String>,
    /// Texts, or empty when not asked for.
    pub documents: Vec<String>,
    /// Metadata, or empty when not asked for.
    pub metadatas: Vec<Metadata>,
    /// Vectors; `None` unless asked for.
    pub embeddings: Option<Vec<Vec<f32>>>,
    /// What is missing from the answer.
    pub warnings: Vec<Warning>,
}

/// What a write did with one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A new drawer.
    Added,
    /// An existing drawer was changed.
    Updated,
    /// The drawer already was as asked.
    Unchanged,
    /// `add` found the id taken and kept the old record.
    Exists,
    /// The same text from the same place is already held by this id; nothing was written.
    DuplicateOf(String),
    /// `update` does not know this id.
    Unknown,
}

impl Outcome {
    /// The outcome without what it names.
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Self::Added => OutcomeKind::Added,
            Self::Updated => OutcomeKind::Updated,
            Self::Unchanged => OutcomeKind::Unchanged,
            Self::Exists => OutcomeKind::Exists,
            Self::DuplicateOf(_) => OutcomeKind::Duplicate,
            Self::Unknown => OutcomeKind::Unknown,
        }
    }

    /// Stable name used in JSON output.
    pub fn as_str(&self) -> &'static str {
        self.kind().as_str()
    }
}

/// What became of a record, in one word. It serialises to that word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// A new drawer.
    Added,
    /// An existing drawer was changed.
    Updated,
    /// The drawer already was as asked.
    Unchanged,
    /// The id is taken, and the old record was kept.
    Exists,
    /// The same text is already held by another drawer.
    Duplicate,
    /// A drawer with nearly the same text exists, and such texts are left out on request.
    NearDuplicate,
    /// There is no drawer with this id.
    Unknown,
}

impl OutcomeKind {
    /// Stable name used in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Exists => "exists",
            Self::Duplicate => "duplicate",
            Self::NearDuplicate => "near_duplicate",
            Self::Unknown => "unknown",
        }
    }
}

/// What a write call did: one outcome per id of the call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteResult {
    /// Outcomes in the order of the ids.
    pub outcomes: Vec<Outcome>,
    /// Sequence number of the last change of this call, or of the collection if nothing changed.
    pub seq: u64,
    /// What the caller should know, for example a vector that no longer fits its text.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked in the texts of this call, by kind. Backends leave it empty: the
    /// palace masks before it writes.
    pub masked: std::collections::BTreeMap<String, u64>,
}

impl WriteResult {
    /// How many records had this kind of outcome.
    pub fn count(&self, kind: OutcomeKind) -> usize {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.kind() == kind)
            .count()
    }
}

/// What a delete did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeleteResult {
    /// Drawers removed.
    pub deleted: usize,
    /// Sequence number of the last removal, or of the collection if nothing was removed.
    pub seq: u64,
}

/// One entry of the change feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its number; strictly increasing in a palace.
    pub seq: u64,
    /// The record's number: stable for the life of a drawer, never used again. A delete carries
    /// nothing else, since ids are text and text that was deleted may not remain.
    pub record: u64,
    /// The id of a drawer that was added or changed; `None` for a delete.
    pub id: Option<String>,
}

/// A page of the change feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Changes in order of their number. A drawer changed several times appears once, at its last.
    pub changes: Vec<Change>,
    /// Pass this to the next call.
    pub next: u64,
    /// Whether there is more after `next`.
    pub more: bool,
    /// Deletes up to the asked number were trimmed: start again from the full collection.
    pub reset: bool,
}

/// Number of drawers per value of a metadata key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FacetCounts {
    /// Values with their counts, most frequent first.
    pub values: Vec<(crate::metadata::MetaValue, u64)>,
    /// Drawers that lack the key.
    pub missing: u64,
    /// Distinct values beyond the limit.
    pub more: u64,
}

/// State of a backend, palace or collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether it serves correct answers.
    pub ok: bool,
    /// One sentence.
    pub detail: String,
}

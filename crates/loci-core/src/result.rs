//! Results of calls. Their shapes are fixed: there is one inner list per query, even if it is
//! empty, and a requested field has exactly one entry per id.

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
    /// Only ids.
    pub const NONE: Self = Self {
        documents: false,
        metadatas: false,
        distances: false,
        embeddings: false,
    };
    /// All fields.
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

/// Result of `query`. The outer list has one entry per query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryResult {
    /// Ids, nearest first.
    pub ids: Vec<Vec<String>>,
    /// Texts, or one empty list per query if not requested.
    pub documents: Vec<Vec<String>>,
    /// Metadata, or one empty list per query if not requested.
    pub metadatas: Vec<Vec<Metadata>>,
    /// Distances, or one empty list per query if not requested.
    pub distances: Vec<Vec<f32>>,
    /// Vectors; `None` unless requested.
    pub embeddings: Option<Vec<Vec<Vec<f32>>>>,
    /// What is missing from the result or differs from the usual.
    pub warnings: Vec<Warning>,
}

/// Result of `get` and `get_recent`. All lists have the order of `ids`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GetResult {
    /// Ids.
    pub ids: Vec<String>,
    /// Texts; empty if not requested.
    pub documents: Vec<String>,
    /// Metadata; empty if not requested.
    pub metadatas: Vec<Metadata>,
    /// Vectors; `None` unless requested.
    pub embeddings: Option<Vec<Vec<f32>>>,
    /// What is missing from the result.
    pub warnings: Vec<Warning>,
}

/// The result of a write for one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A new drawer.
    Added,
    /// An existing drawer was changed.
    Updated,
    /// The drawer already had these values.
    Unchanged,
    /// `add` found an existing id and kept its record.
    Exists,
    /// The drawer with this id already has the same text from the same location. Nothing was
    /// written.
    DuplicateOf(String),
    /// `update` found no drawer with this id.
    Unknown,
}

impl Outcome {
    /// The outcome without its data.
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

/// The result for one record, in one word. It serialises to that word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// A new drawer.
    Added,
    /// An existing drawer was changed.
    Updated,
    /// The drawer already had these values.
    Unchanged,
    /// The id exists, and its record was kept.
    Exists,
    /// Another drawer has the same text.
    Duplicate,
    /// A drawer with nearly the same text exists, and the caller asked to skip such texts.
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

/// The result of a write call, with one outcome per id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteResult {
    /// Outcomes in the order of the ids.
    pub outcomes: Vec<Outcome>,
    /// Sequence number of the last change of this call, or of the collection if nothing changed.
    pub seq: u64,
    /// What the caller should know, for example that a vector does not match its text any more.
    pub warnings: Vec<Warning>,
    /// Number of secrets that were masked in the texts of this call, by kind. Backends leave it
    /// empty, because the palace masks before it writes.
    pub masked: std::collections::BTreeMap<String, u64>,
}

impl WriteResult {
    /// Number of records with this kind of outcome.
    pub fn count(&self, kind: OutcomeKind) -> usize {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.kind() == kind)
            .count()
    }
}

/// The result of a delete.
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
    /// Its sequence number, strictly increasing in a palace.
    pub seq: u64,
    /// The record number, which is stable for the life of a drawer and never reused. A delete has
    /// nothing else, because an id is text and deleted text must not remain.
    pub record: u64,
    /// The id of a drawer that was added or changed; `None` for a delete.
    pub id: Option<String>,
}

/// A page of the change feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Changes ordered by sequence number. A drawer that changed several times appears once, at its
    /// last number.
    pub changes: Vec<Change>,
    /// The argument for the next call.
    pub next: u64,
    /// Whether there are more changes after `next`.
    pub more: bool,
    /// Deletes up to the requested number were removed from the feed. Start again from the full
    /// collection.
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
    /// A description in one sentence.
    pub detail: String,
}

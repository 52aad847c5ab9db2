//! The interface of every foreign store: collections of records, facts and links, and what could
//! not be read.

use std::collections::BTreeMap;
use std::path::Path;

use loci_core::finding::Finding;
use loci_core::{EmbedderIdentity, Fact, Link, Metadata, Metric, Result};
use serde::Serialize;

use crate::chroma::Candidate;
use crate::importers::Kind;

/// A collection of a foreign palace.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignCollection {
    /// Its name in the source.
    pub name: String,
    /// The Loci collection that it belongs to.
    pub target: String,
    /// The distance metric.
    pub metric: Metric,
    /// The length of its vectors, if known.
    pub dimension: Option<usize>,
    /// The embedder of its vectors, as far as it is recorded. The digest is empty, because a
    /// foreign palace names its embedders without one.
    pub embedder: Option<EmbedderIdentity>,
    /// The number of records.
    pub records: u64,
}

/// Where a vector comes from, which determines how reliable it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorOrigin {
    /// Stored in its original form.
    Exact,
    /// Stored normalised, with its length beside it.
    Scaled,
    /// Stored normalised; its length is lost.
    Direction,
    /// From quarantined index files.
    #[serde(rename = "set_aside")]
    Quarantined,
    /// Missing or unreliable.
    Missing,
}

/// The number of vectors by location.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VectorCounts {
    /// In the index in use.
    pub in_index: u64,
    /// In the database, not yet in the index.
    pub in_queue: u64,
    /// Only in quarantined index files.
    pub set_aside: u64,
    /// Nowhere.
    pub missing: u64,
}

/// A record to import.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignRecord {
    /// Its id in the source, which it keeps.
    pub id: String,
    /// Its text.
    pub document: Option<String>,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its vector.
    pub vector: Option<Vec<f32>>,
    /// Where the vector comes from.
    pub origin: VectorOrigin,
    /// When it was added in the source, in milliseconds since 1970.
    pub added: Option<i64>,
}

/// When a record was added, according to the metadata of MemPalace and others.
pub(crate) fn added(metadata: &Metadata) -> Option<i64> {
    metadata.added_at()
}

/// The result of a read, besides the items passed to the callback.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReadSummary {
    /// The number of records, facts or links passed to the callback.
    pub read: u64,
    /// Items that existed and could not be read.
    pub lost: Vec<LostRecord>,
    /// Records that were read incompletely, each with what is missing.
    pub partial: Vec<LostRecord>,
    /// Fields and tables that have no place in Loci, with their number of occurrences.
    pub unmapped: BTreeMap<String, u64>,
}

impl ReadSummary {
    /// Notes an item that could not be read.
    pub(crate) fn lose(&mut self, id: Option<String>, reason: impl Into<String>) {
        self.lost.push(LostRecord {
            id,
            reason: reason.into(),
        });
    }

    /// Counts a field that has no place in Loci.
    pub(crate) fn leave(&mut self, field: &str) {
        self.leave_many(field, 1);
    }

    /// Counts several occurrences of a field that has no place in Loci.
    pub(crate) fn leave_many(&mut self, field: &str, count: u64) {
        if count > 0 {
            *self.unmapped.entry(field.to_owned()).or_default() += count;
        }
    }
}

/// An item that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostRecord {
    /// Its id, if it is known.
    pub id: Option<String>,
    /// Why it could not be read.
    pub reason: String,
}

/// Receives a batch. An error stops the read.
pub type OnBatch<'a, T> = &'a mut dyn FnMut(Vec<T>) -> Result<()>;

/// A foreign palace, opened from its files alone.
pub trait ForeignPalace {
    /// The kind of the palace.
    fn kind(&self) -> Kind;
    /// The path of the palace.
    fn path(&self) -> &Path;
    /// The program and version that wrote it, as far as the files show.
    fn writer(&self) -> String;
    /// Problems and notes.
    fn findings(&self) -> &[Finding];
    /// Its collections.
    fn collections(&self) -> &[ForeignCollection];
    /// The number of vectors by location; `None` if the program keeps them in one place only.
    fn vector_counts(&self, collection: usize) -> Option<VectorCounts> {
        let _ = collection;
        None
    }
    /// Passes the records of a collection to `take` in order, up to `batch` at a time.
    fn for_each_record(
        &self,
        collection: usize,
        batch: usize,
        take: OnBatch<'_, ForeignRecord>,
    ) -> Result<ReadSummary>;
    /// Texts that may belong to records whose id is lost. Only ChromaDB directories have them.
    fn candidates(&self) -> &[Candidate] {
        &[]
    }
    /// Passes its facts to `take`.
    fn for_each_fact(&self, batch: usize, take: OnBatch<'_, Fact>) -> Result<ReadSummary>;
    /// Passes its links to `take`.
    fn for_each_link(&self, batch: usize, take: OnBatch<'_, Link>) -> Result<ReadSummary>;
    /// Refuses if the palace has files that exist and that this user may not read. An import would
    /// leave out what they hold.
    fn require_readable(&self) -> Result<()> {
        Ok(())
    }
    /// Whether the files are unchanged since they were opened.
    fn is_unchanged(&self) -> bool;
}

//! What every foreign palace gives: collections of records, facts and links, and what could not be brought along.

use std::collections::BTreeMap;
use std::path::Path;

use loci_chroma::{Candidate, Finding};
use loci_core::{EmbedderIdentity, Error, Fact, Link, Metadata, Metric, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::recognise::Recognised;

/// Whose palace it is. Programs get the word that `loci import` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A ChromaDB directory, MemPalace's included.
    Chroma,
    /// MemPalace's `sqlite_exact` store.
    SqliteExact,
    /// A memtomem database.
    Memtomem,
    /// A CortexaDB directory.
    #[serde(rename = "cortexadb")]
    CortexaDb,
    /// A palace of Loci.
    Loci,
    /// JSON lines, one record each.
    #[serde(rename = "jsonl")]
    JsonLines,
}

impl Kind {
    /// The program that such a palace is of.
    pub fn program(self) -> &'static str {
        match self {
            Self::Chroma => "ChromaDB",
            Self::SqliteExact => "MemPalace",
            Self::Memtomem => "memtomem",
            Self::CortexaDb => "CortexaDB",
            Self::Loci => "Loci",
            Self::JsonLines => "JSON lines",
        }
    }

    /// What makes a place one of this kind.
    fn mark(self) -> &'static str {
        match self {
            Self::Chroma => "`chroma.sqlite3`",
            Self::SqliteExact => "`sqlite_exact.sqlite3`",
            Self::Memtomem => "`memtomem.db`",
            Self::CortexaDb => "`cortexadb.wal`, `cortexadb.ckpt` or segment",
            Self::Loci => "`palace.sqlite3`",
            Self::JsonLines => "line of JSON",
        }
    }

    /// The error for a place that is none of this kind.
    pub(crate) fn not_at(self, path: &Path, instead: Option<&Recognised>) -> Error {
        let instead = instead.map_or_else(String::new, |found| {
            format!("; it looks like {}: leave the kind away", found.writer)
        });
        Error::invalid(
            format!("`{}`", path.display()),
            format!(
                "nothing of {}: no {} is there{instead}",
                self.program(),
                self.mark()
            ),
        )
    }
}

/// A collection of a foreign palace.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignCollection {
    /// Its name there.
    pub name: String,
    /// The collection of Loci it belongs into.
    pub target: String,
    /// How distances are measured.
    pub metric: Metric,
    /// Length of its vectors, where known.
    pub dimension: Option<usize>,
    /// What made its vectors, as far as it is recorded. The digest is empty: the palace knows its embedders by name.
    pub embedder: Option<EmbedderIdentity>,
    /// Records.
    pub records: u64,
}

/// Where a vector comes from, and so how far it can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorOrigin {
    /// Stored as it was given.
    Exact,
    /// Stored normalised beside its length.
    Scaled,
    /// Stored normalised; its length is lost.
    Direction,
    /// From an index that had been set aside.
    SetAside,
    /// There is none, or none that can be trusted.
    Missing,
}

/// Where the vectors of a collection are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VectorCounts {
    /// In the index that is in use.
    pub in_index: u64,
    /// In the database, not yet in the index.
    pub in_queue: u64,
    /// Only in an index that had been set aside.
    pub set_aside: u64,
    /// Nowhere.
    pub missing: u64,
}

/// One record on its way into a palace.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignRecord {
    /// Its id there, and here.
    pub id: String,
    /// Its text.
    pub document: Option<String>,
    /// Everything known of it.
    pub metadata: Metadata,
    /// Its vector.
    pub vector: Option<Vec<f32>>,
    /// Where the vector comes from.
    pub origin: VectorOrigin,
    /// When it was added there, in milliseconds since 1970.
    pub added: Option<i64>,
}

/// When MemPalace and others say that a record was added.
pub(crate) fn added(metadata: &Metadata) -> Option<i64> {
    metadata.added_at()
}

/// What reading brought besides what was handed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Readout {
    /// Records, facts or links handed over.
    pub read: u64,
    /// What is known to have been there and could not be read.
    pub lost: Vec<LostRecord>,
    /// Records that were handed over without something that they had, each with what is missing.
    pub partial: Vec<LostRecord>,
    /// Fields and tables that have no place in Loci, with how often they occur.
    pub unmapped: BTreeMap<String, u64>,
}

impl Readout {
    /// Notes something that could not be read.
    pub(crate) fn lose(&mut self, id: Option<String>, reason: impl Into<String>) {
        self.lost.push(LostRecord {
            id,
            reason: reason.into(),
        });
    }

    /// Counts something that has no place in Loci.
    pub(crate) fn leave(&mut self, field: &str) {
        self.leave_many(field, 1);
    }

    /// Counts things that have no place in Loci.
    pub(crate) fn leave_many(&mut self, field: &str, count: u64) {
        if count > 0 {
            *self.unmapped.entry(field.to_owned()).or_default() += count;
        }
    }
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostRecord {
    /// Its id, where that is known.
    pub id: Option<String>,
    /// Why.
    pub reason: String,
}

/// Takes a batch; an error ends the reading.
pub type Take<'a, T> = &'a mut dyn FnMut(Vec<T>) -> Result<()>;

/// A foreign palace, opened from its files alone.
pub trait ForeignPalace {
    /// Whose it is.
    fn kind(&self) -> Kind;
    /// Where it is.
    fn path(&self) -> &Path;
    /// The program and version that wrote it, as far as the files tell.
    fn writer(&self) -> String;
    /// What is wrong with it, or worth knowing.
    fn findings(&self) -> &[Finding];
    /// Its collections.
    fn collections(&self) -> &[ForeignCollection];
    /// Where the vectors of a collection are; nothing where there is only one place for them.
    fn vector_counts(&self, collection: usize) -> Option<VectorCounts> {
        let _ = collection;
        None
    }
    /// Hands over the records of a collection in order, up to `batch` at a time.
    fn for_each_record(
        &self,
        collection: usize,
        batch: usize,
        take: Take<'_, ForeignRecord>,
    ) -> Result<Readout>;
    /// Texts that may belong to records whose id is lost. Only ChromaDB directories have them.
    fn candidates(&self) -> &[Candidate] {
        &[]
    }
    /// Hands over its facts.
    fn for_each_fact(&self, batch: usize, take: Take<'_, Fact>) -> Result<Readout>;
    /// Hands over its links.
    fn for_each_link(&self, batch: usize, take: Take<'_, Link>) -> Result<Readout>;
    /// Whether the files are still as they were when this was opened.
    fn still_holds(&self) -> bool;
}

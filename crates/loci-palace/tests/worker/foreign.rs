//! A foreign palace in memory, with every fault that a real one can have.

use std::cell::Cell;
use std::path::Path;

use loci_palace::{
    EmbedderIdentity, Error, Fact, ForeignCollection, ForeignFinding, ForeignKind, ForeignPalace,
    ForeignRecord, Link, LostRecord, Metadata, Metric, OnBatch, ReadSummary, Result, VectorCounts,
    VectorOrigin,
};
use serde_json::json;

use crate::protocol::Rng;

#[derive(Clone)]
pub struct Foreign {
    pub kind: ForeignKind,
    pub collections: Vec<ForeignCollection>,
    /// Per collection.
    pub records: Vec<Vec<ForeignRecord>>,
    pub facts: Vec<Fact>,
    pub links: Vec<Link>,
    pub findings: Vec<ForeignFinding>,
    /// What reading a collection says besides.
    pub summary: ReadSummary,
    /// Reading a collection fails after so many records.
    pub fails_after: Option<usize>,
    pub holds: bool,
    /// How often a collection was read.
    pub reads: Cell<u64>,
}

impl Foreign {
    /// A palace with one collection, whose vectors this embedder made.
    pub fn new(name: &str, target: &str, embedder: Option<&str>, dimension: usize) -> Self {
        Self {
            kind: ForeignKind::Chroma,
            collections: vec![collection(name, target, embedder, dimension)],
            records: vec![Vec::new()],
            facts: Vec::new(),
            links: Vec::new(),
            findings: Vec::new(),
            summary: ReadSummary::default(),
            fails_after: None,
            holds: true,
            reads: Cell::new(0),
        }
    }

    /// What MemPalace makes by default.
    pub fn mempalace(records: u64) -> Self {
        let mut palace = Self::new("mempalace_drawers", "drawers", Some("default"), 384);
        palace.records[0] = (0..records).map(|n| record(n, 384)).collect();
        palace
    }

    pub fn with(mut self, records: impl IntoIterator<Item = ForeignRecord>) -> Self {
        self.records[0].extend(records);
        self
    }

    pub fn first(&mut self) -> &mut Vec<ForeignRecord> {
        &mut self.records[0]
    }
}

pub fn collection(
    name: &str,
    target: &str,
    embedder: Option<&str>,
    dimension: usize,
) -> ForeignCollection {
    ForeignCollection {
        name: name.into(),
        target: target.into(),
        metric: Metric::Cosine,
        dimension: Some(dimension),
        embedder: embedder.map(|name| EmbedderIdentity {
            name: name.into(),
            dimension,
            digest: String::new(),
        }),
        records: 0,
    }
}

/// Record number `n`: no other is like it.
pub fn record(n: u64, dimension: usize) -> ForeignRecord {
    let metadata = json!({"wing": "w", "room": "r", "n": n, "half": 0.5, "tags": ["a", "b"]});
    ForeignRecord {
        id: format!("d{n}"),
        document: Some(format!("drawer number {n} tells of harbour {}", n % 7)),
        metadata: Metadata::from_json(&metadata).unwrap(),
        vector: Some(Rng(n + 1).vector(dimension)),
        origin: VectorOrigin::Exact,
        added: None,
    }
}

pub fn missing(mut record: ForeignRecord) -> ForeignRecord {
    record.vector = None;
    record.origin = VectorOrigin::Missing;
    record
}

fn hand_over<T: Clone>(all: &[T], batch: usize, take: OnBatch<'_, T>) -> Result<()> {
    all.chunks(batch).try_for_each(|page| take(page.to_vec()))
}

impl ForeignPalace for Foreign {
    fn kind(&self) -> ForeignKind {
        self.kind
    }

    fn path(&self) -> &Path {
        Path::new("/old/palace")
    }

    fn writer(&self) -> String {
        "a program of the past".into()
    }

    fn findings(&self) -> &[ForeignFinding] {
        &self.findings
    }

    fn collections(&self) -> &[ForeignCollection] {
        &self.collections
    }

    fn vector_counts(&self, collection: usize) -> Option<VectorCounts> {
        let missing = self.records[collection]
            .iter()
            .filter(|record| record.vector.is_none());
        Some(VectorCounts {
            missing: missing.count() as u64,
            ..VectorCounts::default()
        })
    }

    fn for_each_record(
        &self,
        collection: usize,
        batch: usize,
        take: OnBatch<'_, ForeignRecord>,
    ) -> Result<ReadSummary> {
        self.reads.set(self.reads.get() + 1);
        let records = &self.records[collection];
        let Some(end) = self.fails_after else {
            hand_over(records, batch, take)?;
            return Ok(ReadSummary {
                read: records.len() as u64,
                ..self.summary.clone()
            });
        };
        hand_over(&records[..end], batch, take)?;
        Err(Error::Corrupt {
            what: "page 7".into(),
            path: "/old/palace".into(),
            detail: "it is all zeros".into(),
        })
    }

    fn for_each_fact(&self, batch: usize, take: OnBatch<'_, Fact>) -> Result<ReadSummary> {
        hand_over(&self.facts, batch, take)?;
        Ok(ReadSummary::default())
    }

    fn for_each_link(&self, batch: usize, take: OnBatch<'_, Link>) -> Result<ReadSummary> {
        hand_over(&self.links, batch, take)?;
        Ok(ReadSummary {
            lost: self
                .links
                .is_empty()
                .then(Vec::new)
                .unwrap_or_else(|| vec![lost_link()]),
            ..ReadSummary::default()
        })
    }

    fn is_unchanged(&self) -> bool {
        self.holds
    }
}

fn lost_link() -> LostRecord {
    LostRecord {
        id: Some("link-9".into()),
        reason: "one end was cut off".into(),
    }
}

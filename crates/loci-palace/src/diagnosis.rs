//! Diagnoses a foreign palace from its files alone. Never writes.

use std::path::Path;

use loci_core::Result;
use loci_core::finding::{Finding, Severity};
use loci_foreign::{ForeignCollection, ForeignPalace, Kind, VectorCounts};
use serde::Serialize;

use crate::foreign_embedder::{contradiction, embedder_of};

/// The diagnosis of a foreign palace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The kind of the palace.
    pub kind: Kind,
    /// The path of the palace.
    pub path: String,
    /// The program and version that wrote it, as far as its files show.
    pub writer: String,
    /// Whether nothing worse than a note was found.
    pub healthy: bool,
    /// The collections.
    pub collections: Vec<CollectionSummary>,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// Whether the files changed during the read. If so, the diagnosis must be repeated.
    pub changed: bool,
}

/// One collection of a foreign palace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectionSummary {
    /// Its name.
    pub name: String,
    /// The Loci collection that it belongs to.
    pub target: String,
    /// The number of records.
    pub records: u64,
    /// The length of its vectors, if known.
    pub dimension: Option<usize>,
    /// The distance metric.
    pub metric: &'static str,
    /// The embedder of its vectors by its Loci name, if it is recorded and plausible.
    pub embedder: Option<String>,
    /// The number of vectors by location; absent if this kind of palace keeps them in one place
    /// only.
    pub vectors: Option<VectorCounts>,
}

/// Diagnoses the foreign palace at `path`.
pub fn diagnose(path: &Path, kind: Option<Kind>) -> Result<Diagnosis> {
    let palace = loci_foreign::open(path, kind)?;
    Ok(Diagnosis::of(palace.as_ref()))
}

impl Diagnosis {
    /// The diagnosis of an opened palace.
    pub fn of(palace: &dyn ForeignPalace) -> Self {
        let mut findings = palace.findings().to_vec();
        findings.extend(palace.collections().iter().filter_map(misnamed));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let collections = palace.collections().iter().enumerate();
        Self {
            kind: palace.kind(),
            path: loci_core::path_text(palace.path()),
            writer: palace.writer(),
            healthy: findings
                .iter()
                .all(|finding| finding.severity == Severity::Note),
            collections: collections
                .map(|(at, collection)| CollectionSummary {
                    name: collection.name.clone(),
                    target: collection.target.clone(),
                    records: collection.records,
                    dimension: collection.dimension,
                    metric: collection.metric.as_str(),
                    embedder: embedder_of(palace.kind(), collection, collection.dimension)
                        .map(|embedder| embedder.name),
                    vectors: palace.vector_counts(at),
                })
                .collect(),
            findings,
            changed: !palace.is_unchanged(),
        }
    }
}

/// A finding about a recorded embedder that contradicts the vectors.
fn misnamed(collection: &ForeignCollection) -> Option<Finding> {
    let message = contradiction(collection, collection.dimension)?;
    Some(
        Finding::new("embedder_contradicted", Severity::Note, message)
            .of(&collection.name)
            .then(
                "the vectors are imported; without their model, texts are searched by words only",
            ),
    )
}

//! What is wrong with a foreign palace, from its files alone. Reads and never writes.

use std::path::Path;

use loci_chroma::{Finding, Severity};
use loci_core::Result;
use loci_foreign::{ForeignCollection, ForeignPalace, Kind, VectorCounts};
use serde::Serialize;

use super::maker::{contradiction, maker_of};

/// A foreign palace as the doctor sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Whose it is.
    pub kind: Kind,
    /// Where it is.
    pub path: String,
    /// The program and version that wrote it, as far as its files tell.
    pub writer: String,
    /// Nothing worse than a note was found.
    pub healthy: bool,
    /// Each collection.
    pub collections: Vec<CollectionSummary>,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
    /// Whether the files changed while they were read: then look again.
    pub changed: bool,
}

/// One collection of a foreign palace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectionSummary {
    /// Its name.
    pub name: String,
    /// The collection of Loci it belongs into.
    pub target: String,
    /// Records.
    pub records: u64,
    /// Length of its vectors, where known.
    pub dimension: Option<usize>,
    /// How distances are measured.
    pub metric: &'static str,
    /// What made its vectors, as far as it is recorded and can be true, by the name that Loci has for it.
    pub embedder: Option<String>,
    /// Where its vectors are; absent where the kind of palace keeps them in one place only.
    pub vectors: Option<VectorCounts>,
}

/// Looks at the foreign palace in `path`.
pub fn diagnose(path: &Path, kind: Option<Kind>) -> Result<Diagnosis> {
    let palace = loci_foreign::open(path, kind)?;
    Ok(Diagnosis::of(palace.as_ref()))
}

impl Diagnosis {
    /// What an opened palace shows.
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
                    embedder: maker_of(palace.kind(), collection, collection.dimension)
                        .map(|embedder| embedder.name),
                    vectors: palace.vector_counts(at),
                })
                .collect(),
            findings,
            changed: !palace.still_holds(),
        }
    }
}

/// A name of an embedder that cannot be true.
fn misnamed(collection: &ForeignCollection) -> Option<Finding> {
    let message = contradiction(collection, collection.dimension)?;
    Some(
        Finding::new("embedder_contradicted", Severity::Note, message)
            .of(&collection.name)
            .then("the vectors come along; without their model, texts are searched by words alone"),
    )
}

//! Detects index files that belong to another collection.
//!
//! Directories get swapped by hand, or restored from a copy of another palace. The ids alone do not
//! show it, because collections often number their records alike. The length of the vectors does,
//! and so do vectors in the queue.

use std::collections::HashMap;

use loci_core::finding::{Finding, Severity};

use super::files::IndexFiles;
use super::live::Records;
use super::replay::alike;
use crate::chroma::catalog::CollectionRow;
use crate::chroma::hnsw::{Segment, VectorState};
use crate::chroma::queue::{Entry, Operation};

/// The maximum number of queue vectors that are compared with the index.
const MOST: usize = 64;
/// Fewer different vectors than this may belong to records that were deleted and added again.
const FEWEST: usize = 3;

/// Why index files do not belong to the collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Foreign {
    /// Their vectors have another length than the catalog and the queue record.
    Dimension { own: usize, index: usize },
    /// Their vectors differ from the queue for the same ids.
    Vectors { compared: usize, other: usize },
}

impl Foreign {
    pub(super) fn finding(&self) -> Finding {
        let finding = match self {
            Self::Dimension { own, index } => Finding::new(
                "index_foreign",
                Severity::Error,
                format!(
                    "the index files belong to another collection; their vectors have {index} numbers, \
                     those of this collection have {own}"
                ),
            )
            .with("expected", *own)
            .with("index", *index),
            Self::Vectors { compared, other } => Finding::new(
                "index_foreign",
                Severity::Error,
                "the index files belong to another collection; for the same ids, their vectors differ from the queue",
            )
            .with("compared", *compared)
            .with("different", *other),
        };
        finding.then(
            "ChromaDB refuses queries, or answers with vectors of other records; these files are ignored",
        )
    }
}

/// Whether index files belong to another collection. `queued` is the most common length of vectors
/// in the queue. `vector` fetches one of them.
pub(super) fn judge(
    files: &IndexFiles,
    row: &CollectionRow,
    queued: Option<usize>,
    queue: &[Entry],
    records: &Records,
    vector: impl FnMut(u64) -> rusqlite::Result<Option<Vec<f32>>>,
) -> rusqlite::Result<Option<Foreign>> {
    let Some(segment) = files
        .segment
        .as_ref()
        .filter(|segment| segment.is_header_sound() && segment.count() > 0)
    else {
        return Ok(None);
    };
    let index = segment.dimension();
    // The catalog can be wrong too, so an index that agrees with the queue is trusted.
    match row.dimension.or(queued) {
        Some(own) if own != index && queued != Some(index) => {
            return Ok(Some(Foreign::Dimension { own, index }));
        }
        _ => {}
    }
    other_vectors(files, segment, queue, records, vector)
}

/// Compares vectors in the queue with those of the index for the same ids.
fn other_vectors(
    files: &IndexFiles,
    segment: &Segment,
    queue: &[Entry],
    records: &Records,
    mut vector: impl FnMut(u64) -> rusqlite::Result<Option<Vec<f32>>>,
) -> rusqlite::Result<Option<Foreign>> {
    let Some(map) = files.map.as_ref().filter(|map| map.damage.is_none()) else {
        return Ok(None);
    };
    let rows: HashMap<&str, u64> = records
        .stored
        .iter()
        .filter_map(|record| Some((record.id.as_str(), record.seq?)))
        .collect();
    let labels: HashMap<&str, u64> = map
        .pairs
        .iter()
        .map(|(id, label)| (id.as_str(), *label))
        .collect();
    // The row shows that this entry created the record and that nothing has changed it since.
    let added: Vec<(&Entry, u64)> = queue
        .iter()
        .rev()
        .filter(|entry| entry.operation == Operation::Add)
        .filter(|entry| entry.dimension == Some(segment.dimension()))
        .filter(|entry| rows.get(entry.id.as_str()) == Some(&entry.seq))
        .filter_map(|entry| Some((entry, *labels.get(entry.id.as_str())?)))
        .take(MOST)
        .collect();
    if added.len() < FEWEST {
        return Ok(None);
    }
    let elements: HashMap<u64, usize> = segment
        .elements()
        .iter()
        .enumerate()
        .filter(|(_, element)| !element.deleted && element.vector == VectorState::Good)
        .map(|(at, element)| (element.label, at))
        .collect();
    let (mut compared, mut other) = (0, 0);
    for (entry, label) in added {
        let Some(at) = elements.get(&label) else {
            continue;
        };
        if let (Some(written), Ok(Some(held))) = (vector(entry.seq)?, segment.vector(*at)) {
            compared += 1;
            other += usize::from(!alike(&written, &held));
        }
    }
    let foreign = other >= FEWEST && other * 10 > compared * 9;
    Ok(foreign.then_some(Foreign::Vectors { compared, other }))
}

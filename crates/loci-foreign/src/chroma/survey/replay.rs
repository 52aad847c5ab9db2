//! The index as ChromaDB will have it after it has loaded its files and applied the queue, and the
//! vectors that the queue still holds.

use std::collections::{HashMap, HashSet};

use super::labels::{self, AtFlush, Resolved};
use super::live::Records;
use crate::chroma::hnsw::Segment;
use crate::chroma::pickle::LabelMap;
use crate::chroma::queue::{Entry, Operation};

/// Where the index has the vector of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorSource {
    Element(u32),
    Queue,
}

/// The index files with their ids, before the queue is applied.
#[derive(Debug, Default)]
pub(crate) struct Base {
    pub(crate) resolved: Resolved,
    /// Ids whose vector in the files differs from an earlier one in the queue.
    pub(crate) contradicted: Vec<String>,
    /// Whether matching by label order was tried and contradicted by the queue.
    pub(crate) order_failed: bool,
    /// Ids that existed when the files were written, according to the rows and the queue.
    there: HashSet<String>,
}

/// The data that the files are compared with.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) records: &'a Records,
    pub(crate) queue: &'a [Entry],
    /// How far the files have consumed the queue.
    pub(crate) watermark: u64,
    /// Whether labels follow the order of records.
    pub(crate) ordered: bool,
    /// Row numbers of other collections, sorted.
    pub(crate) others: &'a [i64],
}

impl Base {
    /// Maps ids to elements. `vector` fetches a vector from the queue, to check samples.
    pub(crate) fn new(
        segment: Option<&Segment>,
        map: Option<&LabelMap>,
        sight: Sight<'_>,
        mut vector: impl FnMut(u64) -> rusqlite::Result<Option<Vec<f32>>>,
    ) -> rusqlite::Result<Self> {
        let mut base = Self::default();
        let at = at_flush(sight);
        base.there = at
            .ids
            .iter()
            .map(|(id, _)| *id)
            .chain(at.vanished.iter().copied())
            .map(str::to_owned)
            .collect();
        let Some(segment) = segment else {
            return Ok(base);
        };
        base.resolved = labels::resolve(segment, map, &at);
        for entry in samples(sight.queue, sight.records, sight.watermark) {
            let Some(element) = base.resolved.elements.get(&entry.id) else {
                continue;
            };
            let (Some(written), Ok(Some(held))) =
                (vector(entry.seq)?, segment.vector(*element as usize))
            else {
                continue;
            };
            if !alike(&written, &held) {
                base.contradicted.push(entry.id.clone());
            }
        }
        if base
            .contradicted
            .iter()
            .any(|id| base.resolved.rebuilt.contains(id))
        {
            base.resolved.distrust_order();
            base.order_failed = true;
        }
        Ok(base)
    }
}

/// The ids that existed when the files were written, in order, and those of them that have been
/// deleted since.
fn at_flush(sight: Sight<'_>) -> AtFlush<'_> {
    let Sight {
        records,
        queue,
        watermark,
        ordered,
        others,
    } = sight;
    let newest_row = records
        .stored
        .iter()
        .filter(|record| record.seq.is_some_and(|seq| seq <= watermark))
        .filter_map(|record| record.row)
        .max();
    let mut first: HashMap<&str, Operation> = HashMap::new();
    let mut deleted: HashSet<&str> = HashSet::new();
    for entry in queue.iter().filter(|entry| entry.seq > watermark) {
        first.entry(&entry.id).or_insert(entry.operation);
        if entry.operation == Operation::Delete {
            deleted.insert(&entry.id);
        }
    }
    let changed = |id: &str| {
        matches!(
            first.get(id),
            Some(Operation::Update | Operation::Delete | Operation::Unknown(_))
        )
    };
    let ids = records
        .stored
        .iter()
        .filter(|record| {
            let id = record.id.as_str();
            let old = record.row.is_some() && record.row <= newest_row;
            !deleted.contains(id) && (!first.contains_key(id) || old || changed(id))
        })
        .map(|record| {
            let row = record.row.unwrap_or(i64::MAX);
            let before = others.partition_point(|other| *other < row);
            let place = labels::RowRank {
                row: row.saturating_sub(before as i64),
            };
            (record.id.as_str(), place)
        })
        .collect();
    // ChromaDB ignores an update of an id that did not exist. For records that were created late,
    // nothing shows whether they existed.
    let certain = records.stored.iter().all(|record| {
        record.row <= newest_row || first.get(record.id.as_str()) != Some(&Operation::Update)
    });
    AtFlush {
        ids,
        vanished: deleted.into_iter().filter(|id| changed(id)).collect(),
        ordered: ordered && certain,
        named: records
            .stored
            .iter()
            .map(|record| record.id.as_str())
            .chain(queue.iter().map(|entry| entry.id.as_str()))
            .collect(),
    }
}

/// Entries that were applied before the files were written and that nothing has changed since. They
/// check the mapping of ids to elements.
fn samples<'a>(queue: &'a [Entry], records: &Records, watermark: u64) -> Vec<&'a Entry> {
    const MOST: usize = 64;
    let mut last: HashMap<&str, &Entry> = HashMap::new();
    for entry in queue.iter().filter(|entry| entry.seq <= watermark) {
        last.insert(&entry.id, entry);
    }
    let seqs: HashMap<&str, Option<u64>> = records
        .stored
        .iter()
        .map(|record| (record.id.as_str(), record.seq))
        .collect();
    let mut samples: Vec<&Entry> = last
        .into_values()
        .filter(|entry| entry.dimension.is_some())
        .filter(|entry| match entry.operation {
            Operation::Add => seqs.get(entry.id.as_str()) == Some(&Some(entry.seq)),
            Operation::Update | Operation::Upsert => true,
            Operation::Delete | Operation::Unknown(_) => false,
        })
        .collect();
    samples.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.seq));
    samples.truncate(MOST);
    samples
}

/// Whether two vectors have the same direction. Their lengths may be lost.
pub(super) fn alike(one: &[f32], other: &[f32]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum()
    };
    let scale = (dot(one, one) * dot(other, other)).sqrt();
    scale == 0.0 || dot(one, other) / scale > 0.999
}

/// The index after ChromaDB has applied the entries that are newer than its files.
pub(crate) fn index_as_chroma_has_it<'a>(
    base: &'a Base,
    queue: &'a [Entry],
    watermark: u64,
    dimension: Option<usize>,
) -> HashMap<&'a str, VectorSource> {
    let mut index: HashMap<&str, VectorSource> = base
        .resolved
        .elements
        .iter()
        .map(|(id, element)| (id.as_str(), VectorSource::Element(*element)))
        .collect();
    for entry in queue.iter().filter(|entry| entry.seq > watermark) {
        let there = index.contains_key(entry.id.as_str());
        match entry.operation {
            Operation::Add if there => {}
            Operation::Update if !there => {}
            Operation::Add | Operation::Update | Operation::Upsert => {
                if entry.dimension.is_some()
                    && (dimension.is_none() || entry.dimension == dimension)
                {
                    index.insert(&entry.id, VectorSource::Queue);
                }
            }
            Operation::Delete => {
                index.remove(entry.id.as_str());
            }
            Operation::Unknown(_) => {}
        }
    }
    index
}

/// Ids whose current vector is in the queue, with the number of its entry. The queue is only ever
/// trimmed at its start, so its last vector of an id is the current one. The exception is an add of
/// an existing id, which ChromaDB ignores.
pub(crate) fn exact_vectors<'a>(
    base: &Base,
    queue: &'a [Entry],
    records: &Records,
    watermark: u64,
    dimension: Option<usize>,
) -> HashMap<&'a str, u64> {
    let seqs: HashMap<&str, Option<u64>> = records
        .stored
        .iter()
        .map(|record| (record.id.as_str(), record.seq))
        .collect();
    let from_the_beginning = queue.first().is_some_and(|entry| entry.seq == 1);
    let mut exact: HashMap<&str, u64> = HashMap::new();
    let mut absent: HashSet<&str> = HashSet::new();
    for entry in queue {
        let id = entry.id.as_str();
        if entry.operation == Operation::Delete {
            exact.remove(id);
            absent.insert(id);
            continue;
        }
        let was_there = || {
            if exact.contains_key(id) {
                true
            } else if entry.seq > watermark {
                base.resolved.elements.contains_key(id) || base.there.contains(id)
            } else {
                !from_the_beginning && seqs.get(id) != Some(&Some(entry.seq))
            }
        };
        let counts = match entry.operation {
            // The row shows which add created the record, even if a damaged id in another entry
            // suggests otherwise.
            Operation::Add => {
                absent.contains(id) || seqs.get(id) == Some(&Some(entry.seq)) || !was_there()
            }
            Operation::Update => !absent.contains(id),
            Operation::Upsert => true,
            Operation::Delete | Operation::Unknown(_) => false,
        };
        let fits =
            entry.dimension.is_some() && (dimension.is_none() || entry.dimension == dimension);
        if counts && fits {
            exact.insert(id, entry.seq);
            absent.remove(id);
        }
    }
    exact
}

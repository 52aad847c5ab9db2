//! Assigns records to their collection if the row of `segments` is lost.
//!
//! That row names the collection of a segment. Without it, the queue still helps: its entries name
//! the collection, and each has a number that the row of its record repeats. Otherwise the ids
//! help, if only one collection has them in its queue or in its index. A segment that stays
//! uncertain becomes a collection of its own.

use std::collections::HashSet;
use std::path::Path;

use loci_salvage::Snapshot;

use super::{CollectionRow, watermark};
use crate::chroma::directory::INDEX_DATA;
use crate::chroma::queue::{self, Entry};
use crate::chroma::survey::{files, live};

/// A collection without a record segment, and what is known about its records.
struct Seeker {
    /// The position among the collections.
    at: usize,
    queue: HashSet<(u64, String)>,
    ids: HashSet<String>,
}

/// A record segment without a collection.
struct Segment {
    id: String,
    records: Vec<(Option<u64>, String)>,
}

impl Seeker {
    fn of(
        at: usize,
        row: &CollectionRow,
        snapshot: &Snapshot,
        directory: &Path,
    ) -> rusqlite::Result<Self> {
        let queue = queue::read(snapshot, &row.id)?;
        let labels = row.vector_segment.as_ref().and_then(|name| {
            let folder = directory.join(name);
            let bytes = folder.join(INDEX_DATA).metadata().ok()?.len();
            files::read_pickle(&folder.join(files::PICKLE), bytes / files::SHORTEST_ELEMENT)
        });
        let labels = labels.into_iter().flat_map(|map| map.pairs);
        let mut ids: HashSet<String> = labels.map(|(id, _)| id).collect();
        ids.extend(queue.iter().map(|entry| entry.id.clone()));
        let queue = queue.into_iter().map(|Entry { seq, id, .. }| (seq, id));
        Ok(Self {
            at,
            queue: queue.collect(),
            ids,
        })
    }
}

impl Segment {
    fn of(id: String, snapshot: &Snapshot) -> rusqlite::Result<Self> {
        let stored = live::rows(snapshot, &id)?.stored;
        let records = stored.into_iter().map(|record| (record.seq, record.id));
        Ok(Self {
            id,
            records: records.collect(),
        })
    }

    /// Whether an entry of the collection's queue created or changed one of the records.
    fn is_named_by(&self, seeker: &Seeker) -> bool {
        self.records
            .iter()
            .any(|(seq, id)| seq.is_some_and(|seq| seeker.queue.contains(&(seq, id.clone()))))
    }

    fn shares_ids_with(&self, seeker: &Seeker) -> bool {
        let mut ids = self.records.iter();
        ids.any(|(_, id)| seeker.ids.contains(id))
    }
}

/// Assigns record segments to collections without one, if the match is certain. Returns the
/// segments that are left.
pub(super) fn adopt(
    snapshot: &Snapshot,
    directory: &Path,
    collections: &mut [CollectionRow],
    segments: Vec<String>,
) -> rusqlite::Result<Vec<String>> {
    if segments.is_empty() {
        return Ok(segments);
    }
    let mut seekers = Vec::new();
    for (at, row) in collections.iter().enumerate() {
        if row.metadata_segment.is_none() {
            seekers.push(Seeker::of(at, row, snapshot, directory)?);
        }
    }
    let mut segments = segments
        .into_iter()
        .map(|id| Segment::of(id, snapshot))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let pairs = [
        Segment::is_named_by as fn(&Segment, &Seeker) -> bool,
        Segment::shares_ids_with,
        // A match that nothing contradicts, if it is the only one.
        |_, seeker| seeker.ids.is_empty(),
    ];
    for fits in pairs {
        while let Some((segment, seeker)) = only_pair(&segments, &seekers, fits) {
            let segment = segments.remove(segment);
            let seeker = seekers.remove(seeker);
            if let Some(row) = collections.get_mut(seeker.at) {
                row.metadata_seq = watermark(snapshot, &segment.id)?;
                row.adopted_segment = Some(segment.id);
            }
        }
    }
    Ok(segments.into_iter().map(|segment| segment.id).collect())
}

/// A segment and a collection that match each other and nothing else.
fn only_pair(
    segments: &[Segment],
    seekers: &[Seeker],
    fits: impl Fn(&Segment, &Seeker) -> bool,
) -> Option<(usize, usize)> {
    segments.iter().enumerate().find_map(|(at, segment)| {
        let mut fitting = seekers
            .iter()
            .enumerate()
            .filter(|(_, seeker)| fits(segment, seeker));
        let (found, seeker) = fitting.next()?;
        let others = segments.iter().filter(|other| fits(other, seeker)).count();
        (fitting.next().is_none() && others == 1).then_some((at, found))
    })
}

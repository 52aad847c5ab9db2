//! Records whose row of `segments` is gone, joined with their collection again.
//!
//! The row says to which collection the records of a segment belong. Without it, the queue still tells:
//! its entries name the collection, and each has a number that the row of its record repeats. Else the
//! ids tell, as far as only one collection has them in its queue or in its index. What stays uncertain
//! becomes a collection of its own.

use std::collections::HashSet;
use std::path::Path;

use super::{CollectionRow, watermark};
use crate::directory::INDEX_DATA;
use crate::queue::{self, Entry};
use crate::snapshot::Snapshot;
use crate::survey::{files, live};

/// A collection without a segment of records, and what is known of them.
struct Seeker {
    /// Its place among the collections.
    at: usize,
    queue: HashSet<(u64, String)>,
    ids: HashSet<String>,
}

/// A segment of records without a collection.
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

    /// Whether an entry of the collection's queue made or changed one of the records.
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

/// Gives collections without a segment of records the one that is theirs, where that is certain. Gives the segments that are left.
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
        // What nothing speaks against, where there is no other choice.
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

/// A segment and a collection that fit each other and nothing else.
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

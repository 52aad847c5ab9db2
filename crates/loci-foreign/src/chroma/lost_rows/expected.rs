//! The ids for which a collection must have a row, in the order of insertion: first the labels of
//! the index, then the queue.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::chroma::directory::{Directory, INDEX_DATA};
use crate::chroma::pickle::{Form, LabelMap};
use crate::chroma::queue::{self, Entry, Operation};
use crate::chroma::seq::SeqId;
use crate::chroma::survey::{files, live};

/// The position of an id in the order of records. Everything in the index precedes what the queue
/// added later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Label(u64),
    Queue(u64),
}

impl Key {
    /// The maximum number of records added from `other` to this one; `None` if they cannot be
    /// compared.
    pub(super) fn since(self, other: Self) -> Option<u64> {
        match (self, other) {
            (Self::Label(this), Self::Label(other)) | (Self::Queue(this), Self::Queue(other)) => {
                this.checked_sub(other)
            }
            (Self::Label(_), Self::Queue(_)) | (Self::Queue(_), Self::Label(_)) => None,
        }
    }
}

/// An entry of the queue that changed a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueChange {
    pub(super) seq: u64,
    pub(super) is_add: bool,
}

/// An id without a row.
#[derive(Debug, Clone)]
pub(super) struct Missing {
    pub(super) id: String,
    pub(super) key: Key,
    /// Whether the queue holds the entry that created it.
    pub(super) made: bool,
    /// The queue entries that changed it, in order.
    pub(super) entries: Vec<QueueChange>,
}

impl Missing {
    pub(super) fn label(&self) -> Option<u64> {
        match self.key {
            Key::Label(label) => Some(label),
            Key::Queue(_) => None,
        }
    }
}

/// A known row with its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchor {
    pub(super) row: i64,
    pub(super) key: Key,
}

/// The range between two adjacent known rows of a collection.
pub(super) struct Gap<'a> {
    pub(super) before: Option<Anchor>,
    pub(super) after: Option<Anchor>,
    /// Ids without a row whose position is in this range, in order.
    pub(super) missing: &'a [Missing],
}

impl<'a> Gap<'a> {
    /// The ids that a row of this gap can have if the order is kept and as many of `rows` as
    /// possible get an id. `rows` are all rows of the gap.
    pub(super) fn near(&self, row: i64, rows: &[i64]) -> &'a [Missing] {
        let at = rows.partition_point(|other| *other < row);
        let (ids, rows) = (self.missing.len(), rows.len());
        let first = at.saturating_sub(rows.saturating_sub(ids));
        let end = (at + 1 + ids.saturating_sub(rows)).min(ids);
        self.missing.get(first..end).unwrap_or_default()
    }

    /// Whether everything in it was added before a record that has a label.
    pub(super) fn is_before_a_label(&self) -> bool {
        self.after
            .is_some_and(|after| matches!(after.key, Key::Label(_)))
    }

    /// The numbers that are in this range.
    pub(super) fn rows(&self, numbers: &BTreeSet<i64>) -> impl Iterator<Item = i64> {
        let first = self
            .before
            .map_or(i64::MIN, |anchor| anchor.row.saturating_add(1));
        let end = self.after.map_or(i64::MAX, |anchor| anchor.row);
        let range = (first < end).then(|| numbers.range(first..end));
        range.into_iter().flatten().copied()
    }
}

/// The expected rows of one collection.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The segment of the collection's rows.
    pub(super) segment: Option<String>,
    /// Whether every added id is known, because there is no index or its labels are readable.
    pub(super) complete: bool,
    /// Whether no queue entry after the last write of the index is lost.
    pub(super) queue_whole: bool,
    /// Whether labels and rows increase together.
    ordered: bool,
    rows: HashSet<String>,
    /// The numbers of the known rows.
    numbers: Vec<i64>,
    anchors: Vec<Anchor>,
    /// Sorted by key.
    missing: Vec<Missing>,
    /// The position of each id in that list.
    places: HashMap<String, usize>,
}

impl Expected {
    /// Compares the labels and the queue of a collection with its rows. Without `with_labels`, uses
    /// only the queue.
    pub(super) fn of(
        directory: &Directory,
        collection: usize,
        with_labels: bool,
    ) -> rusqlite::Result<Self> {
        let Some(row) = directory.collections().get(collection) else {
            return Ok(Self::default());
        };
        let snapshot = directory.snapshot();
        let segment = row.record_segment().map(str::to_owned);
        let records = match &segment {
            Some(segment) => live::rows(snapshot, segment)?,
            None => live::Records::default(),
        };
        let queue = queue::read(snapshot, &row.id)?;
        let watermark = row.metadata_seq.as_ref().and_then(SeqId::value);
        let watermark = watermark.unwrap_or_else(|| records.highest(directory.highest_credible()));
        if !with_labels && !names_others(&queue, watermark, &records) {
            return Ok(Self::default());
        }
        let folder = row
            .vector_segment
            .as_ref()
            .map(|name| directory.path().join(name));
        let data = folder.as_ref().and_then(|folder| {
            let elements = folder.join(INDEX_DATA).metadata().ok()?.len() / files::SHORTEST_ELEMENT;
            files::read_pickle(&folder.join(files::PICKLE), elements)
        });
        let flushed = row.vector_seq.as_ref().and_then(SeqId::value);
        let flushed = flushed.or_else(|| data.as_ref().and_then(|map| map.max_seq_id));
        let map = data.filter(|map| map.damage.is_none() && map.disputed == 0);
        let in_order = map.as_ref().is_none_or(|map| map.form == Some(Form::Dict));
        // If the row of its segment is lost, it may have an index that is not known to be its own.
        let complete = map.is_some() || flushed.is_none() && row.vector_segment.is_some();
        let flushed = flushed.unwrap_or(0);
        let places = replayed(map.as_ref(), &queue, flushed, watermark, complete);
        let rows: HashSet<String> = records
            .stored
            .iter()
            .map(|record| record.id.clone())
            .collect();
        let mut expected = Self {
            segment,
            complete,
            queue_whole: is_queue_whole(directory, collection, flushed)?,
            ordered: in_order && directory.version().is_one() && records.blob_ids == 0,
            ..Self::default()
        };
        for record in &records.stored {
            if let (Some(row), Some(place)) = (record.row, places.get(&record.id)) {
                expected.anchors.push(Anchor {
                    row,
                    key: place.key,
                });
            }
        }
        expected.missing = places
            .into_values()
            .filter(|missing| !rows.contains(&missing.id))
            .collect();
        expected.missing.sort_by_key(|missing| missing.key);
        expected.rows = rows;
        expected.numbers = records
            .stored
            .iter()
            .filter_map(|record| record.row)
            .collect();
        expected.settle();
        Ok(expected)
    }

    /// Adds the rows found since the last call, and checks whether known labels and rows increase
    /// together.
    pub(super) fn settle(&mut self) {
        let rows = &self.rows;
        self.missing.retain(|missing| !rows.contains(&missing.id));
        let places = self.missing.iter().enumerate();
        self.places = places
            .map(|(at, missing)| (missing.id.clone(), at))
            .collect();
        self.anchors.sort_by_key(|anchor| anchor.row);
        // A record that was deleted and added again has an outdated label if its queue entries are
        // lost. Such a record is not a reliable neighbour.
        let all = self.anchors.len();
        self.anchors = rising(&self.anchors);
        self.ordered &= self.anchors.len() * 10 >= all * 9;
    }

    /// Whether labels were renumbered at some time, so that they grow more slowly than rows.
    pub(super) fn is_compressed(&self) -> bool {
        let mut neighbours = self.anchors.iter().zip(self.anchors.iter().skip(1));
        neighbours.any(|(one, next)| {
            next.key
                .since(one.key)
                .is_some_and(|count| next.row.abs_diff(one.row) > count)
        })
    }

    pub(super) fn has_row(&self, id: &str) -> bool {
        self.rows.contains(id)
    }

    /// The numbers of the known rows.
    pub(super) fn numbers(&self) -> &[i64] {
        &self.numbers
    }

    /// Ids without a row.
    pub(super) fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Notes that an id has a row or needs none. Returns the number of its last change, if the
    /// queue has it. Takes effect after [`Self::settle`].
    pub(super) fn found(&mut self, id: &str, row: Option<i64>) -> Option<u64> {
        self.rows.insert(id.to_owned());
        self.numbers.extend(row);
        let missing = self.missing.get(*self.places.get(id)?)?;
        if let Some(row) = row {
            let key = missing.key;
            self.anchors.push(Anchor { row, key });
        }
        missing.entries.last().map(|step| step.seq)
    }

    /// Whether every id that the collection can have near this row is known. Records that the queue
    /// added come after everything that has a label, so lost entries name no record before a
    /// labelled one.
    pub(super) fn names_all_at(&self, row: i64) -> bool {
        let is_before_a_label = || {
            let at = self.anchors.partition_point(|anchor| anchor.row <= row);
            let after = self.anchors.get(at);
            self.ordered && after.is_some_and(|after| matches!(after.key, Key::Label(_)))
        };
        self.complete && (self.queue_whole || is_before_a_label())
    }

    /// Whether labels and rows increase together.
    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// The gaps with missing ids. If the order proves nothing, everything is one gap.
    pub(super) fn gaps(&self) -> Vec<Gap<'_>> {
        if !self.ordered {
            return self.gap_at(0).into_iter().collect();
        }
        let mut gaps = Vec::new();
        let ends = self
            .anchors
            .iter()
            .map(|anchor| Some(*anchor))
            .chain([None]);
        let mut before = None;
        for after in ends {
            let gap = self.between(before, after);
            if !gap.missing.is_empty() {
                gaps.push(gap);
            }
            before = after;
        }
        gaps
    }

    /// The gap around a row, if ids are missing from it. If the order proves nothing, everything is
    /// one gap.
    pub(super) fn gap_at(&self, row: i64) -> Option<Gap<'_>> {
        let gap = if self.ordered {
            let at = self.anchors.partition_point(|anchor| anchor.row < row);
            let before = at.checked_sub(1).and_then(|at| self.anchors.get(at));
            self.between(before.copied(), self.anchors.get(at).copied())
        } else {
            Gap {
                before: None,
                after: None,
                missing: &self.missing,
            }
        };
        (!gap.missing.is_empty()).then_some(gap)
    }

    fn between(&self, before: Option<Anchor>, after: Option<Anchor>) -> Gap<'_> {
        let start = before.map_or(0, |anchor| {
            self.missing
                .partition_point(|missing| missing.key <= anchor.key)
        });
        let end = after.map_or(self.missing.len(), |anchor| {
            self.missing
                .partition_point(|missing| missing.key < anchor.key)
        });
        Gap {
            before,
            after,
            missing: self.missing.get(start..end).unwrap_or_default(),
        }
    }
}

/// Whether entries up to `watermark` created a record that has no row and was not deleted again.
fn names_others(queue: &[Entry], watermark: u64, records: &live::Records) -> bool {
    let rows: HashSet<&str> = records.stored.iter().map(|of| of.id.as_str()).collect();
    let mut others: HashSet<&str> = HashSet::new();
    for entry in queue.iter().filter(|entry| entry.seq <= watermark) {
        match entry.operation {
            Operation::Add | Operation::Upsert if !rows.contains(entry.id.as_str()) => {
                others.insert(&entry.id);
            }
            Operation::Delete => {
                others.remove(entry.id.as_str());
            }
            Operation::Add | Operation::Upsert | Operation::Update | Operation::Unknown(_) => {}
        }
    }
    !others.is_empty()
}

/// Every id that must have a row at `watermark`: the ids with a label at `flushed`, plus the
/// changes of the queue since. `complete` means that an id without a label did not exist at
/// `flushed`.
fn replayed(
    map: Option<&LabelMap>,
    queue: &[Entry],
    flushed: u64,
    watermark: u64,
    complete: bool,
) -> HashMap<String, Missing> {
    let labels = map.into_iter().flat_map(|map| &map.pairs);
    let mut places: HashMap<String, Missing> = labels
        .map(|(id, label)| {
            let place = Missing {
                id: id.clone(),
                key: Key::Label(*label),
                made: false,
                entries: Vec::new(),
            };
            (id.clone(), place)
        })
        .collect();
    let from_the_beginning = queue.first().is_some_and(|entry| entry.seq == 1);
    // Entries that the index has consumed. They show how records with a label were created, and
    // name other records if there are no labels.
    let mut early: HashMap<String, Missing> = HashMap::new();
    for entry in queue.iter().filter(|entry| entry.seq <= watermark) {
        let old = entry.seq <= flushed;
        let state = if old { &mut early } else { &mut places };
        let step = QueueChange {
            seq: entry.seq,
            is_add: entry.operation == Operation::Add,
        };
        match (entry.operation, state.get_mut(&entry.id)) {
            (Operation::Add | Operation::Upsert, None) => {
                let place = Missing {
                    id: entry.id.clone(),
                    key: Key::Queue(entry.seq),
                    made: from_the_beginning || complete && !old,
                    entries: vec![step],
                };
                state.insert(entry.id.clone(), place);
            }
            (Operation::Update | Operation::Upsert, Some(known)) => known.entries.push(step),
            (Operation::Delete, _) => {
                early.remove(&entry.id);
                // The index holds these as of its own watermark.
                if !old {
                    places.remove(&entry.id);
                }
            }
            (Operation::Add, Some(_)) | (Operation::Update, None) | (Operation::Unknown(_), _) => {}
        }
    }
    for (id, earlier) in early {
        match places.get_mut(&id) {
            Some(known) if known.label().is_some() => {
                let later = std::mem::replace(&mut known.entries, earlier.entries);
                known.entries.extend(later);
                known.made = earlier.made;
            }
            None if map.is_none() => {
                places.insert(id, earlier);
            }
            // Created again later, or missing from an index that has consumed it: the record was
            // deleted, or the index is from another state.
            Some(_) | None => {}
        }
    }
    places
}

/// The longest subsequence of the anchors, which are in the order of rows, whose keys increase too.
fn rising(anchors: &[Anchor]) -> Vec<Anchor> {
    // For each length, the position of the lowest key that ends an increasing subsequence of that
    // length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(anchors.len());
    let key = |at: usize| anchors.get(at).map(|anchor| anchor.key);
    for (at, anchor) in anchors.iter().enumerate() {
        let length = ends.partition_point(|end| key(*end) < Some(anchor.key));
        before.push(
            length
                .checked_sub(1)
                .and_then(|shorter| ends.get(shorter).copied()),
        );
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut rising = Vec::with_capacity(ends.len());
    let mut place = ends.last().copied();
    while let Some(at) = place {
        rising.extend(anchors.get(at).copied());
        place = before.get(at).copied().flatten();
    }
    rising.reverse();
    rising
}

/// Whether the queue has every entry after `flushed`. All collections share the numbers, which have
/// no gaps except for entries that other collections have consumed into their index.
fn is_queue_whole(
    directory: &Directory,
    collection: usize,
    flushed: u64,
) -> rusqlite::Result<bool> {
    let snapshot = directory.snapshot();
    if !snapshot.is_whole("embeddings_queue") || !snapshot.has_table("embeddings_queue") {
        return Ok(false);
    }
    let others = directory.collections().iter().enumerate();
    let purged = others
        .filter(|(at, _)| *at != collection)
        .filter_map(|(_, row)| row.vector_seq.as_ref()?.value())
        .max()
        .unwrap_or(0)
        .saturating_sub(1);
    let watermarks = directory.collections().iter();
    let highest = watermarks
        .filter_map(|row| row.metadata_seq.as_ref()?.value())
        .max()
        .unwrap_or(0);
    let start = i64::try_from(flushed.max(purged)).unwrap_or(i64::MAX);
    let (count, last): (i64, i64) = snapshot.connection().query_row(
        "SELECT count(*), coalesce(max(seq_id), 0) FROM embeddings_queue WHERE seq_id > ?1",
        [start],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let last = last.max(i64::try_from(highest).unwrap_or(i64::MAX));
    Ok(last <= start || count == last - start)
}

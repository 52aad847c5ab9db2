//! The ids that a collection must have a row for, in the order in which they were first added: labels of the index, then the queue.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::directory::{Directory, INDEX_DATA};
use crate::pickle::{Form, LabelMap};
use crate::queue::{self, Entry, Operation};
use crate::seq::SeqId;
use crate::survey::{files, live};

/// The place of an id in the order of records. Everything in the index was there before what the queue added since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Label(u64),
    Queue(u64),
}

impl Key {
    /// How many were added from `other` to this one at most; nothing if they cannot be compared.
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
    /// The queue holds the entry that made it.
    pub(super) made: bool,
    /// Entries of the queue that changed it, in order.
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

/// A row that is known, with its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchor {
    pub(super) row: i64,
    pub(super) key: Key,
}

/// The stretch between two rows of a collection that are known and next to each other.
pub(super) struct Gap<'a> {
    pub(super) before: Option<Anchor>,
    pub(super) after: Option<Anchor>,
    /// Ids without a row whose place is in between, in order.
    pub(super) missing: &'a [Missing],
}

impl<'a> Gap<'a> {
    /// The ids that a row of this gap can have if order is kept and as many as possible of `rows`, which are all that it has, get an id.
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

    /// Those of the numbers that lie in between.
    pub(super) fn rows(&self, numbers: &BTreeSet<i64>) -> impl Iterator<Item = i64> {
        let first = self
            .before
            .map_or(i64::MIN, |anchor| anchor.row.saturating_add(1));
        let end = self.after.map_or(i64::MAX, |anchor| anchor.row);
        let range = (first < end).then(|| numbers.range(first..end));
        range.into_iter().flatten().copied()
    }
}

/// One collection.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The segment whose rows are the collection's.
    pub(super) segment: Option<String>,
    /// Every id that was added is known: there is no index, or its labels can be read.
    pub(super) complete: bool,
    /// No entry of the queue is lost that came after the index was written.
    pub(super) queue_whole: bool,
    /// Labels and rows rise together.
    ordered: bool,
    rows: HashSet<String>,
    /// Numbers of the rows that are known.
    numbers: Vec<i64>,
    anchors: Vec<Anchor>,
    /// In the order of their keys.
    missing: Vec<Missing>,
    /// Where each of them stands in that list.
    places: HashMap<String, usize>,
}

impl Expected {
    /// Compares the labels and the queue of a collection with its rows. Without `with_labels` the queue alone is looked at.
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
        // Without a row of its segment, an index may be there and not be known as its own.
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

    /// Takes in what was found since the last time, and judges whether what is known rises together.
    pub(super) fn settle(&mut self) {
        let rows = &self.rows;
        self.missing.retain(|missing| !rows.contains(&missing.id));
        let places = self.missing.iter().enumerate();
        self.places = places
            .map(|(at, missing)| (missing.id.clone(), at))
            .collect();
        self.anchors.sort_by_key(|anchor| anchor.row);
        // A record that was deleted and added again has an old label where the entries of the queue are lost: it is no neighbour to rely on.
        let all = self.anchors.len();
        self.anchors = rising(&self.anchors);
        self.ordered &= self.anchors.len() * 10 >= all * 9;
    }

    /// Whether labels were given out anew at some time, so that they count less than rows do.
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

    /// Numbers of the rows that are known.
    pub(super) fn numbers(&self) -> &[i64] {
        &self.numbers
    }

    /// Ids without a row.
    pub(super) fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Notes that an id has a row, or needs none; gives the number of its last change, where the queue tells. Counts after [`Self::settle`].
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

    /// Whether every id that the collection can have about this row is known. What the queue added comes after everything that has a
    /// label: entries that are lost name no record before one.
    pub(super) fn names_all_at(&self, row: i64) -> bool {
        let is_before_a_label = || {
            let at = self.anchors.partition_point(|anchor| anchor.row <= row);
            let after = self.anchors.get(at);
            self.ordered && after.is_some_and(|after| matches!(after.key, Key::Label(_)))
        };
        self.complete && (self.queue_whole || is_before_a_label())
    }

    /// Whether labels and rows rise together.
    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// The gaps that ids are missing from. Where order tells nothing, everything is one gap.
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

    /// The gap around a row, if ids are missing from it. Where order tells nothing, everything is one gap.
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

/// Whether entries up to `watermark` made a record that has no row and that they did not delete again.
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

/// Every id that must have a row at `watermark`: those with a label at `flushed`, and what the queue made of them since. `complete`: an id
/// without a label was not there at `flushed`.
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
    // Entries that the index has taken over. They tell how records with a label came about, and of others where there are no labels.
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
                // What the index has, it has at its own watermark.
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
            // Made again since, or not in an index that has taken it over: that was deleted, or is of another state.
            Some(_) | None => {}
        }
    }
    places
}

/// The longest part of the anchors, which are in the order of rows, whose keys rise too.
fn rising(anchors: &[Anchor]) -> Vec<Anchor> {
    // For each length, the place of the lowest key that ends a rising part of that length.
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

/// Whether the queue has every entry after `flushed`. Numbers are shared by all collections and have no gaps, but for entries that other
/// collections have taken over into their index.
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

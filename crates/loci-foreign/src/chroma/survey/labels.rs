//! Maps ids to elements of an index. The pickle holds the mapping. Lost parts are rebuilt from the
//! order, which in 1.x is the same for labels and records.

use std::collections::{HashMap, HashSet};

use crate::chroma::hnsw::{Segment, VectorState};
use crate::chroma::pickle::LabelMap;

/// The position of a record in its collection: its row number minus the rows of other collections
/// before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowRank {
    pub(crate) row: i64,
}

/// The known state of the records when the index was written.
pub(crate) struct AtFlush<'a> {
    /// Ids in the order of insertion, each with its position.
    pub(crate) ids: Vec<(&'a str, RowRank)>,
    /// Ids in the index that were deleted since. Their positions are unknown.
    pub(crate) vanished: HashSet<&'a str>,
    /// Whether labels were assigned in that order.
    pub(crate) ordered: bool,
    /// Every id of a record or a queue entry.
    pub(crate) named: HashSet<&'a str>,
}

/// The elements by id.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) elements: HashMap<String, u32>,
    /// Ids whose element was found by order alone.
    pub(crate) rebuilt: HashSet<String>,
    /// Labels in the pickle that no element has.
    pub(crate) missing: Vec<u64>,
    /// Labels of live elements that are not in the pickle.
    pub(crate) unknown: Vec<u64>,
    /// Labels that several live elements have.
    pub(crate) contested: HashSet<u64>,
}

impl Resolved {
    /// Whether other elements have the same label, so that the right one is unknown.
    pub(crate) fn is_contested(&self, segment: &Segment, element: u32) -> bool {
        !self.contested.is_empty()
            && segment
                .elements()
                .get(element as usize)
                .is_some_and(|found| self.contested.contains(&found.label))
    }

    /// Drops the matches that were found by order alone.
    pub(crate) fn distrust_order(&mut self) {
        for id in self.rebuilt.drain() {
            self.elements.remove(&id);
        }
    }
}

/// Finds the element of each id.
pub(crate) fn resolve(segment: &Segment, map: Option<&LabelMap>, at: &AtFlush<'_>) -> Resolved {
    let mut resolved = Resolved::default();
    let mut by_label: HashMap<u64, u32> = HashMap::new();
    let covered = segment.elements().iter().take(segment.count());
    for (index, element) in covered.enumerate() {
        if element.deleted {
            continue;
        }
        if by_label.insert(element.label, index as u32).is_some() {
            resolved.contested.insert(element.label);
        }
    }
    let pairs = map.map_or(&[][..], |map| &map.pairs);
    let known: HashSet<u64> = pairs.iter().map(|(_, label)| *label).collect();
    // A header with too low a count hides elements. Only those that the pickle names are trusted.
    for (index, element) in segment.elements().iter().enumerate().skip(segment.count()) {
        let wanted = known.contains(&element.label) && !by_label.contains_key(&element.label);
        if wanted && !element.deleted && element.vector == VectorState::Good {
            by_label.insert(element.label, index as u32);
        }
    }
    let complete = map.is_some_and(|map| map.damage.is_none() && map.disputed == 0);
    let mut used: HashSet<u64> = HashSet::new();
    let is_known = |id: &str| at.named.contains(id);
    // A damaged length that swallows entries puts the rest out of step, so that ids are paired with
    // their neighbours' labels.
    let in_step =
        map.is_some_and(LabelMap::is_cut_short) && pairs.iter().all(|(id, _)| is_known(id));
    let believed = |id: &str, label: u64| {
        let confirmed = map.is_some_and(|map| map.confirmed.contains(&label));
        complete || is_known(id) && (in_step || confirmed)
    };
    for (id, label) in pairs {
        match by_label.get(label) {
            Some(_) if !believed(id, *label) => {}
            Some(element) => {
                used.insert(*label);
                resolved.elements.insert(id.clone(), *element);
            }
            None => resolved.missing.push(*label),
        }
    }
    let mut free: Vec<u64> = by_label
        .keys()
        .copied()
        .filter(|label| !used.contains(label))
        .collect();
    free.sort_unstable();
    if !complete && at.ordered && resolved.contested.is_empty() {
        let labels: HashMap<&str, u64> = pairs
            .iter()
            .filter(|(id, _)| resolved.elements.contains_key(id))
            .map(|(id, label)| (id.as_str(), *label))
            .collect();
        for (id, label) in by_order(at, &labels, &free) {
            if let Some(element) = by_label.get(&label) {
                resolved.elements.insert(id.to_owned(), *element);
                resolved.rebuilt.insert(id.to_owned());
                used.insert(label);
            }
        }
        free.retain(|label| !used.contains(label));
    }
    resolved.unknown = free;
    resolved
}

/// Certain labels for ids that have none yet. They are certain between two neighbours with known
/// labels if there are as many labels as ids, and everywhere if row numbers and labels have a
/// constant distance.
fn by_order<'a>(at: &AtFlush<'a>, known: &HashMap<&str, u64>, free: &[u64]) -> Vec<(&'a str, u64)> {
    if !rises(at, known) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut open: Vec<(&str, RowRank)> = Vec::new();
    let mut last = None;
    let anchors = at.ids.iter().map(|entry| Some(*entry)).chain([None]);
    for entry in anchors {
        let (next, is_end) = match entry {
            Some((id, place)) => match known.get(id) {
                Some(label) => (Some(*label), false),
                None => {
                    open.push((id, place));
                    continue;
                }
            },
            None => (None, true),
        };
        let between: Vec<u64> = free
            .iter()
            .copied()
            .filter(|label| last.is_none_or(|last| *label > last))
            .filter(|label| next.is_none_or(|next| *label < next))
            .collect();
        let ids = std::mem::take(&mut open);
        let only = last.is_none() && is_end;
        if ids.len() == between.len() {
            found.extend(ids.into_iter().map(|(id, _)| id).zip(between));
        } else if only && at.vanished.len() + ids.len() == between.len() {
            found.extend(by_distance(&ids, &between));
        }
        last = next.or(last);
    }
    found
}

/// Row numbers and labels both count insertions. If nothing else shifted either of them, they
/// differ by a constant. Empty if no constant fits, or more than one.
fn by_distance<'a>(ids: &[(&'a str, RowRank)], labels: &[u64]) -> Vec<(&'a str, u64)> {
    let set: HashSet<i64> = labels.iter().map(|label| *label as i64).collect();
    let Some((_, first)) = ids.first() else {
        return Vec::new();
    };
    let spare = labels.len().saturating_sub(ids.len());
    let mut fitting = labels
        .iter()
        .take(spare + 1)
        .map(|label| (*label as i64).wrapping_sub(first.row))
        .filter(|distance| {
            ids.iter()
                .all(|(_, place)| set.contains(&place.row.wrapping_add(*distance)))
        });
    let (Some(distance), None) = (fitting.next(), fitting.next()) else {
        return Vec::new();
    };
    ids.iter()
        .map(|(id, place)| (*id, place.row.wrapping_add(distance) as u64))
        .collect()
}

/// Whether the known labels increase in the order of the records.
fn rises(at: &AtFlush<'_>, known: &HashMap<&str, u64>) -> bool {
    let mut last = None;
    at.ids.iter().all(|(id, _)| match known.get(id) {
        Some(label) => last.replace(*label).is_none_or(|last| last < *label),
        None => true,
    })
}

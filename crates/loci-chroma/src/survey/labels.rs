//! Which element of an index belongs to which id. The pickle says so; what it does not say any more is put together again from the
//! order, which in 1.x is the same for labels and for records.

use std::collections::{HashMap, HashSet};

use super::alignment::{Place, align};
use crate::hnsw::{Segment, VectorState};
use crate::pickle::LabelMap;

/// What is known of the records at the moment the index was written.
pub(crate) struct AtFlush<'a> {
    /// Ids in the order in which they were first added, each with its place: row numbers less the rows of other collections before.
    pub(crate) ids: Vec<(&'a str, Place)>,
    /// Ids that the index holds and that were deleted since: their places are unknown.
    pub(crate) vanished: HashSet<&'a str>,
    /// Whether labels were given out in that order.
    pub(crate) ordered: bool,
}

/// The elements by id.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) elements: HashMap<String, u32>,
    /// Ids whose element was found by order alone.
    pub(crate) rebuilt: HashSet<String>,
    /// Labels of the pickle that no element carries.
    pub(crate) missing: Vec<u64>,
    /// Labels of live elements that the pickle does not know.
    pub(crate) unknown: Vec<u64>,
    /// Labels that several live elements carry.
    pub(crate) contested: HashSet<u64>,
}

impl Resolved {
    /// Whether other elements claim the same label: which of them is right cannot be told.
    pub(crate) fn is_contested(&self, segment: &Segment, element: u32) -> bool {
        !self.contested.is_empty()
            && segment
                .elements()
                .get(element as usize)
                .is_some_and(|found| self.contested.contains(&found.label))
    }

    /// Forgets what was found by order alone.
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
    // A header that counts too few hides elements; only those that the pickle names are believed.
    for (index, element) in segment.elements().iter().enumerate().skip(segment.count()) {
        let wanted = known.contains(&element.label) && !by_label.contains_key(&element.label);
        if wanted && !element.deleted && element.vector == VectorState::Good {
            by_label.insert(element.label, index as u32);
        }
    }
    let complete = map.is_some_and(|map| map.damage.is_none() && map.disputed == 0);
    let there: HashSet<&str> = at.ids.iter().map(|(id, _)| *id).collect();
    let mut used: HashSet<u64> = HashSet::new();
    for (id, label) in pairs {
        match by_label.get(label) {
            // An id that a flipped bit made up would take the label of a real one.
            Some(_)
                if !complete
                    && !there.contains(id.as_str())
                    && !at.vanished.contains(id.as_str()) => {}
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

/// Labels for the ids that have none yet, as far as they are certain; empty if the numbers do not fit.
fn by_order<'a>(at: &AtFlush<'a>, known: &HashMap<&str, u64>, free: &[u64]) -> Vec<(&'a str, u64)> {
    let rest: Vec<(&str, Place)> = at
        .ids
        .iter()
        .copied()
        .filter(|(id, _)| !known.contains_key(id))
        .collect();
    let gone = at
        .vanished
        .iter()
        .filter(|id| !known.contains_key(**id))
        .count();
    if rest.len() + gone != free.len() {
        return Vec::new();
    }
    let rows: Vec<Place> = rest.iter().map(|(_, place)| *place).collect();
    let filled: HashMap<&str, u64> = rest
        .iter()
        .zip(align(&rows, free))
        .filter_map(|((id, _), place)| Some((*id, *free.get(place?)?)))
        .collect();
    if !rises(at, known, &filled) {
        return Vec::new();
    }
    rest.into_iter()
        .filter_map(|(id, _)| Some((id, *filled.get(id)?)))
        .collect()
}

/// Whether labels rise with the order of the records once the rest is put in.
fn rises(at: &AtFlush<'_>, known: &HashMap<&str, u64>, filled: &HashMap<&str, u64>) -> bool {
    let mut last = None;
    at.ids
        .iter()
        .all(|(id, _)| match filled.get(id).or_else(|| known.get(id)) {
            Some(label) => last.replace(*label).is_none_or(|last| last < *label),
            None => true,
        })
}

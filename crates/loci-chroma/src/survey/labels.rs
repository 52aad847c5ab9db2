//! Which element of an index belongs to which id. The pickle says so; what it does not say any more is put together again from the
//! order, which in 1.x is the same for labels and for records.

use std::collections::{HashMap, HashSet};

use crate::hnsw::{Segment, VectorState};
use crate::pickle::LabelMap;

/// What is known of the records at the moment the index was written.
pub(crate) struct AtFlush<'a> {
    /// Ids in the order in which they were first added.
    pub(crate) ids: &'a [&'a str],
    /// How many records that the index holds were deleted since: their places are unknown.
    pub(crate) vanished: usize,
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
    let at_flush: HashSet<&str> = at.ids.iter().copied().collect();
    let mut used: HashSet<u64> = HashSet::new();
    for (id, label) in pairs {
        match by_label.get(label) {
            // An id that a flipped bit made up would take the label of a real one.
            Some(_) if !complete && !at_flush.contains(id.as_str()) => {}
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
    if !complete && at.ordered && at.vanished == 0 && resolved.contested.is_empty() {
        let rest: Vec<&str> = at
            .ids
            .iter()
            .copied()
            .filter(|id| !resolved.elements.contains_key(*id))
            .collect();
        if rest.len() == free.len() && in_order(&resolved, &by_label, at.ids, &rest, &free) {
            for (id, label) in rest.into_iter().zip(free.drain(..)) {
                if let Some(element) = by_label.get(&label) {
                    resolved.elements.insert(id.to_owned(), *element);
                    resolved.rebuilt.insert(id.to_owned());
                }
            }
        }
    }
    resolved.unknown = free;
    resolved
}

/// Whether labels rise with the order of the records once the rest is put in.
fn in_order(
    resolved: &Resolved,
    by_label: &HashMap<u64, u32>,
    ids: &[&str],
    rest: &[&str],
    free: &[u64],
) -> bool {
    let by_element: HashMap<u32, u64> = by_label
        .iter()
        .map(|(label, element)| (*element, *label))
        .collect();
    let filled: HashMap<&str, u64> = rest.iter().copied().zip(free.iter().copied()).collect();
    let mut last = None;
    for id in ids {
        let label = filled.get(id).copied().or_else(|| {
            let element = resolved.elements.get(*id)?;
            by_element.get(element).copied()
        });
        if label <= last {
            return false;
        }
        last = label;
    }
    true
}

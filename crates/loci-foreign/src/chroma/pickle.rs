//! Reads `index_metadata.pickle`, which maps ids to labels of the vector segment.
//!
//! A small interpreter reads the file. It resolves no names and runs no code. Damage stops the
//! reading, but everything read before it counts. Memory grows with the length of the file and
//! nothing recurses, whatever the bytes say.

mod input;
mod machine;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

use machine::{MAPS, Machine, Value};

/// The form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A plain dictionary, as ChromaDB 1.x writes it.
    Dict,
    /// An instance of a class, as ChromaDB up to 0.6 writes it.
    Instance,
}

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelMap {
    /// Ids with their labels, sorted by label. Each pair is in at least one of the two maps and
    /// contradicts neither.
    pub(crate) pairs: Vec<(String, u64)>,
    /// The number of different pairs that share an id or a label. None of them is in `pairs`.
    pub(crate) disputed: u64,
    /// The watermark. Only versions up to 0.5 write it.
    pub(crate) max_seq_id: Option<u64>,
    /// The dimension. Only versions up to 0.6 write it.
    pub(crate) dimensionality: Option<u64>,
    /// The last label that was assigned.
    pub(crate) total_elements_added: Option<u64>,
    /// `None` if no dictionary could be read.
    pub(crate) form: Option<Form>,
    /// Labels of the pairs that are in both maps. Kept only for a damaged file, in which one of the
    /// maps may be out of step.
    pub(crate) confirmed: HashSet<u64>,
    /// Where and why the reading stopped, or what is wrong with a file that was read to its end.
    pub(crate) damage: Option<String>,
}

impl LabelMap {
    /// Whether the file is merely truncated. Everything before the end is then as it was written.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.disputed == 0
            && self
                .damage
                .as_ref()
                .is_some_and(|damage| damage.contains(input::ENDS))
    }
}

/// Reads the whole file.
pub(crate) fn read(bytes: &[u8]) -> LabelMap {
    let mut machine = Machine::new(bytes);
    machine.run();
    let [by_id, by_label] = MAPS.map(|name| machine.map(name));
    let mut found: Vec<(&str, u64)> = Vec::new();
    for (key, value) in machine.entries(by_id) {
        if let (Some(id), Value::Whole(label)) = (machine.text(*key), value) {
            found.push((id, *label));
        }
    }
    for (key, value) in machine.entries(by_label) {
        if let (Value::Whole(label), Some(id)) = (key, machine.text(*value)) {
            found.push((id, *label));
        }
    }
    let damage = machine.damage().map(str::to_owned).or_else(|| {
        let absent = by_id.is_none() && by_label.is_none();
        absent.then(|| "it has neither `id_to_label` nor `label_to_id`".to_owned())
    });
    let (pairs, disputed) = agreed(found.clone());
    let whole = |name| match machine.field(name) {
        Some(Value::Whole(number)) => Some(number),
        _ => None,
    };
    LabelMap {
        pairs,
        disputed,
        max_seq_id: whole("max_seq_id"),
        dimensionality: whole("dimensionality"),
        total_elements_added: whole("total_elements_added"),
        form: machine.form(),
        confirmed: if damage.is_some() || disputed > 0 {
            twice(&found)
        } else {
            HashSet::new()
        },
        damage,
    }
}

/// Labels of the pairs that occur twice.
fn twice(found: &[(&str, u64)]) -> HashSet<u64> {
    let mut once = HashSet::new();
    found
        .iter()
        .filter(|pair| !once.insert(**pair))
        .map(|(_, label)| *label)
        .collect()
}

/// The pairs that share neither id nor label with another one, sorted by label, and the number of
/// those that do.
fn agreed(mut found: Vec<(&str, u64)>) -> (Vec<(String, u64)>, u64) {
    found.sort_by_key(|(_, label)| *label);
    for run in found.chunk_by_mut(|left, right| left.1 == right.1) {
        run.sort_unstable();
    }
    found.dedup();
    let mut disputed = vec![false; found.len()];
    let mut start = 0;
    for run in found.chunk_by(|left, right| left.1 == right.1) {
        if run.len() > 1 {
            for mark in disputed.iter_mut().skip(start).take(run.len()) {
                *mark = true;
            }
        }
        start += run.len();
    }
    // Sort by hash first: comparing a million ids as text takes longer than reading them.
    let mut by_id: Vec<(u64, &str, usize)> = found
        .iter()
        .enumerate()
        .map(|(index, (id, _))| (xxh3_64(id.as_bytes()), *id, index))
        .collect();
    by_id.sort_unstable();
    for run in by_id.chunk_by(|left, right| left.0 == right.0 && left.1 == right.1) {
        if run.len() > 1 {
            for (_, _, index) in run {
                if let Some(mark) = disputed.get_mut(*index) {
                    *mark = true;
                }
            }
        }
    }
    let count = disputed.iter().filter(|mark| **mark).count() as u64;
    let pairs = found
        .into_iter()
        .zip(disputed)
        .filter(|(_, disputed)| !disputed)
        .map(|((id, label), _)| (id.to_owned(), label))
        .collect();
    (pairs, count)
}

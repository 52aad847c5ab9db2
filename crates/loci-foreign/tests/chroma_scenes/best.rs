//! The best possible result of reading a damaged directory from its files alone.

use std::collections::{BTreeMap, BTreeSet};

use super::expected::close;
use super::scene::{DATA, Scene};

/// The records of the first collection that still have their vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// All records.
    All,
    /// All records, but the length of the vectors may differ.
    Direction,
    /// Only records in the queue.
    Queue,
    /// Records whose element in the damaged file is unchanged, and those in the queue.
    Intact,
    /// Records that `other` knows too, and those in the queue. The vectors may come from either
    /// state.
    Shared,
    /// Records that the damaged index itself maps to their vector, and those in the queue.
    Mapped,
    /// No guaranteed number.
    Something,
}

impl Best {
    /// Ids of the first collection for which a reader must find a vector. `records` are the live
    /// ones.
    pub fn ids(self, scene: &Scene, records: &BTreeSet<String>) -> BTreeSet<String> {
        let found = match self {
            Self::All | Self::Direction => return records.clone(),
            Self::Something => return BTreeSet::new(),
            Self::Queue => BTreeSet::new(),
            Self::Intact => intact(scene),
            Self::Shared => shared(scene),
            Self::Mapped => mapped(scene),
        };
        found
            .union(&queue(scene))
            .filter(|id| records.contains(*id))
            .cloned()
            .collect()
    }
}

/// Ids of the first collection with a vector in the queue.
pub fn queue(scene: &Scene) -> BTreeSet<String> {
    let database = scene.pristine_sql();
    let mut statement = database
        .prepare("SELECT id FROM embeddings_queue WHERE topic = ?1 AND vector IS NOT NULL")
        .unwrap();
    let rows = statement.query_map([scene.topic()], |row| row.get(0));
    rows.unwrap().map(Result::unwrap).collect()
}

/// The offsets of the parts of an element. M is always 16 here.
#[derive(Clone, Copy)]
pub struct Layout {
    pub vector: usize,
    pub label: usize,
    pub size: usize,
}

impl Layout {
    pub fn of(scene: &Scene) -> Self {
        let label = 132 + 4 * scene.expected.first().dimension;
        Self {
            vector: 132,
            label,
            size: label + 8,
        }
    }

    /// The elements of a file, without the rest at its end.
    pub fn elements(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        bytes.chunks_exact(self.size)
    }

    pub fn label_of(self, element: &[u8]) -> u64 {
        u64::from_le_bytes(element[self.label..].try_into().unwrap())
    }

    pub fn vector_of(self, element: &[u8]) -> Vec<f32> {
        let bytes = element[self.vector..self.label].chunks_exact(4);
        bytes
            .map(|four| f32::from_le_bytes(four.try_into().unwrap()))
            .collect()
    }
}

fn labels(scene: &Scene) -> &BTreeMap<String, u64> {
    &scene.expected.labels[&scene.vector_segment()]
}

fn intact(scene: &Scene) -> BTreeSet<String> {
    let layout = Layout::of(scene);
    let before = std::fs::read(scene.pristine_file(DATA)).unwrap();
    let after = std::fs::read(scene.file(DATA)).unwrap();
    let same = |one: &[u8], other: &[u8]| {
        one[..4] == other[..4] && one[layout.vector..] == other[layout.vector..]
    };
    let whole: BTreeSet<u64> = layout
        .elements(&before)
        .zip(layout.elements(&after))
        .filter(|(one, other)| same(one, other))
        .map(|(one, _)| layout.label_of(one))
        .collect();
    let known = labels(scene).iter();
    known
        .filter(|(_, label)| whole.contains(label))
        .map(|(id, _)| id.clone())
        .collect()
}

fn shared(scene: &Scene) -> BTreeSet<String> {
    let other = scene.other_expected.as_ref().unwrap().first().ids();
    let now = scene.expected.first().ids();
    now.intersection(&other).cloned().collect()
}

fn mapped(scene: &Scene) -> BTreeSet<String> {
    let layout = Layout::of(scene);
    let bytes = std::fs::read(scene.file(DATA)).unwrap();
    let mut vectors: BTreeMap<u64, Vec<Vec<f32>>> = BTreeMap::new();
    for element in layout.elements(&bytes) {
        let label = layout.label_of(element);
        vectors
            .entry(label)
            .or_default()
            .push(layout.vector_of(element));
    }
    let unit = |vector: &[f32]| -> Vec<f32> {
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    };
    let written = scene.expected.first().vectors();
    let has = |id: &str, label: &u64| {
        let stored = vectors.get(label).map(Vec::as_slice).unwrap_or_default();
        let wanted = written.get(id).map(|vector| unit(vector));
        wanted.is_some_and(|wanted| stored.len() == 1 && close(&stored[0], &wanted))
    };
    let known = labels(scene).iter();
    known
        .filter(|(id, label)| has(id, label))
        .map(|(id, _)| id.clone())
        .collect()
}

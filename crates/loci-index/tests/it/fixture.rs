//! A snapshot and the vectors that it was built from.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use loci_core::Metric;
use loci_index::{
    BuildSpec, Builder, Damage, Identity, QueryVector, Registration, SlotSet, TopK, VectorIndex,
    open,
};
use tempfile::TempDir;

use crate::data::{Shape, Source, bytes};

pub(crate) const IDENTITY: Identity = Identity {
    palace: *b"the first palace",
    generation: 5,
    collection: 2,
};

pub(crate) fn spec(dimension: usize, metric: Metric) -> BuildSpec {
    BuildSpec {
        identity: IDENTITY,
        covered: 77,
        dimension,
        metric,
    }
}

/// Row number of a slot, with gaps as after deletions.
pub(crate) fn row_of(slot: usize) -> u64 {
    10 + slot as u64 * 3 / 2
}

pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) registration: Registration,
}

impl Fixture {
    pub(crate) fn new(shape: Shape, spec: BuildSpec, count: usize) -> Self {
        let mut source = Source::new(shape, spec.dimension, 11);
        let vectors = (0..count).map(|_| source.draw()).collect();
        Self::of(vectors, spec)
    }

    pub(crate) fn of(vectors: Vec<Vec<f32>>, spec: BuildSpec) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registration = build(dir.path(), spec, &vectors);
        Self {
            dir,
            vectors,
            registration,
        }
    }

    /// A snapshot small enough to damage at every byte, with more than one block of rows.
    pub(crate) fn small() -> Self {
        Self::new(Shape::Clusters(5), spec(70, Metric::Cosine), 100)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join(&self.registration.name)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    pub(crate) fn open(&self) -> Result<Arc<dyn VectorIndex>, Damage> {
        open(self.dir.path(), &self.registration)
    }

    pub(crate) fn open_warm(&self) -> Arc<dyn VectorIndex> {
        let index = self.open().unwrap();
        index.warm().unwrap();
        index
    }

    /// The damage that opening or warming reports.
    pub(crate) fn damage(&self) -> Option<Damage> {
        self.open().and_then(|index| index.warm()).err()
    }

    /// The exact answer among these slots.
    pub(crate) fn exact(
        &self,
        query: &QueryVector,
        k: usize,
        slots: impl Iterator<Item = usize>,
    ) -> Vec<u64> {
        let mut top = TopK::new(k);
        for slot in slots {
            top.offer(query.distance(&self.vectors[slot]), row_of(slot));
        }
        top.into_sorted().into_iter().map(|(_, row)| row).collect()
    }

    /// Share of the exact top 10 that exact distances to `wanted` candidates find.
    pub(crate) fn recall(
        &self,
        index: &dyn VectorIndex,
        queries: &[QueryVector],
        wanted: usize,
        allowed: Option<&SlotSet>,
    ) -> f64 {
        let masked = SlotSet::new(0);
        let (mut found, mut expected) = (0, 0);
        for query in queries {
            let candidates = index.candidates(query, wanted, allowed, &masked);
            let slots = candidates.rows.iter().filter_map(|row| index.slot(*row));
            let answer = self.exact(query, 10, slots);
            let exact = match allowed {
                Some(allowed) => self.exact(query, 10, allowed.iter()),
                None => self.exact(query, 10, 0..self.vectors.len()),
            };
            found += exact.iter().filter(|row| answer.contains(row)).count();
            expected += exact.len();
        }
        found as f64 / expected as f64
    }
}

pub(crate) fn build(dir: &std::path::Path, spec: BuildSpec, vectors: &[Vec<f32>]) -> Registration {
    let sample: Vec<f32> = vectors.iter().take(1000).flatten().copied().collect();
    let mut builder = Builder::create(dir, spec, &sample).unwrap();
    for (slot, vector) in vectors.iter().enumerate() {
        builder.push(row_of(slot), &bytes(vector)).unwrap();
    }
    builder.finish().unwrap()
}

pub(crate) fn names(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

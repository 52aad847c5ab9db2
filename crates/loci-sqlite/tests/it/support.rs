//! Palaces of the SQLite backend, the model that they are compared with, and the comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use crate::harness::*;
pub(crate) use crate::operations::{Access, Op, Request, Rng, Row, random_row};
pub(crate) use crate::palace::SqlitePalace;

/// The program that [`Worker`] starts.
pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_loci-sqlite-worker");

pub(crate) fn open(path: &Path) -> SqlitePalace {
    SqlitePalace::open(path, true).unwrap()
}

/// The snapshot files in a palace, and what was set aside.
pub(crate) fn snapshots(palace: &Path) -> Vec<PathBuf> {
    listed(&palace.join("index"), |name| name.ends_with(".snapshot"))
}

/// What a collection must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) rows: BTreeMap<String, Row>,
    /// Last vector and text of every drawer that is gone.
    pub(crate) dead: BTreeMap<String, Row>,
}

impl Model {
    pub(crate) fn apply(&mut self, op: &Op) {
        match op {
            Op::Add { rows } => {
                for row in rows {
                    if !self.rows.contains_key(&row.id) {
                        self.put(row.clone());
                    }
                }
            }
            Op::Upsert { rows } => rows.iter().for_each(|row| self.change(row, true)),
            Op::Update { rows } => rows.iter().for_each(|row| self.change(row, false)),
            Op::Delete { ids } | Op::Forget { ids } => ids.iter().for_each(|id| self.remove(id)),
            Op::DeleteWhere { key, value } => {
                let ids: Vec<String> = self
                    .rows
                    .values()
                    .filter(|row| row.meta.get(key) == Some(value))
                    .map(|row| row.id.clone())
                    .collect();
                for id in &ids {
                    self.remove(id);
                }
            }
            Op::Reindex | Op::Compact | Op::Analyze => {}
        }
    }

    fn put(&mut self, mut row: Row) {
        row.text.get_or_insert_default();
        self.dead.remove(&row.id);
        self.rows.insert(row.id.clone(), row);
    }

    fn change(&mut self, change: &Row, insert: bool) {
        let Some(old) = self.rows.get_mut(&change.id) else {
            if insert {
                self.put(change.clone());
            }
            return;
        };
        if let Some(text) = &change.text {
            if old.text.as_ref() != Some(text) && change.vector.is_none() {
                old.vector = None;
            }
            old.text = Some(text.clone());
        }
        if change.vector.is_some() {
            old.vector.clone_from(&change.vector);
        }
        old.meta
            .extend(change.meta.iter().map(|(k, v)| (k.clone(), v.clone())));
    }

    fn remove(&mut self, id: &str) {
        if let Some(row) = self.rows.remove(id) {
            self.dead.insert(id.to_owned(), row);
        }
    }

    /// The nearest by brute force: `(distance, id)`.
    pub(crate) fn nearest(
        &self,
        vector: &[f32],
        k: usize,
        group: Option<&Value>,
    ) -> Vec<(f32, String)> {
        let mut all: Vec<(f32, String)> = self
            .rows
            .values()
            .filter(|row| group.is_none() || row.meta.get("group") == group)
            .filter_map(|row| Some((cosine(vector, row.vector.as_ref()?), row.id.clone())))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        all.truncate(k);
        all
    }

    /// Panics unless `ids` with `distances` is a right answer: full, every distance that of its
    /// drawer, and as near as brute force.
    pub(crate) fn check_hits(
        &self,
        vector: &[f32],
        k: usize,
        group: Option<&Value>,
        ids: &[String],
        distances: &[f32],
    ) {
        let expected = self.nearest(vector, k, group);
        let found: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(found.len(), ids.len(), "an id twice: {ids:?}");
        assert_eq!(
            ids.len(),
            expected.len(),
            "not full: {ids:?}, expected {expected:?}"
        );
        for ((id, distance), (best, _)) in ids.iter().zip(distances).zip(&expected) {
            let row = self
                .rows
                .get(id)
                .unwrap_or_else(|| panic!("a ghost: {id}; dead {}", self.dead.contains_key(id)));
            assert!(
                group.is_none() || row.meta.get("group") == group,
                "{id} is not in the filter"
            );
            let own = cosine(vector, row.vector.as_ref().unwrap());
            assert!(
                (own - distance).abs() < 1e-4,
                "{id}: {distance} instead of {own}"
            );
            assert!(
                (best - distance).abs() < 1e-4,
                "{id} at {distance}, the best is {best}"
            );
        }
    }

    /// Panics unless the worker answers as brute force does.
    pub(crate) fn ask(
        &self,
        worker: &mut Worker,
        collection: &str,
        vector: &[f32],
        k: usize,
    ) -> Vec<String> {
        let answer = worker.must(&query(collection, vector, k));
        let (ids, distances) = hits(&answer);
        self.check_hits(vector, k, None, &ids, &distances);
        answer["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|warning| warning.as_str().unwrap().to_owned())
            .collect()
    }
}

/// Compares everything a palace answers with the model, in this process.
pub(crate) fn check(palace: &SqlitePalace, name: &str, model: &Model, rng: &mut Rng, deep: bool) {
    assert_eq!(contents(palace, name), model.rows, "the drawers differ");
    let report = palace.verify(deep).unwrap();
    assert!(report.ok(), "verify: {:?}", report.findings);
    let Ok(collection) = palace.collection(name, false) else {
        return;
    };
    assert_eq!(collection.count().unwrap(), model.rows.len() as u64);
    let Some(dimension) = collection.dimension().unwrap() else {
        return;
    };
    let ask = |vector: &[f32], k: usize, group: Option<&Value>| {
        let mut query = loci_core::Query::vector(vector.to_vec()).k(k);
        if let Some(group) = group {
            let filter = loci_core::Filter::parse(&serde_json::json!({ "group": group })).unwrap();
            query.selection = loci_core::Selection::matching(filter);
        }
        let answer = collection.query(&query).unwrap();
        model.check_hits(vector, k, group, &answer.ids[0], &answer.distances[0]);
    };
    let words = |text: &str| -> Vec<String> {
        let found = loci_recall::search_words(&*collection, text, 10, &loci_core::Selection::all())
            .unwrap();
        found.hits.into_iter().map(|hit| hit.id).collect()
    };
    let unique = |row: &Row| {
        row.text
            .as_ref()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .to_owned()
    };
    for _ in 0..3 {
        if let Some(row) = pick(rng, &model.dead) {
            if let Some(vector) = &row.vector {
                ask(vector, 10, None);
            }
            assert!(
                words(&unique(row)).is_empty(),
                "words find the deleted {}",
                row.id
            );
        }
        if let Some(row) = pick(rng, &model.rows) {
            if let Some(vector) = &row.vector {
                ask(vector, 10, None);
                ask(vector, 5, row.meta.get("group"));
            }
            assert_eq!(
                words(&unique(row)),
                std::slice::from_ref(&row.id),
                "words do not find it"
            );
        }
        ask(&rng.vector(dimension), 10, None);
    }
    ask(&rng.vector(dimension), 400, None);
}

fn pick<'a>(rng: &mut Rng, rows: &'a BTreeMap<String, Row>) -> Option<&'a Row> {
    rows.values().nth(rng.below(rows.len()))
}

/// A collection with random drawers, and the model of it.
pub(crate) fn fill(
    palace: &SqlitePalace,
    collection: &str,
    prefix: &str,
    count: u64,
    dimension: usize,
    seed: u64,
) -> Model {
    let rows = crate::harness::fill(palace, collection, prefix, count, dimension, seed);
    let mut model = Model::default();
    model.apply(&Op::Add { rows });
    model
}

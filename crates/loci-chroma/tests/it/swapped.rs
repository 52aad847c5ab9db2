//! Index files that have the name of another collection.

use std::collections::BTreeMap;
use std::path::Path;

use loci_chroma::{Diagnosis, Origin, Record};

use crate::expected::close;
use crate::peer::judge;
use crate::repair::{as_read, repaired};
use crate::scene::Scene;

/// Swaps the folders of both collections.
fn swap(scene: &Scene) {
    let (one, two) = (scene.segment_of("one"), scene.segment_of("two"));
    let between = scene.directory.join("between");
    std::fs::rename(&one, &between).unwrap();
    std::fs::rename(&two, &one).unwrap();
    std::fs::rename(&between, &two).unwrap();
}

/// Collection → id → record.
pub fn read(path: &Path) -> BTreeMap<String, BTreeMap<String, Record>> {
    let diagnosis = Diagnosis::of(path).unwrap();
    let mut found = BTreeMap::new();
    for (at, row) in diagnosis.directory.collections().iter().enumerate() {
        let mut records = BTreeMap::new();
        let mut take = |batch: Vec<Record>| {
            records.extend(batch.into_iter().map(|record| (record.id.clone(), record)));
            Ok(())
        };
        let survey = &diagnosis.surveys[at];
        let directory = &diagnosis.directory;
        directory
            .for_each_record(at, survey, 100, &mut take)
            .unwrap();
        found.insert(row.name.clone(), records);
    }
    found
}

/// Checks that every record has its own text and that no vector belongs to another record. Returns
/// how many have one, by collection.
fn own_vectors(scene: &Scene) -> BTreeMap<String, usize> {
    let found = read(&scene.directory);
    let mut counts = BTreeMap::new();
    for collection in &scene.expected.collections {
        let records = &found[&collection.name];
        let mut count = 0;
        assert_eq!(records.len(), collection.records.len());
        for wanted in &collection.records {
            let record = &records[&wanted.id];
            assert_eq!(record.document, wanted.document);
            if let Some(vector) = &record.vector {
                let right = close(vector, wanted.embedding.as_ref().unwrap());
                assert!(
                    right,
                    "{} {} has another vector",
                    collection.name, wanted.id
                );
                assert!(
                    matches!(record.origin, Origin::Queue(_)),
                    "{:?}",
                    record.origin
                );
                count += 1;
            }
        }
        counts.insert(collection.name.clone(), count);
    }
    counts
}

fn foreign(scene: &Scene) -> Vec<String> {
    let diagnosis = Diagnosis::of(&scene.directory).unwrap();
    let foreign = diagnosis
        .all()
        .filter(|of| of.code.as_str() == "index_foreign");
    foreign.filter_map(|of| of.collection.clone()).collect()
}

#[test]
fn an_index_of_another_length_of_vectors_is_not_believed_against_catalog_and_queue() {
    let Some(scene) = Scene::twins(60, [16, 8], [50, 1000]) else {
        return;
    };
    assert!(foreign(&scene).is_empty());
    swap(&scene);
    assert_eq!(foreign(&scene), ["two"]);
    assert_eq!(own_vectors(&scene)["two"], 60);
    repaired(&scene.directory);
    let dimensions: Vec<i64> = scene
        .sql()
        .prepare("SELECT dimension FROM collections ORDER BY name")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(dimensions, [16, 8]);
    let read = as_read(&scene);
    assert_eq!(read.collections[1].records.len(), 60);
    let problems = judge(&scene.directory, &read).unwrap().problems(&read);
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(!repaired(&scene.directory).changed);
}

#[test]
fn an_index_that_has_other_vectors_for_ids_that_the_queue_added_is_not_believed() {
    let Some(scene) = Scene::twins(60, [16, 16], [50, 1000]) else {
        return;
    };
    assert!(foreign(&scene).is_empty());
    swap(&scene);
    assert_eq!(foreign(&scene), ["two"]);
    assert_eq!(own_vectors(&scene)["two"], 60);
}

#[test]
fn a_catalog_that_alone_contradicts_index_and_queue_is_wrong() {
    let Some(scene) = Scene::twins(60, [16, 8], [50, 1000]) else {
        return;
    };
    scene
        .sql()
        .execute_batch("UPDATE collections SET dimension = 99")
        .unwrap();
    assert!(foreign(&scene).is_empty());
    let found = read(&scene.directory);
    assert!(found["one"].values().all(|record| record.vector.is_some()));
}

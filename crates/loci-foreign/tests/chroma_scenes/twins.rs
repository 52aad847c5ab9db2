//! Scenes of two collections whose records have the same ids: damage that confuses the two, and what
//! is read from it.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt as _;

use loci_foreign::chroma::{Diagnosis, Origin};

use super::expected::close;
use super::reading::read;
use super::scene::Scene;

/// Swaps the folders of both collections.
pub fn swap(scene: &Scene) {
    let (one, two) = (scene.segment_of("one"), scene.segment_of("two"));
    let between = scene.directory.join("between");
    std::fs::rename(&one, &between).unwrap();
    std::fs::rename(&two, &one).unwrap();
    std::fs::rename(&between, &two).unwrap();
}

/// Checks that every record has its own text and that no vector belongs to another record. Returns
/// how many have one, by collection.
pub fn own_vectors(scene: &Scene) -> BTreeMap<String, usize> {
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

pub fn foreign(scene: &Scene) -> Vec<String> {
    let diagnosis = Diagnosis::of(&scene.directory).unwrap();
    let foreign = diagnosis
        .all()
        .filter(|of| of.code.as_str() == "index_foreign");
    foreign.filter_map(|of| of.collection.clone()).collect()
}

/// Removes the rows, by a statement or with the page that they are on.
pub fn remove_segment_rows(scene: &Scene, how: &str) {
    let database = scene.sql();
    if how != "page" {
        database.execute_batch(how).unwrap();
        return;
    }
    let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'segments'";
    let page: u32 = database.query_row(query, [], |row| row.get(0)).unwrap();
    database.close().unwrap();
    let file = std::fs::File::options().write(true).open(scene.database());
    let zeros = vec![0; 4096];
    file.unwrap()
        .write_all_at(&zeros, u64::from(page - 1) * 4096)
        .unwrap();
}

pub fn codes(scene: &Scene) -> Vec<&'static str> {
    let diagnosis = Diagnosis::of(&scene.directory).unwrap();
    diagnosis
        .all()
        .map(|finding| finding.code.as_str())
        .collect()
}

//! Lost rows of `embedding_metadata`: every record that is recovered incompletely is named.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;

use super::repaired;
use crate::reading::read;
use crate::scene::Scene;

/// Fills pages of the table with zeros.
fn zero_pages(scene: &Scene, count: usize) {
    let file = loci_salvage::DatabaseFile::open(&scene.database(), None).unwrap();
    let schema = file.schema();
    let table = schema
        .iter()
        .find(|entry| entry.kind == "table" && entry.name == "embedding_metadata");
    let root = table.unwrap().root_page;
    let mut pages = Vec::new();
    file.for_each_record(&mut |record| {
        if record.root == root {
            pages.push(record.page);
        }
    });
    drop(file);
    pages.dedup();
    assert!(pages.len() > count + 1);
    let file = std::fs::File::options().write(true).open(scene.database());
    let file = file.unwrap();
    for page in &pages[1..=count] {
        let place = u64::from(page - 1) * 4096;
        file.write_all_at(&[0; 4096], place).unwrap();
    }
}

/// Ids of records that were read with another text or other metadata than was written, and those
/// that are reported as such.
fn lessened(scene: &Scene, deleted: bool) -> (BTreeSet<String>, BTreeSet<String>) {
    let found = read(&scene.directory);
    let (mut less, mut named) = (BTreeSet::new(), BTreeSet::new());
    for collection in &scene.expected.collections {
        for wanted in &collection.records {
            let record = &found[&collection.name][&wanted.id];
            let metadata = (!record.metadata.0.is_empty())
                .then(|| serde_json::to_value(&record.metadata).unwrap());
            let wanted_metadata = wanted.metadata.as_ref().filter(|value| !value.is_null());
            let differs =
                record.document != wanted.document || metadata.as_ref() != wanted_metadata;
            // Nothing shows the deleted rows of a record without a text.
            if differs && (wanted.document.is_some() || !deleted) {
                less.insert(wanted.id.clone());
            }
            if record.metadata_loss.is_some() {
                named.insert(wanted.id.clone());
            }
        }
    }
    (less, named)
}

#[test]
fn every_record_that_lost_metadata_with_a_page_or_with_rows_is_named() {
    for pages in [0, 1, 3] {
        let Some(scene) = Scene::standard() else {
            return;
        };
        assert_eq!(lessened(&scene, false), Default::default());
        if pages > 0 {
            zero_pages(&scene, pages);
        } else {
            let rows = "DELETE FROM embedding_metadata WHERE id % 5 = 2";
            scene.sql().execute_batch(rows).unwrap();
        }
        let (less, named) = lessened(&scene, pages == 0);
        assert!(!less.is_empty());
        let silent: Vec<&String> = less.difference(&named).collect();
        assert!(silent.is_empty(), "{pages}: {silent:?}");
        let report = repaired(&scene.directory);
        let told: BTreeSet<String> = report
            .collections
            .iter()
            .flat_map(|of| of.metadata_lost.iter().cloned())
            .collect();
        assert_eq!(told, named, "{pages}");
    }
}

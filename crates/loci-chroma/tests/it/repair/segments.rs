//! Lost rows of `segments`: a repair puts the records back into their collections.

use super::repaired;
use crate::expected::close;
use crate::peer::judge;
use crate::reading::read;
use crate::scene::Scene;
use crate::twins::{codes, remove_segment_rows};

const DAMAGES: [&str; 3] = [
    "DELETE FROM segments WHERE scope = 'METADATA'",
    "DELETE FROM segments",
    "page",
];

#[test]
fn records_whose_segment_row_is_gone_come_back_in_the_collection_that_the_queue_names() {
    for how in DAMAGES {
        let Some(scene) = Scene::twins(60, [16, 8], [50, 1000]) else {
            return;
        };
        remove_segment_rows(&scene, how);
        assert!(codes(&scene).contains(&"segment_row_missing"), "{how}");
        assert!(!codes(&scene).contains(&"collection_lost"), "{how}");
        let found = read(&scene.directory);
        for collection in &scene.expected.collections {
            let records = &found[&collection.name];
            assert_eq!(records.len(), 60, "{how}: {}", collection.name);
            for wanted in &collection.records {
                let record = &records[&wanted.id];
                assert_eq!(record.document, wanted.document, "{how}");
                let vector = record.vector.as_ref().unwrap();
                let right = close(vector, wanted.embedding.as_ref().unwrap());
                assert!(right, "{how}: {} {}", collection.name, wanted.id);
            }
        }
        let report = repaired(&scene.directory);
        assert!(report.changed);
        assert_eq!(report.moved_file, None, "{how}");
        let judgement = judge(&scene.directory, &scene.expected).unwrap();
        let problems = judgement.problems(&scene.expected);
        assert!(problems.is_empty(), "{how}: {problems:#?}");
        assert!(!repaired(&scene.directory).changed, "{how}");
    }
}

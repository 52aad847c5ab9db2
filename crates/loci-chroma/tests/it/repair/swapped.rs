//! Index files that have the name of another collection: a repair keeps the vectors of each.

use super::{as_read, repaired};
use crate::peer::judge;
use crate::scene::Scene;
use crate::twins::{foreign, own_vectors, swap};

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

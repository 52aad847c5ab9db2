//! Index files that have the name of another collection.

use crate::chroma_scenes::reading::read;
use crate::chroma_scenes::scene::Scene;
use crate::chroma_scenes::twins::{foreign, own_vectors, swap};

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

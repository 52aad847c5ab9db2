//! Lost rows of `segments`, with intact records and index files.

use loci_foreign::chroma::Diagnosis;

use crate::chroma_scenes::expected::close;
use crate::chroma_scenes::reading::read;
use crate::chroma_scenes::scene::Scene;
use crate::chroma_scenes::twins::{codes, remove_segment_rows};

#[test]
fn an_index_that_two_collections_may_own_gives_no_vector_to_either() {
    let Some(scene) = Scene::twins(60, [16, 16], [50, 1000]) else {
        return;
    };
    remove_segment_rows(&scene, "DELETE FROM segments");
    let found = read(&scene.directory);
    for collection in &scene.expected.collections {
        for wanted in &collection.records {
            let record = &found[&collection.name][&wanted.id];
            if let Some(vector) = &record.vector {
                let right = close(vector, wanted.embedding.as_ref().unwrap());
                assert!(right, "{} {}", collection.name, wanted.id);
            }
        }
    }
    assert!(found["two"].values().all(|record| record.vector.is_some()));
}

#[test]
fn records_whose_collection_is_not_certain_come_as_a_collection_of_their_own() {
    let Some(scene) = Scene::twins(60, [16, 8], [50, 1000]) else {
        return;
    };
    remove_segment_rows(&scene, "DELETE FROM segments; DELETE FROM embeddings_queue");
    let found = read(&scene.directory);
    let lost: Vec<_> = found
        .iter()
        .filter(|(name, _)| name.starts_with("lost-"))
        .collect();
    assert_eq!(lost.len(), 2);
    for (_, records) in lost {
        assert_eq!(records.len(), 60);
    }
    let told = codes(&scene);
    assert_eq!(
        told.iter()
            .filter(|code| **code == "collection_lost")
            .count(),
        2
    );
}

/// The rows exist with id and text; only their segment is wrong.
#[test]
fn rows_that_name_no_segment_are_not_called_gone() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    remove_segment_rows(
        &scene,
        "UPDATE embeddings SET segment_id = 'nope' WHERE id % 4 = 0",
    );
    let stray = "SELECT count(*) FROM embeddings WHERE segment_id = 'nope'";
    let stray: u64 = scene
        .sql()
        .query_row(stray, [], |row| Ok(row.get::<_, i64>(0)? as u64))
        .unwrap();
    let diagnosis = Diagnosis::of(&scene.directory).unwrap();
    let lost: Vec<_> = diagnosis
        .all()
        .filter(|finding| finding.collection.as_deref() == Some("lost-nope"))
        .collect();
    assert!(!codes(&scene).contains(&"rows_uncertain"));
    let message = |code: &str| {
        let found = lost.iter().find(|finding| finding.code.as_str() == code);
        found.map(|finding| finding.message.clone())
    };
    assert_eq!(
        message("collection_lost").unwrap(),
        format!(
            "{stray} records name a segment that is not in the catalog, so they belong to no collection"
        )
    );
    assert_eq!(message("vectors_unreachable"), None);
    let vectors = message("vectors_lost").unwrap();
    assert!(vectors.contains("in `drawers`"), "{vectors}");
    let ghosts = diagnosis
        .all()
        .find(|finding| finding.code.as_str() == "ghosts");
    let ghosts = &ghosts.unwrap().message;
    assert!(
        ghosts.contains("name a segment that is not in the catalog"),
        "{ghosts}"
    );
    for finding in diagnosis.all() {
        let message = &finding.message;
        assert!(!message.contains("row is lost"), "{message}");
        assert!(!message.contains("lost the row"), "{message}");
    }
    let found = read(&scene.directory);
    assert_eq!(found["lost-nope"].len() as u64, stray);
    assert!(
        found["lost-nope"]
            .values()
            .any(|record| record.document.is_some())
    );
}

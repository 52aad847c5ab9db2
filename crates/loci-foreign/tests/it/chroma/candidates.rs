//! Texts of uncertain id in truncated databases.

use std::collections::{BTreeMap, BTreeSet};

use loci_foreign::chroma::Diagnosis;

use crate::chroma_scenes::scene::Scene;

/// Truncates the database to this percentage of its length.
fn cut(scene: &Scene, hundredths: u64) {
    let file = std::fs::File::options().write(true).open(scene.database());
    let file = file.unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    file.set_len(pages * hundredths / 100 * 4096).unwrap();
}

#[test]
fn the_ids_of_a_candidate_contain_its_own_or_are_not_known_and_no_text_stands_twice() {
    let scenes: [fn() -> Option<Scene>; 3] = [
        || Scene::twins(60, [16, 8], [50, 1000]),
        Scene::standard,
        || Some(Scene::fixture("chroma-0.6-flushed")),
    ];
    let (mut with_ids, mut without) = (0, 0);
    for (scene_number, stage) in scenes.into_iter().enumerate() {
        for hundredths in (30..95).step_by(5) {
            let Some(scene) = stage() else { continue };
            cut(&scene, hundredths);
            let Ok(diagnosis) = Diagnosis::of(&scene.directory) else {
                continue;
            };
            let mut owners: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
            for collection in &scene.expected.collections {
                for record in &collection.records {
                    if let Some(text) = &record.document {
                        owners.insert(text, (&collection.name, &record.id));
                    }
                }
            }
            let mut seen = BTreeSet::new();
            for candidate in diagnosis.directory.candidates().unwrap() {
                let text = candidate.document.as_deref();
                assert!(
                    text.is_none_or(|text| seen.insert(text)),
                    "{candidate:?} twice"
                );
                let Some((collection, id)) = text.and_then(|text| owners.get(text)) else {
                    continue;
                };
                let place = format!("{scene_number} at {hundredths}: {candidate:?} is {id}");
                let named = candidate.collection.as_deref();
                let named = named.filter(|name| !name.starts_with("lost-"));
                assert!(named.is_none_or(|name| name == *collection), "{place}");
                if candidate.ids.is_empty() {
                    without += 1;
                } else {
                    assert!(candidate.ids.iter().any(|of| of == id), "{place}");
                    with_ids += 1;
                }
            }
        }
    }
    println!("{with_ids} with ids, {without} without");
}

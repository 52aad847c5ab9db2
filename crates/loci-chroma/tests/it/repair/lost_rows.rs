//! Records whose row of `embeddings` is lost: a repair writes texts of uncertain id to a file.

use std::collections::BTreeSet;

use super::{lines, repaired};
use crate::damage::rows;
use crate::reading::Reading;
use crate::scene::Scene;

/// The record without metadata leaves one row too few, and rows of another collection are in
/// between, so the order proves nothing.
#[test]
fn texts_whose_id_is_not_certain_are_written_to_a_file_and_none_is_dropped() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    rows::around_a_bare_one(&scene);
    let gone = scene.gone();
    let reading = Reading::of(&scene);
    assert_eq!(reading.problems(&scene, &BTreeSet::new()), [""; 0]);
    assert_eq!(reading.dropped(&scene), [""; 0]);
    let candidates = reading.told("rows_uncertain", "candidates").unwrap();
    assert!(candidates > 50, "{candidates}");

    let report = repaired(&scene.directory);
    let file = report.candidates_file.as_ref().unwrap();
    let lines = lines(file);
    assert_eq!(report.candidates, lines.len() as u64);
    assert_eq!(report.candidates, candidates);
    let texts: BTreeSet<&str> = lines
        .iter()
        .filter_map(|line| line["document"].as_str())
        .collect();
    for id in &gone {
        let record = scene.expected.first().record(id).unwrap();
        let text = record.document.as_deref();
        let restored = reading.records.contains_key(id);
        assert!(
            restored || text.is_none_or(|text| texts.contains(text)),
            "{id}"
        );
    }
    for line in &lines {
        assert!(!line["candidate"]["reason"].as_str().unwrap().is_empty());
        let ids = line["candidate"]["ids"].as_array().unwrap();
        assert!(
            ids.iter().all(|id| gone.contains(id.as_str().unwrap())),
            "{line}"
        );
    }
    let again = repaired(&scene.directory);
    assert!(
        !again.changed && again.candidates == 0,
        "{:?}",
        again.changes
    );
}

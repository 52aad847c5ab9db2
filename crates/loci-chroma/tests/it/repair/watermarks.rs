//! Watermarks that are not the number of any write.

use loci_chroma::RepairReport;
use loci_foreign::chroma::Diagnosis;
use serde_json::json;

use super::repaired;
use crate::peer::{CHROMADB, CHROMADB_0_6_3, add_and_look, judge_by};
use crate::scene::Scene;

/// Numbers that no ChromaDB has ever reached.
const BEYOND: [i64; 5] = [
    i64::MAX,
    i64::MAX - 3,
    1 << 62,
    0x1111_1111_1111_1111,
    (1 << 53) + 1,
];

/// Sets both watermarks of the first collection.
fn set_watermarks(scene: &Scene, mark: i64) {
    let database = scene.sql();
    // 0.6 stores blobs.
    let changed = database
        .execute(
            "UPDATE max_seq_id SET seq_id = CASE typeof(seq_id) WHEN 'blob' THEN ?1 ELSE ?2 END \
             WHERE segment_id IN (SELECT id FROM segments WHERE collection = ?3)",
            (mark.to_be_bytes(), mark, scene.collection()),
        )
        .unwrap();
    assert_eq!(changed, 2);
}

fn codes(scene: &Scene) -> Vec<&'static str> {
    let diagnosis = Diagnosis::of(&scene.directory).unwrap();
    let wrong = diagnosis
        .all()
        .filter(|finding| finding.severity > loci_core::finding::Severity::Note);
    wrong.map(|finding| finding.code.as_str()).collect()
}

fn changes(report: &RepairReport) -> Vec<(&str, u64)> {
    let changes = report.changes.iter();
    changes
        .map(|change| (change.what.as_str(), change.count))
        .collect()
}

/// The real chromadb keeps a new record, and finds it and everything else.
fn assert_writable(scene: &Scene, variable: &str, what: &str) {
    let name = &scene.expected.first().name;
    let judgement = judge_by(variable, &scene.directory, &scene.expected).unwrap();
    let problems = judgement.problems(&scene.expected);
    assert!(problems.is_empty(), "{what}: {problems:#?}");
    let count = scene.expected.first().records.len() + 1;
    assert_eq!(
        add_and_look(variable, &scene.directory, name),
        Some(json!([count, ["a later text"], ["added later"]])),
        "{what}"
    );
}

#[test]
fn after_a_watermark_beyond_every_write_chromadb_keeps_new_writes() {
    for mark in BEYOND {
        let Some(scene) = Scene::flushed() else {
            return;
        };
        set_watermarks(&scene, mark);
        assert_eq!(codes(&scene), ["seq_id_beyond"], "{mark}");
        let report = repaired(&scene.directory);
        assert_eq!(
            changes(&report),
            [("watermarks beyond every write lowered", 2)],
            "{mark}"
        );
        assert_eq!(report.set_aside, [], "{mark}");
        assert_eq!(codes(&scene), [""; 0], "{mark}");
        assert!(!repaired(&scene.directory).changed, "{mark}");
        assert_writable(&scene, CHROMADB, &mark.to_string());
    }
}

/// The index lacks the last writes here, and is rebuilt.
#[test]
fn after_a_watermark_beyond_every_write_chromadb_0_6_keeps_new_writes() {
    for mark in [i64::MAX, 1 << 62] {
        let Some(scene) = Scene::old(CHROMADB_0_6_3) else {
            return;
        };
        set_watermarks(&scene, mark);
        assert!(codes(&scene).contains(&"seq_id_beyond"), "{mark}");
        let report = repaired(&scene.directory);
        let lowered = ("watermarks beyond every write lowered", 2);
        assert!(changes(&report).contains(&lowered), "{mark}");
        assert_eq!(codes(&scene), [""; 0], "{mark}");
        assert!(!repaired(&scene.directory).changed, "{mark}");
        assert_writable(&scene, CHROMADB_0_6_3, &mark.to_string());
    }
}

#[test]
fn a_queue_that_was_brought_up_to_the_largest_number_ends_at_the_last_write_again() {
    let Some(scene) = Scene::flushed() else {
        return;
    };
    set_watermarks(&scene, i64::MAX);
    scene
        .sql()
        .execute(
            "INSERT INTO embeddings_queue (seq_id, operation, topic, id, metadata) \
             VALUES (?1, 3, ?2, 'loci:holds-this-number', '{}')",
            (i64::MAX, scene.topic()),
        )
        .unwrap();
    assert_eq!(codes(&scene), ["seq_id_beyond"]);
    let report = repaired(&scene.directory);
    assert_eq!(
        changes(&report),
        [
            ("watermarks beyond every write lowered", 2),
            ("rows beyond every write removed from the queue", 1)
        ]
    );
    assert!(!repaired(&scene.directory).changed);
    assert_writable(&scene, CHROMADB, "a holder");
}

/// ChromaDB acknowledges writes below such a watermark and does not apply them.
#[test]
fn writes_that_a_watermark_beyond_every_write_kept_back_are_found_after_repair() {
    let Some(scene) = Scene::flushed() else {
        return;
    };
    set_watermarks(&scene, i64::MAX - 1000);
    let name = scene.expected.first().name.clone();
    let before = scene.expected.first().records.len();
    let lost = add_and_look(CHROMADB, &scene.directory, &name).unwrap();
    assert_eq!(lost[0], json!(before));
    assert_eq!(lost[1], json!([]));
    let report = repaired(&scene.directory);
    assert!(report.changed);
    assert_eq!(report.moved_file, None);
    // Adding the same record again shows that it exists.
    assert_eq!(
        add_and_look(CHROMADB, &scene.directory, &name),
        Some(json!([before + 1, ["a later text"], ["added later"]]))
    );
}

/// 0.6 keeps the watermark of an index only in the database, and raises an error if it is missing.
#[test]
fn an_index_without_its_watermark_is_reported_and_chromadb_0_6_queries_it_after_repair() {
    let Some(scene) = Scene::old(CHROMADB_0_6_3) else {
        return;
    };
    scene.sql().execute("DELETE FROM max_seq_id", []).unwrap();
    let judgement = judge_by(CHROMADB_0_6_3, &scene.directory, &scene.expected).unwrap();
    let problems = judgement.problems(&scene.expected).join("\n");
    assert!(problems.contains("max_seq_id"), "{problems}");
    // 0.6 itself wrote the null documents, which 1.x cannot read.
    assert_eq!(codes(&scene), ["seq_id_missing", "queue_null_document"]);
    let report = repaired(&scene.directory);
    let restored = ("watermarks of indexes restored", 1);
    assert!(changes(&report).contains(&restored), "{report:#?}");
    assert_eq!(report.set_aside, []);
    assert_eq!(codes(&scene), [""; 0]);
    assert!(!repaired(&scene.directory).changed);
    assert_writable(&scene, CHROMADB_0_6_3, "no watermark");
}

#[test]
fn an_index_of_0_5_whose_watermark_is_in_the_pickle_is_not_reported() {
    let scene = Scene::fixture("chroma-0.5-flushed");
    scene.sql().execute("DELETE FROM max_seq_id", []).unwrap();
    assert!(!codes(&scene).contains(&"seq_id_missing"));
}

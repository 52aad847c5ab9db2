//! Records of a ChromaDB directory that lost their row or their vector: where `import` and `repair --chroma` put them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::chroma_directories::Old;
use crate::support::{Dir, texts};

/// A directory of 0.6, whose labels are in no order, without some rows and without the entries that hold their texts.
pub(crate) fn without_rows(dir: &Dir) -> Old {
    let old = Old::copy(dir, "old", "chroma-0.6-flushed");
    let database = rusqlite::Connection::open(old.database()).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database
        .execute_batch(
            "DELETE FROM embeddings_queue WHERE metadata LIKE '%document%';
             DELETE FROM embeddings WHERE id % 5 = 2;",
        )
        .unwrap();
    database.close().unwrap();
    old
}

fn read(path: &Path) -> Vec<Value> {
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn file(report: &Value, name: &str) -> PathBuf {
    report[name].as_str().unwrap().into()
}

#[test]
fn texts_without_a_certain_id_go_into_a_file_outside_of_the_source_and_come_with_import_jsonl() {
    let dir = Dir::new();
    let old = without_rows(&dir);
    let before = old.state();
    let report = dir.json(2, &["import", old.name()]);
    assert_eq!(old.state(), before);
    let path = file(&report, "candidates_file");
    assert!(!path.starts_with(&old.path), "{path:?}");
    let lines = read(&path);
    assert_eq!(report["candidates"], lines.len());
    assert!(lines.len() > 3);
    let words = dir.run(&["import", old.name()]).stdout;
    assert!(words.contains("so their ids are not certain"), "{words}");

    let documents: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["document"].as_str())
        .collect();
    let named = dir.path("named.jsonl");
    let named = named.to_str().unwrap();
    let report = dir.json(2, &["import", old.name(), "--candidates", named]);
    assert_eq!(report["candidates_file"], named);
    let imported = dir.json(0, &["import", "jsonl", named]);
    assert_eq!(imported["failed"], 0);
    let exported = dir.run(&["export"]).ok().stdout;
    for text in documents {
        assert!(exported.contains(text), "{text}");
    }
}

/// The parent of a bare file name is empty, and an empty path cannot be synced.
#[test]
fn candidates_are_written_to_a_bare_file_name_in_the_current_directory() {
    let dir = Dir::new();
    let old = without_rows(&dir);
    let report = dir.json(2, &["import", old.name(), "--candidates", "bare.jsonl"]);
    assert_eq!(report["candidates"], read(&dir.path("bare.jsonl")).len());
}

/// The directory of 0.6 without rows of `segments`.
fn without_segments(dir: &Dir, also: &str) -> Old {
    let old = Old::copy(dir, "old", "chroma-0.6-flushed");
    let database = rusqlite::Connection::open(old.database()).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database
        .execute_batch(&format!("DELETE FROM segments; {also}"))
        .unwrap();
    database.close().unwrap();
    old
}

fn total(report: &Value, name: &str) -> u64 {
    let collections = report["collections"].as_array().unwrap().iter();
    collections.filter_map(|of| of[name].as_u64()).sum()
}

#[test]
fn records_whose_segment_row_is_gone_are_imported_into_their_collection() {
    let dir = Dir::new();
    let whole = Old::copy(&dir, "whole", "chroma-0.6-flushed");
    let other = Dir::new();
    let records = total(&dir.json(0, &["import", whole.name()]), "added");
    let old = without_segments(&other, "");
    let report = other.json(0, &["import", old.name()]);
    assert_eq!(total(&report, "added"), records, "{report}");
    assert_eq!(report["collections"].as_array().unwrap().len(), 2);
}

#[test]
fn records_whose_collection_is_not_certain_are_imported_and_the_exit_code_says_so() {
    let dir = Dir::new();
    let old = without_segments(
        &dir,
        "DELETE FROM embeddings_queue;
         INSERT INTO collections (id, name, database_id) SELECT id || 'x', name || 'x', database_id FROM collections;",
    );
    let report = dir.json(2, &["import", old.name()]);
    assert!(total(&report, "added") > 20, "{report}");
    let lost = report["lost"][0]["of"].as_str().unwrap();
    assert!(lost.starts_with("lost-"), "{report}");
    let doctor = dir.run(&["doctor", old.name(), "--json"]);
    let diagnosis: Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert!(texts(&diagnosis["findings"], "code").contains(&"collection_lost".to_owned()));
}

#[test]
fn records_that_lost_their_metadata_are_named_and_the_exit_codes_say_so() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    let database = rusqlite::Connection::open(old.database()).unwrap();
    database
        .execute_batch(
            "DELETE FROM embeddings_queue;
             DELETE FROM embedding_metadata WHERE id % 5 = 2;",
        )
        .unwrap();
    let with_text: u64 = database
        .query_row(
            "SELECT count(*) FROM embedding_fulltext_search_content WHERE id % 5 = 2 AND c0 IS NOT NULL \
             AND id IN (SELECT id FROM embeddings)",
            [],
            |row| row.get::<_, u32>(0),
        )
        .unwrap()
        .into();
    database.close().unwrap();
    let report = dir.json(2, &["import", old.name()]);
    let lost = report["lost"].as_array().unwrap();
    let named = lost.iter().filter(|piece| {
        let reason = piece["reason"].as_str().unwrap();
        piece["id"].is_string() && reason.contains("rows of its metadata are lost")
    });
    assert!(with_text > 3);
    assert_eq!(named.count() as u64, with_text, "{report}");
    assert_eq!(total(&report, "failed"), 0);
    assert_eq!(total(&report, "added"), total(&report, "records"));
    let repaired = dir.json(1, &["repair", "--chroma", old.name()]);
    let lost = repaired["collections"].as_array().unwrap().iter();
    let lost = lost.map(|of| of["metadata_lost"].as_array().unwrap().len() as u64);
    assert_eq!(lost.sum::<u64>(), with_text, "{repaired}");
}

#[test]
fn a_file_that_exists_is_not_overwritten_by_candidates_and_not_removed() {
    let dir = Dir::new();
    let old = without_rows(&dir);
    let taken = dir.path("taken.jsonl");
    std::fs::write(&taken, "mine").unwrap();
    let name = taken.to_str().unwrap();
    dir.error(2, &["import", old.name(), "--candidates", name]);
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
}

#[test]
fn a_dry_run_counts_texts_without_a_certain_id_and_writes_no_file() {
    let dir = Dir::new();
    let old = without_rows(&dir);
    let report = dir.json(2, &["import", old.name(), "--dry-run"]);
    assert!(report["candidates"].as_u64() > Some(3), "{report}");
    assert_eq!(report["candidates_file"], Value::Null);
    assert!(
        Dir::files(&dir.path(""))
            .iter()
            .all(|file| !file.to_string_lossy().contains("candidates"))
    );
}

/// Half of the vectors are cut off.
fn without_vectors(dir: &Dir) -> Old {
    let old = Old::copy(dir, "old", "chroma-0.6-flushed");
    cut_vectors(&old);
    old
}

pub(crate) fn cut_vectors(old: &Old) {
    for entry in std::fs::read_dir(&old.path).unwrap() {
        let data = entry.unwrap().path().join("data_level0.bin");
        if let Ok(bytes) = std::fs::read(&data) {
            std::fs::write(&data, &bytes[..bytes.len() / 3]).unwrap();
        }
    }
}

#[test]
fn records_without_a_vector_are_moved_into_a_file_that_the_report_names() {
    let dir = Dir::new();
    let old = without_vectors(&dir);
    let foreseen = dir.json(1, &["repair", "--chroma", old.name(), "--dry-run"]);
    assert_eq!(foreseen["moved_file"], Value::Null);
    let report = dir.json(1, &["repair", "--chroma", old.name(), "--set-aside"]);
    let lines = read(&file(&report, "moved_file"));
    let moved: u64 = report["collections"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|of| of["moved"].as_u64())
        .sum();
    assert_eq!(moved, lines.len() as u64);
    assert!(moved > 0, "{report}");
    for (one, other) in foreseen["collections"]
        .as_array()
        .unwrap()
        .iter()
        .zip(report["collections"].as_array().unwrap())
    {
        assert_eq!(one["moved"], other["moved"]);
    }
    let doctor = dir.run(&["doctor", old.name(), "--json"]);
    let diagnosis: Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert!(!texts(&diagnosis["findings"], "code").contains(&"vectors_lost".to_owned()));
    let again = dir.json(0, &["repair", "--chroma", old.name()]);
    assert_eq!(again["changed"], false);
    let path = file(&report, "moved_file");
    let imported = dir.json(0, &["import", "jsonl", path.to_str().unwrap()]);
    assert_eq!(imported["added"].as_u64(), Some(moved));
}

#[test]
fn embedding_needs_a_model_that_is_known_and_changes_nothing_without_it() {
    let dir = Dir::new();
    let old = without_vectors(&dir);
    let before = old.state();
    let error = dir.error(2, &["repair", "--chroma", old.name(), "--embed"]);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("`drawers`"), "{message}");
    assert!(message.contains("is not recorded"), "{message}");
    assert_eq!(old.state(), before);
    let both = ["repair", "--chroma", old.name(), "--embed", "--set-aside"];
    assert_eq!(dir.error(64, &both)["kind"], "usage");
    for flag in ["--embed", "--set-aside"] {
        assert_eq!(dir.error(64, &["repair", flag])["kind"], "usage");
    }
}

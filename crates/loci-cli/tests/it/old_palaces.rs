//! Palaces of memtomem, CortexaDB and MemPalace, and ChromaDB directories that are searched where they are.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::chroma_directories::{Old, copy};
use crate::support::{Dir, texts};

/// A copy of a fixture of crates/loci-foreign, and what its own program said was in it.
pub(crate) fn fixture(dir: &Dir, name: &str) -> (PathBuf, Value) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../loci-foreign/tests/fixtures")
        .join(name);
    let to = dir.path("old");
    copy(&from, &to);
    let expected = std::fs::read(from.join("expected.json")).unwrap();
    (to, serde_json::from_slice(&expected).unwrap())
}

/// Diagnoses, imports twice, and gives the first report.
fn brought_home(dir: &Dir, kind: &str, path: &Path) -> Value {
    let path = path.to_str().unwrap();
    let diagnosis = dir.run(&["doctor", path, "--json"]);
    assert!(diagnosis.code < 2, "{diagnosis:?}");
    let report = dir.json(0, &["import", kind, path]);
    for of in report["collections"].as_array().unwrap() {
        assert_eq!(
            (&of["verified"], &of["failed"]),
            (&json!(true), &json!(0)),
            "{of}"
        );
        assert_eq!(of["added"], of["records"]);
    }
    let again = dir.json(0, &["import", path]);
    for of in again["collections"].as_array().unwrap() {
        assert_eq!(
            (&of["added"], &of["known"]),
            (&json!(0), &of["records"]),
            "{of}"
        );
    }
    for related in ["facts", "links"] {
        assert_eq!(again[related]["added"], 0);
    }
    report
}

#[test]
fn memtomem_comes_home() {
    let dir = Dir::new();
    let (path, expected) = fixture(&dir, "memtomem/with_vectors");
    let report = brought_home(&dir, "memtomem", &path.join("memtomem.db"));
    let chunks = expected["chunks"].as_array().unwrap();
    assert_eq!(report["collections"][0]["added"], chunks.len());
    let id = chunks[0]["id"].as_str().unwrap();
    let held = dir.json(0, &["get", id]);
    assert_eq!(held["drawers"][0]["text"], chunks[0]["content"]);
}

#[test]
fn cortexadb_comes_home_without_what_was_deleted() {
    for scene in [
        "log_only",
        "checkpointed",
        "poisoned",
        "stale_log",
        "restarted",
    ] {
        let dir = Dir::new();
        let (path, expected) = fixture(&dir, &format!("cortexadb/{scene}"));
        brought_home(&dir, "cortexadb", &path.join("db"));
        let memories = expected["memories"].as_array().unwrap();
        let held = dir.json(0, &["list", "--limit", "1000"]);
        assert_eq!(held["total"], memories.len(), "{scene}");
        for memory in memories {
            let id = memory["id"].to_string();
            let held = dir.json(0, &["get", &id]);
            assert_eq!(held["drawers"][0]["text"], memory["content"], "{scene}");
        }
    }
}

#[test]
fn mempalace_comes_home_with_closets_apart_and_facts() {
    let dir = Dir::new();
    let (path, expected) = fixture(&dir, "mempalace");
    let report = brought_home(&dir, "mempalace", &path);
    let targets = texts(&report["collections"], "target");
    assert!(targets.contains(&"drawers".to_owned()), "{targets:?}");
    assert!(
        !targets.iter().any(|target| target == "mempalace_drawers"),
        "{targets:?}"
    );
    for of in report["collections"].as_array().unwrap() {
        let there = &expected[of["name"].as_str().unwrap()];
        assert_eq!(of["added"], there.as_array().unwrap().len(), "{of}");
    }
    assert!(report["facts"]["read"].as_u64() > Some(0), "{report}");
}

#[test]
fn a_chroma_directory_is_searched_where_it_is() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let before = old.state();
    let here = ["--palace", old.name()];
    let answer = dir.json(
        0,
        &[&["search", "inlet north", "-k", "1"], &here[..]].concat(),
    );
    assert_eq!(texts(&answer["hits"], "id"), ["drawers-00000"]);
    let held = dir.json(0, &[&["get", "drawers-00000"], &here[..]].concat());
    assert_eq!(held["drawers"][0]["text"], "drawers 0: inlet north");
    let listed = dir.json(0, &[&["list", "--collection", "notes"], &here[..]].concat());
    assert_eq!(listed["total"], old.records(1).len());
    assert_eq!(old.state(), before);
}

#[test]
fn whatever_would_write_into_a_chroma_directory_names_import() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    dir.write("notes.md", "# a note\n\nabout harbours\n");
    dir.write("one.jsonl", "{\"id\": \"x\", \"document\": \"y\"}\n");
    let before = old.state();
    let writing: [&[&str]; 9] = [
        &["add", "a text"],
        &["update", "drawers-00000", "a text"],
        &["forget", "drawers-00000"],
        &["import", "jsonl", "one.jsonl"],
        &["import", old.name()],
        &["mine", "notes.md"],
        &["init"],
        &["repair"],
        &["reembed", "--model", "static"],
    ];
    for arguments in writing {
        let error = dir.error(2, &[arguments, &["--palace", old.name()]].concat());
        assert_eq!(error["kind"], "unsupported", "{arguments:?}: {error}");
        let said = error["help"].as_str().unwrap();
        assert!(said.contains("loci import"), "{arguments:?}: {said}");
    }
    assert_eq!(old.state(), before);
}

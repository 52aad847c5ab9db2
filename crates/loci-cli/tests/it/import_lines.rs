//! JSON lines that are not an export: what is counted, what is the same, what is embedded.

use serde_json::{Value, json};

use crate::support::{Dir, lines, texts};

fn import(dir: &Dir, code: i32, text: &str, flags: &[&str]) -> Value {
    let file = dir.write("in.jsonl", text);
    let arguments = [&["import", "jsonl", file.to_str().unwrap()], flags].concat();
    dir.json(code, &arguments)
}

fn counts(report: &Value) -> [u64; 4] {
    ["added", "updated", "skipped", "failed"].map(|key| report[key].as_u64().unwrap())
}

/// Bug: `{}` and `[]` were in no count, and an array was read as a record by position.
#[test]
fn every_line_is_counted_and_only_objects_are_records() {
    let dir = Dir::new();
    let text = "{}\n[]\n[null, null, null, \"id\", \"a text\"]\n5\n{\"document\": \"kept\"}\n";
    let report = import(&dir, 2, text, &[]);
    assert_eq!(counts(&report), [1, 0, 1, 3], "{report}");
    let named: Vec<u64> = report["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|loss| loss["line"].as_u64().unwrap())
        .collect();
    assert_eq!(named, [1, 2, 3, 4]);
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
    let human = dir.run(&["import", "jsonl", dir.path("in.jsonl").to_str().unwrap()]);
    assert!(
        human
            .stdout
            .contains("line 1 was not imported: the record is empty"),
        "{human:?}"
    );
    assert!(
        human.stdout.contains("line 4 was not imported: "),
        "{human:?}"
    );
    assert!(human.stdout.contains("not a JSON object"), "{human:?}");
}

#[test]
fn a_line_that_cannot_be_read_is_explained_without_names_of_types() {
    let dir = Dir::new();
    let text = "{\"document\": 5}\n{\"embedder\": 5, \"document\": \"a\"}\n{\"document\": \"a\n";
    let report = import(&dir, 2, text, &[]);
    for loss in report["lost"].as_array().unwrap() {
        let reason = loss["reason"].as_str().unwrap();
        assert!(
            !reason.contains("struct") && !reason.contains("Json"),
            "{reason}"
        );
        assert!(
            !reason.contains("at line"),
            "the line is the one of the file: {reason}"
        );
    }
}

/// Bug: records without an id were added again by every run.
#[test]
fn a_second_import_of_the_same_file_adds_nothing() {
    let records = || {
        lines([
            json!({"document": "twice in the file"}),
            json!({"document": "twice in the file"}),
            json!({"document": "twice in the file", "metadata": {"source_file": "b.md"}}),
            json!({"id": "own", "document": "with an id"}),
            json!({"document": "key AKIAIOSFODNN7EXAMPLE of a test"}),
        ])
    };
    for rule in ["skip", "update", "duplicate"] {
        let dir = Dir::new();
        let flags = ["--on-conflict", rule];
        let first = import(&dir, 0, &records(), &flags);
        assert_eq!(counts(&first), [5, 0, 0, 0], "{rule}: {first}");
        let second = import(&dir, 0, &records(), &flags);
        assert_eq!(
            (&second["added"], &second["failed"]),
            (&json!(0), &json!(0)),
            "{rule}: {second}"
        );
        assert_eq!(dir.json(0, &["status"])["drawers"], 5, "{rule}");
    }
    // Equal records without an id are no conflict.
    let dir = Dir::new();
    let one = lines([json!({"document": "one"})]);
    import(&dir, 0, &one, &["--on-conflict", "error"]);
    let second = import(&dir, 0, &one, &["--on-conflict", "error"]);
    assert_eq!(counts(&second), [0, 0, 1, 0]);
}

/// Bug: `--on-conflict duplicate` added another copy in every run.
#[test]
fn a_record_that_differs_from_its_drawer_is_added_once_under_another_id() {
    let dir = Dir::new();
    dir.json(0, &["add", "the old text", "--id", "d"]);
    let records = lines([json!({"id": "d", "document": "the new text", "metadata": {"n": 1}})]);
    for added in [1, 0, 0] {
        let report = import(&dir, 0, &records, &["--on-conflict", "duplicate"]);
        assert_eq!(report["added"], added, "{report}");
    }
    assert_eq!(dir.json(0, &["status"])["drawers"], 2);
}

/// Bug: a record that names its collection got no vector, and nothing said so.
#[test]
fn a_text_is_embedded_even_if_its_record_names_the_collection() {
    let dir = Dir::new();
    let records = lines([
        json!({"collection": "drawers", "document": "the harbour was closed by a storm"}),
        json!({"collection": "drawers", "id": "x", "document": "a second text"}),
    ]);
    import(&dir, 0, &records, &[]);
    let status = dir.json(0, &["status"]);
    assert_eq!(status["collections"][0]["vectors"], 2, "{status}");
}

/// Bug: one odd vector decided the dimension of the default collection for ever.
#[test]
fn an_odd_vector_does_not_decide_the_dimension_of_a_new_collection() {
    for first in [
        json!({"embedding": [1, 2]}),
        json!({"document": "with an odd vector", "embedding": [1, 2]}),
        json!({"id": "v", "document": "with an odd vector", "embedding": [1, 2]}),
    ] {
        let dir = Dir::new();
        let has_text = first.get("document").is_some();
        let records = lines([first, json!({"document": "a plain text"})]);
        let report = import(&dir, if has_text { 0 } else { 2 }, &records, &[]);
        let added = 1 + u64::from(has_text);
        assert_eq!(report["added"], added, "{report}");
        let ignored = &report["warnings"][0];
        assert_eq!(ignored["code"], "vectors_not_taken", "{report}");
        assert_eq!(ignored["data"]["vectors"], 1, "{report}");
        dir.json(0, &["add", "a text that is added later"]);
        let status = dir.json(0, &["status"]);
        assert_eq!(status["collections"][0]["vectors"], added + 1, "{status}");
    }
}

/// Vectors that all have the same length and belong to something are imported as they are.
#[test]
fn the_vectors_of_another_embedder_are_still_imported() {
    let dir = Dir::new();
    let records = (0..3).map(|n| json!({"id": format!("v{n}"), "embedding": [1, n]}));
    let report = import(&dir, 0, &lines(records), &[]);
    assert_eq!(counts(&report), [3, 0, 0, 0], "{report}");
    assert_eq!(dir.json(0, &["status"])["collections"][0]["dimension"], 2);
    // A text without a vector is found by words only, and the report says so.
    let report = import(&dir, 0, &lines([json!({"document": "no vector"})]), &[]);
    assert_eq!(
        texts(&report["warnings"], "code"),
        ["without_vector"],
        "{report}"
    );
}

/// Bug: an id without a text, from the candidates of an import, became an empty drawer.
#[test]
fn a_candidate_without_a_text_is_skipped_and_counted() {
    let dir = Dir::new();
    let about = json!({"ids": ["a"], "labels": [], "row": null, "reason": "its row is lost"});
    let records = lines([
        json!({"collection": "notes", "metadata": {"k": 1}, "candidate": about}),
        json!({"collection": "notes", "document": "a text", "candidate": about}),
    ]);
    let report = import(&dir, 0, &records, &[]);
    assert_eq!(counts(&report), [1, 0, 1, 0], "{report}");
    assert_eq!(report["lost"][0]["line"], 1);
}

/// Bug: an import that failed left an empty palace.
#[test]
fn an_import_that_fails_creates_no_palace() {
    let dir = Dir::new();
    dir.write("prose.jsonl", "This is\nno JSON.\n");
    dir.write("empty.jsonl", "");
    std::fs::create_dir(dir.path("folder")).unwrap();
    for (code, arguments) in [
        (2, &["import", "jsonl", "prose.jsonl"][..]),
        (0, &["import", "jsonl", "empty.jsonl"]),
        (2, &["import", "jsonl", "missing.jsonl"]),
        (2, &["import", "jsonl", "folder"]),
        (2, &["import", "folder"]),
        (2, &["import", "missing"]),
        (2, &["import", "chroma", "folder"]),
        (2, &["import", "mempalace", "missing"]),
        (2, &["import", "memtomem", "prose.jsonl"]),
        (2, &["import", "cortexadb", "folder"]),
    ] {
        let ran = dir.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        assert!(!dir.palace().exists(), "{arguments:?}: {ran:?}");
    }
    let piped = dir.pipe(&["import", "jsonl", "-", "--json"], b"no JSON\n[1]\n");
    assert_eq!(piped.code, 2, "{piped:?}");
    assert!(piped.stdout.contains("\"failed\":2"), "{piped:?}");
    assert!(!dir.palace().exists(), "{piped:?}");
    let piped = dir.pipe(
        &["import", "jsonl", "-"],
        b"no JSON\n{\"document\": \"x\"}\n",
    );
    assert_eq!(piped.code, 2, "{piped:?}");
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

//! `export` and `import`.

use serde_json::json;

use crate::support::{Dir, lines, texts, vector};

fn rich(dir: &Dir) {
    let records = [
        json!({"collection": "notes", "metric": "l2", "id": "z", "document": "first\nline \u{1F3DB} \"quoted\" \\ \t end ",
               "metadata": {"int": 1, "float": 1.0, "big": 9_007_199_254_740_993_i64, "yes": true, "tags": ["b", "a"]},
               "embedding": [0.1, -0.0, 3.0e-45]}),
        json!({"collection": "notes", "metric": "l2", "id": "a", "document": "second", "metadata": {"f": 0.1}}),
        json!({"id": "\u{e9}\u{301} id", "document": "", "embedding": vector(3)}),
        json!({"id": "only-id", "document": "NUL \u{0} inside", "metadata": {"wing": "w"}}),
        json!({"collection": "empty", "metric": "ip"}),
    ];
    let file = dir.write("rich.jsonl", lines(records));
    let report = dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    assert_eq!(
        report,
        json!({"added": 4, "updated": 0, "skipped": 0, "failed": 0, "lost": []})
    );
}

#[test]
fn an_export_imports_to_exactly_the_same_palace() {
    let dir = Dir::new();
    rich(&dir);
    dir.json(
        0,
        &["update", "a", "second, changed", "--collection", "notes"],
    );
    let file = dir.path("e.jsonl");
    let file = file.to_str().unwrap();
    assert_eq!(dir.json(0, &["export", file]), json!({"exported": 4}));
    let other = dir.path("other");
    let other = ["--palace", other.to_str().unwrap()];
    dir.json(0, &[&["import", "jsonl", file][..], &other].concat());
    let first = std::fs::read_to_string(file).unwrap();
    let again = dir.run(&[&["export"][..], &other].concat()).ok();
    assert_eq!(first, again.stdout);
    assert_eq!(first, dir.run(&["export", "-"]).ok().stdout);
    // Not only the same text twice: these are the values that went in.
    assert!(
        first.contains(r#""float":1.0"#) && first.contains(r#""int":1,"#),
        "{first}"
    );
    assert!(first.contains("9007199254740993"), "{first}");
    assert!(first.contains("[0.1,-0.0,3e-45]"), "{first}");
    let status = dir.json(0, &[&["status"][..], &other].concat());
    assert_eq!(
        texts(&status["collections"], "name"),
        ["drawers", "empty", "notes"]
    );
    assert_eq!(
        texts(&status["collections"], "metric"),
        ["cosine", "ip", "l2"]
    );
    let notes = dir.json(
        0,
        &[&["list", "--collection", "notes"][..], &other].concat(),
    );
    assert_eq!(texts(&notes["drawers"], "id"), ["z", "a"]);
    assert_eq!(
        dir.json(0, &[&["verify", "--deep"][..], &other].concat())["ok"],
        true
    );
}

#[test]
fn export_writes_one_collection_or_all_and_replaces_only_by_force() {
    let dir = Dir::new();
    rich(&dir);
    let lines = dir.run(&["export", "--collection", "notes"]).ok().stdout;
    assert_eq!(lines.lines().count(), 2);
    let file = dir.write("e.jsonl", "precious");
    let file = file.to_str().unwrap();
    assert_eq!(dir.error(2, &["export", file])["kind"], "conflict");
    assert_eq!(std::fs::read(file).unwrap(), b"precious");
    assert_eq!(dir.json(0, &["export", file, "--force"])["exported"], 4);
    let missing = dir.path("missing/e.jsonl");
    assert_eq!(
        dir.error(2, &["export", missing.to_str().unwrap()])["kind"],
        "unavailable"
    );
    let left: Vec<_> = std::fs::read_dir(dir.path(""))
        .unwrap()
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with(".loci")
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn conflicting() -> (Dir, String) {
    let dir = Dir::new();
    let first = ["--metadata", r#"{"keep": 1}"#, "--source", "s.md"];
    dir.json(0, &[&["add", "old", "--id", "a"][..], &first].concat());
    dir.json(0, &["add", "plain", "--id", "p"]);
    let lines = concat!(
        r#"{"id": "a", "document": "new", "metadata": {"year": 1, "source_file": "s.md"}}"#,
        "\n",
        r#"{"id": "p", "document": "old", "metadata": {"source_file": "s.md"}}"#,
        "\n\n",
        r#"{"id": "b", "document": "fresh"}"#,
        "\n"
    );
    let file = dir.write("c.jsonl", lines).to_str().unwrap().to_owned();
    (dir, file)
}

fn imported(dir: &Dir, file: &str, rule: &str) -> [u64; 4] {
    let report = dir.json(0, &["import", "jsonl", file, "--on-conflict", rule]);
    ["added", "updated", "skipped", "failed"].map(|key| report[key].as_u64().unwrap())
}

fn text_of(dir: &Dir, id: &str) -> String {
    dir.json(0, &["get", id])["drawers"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn on_conflict_skip_keeps_what_is_there() {
    let (dir, file) = conflicting();
    assert_eq!(imported(&dir, &file, "skip"), [1, 0, 2, 0]);
    assert_eq!(text_of(&dir, "a"), "old");
    let default = dir.json(0, &["import", "jsonl", &file]);
    assert_eq!(default["skipped"], 3);
}

#[test]
fn on_conflict_update_changes_what_is_there() {
    let (dir, file) = conflicting();
    assert_eq!(imported(&dir, &file, "update"), [1, 2, 0, 0]);
    assert_eq!(text_of(&dir, "a"), "new");
    let metadata = dir.json(0, &["get", "a"])["drawers"][0]["metadata"].clone();
    assert_eq!(
        metadata,
        json!({"keep": 1, "year": 1, "source_file": "s.md"})
    );
}

#[test]
fn on_conflict_duplicate_adds_under_a_new_id_and_obeys_uniqueness() {
    let (dir, file) = conflicting();
    // `p` is the text that `a` holds from the same source: it stays one drawer.
    assert_eq!(imported(&dir, &file, "duplicate"), [2, 0, 1, 0]);
    assert_eq!(text_of(&dir, "a"), "old");
    assert_eq!(text_of(&dir, "p"), "plain");
    assert_eq!(dir.json(0, &["status"])["drawers"], 4);
}

#[test]
fn on_conflict_error_imports_nothing_at_all() {
    let (dir, file) = conflicting();
    let error = dir.error(2, &["import", "jsonl", &file, "--on-conflict", "error"]);
    assert_eq!(error["kind"], "conflict");
    assert_eq!(dir.json(0, &["status"])["drawers"], 2);
    let fresh = dir.path("fresh");
    let fresh = ["--palace", fresh.to_str().unwrap()];
    let rule = ["import", "jsonl", &file, "--on-conflict", "error"];
    assert_eq!(dir.json(0, &[&rule[..], &fresh].concat())["added"], 3);
}

#[test]
fn a_bad_record_is_reported_and_the_rest_goes_on() {
    let dir = Dir::new();
    let lines = concat!(
        "{\"id\": \"a\", \"document\": \"one\", \"embedding\": [1, 0]}\n",
        "not json\n",
        "{\"id\": \"\", \"document\": \"no id\"}\n",
        "{\"id\": \"b\", \"document\": \"long\", \"embedding\": [1, 0, 0]}\n",
        "{\"id\": \"c\", \"metadata\": {\"x\": {\"y\": 1}}}\n",
        "{\"document\": \"drawn\"}\n",
    );
    let ran = dir.pipe(&["import", "jsonl", "-", "--json"], lines.as_bytes());
    assert_eq!(ran.code, 2, "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&report["added"], &report["failed"]),
        (&json!(2), &json!(4))
    );
    let lost: Vec<_> = report["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|loss| loss["line"].clone())
        .collect();
    assert_eq!(lost, [2, 3, 4, 5]);
    assert!(
        report["lost"]
            .as_array()
            .unwrap()
            .iter()
            .all(|loss| loss["reason"].is_string())
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 2);
    let human = dir.pipe(&["import", "jsonl", "-"], b"not json\n");
    assert!(
        human.code == 2 && human.stdout.contains("lost line 1"),
        "{human:?}"
    );
}

#[test]
fn import_puts_everything_into_the_named_collection() {
    let dir = Dir::new();
    rich(&dir);
    let file = dir.path("rich.jsonl");
    let other = dir.path("other");
    let into = ["--collection", "all", "--palace", other.to_str().unwrap()];
    let ran = dir.run(
        &[
            &["import", "jsonl", file.to_str().unwrap(), "--json"][..],
            &into,
        ]
        .concat(),
    );
    // Vectors of two lengths cannot live in one collection: that is said, not hidden.
    assert_eq!(ran.code, 2, "{ran:?}");
    let status = dir.json(0, &["status", "--palace", other.to_str().unwrap()]);
    assert_eq!(texts(&status["collections"], "name"), ["all"]);
    assert_eq!(status["drawers"], 3);
}

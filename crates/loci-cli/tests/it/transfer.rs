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
        json!({"id": "only-id", "document": "NUL \u{0} inside", "metadata": {"wing": "w"}, "embedding": vector(4)}),
        json!({"collection": "empty", "metric": "ip"}),
    ];
    let file = dir.write("rich.jsonl", lines(records));
    dir.json(0, &["init"]);
    let mut report = dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    // The embedder of `notes` is unknown, so one text stays without a vector.
    let warnings = std::mem::replace(&mut report["warnings"], json!([]));
    assert_eq!(texts(&warnings, "code"), ["without_vector"]);
    assert_eq!(warnings[0]["data"]["drawers"], 1);
    assert_eq!(
        report,
        json!({"added": 4, "updated": 0, "sources": 0, "incomplete_sources": 0, "projects": 0, "wings": [], "facts": 0,
               "links": 0, "skipped": 0, "failed": 0, "lost": [], "left_out": [], "warnings": [], "masked": {}})
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
    assert_eq!(
        dir.json(0, &["export", file]),
        json!({"exported": 4, "sources": 0, "projects": 0, "facts": 0, "links": 0, "left_out": [], "warnings": []})
    );
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
    // Exactly the record's: a key that only the old drawer had is gone.
    assert_eq!(metadata, json!({"year": 1, "source_file": "s.md"}));
    let gone = r#"{"keep": 1}"#;
    assert_eq!(dir.json(1, &["list", "--where", gone])["total"], 0);
}

#[test]
fn an_update_that_changes_only_the_text_warns_that_the_vector_is_dropped() {
    let dir = Dir::new();
    let import = |record: serde_json::Value| {
        let file = dir.write("r.jsonl", lines([record]));
        let file = file.to_str().unwrap().to_owned();
        ["import", "jsonl", &file, "--on-conflict", "update"].map(str::to_owned)
    };
    let json = |record| dir.json(0, &import(record).each_ref().map(String::as_str));
    let first = json(json!({"id": "a", "document": "old", "embedding": [1, 0]}));
    assert_eq!(
        (&first["added"], &first["warnings"]),
        (&json!(1), &json!([]))
    );
    // The vector alone, or text with its vector, is no reason to warn.
    let moved = json(json!({"id": "a", "embedding": [0, 1]}));
    assert_eq!(
        (&moved["updated"], &moved["warnings"]),
        (&json!(1), &json!([]))
    );
    let both = json(json!({"id": "a", "document": "newer", "embedding": [1, 1]}));
    assert_eq!(both["warnings"], json!([]));
    assert_eq!(text_of(&dir, "a"), "newer");
    let dropped = json(json!({"id": "a", "document": "newest"}));
    assert_eq!(dropped["updated"], 1);
    assert_eq!(texts(&dropped["warnings"], "code"), ["vector_dropped"]);
    let message = dropped["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("`a`"), "{dropped}");
    let got = dir.json(0, &["get", "a", "--vectors"]);
    assert_eq!(got["drawers"][0]["embedding"], json!([]));
    json(json!({"id": "a", "embedding": [0, 1]}));
    let arguments = import(json!({"id": "a", "document": "last"}));
    let human = dir.run(&arguments.each_ref().map(String::as_str)).ok();
    assert_eq!(human.stdout, "added 0, updated 1, skipped 0, failed 0\n");
    assert!(
        human.stderr.starts_with("warning: 1 drawer(s)"),
        "{human:?}"
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
fn on_conflict_error_imports_nothing_when_an_id_stands_twice_in_the_file() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    // Far apart: no batch holds both.
    let records =
        (0..500).map(|n| json!({"id": format!("d{}", n % 499), "document": n.to_string()}));
    let file = dir.write("twice.jsonl", lines(records));
    let rule = ["--on-conflict", "error"];
    let import = [&["import", "jsonl", file.to_str().unwrap()][..], &rule].concat();
    let error = dir.error(2, &import);
    assert_eq!(error["kind"], "conflict");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("line 500") && message.contains("`d0`"),
        "{error}"
    );
    let status = dir.json(0, &["status"]);
    assert_eq!((&status["drawers"], &status["seq"]), (&json!(0), &json!(1)));
    // The same id in two collections is no conflict.
    let records = ["one", "two"]
        .map(|collection| json!({"collection": collection, "id": "a", "document": collection}));
    let file = dir.write("two.jsonl", lines(records));
    let import = [&["import", "jsonl", file.to_str().unwrap()][..], &rule].concat();
    assert_eq!(dir.json(0, &import)["added"], 2);
}

#[test]
fn a_field_that_no_record_has_is_an_error_of_that_record() {
    let dir = Dir::new();
    let records = [
        json!({"id": "a", "document": "kept"}),
        json!({"id": "b", "document": "x", "embeding": [1, 0]}),
        json!({"id": "c", "text": "kept too"}),
    ];
    let file = dir.write("r.jsonl", lines(records));
    let report = dir.json(2, &["import", "jsonl", file.to_str().unwrap()]);
    assert_eq!(
        (&report["added"], &report["failed"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(report["lost"][0]["line"], 2);
    let reason = report["lost"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("`embeding`"), "{report}");
    let list = dir.json(0, &["list"]);
    assert_eq!(texts(&list["drawers"], "id"), ["a", "c"]);
}

#[test]
fn a_record_with_a_key_that_stands_twice_is_refused() {
    let dir = Dir::new();
    let lines = concat!(
        r#"{"id": "a", "document": "x", "metadata": {"year": 1, "room": "r", "year": 2}}"#,
        "\n",
        r#"{"id": "b", "id": "c", "document": "x"}"#,
        "\n",
        r#"{"id": "d", "document": "x", "text": "y"}"#,
        "\n",
        r#"{"id": "e", "document": "x", "metadata": {"year": 1}}"#,
        "\n"
    );
    let file = dir.write("twice.jsonl", lines);
    let report = dir.json(2, &["import", "jsonl", file.to_str().unwrap()]);
    assert_eq!(
        (&report["added"], &report["failed"]),
        (&json!(1), &json!(3))
    );
    let reasons = texts(&report["lost"], "reason");
    assert!(
        reasons[0].contains("key `year` appears twice"),
        "{reasons:?}"
    );
    assert!(reasons[1].contains("`id`"), "{reasons:?}");
    assert!(reasons[2].contains("`document`"), "{reasons:?}");
    assert_eq!(texts(&dir.json(0, &["list"])["drawers"], "id"), ["e"]);
}

#[test]
fn a_byte_order_mark_loses_nothing() {
    let dir = Dir::new();
    let records = ["a", "b"].map(|id| json!({"id": id, "document": format!("\u{feff}text {id}")}));
    let file = dir.write("bom.jsonl", format!("\u{feff}{}", lines(records)));
    for (rule, added) in [("skip", 2), ("skip", 0), ("update", 0)] {
        let report = dir.json(0, &["import", "jsonl", "bom.jsonl", "--on-conflict", rule]);
        assert_eq!(
            (&report["added"], &report["lost"]),
            (&json!(added), &json!([]))
        );
    }
    // Within the text it is text.
    assert_eq!(text_of(&dir, "a"), "\u{feff}text a");
    let fresh = ["--on-conflict", "error", "--palace", "fresh"];
    let import = [&["import", "jsonl", file.to_str().unwrap()][..], &fresh].concat();
    assert_eq!(dir.json(0, &import)["added"], 2);
    assert_eq!(dir.error(2, &import)["kind"], "conflict");
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
        (&json!(3), &json!(3))
    );
    let lost: Vec<_> = report["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|loss| loss["line"].clone())
        .collect();
    assert_eq!(lost, [2, 3, 5]);
    // Not every text has a vector, so those of the file are not taken for an embedder's.
    assert_eq!(texts(&report["warnings"], "code"), ["vectors_not_taken"]);
    assert!(
        report["lost"]
            .as_array()
            .unwrap()
            .iter()
            .all(|loss| loss["reason"].is_string())
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 3);
    let human = dir.pipe(&["import", "jsonl", "-"], b"not json\n");
    assert!(
        human.code == 2 && human.stdout.contains("line 1 was not imported"),
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
    assert_eq!(status["drawers"], 2);
}

#[test]
fn every_field_of_a_record_may_be_missing_as_the_help_says() {
    let dir = Dir::new();
    let help = dir.run(&["import", "--help"]).ok().stdout;
    for part in ["Each field may be missing", "the exit code is 2"] {
        assert!(help.contains(part), "{help}");
    }
    let records = [
        json!({"document": "only text"}),
        json!({"metadata": {"only": "metadata"}}),
        json!({"id": "only-id"}),
    ];
    let file = dir.write("r.jsonl", lines(records));
    let report = dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    assert_eq!((&report["added"], &report["lost"]), (&json!(3), &json!([])));
    let ids = texts(&dir.json(0, &["list"])["drawers"], "id");
    assert!(ids.iter().all(|id| !id.is_empty()), "{ids:?}");
    assert_eq!(ids[2], "only-id");
}

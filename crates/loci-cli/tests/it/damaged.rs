//! Drawers whose bytes are not what was written: left out aloud, and forgotten like any other.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{Dir, Ran, lines, texts};

/// Begins like nothing else in a palace, so that no compression of postings can hide it.
const MARKER: &str = "qzxvsecretword";
/// What one flipped bit in its last letter makes of it.
const FLIPPED: &str = "qzxvsecretwore";

/// Three drawers, of which `bad` is damaged.
fn damaged() -> Dir {
    let dir = Dir::new();
    for (id, text) in [("one", "first text"), ("bad", MARKER), ("two", "last text")] {
        let text = format!("this is {text}");
        dir.json(0, &["add", &text, "--id", id, "--wing", "w", "--room", id]);
    }
    dir.damage(&format!("this is {MARKER}"));
    dir
}

fn ids(export: &str) -> Vec<String> {
    export
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            record["id"].as_str().unwrap().to_owned()
        })
        .collect()
}

fn warns(ran: &Ran) -> bool {
    ran.stderr
        .starts_with("warning: 1 damaged drawer(s) left out (`bad`)")
        && ran.stderr.lines().count() == 2
        && ran
            .stderr
            .lines()
            .nth(1)
            .is_some_and(|hint| hint.starts_with("help: ") && hint.contains("`loci repair`"))
}

#[test]
fn an_export_without_a_damaged_drawer_says_so_and_is_no_success() {
    let dir = damaged();
    let to_stdout = dir.run(&["export"]);
    assert_eq!(to_stdout.code, 2, "{to_stdout:?}");
    assert!(to_stdout.stderr.contains("`bad`"), "{to_stdout:?}");
    assert_eq!(ids(&to_stdout.stdout), ["one", "two"]);
    let as_json = dir.run(&["export", "--json"]);
    assert_eq!(
        (as_json.code, as_json.stdout),
        (2, to_stdout.stdout.clone())
    );
    assert!(
        as_json.stderr.contains(r#""code":"corrupt""#),
        "{}",
        as_json.stderr
    );
    let to_file = dir.run(&["export", "e.jsonl"]);
    assert_eq!(
        (to_file.code, to_file.stdout.as_str()),
        (2, "exported 2 drawer(s) to `e.jsonl`\n")
    );
    assert!(warns(&to_file), "{to_file:?}");
    let file = std::fs::read_to_string(dir.path("e.jsonl")).unwrap();
    assert_eq!(file, to_stdout.stdout);
    let answer = dir.json(2, &["export", "e.jsonl", "--force"]);
    assert_eq!(answer["exported"], 2);
    assert_eq!(texts(&answer["warnings"], "code"), ["damaged_row"]);
    let message = answer["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("`bad`"), "{answer}");
}

#[test]
fn a_list_that_selects_a_damaged_drawer_warns() {
    let dir = damaged();
    let filter = ["list", "--where", r#"{"wing": "w"}"#];
    for order in [&[][..], &["--recent"]] {
        let arguments = [&filter[..], order].concat();
        let answer = dir.json(0, &arguments);
        let mut found = texts(&answer["drawers"], "id");
        found.sort();
        assert_eq!(found, ["one", "two"], "{answer}");
        assert_eq!(texts(&answer["warnings"], "code"), ["damaged_row"]);
        let message = answer["warnings"][0]["message"].as_str().unwrap();
        assert!(message.contains("`bad`"), "{answer}");
        let human = dir.run(&arguments).ok();
        assert!(warns(&human), "{human:?}");
    }
    // Also when nothing else matches, and when the page shown ends before it.
    let alone = ["list", "--where", r#"{"room": "bad"}"#];
    for order in [&[][..], &["--recent"]] {
        let human = dir.run(&[&alone[..], order].concat());
        assert_eq!(human.code, 1, "{human:?}");
        assert!(warns(&human), "{human:?}");
    }
    let short = dir.run(&[&filter[..], &["--limit", "1"]].concat()).ok();
    assert!(warns(&short), "{short:?}");
    // Filters on the text read it too.
    let document = ["list", "--where-document", r#"{"$contains": "this is"}"#];
    let human = dir.run(&document).ok();
    assert!(warns(&human), "{human:?}");
}

#[test]
fn a_damaged_drawer_is_forgotten_with_every_trace_of_its_text() {
    let dir = damaged();
    assert!(!dir.files_with(MARKER).is_empty(), "its postings are whole");
    assert!(!dir.files_with(FLIPPED).is_empty());
    let answer = dir.json(0, &["forget", "bad"]);
    assert_eq!(
        answer,
        json!({"forgotten": 1, "facts": 0, "links": 0, "purge_pending": false, "removed_files": []})
    );
    for letters in [MARKER, FLIPPED] {
        assert_eq!(dir.files_with(letters), Vec::<PathBuf>::new());
    }
    assert_eq!(dir.json(1, &["query", MARKER])["hits"], json!([]));
    assert_eq!(ids(&dir.run(&["export"]).ok().stdout), ["one", "two"]);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn what_a_repair_set_aside_is_forgotten_by_its_id() {
    let dir = damaged();
    let report = dir.json(0, &["repair"]);
    assert_eq!(report["set_aside"], json!(["bad"]));
    assert_eq!(dir.json(0, &["status"])["damaged_drawers"], 1);
    assert_eq!(dir.json(1, &["get", "bad"])["missing"], json!(["bad"]));
    let copy = PathBuf::from(report["copy"].as_str().unwrap());
    assert_eq!(dir.files_with(FLIPPED), [dir.database(), copy.clone()]);
    // Another id leaves the copy alone, and an unknown one does too.
    dir.json(1, &["forget", "nobody"]);
    assert!(copy.is_file());
    let answer = dir.json(0, &["forget", "bad"]);
    assert_eq!(answer["forgotten"], 1);
    assert_eq!(
        answer["removed_files"],
        json!([copy.file_name().unwrap().to_str()])
    );
    for letters in [MARKER, FLIPPED] {
        assert_eq!(dir.files_with(letters), Vec::<PathBuf>::new());
    }
    let status = dir.json(0, &["status"]);
    assert_eq!(
        (&status["damaged_drawers"], &status["drawers"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(dir.json(1, &["forget", "bad"])["forgotten"], 0);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn what_a_salvage_set_aside_is_forgotten_by_its_id() {
    let dir = Dir::new();
    // Collections whose numbers are others in the new palace.
    let records = ["one", "two", "three"].into_iter().flat_map(|collection| {
        (0..3).map(move |n| {
            json!({"collection": collection, "id": format!("{collection}-{n}"),
                   "document": format!("{collection} text {n}"), "embedding": [n, 1]})
        })
    });
    let bad = json!({"collection": "three", "id": "bad", "document": format!("this is {MARKER}"),
                     "embedding": [9, 9]});
    let file = dir.write("r.jsonl", lines(records.chain([bad])));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    dir.damage(&format!("this is {MARKER}"));
    // Without its header SQLite cannot read it.
    let mut bytes = std::fs::read(dir.database()).unwrap();
    bytes[..100].fill(0xa5);
    std::fs::write(dir.database(), &bytes).unwrap();
    let salvage = dir.json(1, &["repair"])["salvage"].clone();
    assert_eq!(
        (&salvage["saved"], &salvage["damaged"]),
        (&json!(9), &json!(["bad"]))
    );
    let palace = ["--palace", salvage["palace"].as_str().unwrap()];
    let run = |code, arguments: &[&str]| dir.json(code, &[arguments, &palace].concat());
    assert_eq!(run(0, &["status"])["damaged_drawers"], 1);
    assert_eq!(run(0, &["forget", "bad"])["forgotten"], 1);
    assert_eq!(run(0, &["status"])["damaged_drawers"], 0);
}

//! Commands on a palace that its backend only reads: a directory of ChromaDB, which wrote the fixtures.

use serde_json::{Value, json};

use crate::chroma_directories::Old;
use crate::support::{Dir, Ran, texts};

/// The answer of a command on a ChromaDB directory.
fn json_of(dir: &Dir, old: &Old, arguments: &[&str]) -> Value {
    let mut command = dir.command();
    command.env("LOCI_PALACE", &old.path).arg("--json");
    let ran = Ran::of(command.args(arguments));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr))
}

#[test]
fn init_refuses_the_place_of_a_palace_that_is_only_read_whichever_backend_is_named() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let before = old.state();
    for backend in [None, Some("sqlite"), Some("chroma")] {
        let mut command = dir.command();
        command
            .env("LOCI_PALACE", &old.path)
            .args(["--json", "init"]);
        command.args(backend.iter().flat_map(|name| ["--backend", name]));
        let error = Ran::of(&mut command).error(2);
        assert_eq!(error["kind"], "unsupported", "{backend:?}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("ChromaDB"), "{message}");
        let help = error["help"].as_str().unwrap();
        assert!(
            help.contains(&format!("`loci import {} --palace OTHER`", old.name())),
            "{help}"
        );
    }
    assert_eq!(old.state(), before);
}

#[test]
fn a_palace_that_is_only_read_has_a_status() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let status = json_of(&dir, &old, &["status"]);
    assert_eq!(
        (&status["total"], &status["backend"]),
        (&json!(82), &json!("chroma"))
    );
    assert!(status["bytes"].as_u64() > Some(10_000), "{status}");
}

#[test]
fn the_doctor_asks_the_backend_whether_a_palace_is_only_read() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let answer = json_of(&dir, &old, &["doctor", "--deep"]);
    let palace = &answer["palace"];
    assert_eq!(
        (&palace["state"], &palace["drawers"]),
        (&json!("read_only"), &json!(82))
    );
    assert_eq!(answer["round_trip"]["state"], "skipped", "{answer}");
    let findings = answer["findings"].as_array().unwrap();
    let read_only = findings
        .iter()
        .find(|found| found["code"] == "palace_read_only");
    let advice = read_only.unwrap()["advice"].as_str().unwrap();
    assert!(advice.contains("loci import"), "{advice}");
    let codes = texts(&answer["findings"], "code");
    for code in ["round_trip_failed", "verify_failed"] {
        assert!(!codes.contains(&code.to_owned()), "{codes:?}");
    }
}

#[test]
fn hints_on_a_palace_that_is_only_read_name_no_command_that_writes() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    // The collection `drawers` has vectors of eight numbers, made by nobody knows what.
    let found = json_of(&dir, &old, &["search", "cedar larch"]);
    let warnings = found["warnings"].as_array().unwrap();
    let unknown = warnings
        .iter()
        .find(|warning| warning["code"] == "unknown_embedder");
    assert!(
        unknown.is_some_and(|warning| warning.get("hint").is_none()),
        "{found}"
    );
    dir.run(&["import", old.name()]).ok();
    let found = dir.json(0, &["search", "cedar larch"]);
    let warnings = found["warnings"].as_array().unwrap();
    let unknown = warnings
        .iter()
        .find(|warning| warning["code"] == "unknown_embedder");
    let hint = unknown.unwrap()["hint"].as_str().unwrap();
    assert!(hint.contains("loci reembed"), "{hint}");
}

#[test]
fn a_search_without_its_collection_names_those_that_are_there() {
    let dir = Dir::new();
    dir.run(&["add", "a lighthouse", "--collection", "notes"])
        .ok();
    let error = dir.error(2, &["search", "lighthouse"]);
    let help = error["help"].as_str().unwrap();
    assert_eq!(
        help,
        "this palace has `notes`; name one with `--collection NAME`"
    );
    dir.run(&["search", "lighthouse", "--collection", "notes"])
        .ok();
}

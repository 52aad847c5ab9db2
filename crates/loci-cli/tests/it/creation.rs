//! Who may create a palace, and who may not.

use crate::support::Dir;

#[test]
fn readers_create_nothing() {
    for arguments in [
        &["get", "a"][..],
        &["list"],
        &["update", "a", "x"],
        &["forget", "a"],
        &["query", "x"],
        &["status"],
        &["verify"],
        &["repair"],
        &["export"],
        &["export", "out.jsonl"],
        &["backup", "out.backup"],
        &["restore", "missing.backup"],
        &["import", "jsonl", "missing.jsonl"],
        &["add", "x", "--metadata", "{"],
        &["add", "x", "--vector", "missing.json"],
        &["add", "x", "--collection", " bad "],
        &["init", "--collection", ""],
    ] {
        let dir = Dir::new();
        let error = dir.error(2, arguments);
        assert!(!dir.palace().exists(), "{arguments:?}");
        assert!(!dir.path("out.jsonl").exists() && !dir.path("out.backup").exists());
        let reads = !["restore", "import", "add", "init"].contains(&arguments[0]);
        assert_eq!(
            error["kind"] == "not_found",
            reads,
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn an_empty_directory_is_no_palace_and_stays_empty() {
    let dir = Dir::new();
    std::fs::create_dir(dir.palace()).unwrap();
    assert_eq!(dir.error(2, &["status"])["kind"], "not_found");
    assert_eq!(dir.error(2, &["verify"])["kind"], "not_found");
    assert_eq!(std::fs::read_dir(dir.palace()).unwrap().count(), 0);
}

#[test]
fn add_import_and_restore_create_a_missing_palace() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a"]);
    let backup = dir.path("b.backup");
    dir.json(0, &["backup", backup.to_str().unwrap()]);
    let lines = dir.write("l.jsonl", "{\"id\": \"b\", \"document\": \"y\"}\n");
    let other = dir.path("deep/below/import");
    let other = other.to_str().unwrap();
    dir.json(
        0,
        &[
            "import",
            "jsonl",
            lines.to_str().unwrap(),
            "--palace",
            other,
        ],
    );
    assert_eq!(dir.json(0, &["status", "--palace", other])["drawers"], 1);
    let restored = dir.path("restored");
    let restored = restored.to_str().unwrap();
    dir.json(
        0,
        &["restore", backup.to_str().unwrap(), "--palace", restored],
    );
    assert_eq!(
        dir.json(0, &["get", "a", "--palace", restored])["drawers"][0]["text"],
        "x"
    );
}

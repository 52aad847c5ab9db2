//! Input that makes no sense: a clear error, nothing changed, never a panic.

use serde_json::{Value, json};

use crate::support::Dir;

fn message(error: &Value) -> &str {
    error["message"].as_str().unwrap()
}

#[test]
fn bad_arguments_are_refused_and_change_nothing() {
    let dir = Dir::new();
    let good = dir.write("good.json", "[1, 0]");
    dir.json(
        0,
        &["add", "x", "--id", "a", "--vector", good.to_str().unwrap()],
    );
    let before = dir.run(&["export"]).ok().stdout;
    dir.write("words.json", "[\"a\"]");
    dir.write("nan.json", "[NaN, 1]");
    dir.write("huge.json", "[1e39, 1]");
    dir.write("long.json", "[1, 2, 3]");
    dir.write("empty.json", "[]");
    dir.write("empty", "");
    dir.write("odd.f32", [0, 1, 2]);
    dir.write("nan.f32", [f32::NAN, 1.0].map(f32::to_le_bytes).concat());
    for (code, kind, part, arguments) in [
        (64, "invalid_input", "where", &["list", "--where", "{"][..]),
        (
            64,
            "invalid_input",
            "where",
            &["query", "x", "--where", "[1]"],
        ),
        (
            64,
            "invalid_input",
            "$near",
            &["list", "--where", r#"{"a": {"$near": 1}}"#],
        ),
        (
            64,
            "invalid_input",
            "$regex",
            &["forget", "--yes", "--where", r#"{"a": {"$regex": "x"}}"#],
        ),
        (
            64,
            "invalid_input",
            "where_document",
            &["list", "--where-document", "x"],
        ),
        (
            64,
            "invalid_input",
            "metadata",
            &["add", "x", "--metadata", "{"],
        ),
        (
            64,
            "invalid_input",
            "metadata",
            &["add", "x", "--metadata", "[1]"],
        ),
        (
            64,
            "invalid_input",
            "`k`",
            &["add", "x", "--metadata", r#"{"k": {"n": 1}}"#],
        ),
        (2, "invalid_input", "id", &["add", "x", "--id", ""]),
        (2, "invalid_input", "id", &["get", ""]),
        (
            2,
            "unavailable",
            "missing.json",
            &["add", "x", "--vector", "missing.json"],
        ),
        (
            2,
            "invalid_input",
            "words.json",
            &["add", "x", "--vector", "words.json"],
        ),
        (
            2,
            "invalid_input",
            "nan.json",
            &["add", "x", "--vector", "nan.json"],
        ),
        (
            2,
            "invalid_input",
            "huge.json",
            &["add", "x", "--vector", "huge.json"],
        ),
        (
            2,
            "invalid_input",
            "empty.json",
            &["add", "x", "--vector", "empty.json"],
        ),
        (
            2,
            "invalid_input",
            "empty",
            &["add", "x", "--vector", "empty"],
        ),
        (
            2,
            "invalid_input",
            "odd.f32",
            &["query", "--vector", "odd.f32"],
        ),
        (
            2,
            "invalid_input",
            "nan.f32",
            &["query", "--vector", "nan.f32"],
        ),
        (
            2,
            "invalid_input",
            "dimension 2, got 3",
            &["add", "x", "--vector", "long.json"],
        ),
        (
            2,
            "invalid_input",
            "dimension 2, got 3",
            &["query", "--vector", "long.json"],
        ),
        (64, "usage", "0", &["query", "x", "-k", "0"]),
        (64, "usage", "99999", &["query", "x", "-k", "99999"]),
        (64, "usage", "many", &["list", "--limit", "many"]),
        (64, "usage", "frobnicate", &["frobnicate"]),
        (64, "usage", "--nonsense", &["list", "--nonsense"]),
        (64, "usage", "csv", &["import", "csv", "good.json"]),
        (
            2,
            "not_found",
            "nowhere",
            &["query", "x", "--collection", "nowhere"],
        ),
        (
            2,
            "not_found",
            "nowhere",
            &["list", "--collection", "nowhere"],
        ),
        (
            2,
            "not_found",
            "nowhere",
            &["update", "a", "x", "--collection", "nowhere"],
        ),
        (
            2,
            "not_found",
            "nowhere",
            &["export", "--collection", "nowhere"],
        ),
        (
            2,
            "invalid_input",
            "directory",
            &["import", "jsonl", "home"],
        ),
        (
            2,
            "unavailable",
            "missing",
            &["restore", "missing", "--replace"],
        ),
        (
            2,
            "invalid_input",
            "good.json",
            &["restore", "good.json", "--replace"],
        ),
        (2, "conflict", "good.json", &["backup", "good.json"]),
        (2, "conflict", "exists", &["export", "good.json"]),
    ] {
        let error = dir.error(code, arguments);
        assert_eq!(error["kind"], kind, "{arguments:?}: {error}");
        assert!(message(&error).contains(part), "{arguments:?}: {error}");
    }
    let exists = dir.error(2, &["export", "good.json"]);
    assert!(
        exists["help"].as_str().unwrap().contains("`--force`"),
        "{exists}"
    );
    assert_eq!(dir.run(&["export"]).ok().stdout, before);
}

#[test]
fn an_error_has_a_code_that_says_more_than_its_kind() {
    let dir = Dir::new();
    assert_eq!(dir.error(2, &["status"])["code"], "palace_not_found");
    let good = dir.write("good.json", "[1, 0]");
    let good = good.to_str().unwrap();
    dir.json(0, &["add", "x", "--id", "a", "--vector", good]);
    dir.write("long.json", "[1, 2, 3]");
    for (kind, code, arguments) in [
        (
            "invalid_input",
            "dimension_mismatch",
            &["query", "--vector", "long.json"][..],
        ),
        (
            "invalid_input",
            "unknown_backend",
            &["list", "--backend", "nonsense"],
        ),
        ("invalid_input", "invalid_input", &["get", ""]),
        (
            "not_found",
            "collection_not_initialized",
            &["list", "--collection", "nowhere"],
        ),
        ("conflict", "conflict", &["backup", "good.json"]),
        ("unavailable", "io", &["restore", "missing", "--replace"]),
    ] {
        let error = dir.error(2, arguments);
        assert_eq!(
            (&error["kind"], &error["code"]),
            (&json!(kind), &json!(code)),
            "{arguments:?}"
        );
    }
    let filter = dir.error(64, &["list", "--where", r#"{"a": {"$near": 1}}"#]);
    assert_eq!(
        (&filter["kind"], &filter["code"]),
        (&json!("invalid_input"), &json!("unsupported_filter"))
    );
    let usage = dir.error(64, &["list", "--nonsense"]);
    assert_eq!(
        (&usage["kind"], &usage["code"]),
        (&json!("usage"), &json!("usage"))
    );
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a", "--wing", "w"]);
    dir.json(0, &["add", "y", "--id", "b", "--wing", "v"]);
    let before = dir.run(&["export"]).ok().stdout;
    for (key, arguments) in [
        (
            "wing",
            &["list", "--where", r#"{"wing": "v", "wing": "w"}"#][..],
        ),
        (
            "$gt",
            &["query", "x", "--where", r#"{"n": {"$gt": 1, "$gt": 0}}"#],
        ),
        (
            "wing",
            &[
                "forget",
                "--yes",
                "--where",
                r#"{"$or": [{"n": 1}, {"wing": "v", "wing": "w"}]}"#,
            ],
        ),
        (
            "$contains",
            &[
                "list",
                "--where-document",
                r#"{"$contains": "x", "$contains": "y"}"#,
            ],
        ),
        (
            "year",
            &["add", "z", "--metadata", r#"{"year": 1, "year": 2}"#],
        ),
        (
            "year",
            &["update", "a", "--metadata", r#"{"year": 1, "year": null}"#],
        ),
    ] {
        let error = dir.error(64, arguments);
        assert_eq!(error["kind"], "invalid_input", "{arguments:?}: {error}");
        let wanted = format!("key `{key}` appears twice");
        assert!(message(&error).contains(&wanted), "{arguments:?}: {error}");
    }
    assert_eq!(dir.run(&["export"]).ok().stdout, before);
}

#[test]
fn people_read_an_error_line_and_a_help_line() {
    let dir = Dir::new();
    let ran = dir.run(&["status"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert!(lines[0].starts_with("error: no palace at"), "{ran:?}");
    assert!(
        lines[1].starts_with("help: create one with `loci init`"),
        "{ran:?}"
    );
}

#[test]
fn a_palace_path_that_is_a_file_is_an_error() {
    let dir = Dir::new();
    dir.write("palace", "just a file");
    let error = dir.error(2, &["add", "x"]);
    assert!(message(&error).contains("palace"), "{error}");
    dir.error(2, &["status"]);
    dir.error(2, &["verify"]);
    assert_eq!(std::fs::read(dir.palace()).unwrap(), b"just a file");
}

/// Overwrites a number in the header of the database, where SQLite keeps it big-endian.
fn set_header_number(dir: &Dir, offset: usize, number: u32) -> Vec<u8> {
    let mut bytes = std::fs::read(dir.database()).unwrap();
    bytes[offset..offset + 4].copy_from_slice(&number.to_be_bytes());
    std::fs::write(dir.database(), &bytes).unwrap();
    bytes
}

const USER_VERSION: usize = 60;
const APPLICATION_ID: usize = 68;

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let dir = Dir::new();
    dir.json(0, &["add", "x"]);
    let bytes = set_header_number(&dir, USER_VERSION, 9_999);
    for arguments in [
        &["add", "y"][..],
        &["status"],
        &["verify"],
        &["repair"],
        &["init"],
    ] {
        let error = dir.error(2, arguments);
        assert_eq!(error["kind"], "unsupported", "{arguments:?}: {error}");
        assert!(
            error["help"].as_str().unwrap().contains("upgrade"),
            "{error}"
        );
    }
    assert_eq!(std::fs::read(dir.database()).unwrap(), bytes);
}

#[test]
fn a_foreign_database_is_refused_and_left_alone() {
    let dir = Dir::new();
    dir.json(0, &["add", "x"]);
    let bytes = set_header_number(&dir, APPLICATION_ID, 7);
    for arguments in [
        &["add", "y"][..],
        &["status"],
        &["verify"],
        &["repair"],
        &["init"],
    ] {
        let error = dir.error(2, arguments);
        assert_eq!(error["kind"], "conflict", "{arguments:?}: {error}");
    }
    assert_eq!(std::fs::read(dir.database()).unwrap(), bytes);
}

#[test]
fn a_directory_that_may_not_be_read_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    dir.json(0, &["add", "x"]);
    let set = |mode| {
        std::fs::set_permissions(dir.palace(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o000);
    if std::fs::read_dir(dir.palace()).is_ok() {
        eprintln!("SKIPPED: this user may read everything");
        set(0o700);
        return;
    }
    for arguments in [&["status"][..], &["add", "y"], &["verify"]] {
        assert_eq!(
            dir.error(2, arguments)["kind"],
            "unavailable",
            "{arguments:?}"
        );
    }
    set(0o700);
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

/// Bug: a date or a filter that cannot be read exited with 2, as if the palace had failed.
#[test]
fn a_value_of_an_option_that_cannot_be_read_is_wrong_usage() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a"]);
    for arguments in [
        &["search", "x", "--since", "gestern abend"][..],
        &["list", "--before", "2026-99-99"],
        &["list", "--since", "2026-05-01", "--before", "2026-04-01"],
        &["list", "--where", "{"],
        &["list", "--where", r#"{"a": {"$near": 1}}"#],
        &["list", "--where-document", "x"],
        &["add", "y", "--metadata", "["],
    ] {
        let error = dir.error(64, arguments);
        assert_eq!(error["kind"], "invalid_input", "{arguments:?}: {error}");
    }
}

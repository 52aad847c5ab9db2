//! `update`.

use serde_json::json;

use crate::support::Dir;

#[test]
fn update_merges_metadata_and_null_removes_a_key() {
    let dir = Dir::new();
    dir.json(
        0,
        &[
            "add",
            "x",
            "--id",
            "a",
            "--metadata",
            r#"{"keep": 1, "drop": 2}"#,
        ],
    );
    let change = r#"{"drop": null, "new": "y"}"#;
    let answer = dir.json(0, &["update", "a", "--metadata", change, "--wing", "alice"]);
    assert_eq!(
        (&answer["id"], &answer["outcome"]),
        (&json!("a"), &json!("updated"))
    );
    let got = dir.json(0, &["get", "a"]);
    assert_eq!(
        got["drawers"][0]["metadata"],
        json!({"keep": 1, "new": "y", "wing": "alice"})
    );
    assert_eq!(got["drawers"][0]["text"], "x");
    assert_eq!(
        dir.json(0, &["update", "a", "--wing", "alice"])["outcome"],
        "unchanged"
    );
}

#[test]
fn new_text_without_a_vector_drops_the_vector_and_says_so() {
    let dir = Dir::new();
    let vector = dir.write("v.json", "[1, 0]");
    let vector = vector.to_str().unwrap();
    dir.json(0, &["add", "x", "--id", "a", "--vector", vector]);
    let answer = dir.json(0, &["update", "a", "y"]);
    assert_eq!(answer["warnings"][0]["code"], "vector_dropped");
    let piped = dir
        .pipe(&["update", "a", "-", "--vector", vector], b"z\n")
        .ok();
    assert_eq!(piped.stderr, "");
    let got = dir.json(0, &["get", "a", "--vectors"]);
    assert_eq!(got["drawers"][0]["text"], "z\n");
    assert_eq!(got["drawers"][0]["embedding"], json!([1.0, 0.0]));
    let human = dir.run(&["update", "a", "y"]).ok();
    assert!(human.stderr.contains("warning: "), "{human:?}");
}

#[test]
fn an_unknown_id_is_nothing_found() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a"]);
    assert_eq!(dir.json(1, &["update", "b", "y"])["outcome"], "unknown");
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

#[test]
fn an_update_of_nothing_is_a_usage_error_and_does_not_wait_for_stdin() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a"]);
    assert_eq!(dir.error(64, &["update", "a"])["kind"], "usage");
    assert_eq!(
        dir.error(64, &["update", "a", "-", "--vector", "-"])["kind"],
        "usage"
    );
}

//! `query`.

use serde_json::{Value, json};

use crate::mine::put;
use crate::support::{Dir, texts};

fn close(value: &Value, wanted: f64) -> bool {
    (value.as_f64().unwrap() - wanted).abs() < 1e-6
}

fn two_vectors(metric: &str) -> (Dir, String) {
    let dir = Dir::new();
    dir.json(0, &["init", "--metric", metric]);
    for (id, vector) in [("near", "[1, 0]"), ("far", "[0, 2]")] {
        let file = dir.write(id, vector);
        let place = ["--wing", id, "--vector", file.to_str().unwrap()];
        dir.json(0, &[&["add", id, "--id", id][..], &place].concat());
    }
    let file = dir.write("q.json", "[2, 0]").to_str().unwrap().to_owned();
    (dir, file)
}

#[test]
fn words_have_a_score_and_no_distance() {
    let dir = Dir::new();
    dir.json(
        0,
        &[
            "add",
            "Alice moved to Lyon.",
            "--id",
            "a",
            "--wing",
            "alice",
        ],
    );
    dir.json(0, &["add", "Bob stayed in Rome.", "--id", "b"]);
    let answer = dir.json(0, &["query", "where", "is", "Lyon?"]);
    assert_eq!(answer["warnings"], json!([]));
    let hit = &answer["hits"][0];
    assert_eq!(answer["hits"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&hit["id"], &hit["text"]),
        (&json!("a"), &json!("Alice moved to Lyon."))
    );
    assert_eq!(
        (&hit["distance"], &hit["metadata"]),
        (&Value::Null, &json!({"wing": "alice"}))
    );
    assert!(hit["score"].as_f64().unwrap() > 0.0);
}

#[test]
fn vectors_have_the_distance_of_their_metric_and_a_score_that_grows_with_nearness() {
    for (metric, distances, scores) in [
        ("cosine", [0.0, 1.0], [1.0, 0.0]),
        ("l2", [1.0, 8.0], [0.5, 1.0 / 9.0]),
        ("ip", [-1.0, 1.0], [2.0, 0.0]),
    ] {
        let (dir, file) = two_vectors(metric);
        let answer = dir.json(0, &["query", "--vector", &file]);
        assert_eq!(texts(&answer["hits"], "id"), ["near", "far"], "{metric}");
        for at in 0..2 {
            let hit = &answer["hits"][at];
            assert!(close(&hit["distance"], distances[at]), "{metric}: {hit}");
            assert!(close(&hit["score"], scores[at]), "{metric}: {hit}");
        }
    }
}

#[test]
fn filters_and_k_apply_inside_the_search() {
    let (dir, file) = two_vectors("cosine");
    let ids = |arguments: &[&str]| {
        let answer = dir.json(0, &[&["query", "--vector", &file], arguments].concat());
        texts(&answer["hits"], "id")
    };
    assert_eq!(ids(&["-k", "1"]), ["near"]);
    assert_eq!(ids(&["-k", "1", "--wing", "far"]), ["far"]);
    assert_eq!(
        ids(&["-k1", "--where", r#"{"wing": {"$ne": "near"}}"#]),
        ["far"]
    );
    assert_eq!(
        ids(&["--where-document", r#"{"$contains": "fa"}"#]),
        ["far"]
    );
    let words = dir.json(0, &["query", "near", "far", "--wing", "far"]);
    assert_eq!(texts(&words["hits"], "id"), ["far"]);
}

#[test]
fn a_vector_may_come_from_stdin() {
    let (dir, _) = two_vectors("cosine");
    let ran = dir
        .pipe(&["query", "--vector", "-", "-k", "1", "--json"], b"[0, 1]")
        .ok();
    assert!(ran.stdout.contains(r#""id":"far""#), "{ran:?}");
}

#[test]
fn no_hits_is_exit_1_with_a_reason() {
    let dir = Dir::new();
    dir.json(
        0,
        &[
            "add",
            "Alice moved to Lyon.",
            "--id",
            "a",
            "--embedder",
            "none",
        ],
    );
    let answer = dir.json(1, &["query", "zzz"]);
    assert_eq!(answer["hits"], json!([]));
    let filtered = dir.json(1, &["query", "Lyon", "--wing", "nobody"]);
    assert_eq!(filtered["warnings"][0]["code"], "filter_excludes_all");
    assert!(filtered["warnings"][0]["message"].is_string());
    let vector = dir.write("q.json", "[1, 0]");
    let none = dir.json(1, &["query", "--vector", vector.to_str().unwrap()]);
    assert_eq!(none["warnings"][0]["code"], "no_vectors");
    let human = dir.run(&["query", "Lyon", "--wing", "nobody"]);
    assert_eq!((human.code, human.stdout.as_str()), (1, "nothing found\n"));
    assert!(human.stderr.starts_with("warning: "), "{human:?}");
}

#[test]
fn words_and_a_vector_together_or_neither_are_usage_errors() {
    let (dir, file) = two_vectors("cosine");
    let error = dir.error(64, &["query"]);
    assert_eq!(error["kind"], "usage");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("WORDS") && message.contains("--vector"),
        "{error}"
    );
    assert_eq!(
        dir.error(64, &["query", "words", "--vector", &file])["kind"],
        "usage"
    );
}

#[test]
fn the_help_names_the_limits_of_k() {
    let (dir, file) = two_vectors("cosine");
    let help = dir.run(&["query", "--help"]).ok().stdout;
    assert!(help.contains("1 to 10000"), "{help}");
    for k in ["1", "10000"] {
        dir.json(0, &["query", "--vector", &file, "-k", k]);
    }
    for k in ["0", "10001"] {
        let error = dir.error(64, &["query", "--vector", &file, "-k", k]);
        assert_eq!(error["kind"], "usage", "{k}");
    }
}

#[test]
fn people_see_places_and_no_raw_metadata() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "# Boiler\n\nThe boiler leaks.\n");
    dir.json(
        0,
        &["mine", "notes", "--wing", "house", "--room", "repairs"],
    );
    let metadata = r#"{"authored_at": "2026-03-04", "score": 3}"#;
    dir.json(
        0,
        &[
            "add",
            "A boiler by hand.",
            "--id",
            "hand",
            "--metadata",
            metadata,
        ],
    );
    let file = dir.path("notes/a.md").canonicalize().unwrap();
    let shown = dir.run(&["query", "leaks"]).ok().stdout;
    assert!(shown.contains("  house  repairs\n"), "{shown}");
    assert!(
        shown.contains(&format!("   {}:1", file.display())),
        "{shown}"
    );
    assert!(
        shown.contains("   # Boiler\n   The boiler leaks.\n"),
        "{shown}"
    );
    let shown = dir.run(&["query", "hand"]).ok().stdout;
    assert_eq!(shown, "1. hand\n   2026-03-04\n   A boiler by hand.\n");
    assert!(!shown.contains(['{', '}']), "{shown}");
}

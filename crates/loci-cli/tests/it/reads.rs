//! `get`, `list` and `status`.

use serde_json::json;

use crate::support::{Dir, texts};

#[test]
fn get_looks_in_all_collections_and_names_what_is_missing() {
    let dir = Dir::new();
    dir.json(0, &["add", "one", "--id", "a"]);
    dir.json(0, &["add", "two", "--id", "a", "--collection", "notes"]);
    let got = dir.json(0, &["get", "a", "nobody"]);
    assert_eq!(texts(&got["drawers"], "collection"), ["drawers", "notes"]);
    assert_eq!(got["drawers"][0]["metadata"], json!({}));
    assert!(got["drawers"][0].get("embedding").is_none());
    assert_eq!(got["missing"], json!(["nobody"]));
    let one = dir.json(0, &["get", "a", "--collection", "notes"]);
    assert_eq!(texts(&one["drawers"], "text"), ["two"]);
    assert_eq!(dir.json(1, &["get", "nobody"])["drawers"], json!([]));
    let human = dir.run(&["get", "nobody"]);
    assert_eq!((human.code, human.stdout.as_str()), (1, ""));
    assert!(human.stderr.contains("nobody"), "{human:?}");
}

#[test]
fn list_pages_over_all_collections_exactly() {
    let dir = Dir::new();
    for (id, collection) in [
        ("a", "notes"),
        ("b", "drawers"),
        ("c", "notes"),
        ("d", "drawers"),
    ] {
        dir.json(0, &["add", id, "--id", id, "--collection", collection]);
    }
    let page = |arguments: &[&str]| {
        let answer = dir.json(0, &[&["list"], arguments].concat());
        (
            texts(&answer["drawers"], "id").concat(),
            answer["total"].as_u64().unwrap(),
        )
    };
    assert_eq!(page(&[]), ("bdac".into(), 4));
    assert_eq!(page(&["--limit", "2", "--offset", "1"]), ("da".into(), 4));
    assert_eq!(page(&["--offset", "3"]), ("c".into(), 4));
    assert_eq!(page(&["--recent"]), ("dcba".into(), 4));
    assert_eq!(
        page(&["--recent", "--limit", "2", "--offset", "1"]),
        ("cb".into(), 4)
    );
    assert_eq!(page(&["--collection", "notes"]), ("ac".into(), 2));
    dir.json(0, &["update", "b", "--wing", "w"]);
    assert_eq!(page(&["--recent", "--limit", "1"]), ("b".into(), 4));
    let past = dir.json(1, &["list", "--offset", "9"]);
    assert_eq!((&past["drawers"], &past["total"]), (&json!([]), &json!(4)));
}

#[test]
fn list_filters_by_metadata_text_wing_and_room_and_counts_what_matches() {
    let dir = Dir::new();
    for (id, text, wing, room, year) in [
        ("a", "in Lyon", "alice", "home", 2024),
        ("b", "in Rome", "alice", "work", 2025),
        ("c", "in Lyon too", "bob", "home", 2026),
    ] {
        let metadata = json!({"year": year}).to_string();
        let place = ["--wing", wing, "--room", room, "--metadata", &metadata];
        dir.json(0, &[&["add", text, "--id", id][..], &place].concat());
    }
    let ids = |arguments: &[&str]| {
        let answer = dir.json(0, &[&["list", "--limit", "1"], arguments].concat());
        assert_eq!(answer["drawers"].as_array().unwrap().len(), 1);
        answer["total"].as_u64().unwrap()
    };
    assert_eq!(ids(&["--wing", "alice"]), 2);
    assert_eq!(ids(&["--wing", "alice", "--room", "work"]), 1);
    assert_eq!(ids(&["--where", r#"{"year": {"$gte": 2025}}"#]), 2);
    assert_eq!(
        ids(&["--where", r#"{"year": {"$gte": 2025}}"#, "--wing", "bob"]),
        1
    );
    assert_eq!(ids(&["--where-document", r#"{"$contains": "Lyon"}"#]), 2);
}

#[test]
fn status_tells_counts_settings_and_the_state_of_the_index() {
    let dir = Dir::new();
    let vector = dir.write("v.json", "[1, 0, 0]");
    dir.json(0, &["add", "one", "--vector", vector.to_str().unwrap()]);
    dir.json(0, &["add", "two"]);
    let status = dir.json(0, &["status"]);
    assert_eq!(status["drawers"], 2);
    assert_eq!(
        status["collections"],
        json!([{
            "name": "drawers", "drawers": 2, "vectors": 1, "dimension": 3, "metric": "cosine",
            "embedder": null,
            "index": {"covered": null, "tail": 1, "due": false, "held_back": null, "seq": 3,
                "tombstones": 0, "vectors": 1},
        }])
    );
    assert_eq!(status["palace"], dir.palace().to_str().unwrap());
    assert_eq!(status["backend"], "sqlite");
    assert_eq!(status["purge_pending"], false);
    assert_eq!(status["set_aside"], json!([]));
    assert!(status["bytes"].as_u64().unwrap() > 0 && status["format"].is_u64());
    let human = dir.run(&["status"]).ok();
    assert!(
        human.stdout.contains("2 drawers, 1 with a vector"),
        "{human:?}"
    );
}

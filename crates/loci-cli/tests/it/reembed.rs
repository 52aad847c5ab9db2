//! `reembed`: other vectors for the same texts, and the old ones until the new are there.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Dir, lines, texts};

const MANY: u64 = 3_000;

/// Many drawers without a vector, and one that only meaning finds.
fn many_without_vectors() -> Dir {
    let dir = Dir::new();
    let many = (0..MANY).map(|n| {
        let text = format!("Record {n} of the {} archive, shelf {}. ", n % 17, n % 91).repeat(12);
        json!({"id": format!("d{n}"), "document": text})
    });
    let one = json!({"id": "sleep", "document": "The physician recommended more sleep"});
    let file = dir.write("many.jsonl", lines(many.chain([one])));
    let file = file.to_str().unwrap();
    let report = dir.json(0, &["import", "jsonl", file, "--embedder", "none"]);
    assert_eq!(report["added"], MANY + 1);
    dir
}

fn first(dir: &Dir, question: &str) -> Value {
    let answer = dir.json(0, &["search", question, "-k", "1"]);
    answer["hits"][0].clone()
}

#[test]
fn a_palace_without_vectors_gets_them() {
    let dir = Dir::new();
    for (id, text) in [
        ("sleep", "The physician recommended more sleep"),
        ("train", "Trains to Oslo leave at nine"),
    ] {
        dir.json(0, &["add", text, "--id", id, "--embedder", "none"]);
    }
    dir.json(1, &["search", "what did the doctor advise"]);
    let report = dir.json(0, &["reembed", "--model", "static"]);
    assert_eq!(
        (&report["drawers"], &report["made"], &report["resumed"]),
        (&json!(2), &json!(2), &json!(0))
    );
    assert_eq!(
        (&report["before"], &report["embedder"]["name"]),
        (&Value::Null, &json!("static"))
    );
    let hit = first(&dir, "what did the doctor advise");
    assert_eq!(
        (&hit["id"], &hit["matched_via"]),
        (&json!("sleep"), &json!("semantic"))
    );
    assert_eq!(dir.json(0, &["status"])["collections"][0]["vectors"], 2);
    dir.json(0, &["verify", "--deep"]);
}

#[test]
fn vectors_of_somebody_unknown_are_replaced() {
    let dir = Dir::new();
    let vector = dir.write("v.json", "[1, 0, 0]");
    let text = "The physician recommended more sleep";
    dir.json(
        0,
        &[
            "add",
            text,
            "--id",
            "sleep",
            "--vector",
            vector.to_str().unwrap(),
        ],
    );
    dir.json(0, &["reembed", "--model", "static"]);
    let answer = dir.json(0, &["search", "what did the doctor advise"]);
    assert_eq!(answer["hits"][0]["id"], "sleep");
    assert_eq!(answer["warnings"], json!([]));
    assert_eq!(dir.json(0, &["status"])["collections"][0]["dimension"], 384);
}

#[test]
fn only_the_named_collection_changes() {
    let dir = Dir::new();
    for collection in ["drawers", "notes"] {
        dir.json(
            0,
            &[
                "add",
                "Alice moved to Lyon",
                "--collection",
                collection,
                "--embedder",
                "none",
            ],
        );
    }
    dir.json(
        0,
        &["reembed", "--model", "static", "--collection", "notes"],
    );
    let status = dir.json(0, &["status"]);
    let vectors = |name: &str| {
        let list = status["collections"].as_array().unwrap();
        list.iter().find(|one| one["name"] == name).unwrap()["vectors"].clone()
    };
    assert_eq!((vectors("drawers"), vectors("notes")), (json!(0), json!(1)));
    assert_eq!(
        dir.error(2, &["reembed", "--model", "static", "--collection", "nope"])["kind"],
        "not_found"
    );
}

#[test]
fn a_name_that_makes_no_vectors_is_refused_and_nothing_changes() {
    let dir = Dir::new();
    dir.json(
        0,
        &[
            "add",
            "The physician recommended more sleep",
            "--id",
            "sleep",
        ],
    );
    for name in ["none", "bogus", "", "../static"] {
        let error = dir.error(2, &["reembed", "--model", name]);
        let said = error["message"].as_str().unwrap();
        assert!(said.contains(&format!("`{name}`")), "{name}: {said}");
        for known in ["static", "minilm", "openai"] {
            assert!(said.contains(known), "{name}: {said}");
        }
    }
    assert_eq!(dir.error(64, &["reembed"])["kind"], "usage");
    assert_eq!(
        first(&dir, "what did the doctor advise")["matched_via"],
        "semantic"
    );
}

#[test]
fn a_model_that_is_not_here_is_refused_with_the_way_to_get_it() {
    let dir = Dir::new();
    dir.json(
        0,
        &[
            "add",
            "The physician recommended more sleep",
            "--id",
            "sleep",
        ],
    );
    let error = dir.error(2, &["reembed", "--model", "minilm"]);
    let said = error.to_string();
    assert!(
        said.contains("loci model add") && said.contains("loci model pull minilm"),
        "{said}"
    );
    let answer = dir.json(0, &["search", "what did the doctor advise"]);
    assert_eq!(answer["warnings"], json!([]), "the old vectors stay");
}

#[test]
fn a_run_that_was_killed_leaves_the_old_answers_and_the_next_goes_on_where_it_was() {
    let dir = many_without_vectors();
    kill_in_the_middle(&dir);
    let status = dir.json(0, &["status"]);
    assert_eq!(
        status["collections"][0]["vectors"], 0,
        "nothing half done is served"
    );
    let answer = dir.json(0, &["search", "physician", "-k", "1"]);
    assert_eq!(texts(&answer["hits"], "id"), ["sleep"]);
    assert_eq!(answer["hits"][0]["matched_via"], "lexical");

    let report = dir.json(0, &["reembed", "--model", "static"]);
    let resumed = report["resumed"].as_u64().unwrap();
    assert!(resumed > 0, "{report}");
    assert_eq!(resumed + report["made"].as_u64().unwrap(), MANY + 1);
    assert_eq!(
        dir.json(0, &["status"])["collections"][0]["vectors"],
        MANY + 1
    );
    assert_eq!(first(&dir, "what did the doctor advise")["id"], "sleep");
    dir.json(0, &["verify", "--deep"]);
}

#[test]
fn what_changes_between_a_killed_run_and_the_next_has_the_vector_of_its_new_text() {
    let dir = many_without_vectors();
    kill_in_the_middle(&dir);
    dir.json(
        0,
        &[
            "update",
            "d0",
            "The orchestra rehearsed a symphony",
            "--embedder",
            "none",
        ],
    );
    dir.json(0, &["forget", "d1"]);
    let bread = "The bakery sells rye loaves";
    dir.json(0, &["add", bread, "--id", "bread", "--embedder", "none"]);
    dir.json(0, &["reembed", "--model", "static"]);
    assert_eq!(
        dir.json(0, &["status"])["collections"][0]["vectors"],
        MANY + 1
    );
    for (question, id) in [
        ("musicians practised classical music", "d0"),
        ("where to buy pastry", "bread"),
        ("what did the doctor advise", "sleep"),
    ] {
        let hit = first(&dir, question);
        assert_eq!(
            (&hit["id"], &hit["semantic_rank"]),
            (&json!(id), &json!(1)),
            "{question}"
        );
    }
    dir.json(0, &["verify", "--deep"]);
}

/// Starts a run and kills it when it has written part of the vectors.
fn kill_in_the_middle(dir: &Dir) {
    let log = dir.palace().join("palace.sqlite3-wal");
    let size = || std::fs::metadata(&log).map_or(0, |file| file.len());
    let mut child = dir.spawn(&["reembed", "--model", "static"]);
    let since = Instant::now();
    while size() < 1_000_000 {
        assert_eq!(child.try_wait().unwrap(), None, "it was done too soon");
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "it wrote nothing"
        );
        std::thread::yield_now();
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(!status.success(), "it was done before it was killed");
}

#[test]
fn other_processes_read_and_write_while_vectors_are_made() {
    let dir = many_without_vectors();
    let mut child = dir.spawn(&["reembed", "--model", "static"]);
    let mut searches = 0;
    let mut added = 0;
    while child.try_wait().unwrap().is_none() {
        assert_eq!(
            dir.json(0, &["search", "physician", "-k", "1"])["hits"][0]["id"],
            "sleep"
        );
        searches += 1;
        dir.json(
            0,
            &[
                "add",
                &format!("Meanwhile note {added}"),
                "--id",
                &format!("m{added}"),
            ],
        );
        added += 1;
    }
    assert!(child.wait().unwrap().success());
    assert!(searches > 0);
    let status = dir.json(0, &["status"]);
    assert_eq!(status["drawers"], MANY + 1 + added);
    assert_eq!(status["collections"][0]["vectors"], MANY + 1 + added);
    dir.json(0, &["verify", "--deep"]);
}

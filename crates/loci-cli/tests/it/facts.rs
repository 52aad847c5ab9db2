//! `loci facts`, as people and programs use it.

use serde_json::json;

use crate::support::{Dir, texts};

fn facts(dir: &Dir, code: i32, arguments: &[&str]) -> serde_json::Value {
    dir.json(code, &[&["facts"], arguments].concat())
}

/// Alice moves twice.
fn moved() -> Dir {
    let dir = Dir::new();
    let lyon = ["add", "Alice", "lives in", "Lyon", "--from", "2020"];
    assert_eq!(facts(&dir, 0, &lyon)["added"], true);
    facts(
        &dir,
        0,
        &[
            "supersede",
            "alice",
            "lives in",
            "lyon",
            "Paris",
            "--at",
            "2024-05",
        ],
    );
    facts(
        &dir,
        0,
        &[
            "supersede",
            "alice",
            "lives in",
            "paris",
            "Rome",
            "--at",
            "2026-01-01",
        ],
    );
    dir
}

#[test]
fn facts_are_shown_in_columns_with_their_time() {
    let dir = moved();
    facts(&dir, 0, &["add", "Bob", "knows", "Alice"]);
    let ran = dir.run(&["facts", "query", "ALICE"]);
    assert_eq!(
        ran.stdout,
        "Alice  lives in  Rome   since 2026-01-01  now\n\
         Bob    knows     Alice                    now\n"
    );
    let ran = dir.run(&["facts", "timeline", "alice"]);
    assert_eq!(
        ran.stdout,
        "2020        until 2024-05     Alice  lives in  Lyon\n\
         2024-05     until 2026-01-01  Alice  lives in  Paris\n\
         2026-01-01  now               Alice  lives in  Rome\n\
         unknown     now               Bob    knows     Alice\n"
    );
    let ran = dir.run(&["facts", "query", "--as-of", "2025", "--subject", "alice"]);
    assert_eq!(
        ran.stdout,
        "Alice  lives in  Paris  since 2024-05 until 2026-01-01\n"
    );
    let ran = dir.run(&["facts", "timeline", "--limit", "1", "--offset", "1"]);
    assert!(ran.stdout.ends_with("2 to 2 of 4\n"), "{}", ran.stdout);
}

#[test]
fn a_query_without_facts_ends_with_one_and_says_why() {
    let dir = moved();
    for (arguments, word) in [
        (&["query", "Alise"] as &[&str], "`Alice`"),
        (&["timeline", "Alise"], "`Alice`"),
        (
            &["query", "--subject", "alice", "--predicate", "lives"],
            "`lives in`",
        ),
        (&["query", "lyon"], "2024-05"),
        (&["invalidate", "Alice", "lives in", "Lyon"], "2024-05"),
    ] {
        let ran = dir.run(&[&["facts"], arguments].concat());
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains(word), "{ran:?}");
        let answer = facts(&dir, 1, arguments);
        assert!(answer["warnings"][0]["message"].is_string());
    }
    let ran = dir.run(&["facts", "conflicts"]);
    assert_eq!((ran.code, &*ran.stdout), (1, "no conflicts\n"));
    assert_eq!(dir.run(&["facts", "query", "x", "--as-of", "soon"]).code, 2);
    assert_eq!(
        dir.run(&["facts", "query", "--ended", "--as-of", "2020"])
            .code,
        64
    );
}

#[test]
fn an_answer_as_json_holds_the_facts_and_whether_they_hold() {
    let dir = moved();
    let answer = facts(&dir, 0, &["query", "alice", "--ended"]);
    assert_eq!(answer["total"], 3);
    assert_eq!(answer["facts"][0]["object"], "Lyon");
    assert_eq!(answer["facts"][0]["valid_to"], "2024-05");
    assert_eq!(answer["facts"][0]["current"], false);
    assert_eq!(answer["facts"][2]["current"], true);
    let ended = facts(
        &dir,
        0,
        &["invalidate", "ALICE", "Lives In", "--ended", "2026-02-01"],
    );
    assert_eq!(ended["ended"][0]["object"], "Rome");
    assert_eq!(ended["ended"][0]["valid_to"], "2026-02-01");
    assert_eq!(facts(&dir, 1, &["query", "alice"])["total"], 0);
    let status = dir.json(0, &["status"]);
    assert_eq!((&status["facts"], &status["links"]), (&json!(3), &json!(0)));
}

#[test]
fn a_supersession_of_what_does_not_hold_names_what_does() {
    let dir = moved();
    let arguments = ["facts", "supersede", "alice", "lives in", "Lyon", "Oslo"];
    let error = dir.error(2, &arguments);
    assert_eq!(error["kind"], "conflict");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("ended 2024-05"), "{message}");
    assert!(message.contains("`Rome`"), "{message}");
    let early = [
        "facts",
        "invalidate",
        "alice",
        "lives in",
        "--ended",
        "2025",
    ];
    let message = dir.error(2, &early)["message"].to_string();
    assert!(message.contains("2026-01-01"), "{message}");
    let wrong = [
        "facts", "add", "a", "is", "b", "--from", "2024", "--to", "2023",
    ];
    assert_eq!(dir.error(2, &wrong)["kind"], "invalid_input");
    let unsure = ["facts", "add", "a", "is", "b", "--confidence", "2"];
    assert_eq!(dir.error(2, &unsure)["kind"], "invalid_input");
}

#[test]
fn what_contradicts_is_added_and_named() {
    let dir = moved();
    let ran = dir.run(&[
        "facts", "add", "alice", "lives in", "Oslo", "--from", "2026-03",
    ]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.stdout,
        "added alice lives in Oslo, since 2026-03\nconflicts with Alice lives in Rome, since 2026-01-01\n"
    );
    let ran = dir.run(&["facts", "conflicts", "oslo"]);
    assert_eq!(
        ran.stdout,
        "Alice lives in\n  Rome  since 2026-01-01\n  Oslo  since 2026-03\n"
    );
    let found = facts(&dir, 0, &["conflicts"]);
    assert_eq!(found["conflicts"][0]["facts"][1]["object"], "Oslo");
    let again = dir.run(&[
        "facts", "add", "alice", "lives in", "Oslo", "--from", "2026-03",
    ]);
    assert!(
        again.stdout.starts_with("already there: alice"),
        "{again:?}"
    );
}

#[test]
fn a_fact_goes_with_the_drawer_it_was_taken_from_when_that_is_forgotten() {
    let dir = Dir::new();
    dir.run(&["add", "Alice said that she likes quetzals", "--id", "d1"]);
    let told = dir.run(&[
        "facts",
        "add",
        "Alice",
        "likes",
        "quetzals",
        "--source",
        "d1",
        "--confidence",
        "0.9",
    ]);
    assert_eq!((told.code, &*told.stderr), (0, ""));
    let missing = dir.run(&["facts", "add", "Alice", "likes", "tea", "--source", "d2"]);
    assert_eq!(missing.code, 0);
    assert!(missing.stderr.contains("`d2`"), "{missing:?}");
    facts(
        &dir,
        0,
        &[
            "supersede",
            "alice",
            "likes",
            "quetzals",
            "axolotls",
            "--source",
            "d1",
        ],
    );
    assert_eq!(dir.json(0, &["forget", "d1", "--yes"])["facts"], 2);
    let left = facts(&dir, 0, &["query", "alice", "--ended"]);
    assert_eq!(left["total"], 1);
    assert_eq!(left["facts"][0]["object"], "tea");
    assert!(dir.files_with("axolotls").is_empty());
}

#[test]
fn facts_and_their_ends_survive_export_and_import() {
    let dir = moved();
    let file = dir.path("all.jsonl");
    let file = file.to_str().unwrap();
    assert_eq!(dir.run(&["export", file]).code, 0);
    let before = facts(&dir, 0, &["timeline"]);
    facts(&dir, 0, &["invalidate", "alice", "lives in"]);
    let other = dir.path("other");
    let other = other.to_str().unwrap();
    assert_eq!(dir.run(&["import", file, "--palace", other]).code, 0);
    let copied = facts(&dir, 0, &["timeline", "--palace", other]);
    assert_eq!(copied, before);
    assert_eq!(dir.run(&["import", file]).code, 0);
    assert_eq!(facts(&dir, 1, &["query", "alice"])["total"], 0);
}

#[test]
fn facts_are_listed_without_naming_one() {
    let dir = Dir::new();
    for (subject, object, more) in [
        ("Alice", "Lyon", &["--from", "2020", "--to", "2024"][..]),
        ("Alice", "Paris", &["--from", "2024"]),
        ("Bob", "Rome", &[]),
    ] {
        let add = ["facts", "add", subject, "lives in", object];
        dir.json(0, &[&add[..], more].concat());
    }
    dir.json(0, &["facts", "add", "Bob", "owns", "a boat"]);
    let objects = |arguments: &[&str]| {
        let answer = dir.json(0, &[&["facts", "list"][..], arguments].concat());
        texts(&answer["facts"], "object")
    };
    assert_eq!(objects(&[]), ["Paris", "Rome", "a boat"]);
    assert_eq!(objects(&["--all"]), ["Lyon", "Paris", "Rome", "a boat"]);
    assert_eq!(objects(&["--subject", "bob"]), ["Rome", "a boat"]);
    assert_eq!(
        objects(&["--predicate", "lives in", "--object", "rome"]),
        ["Rome"]
    );
    assert_eq!(objects(&["--limit", "1", "--offset", "1"]), ["Rome"]);
    let human = dir.run(&["facts", "list", "--all"]).ok();
    let lines: Vec<&str> = human.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "Alice  lives in  Lyon    since 2020 until 2024",
            "Alice  lives in  Paris   since 2024             now",
            "Bob    lives in  Rome                           now",
            "Bob    owns      a boat                         now",
        ]
    );
    let none = dir.json(1, &["facts", "list", "--subject", "Carol"]);
    assert_eq!(none["total"], 0);
}

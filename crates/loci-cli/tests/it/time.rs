//! Days: `--since`, `--before`, and what is said about when something was said.

use serde_json::{Value, json};

use crate::support::{Dir, lines, texts};

/// Drawers with a date in their metadata under each of the known names, one without.
fn diary() -> Dir {
    let dir = Dir::new();
    let day = |id: &str, metadata: Value| json!({"id": id, "document": format!("diary page {id}"), "metadata": metadata});
    let records = [
        day("january", json!({"date": "2026-01-15"})),
        day("march", json!({"authored_at": "2026-03-15T10:00:00Z"})),
        day("night", json!({"authored_at": "2026-03-31T23:30:00-05:00"})),
        day("seconds", json!({"date": 1_714_521_600})),
        day("june", json!({"date": "2026-06-15"})),
        day("now", json!({})),
    ];
    let file = dir.write("in.jsonl", lines(records));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    dir
}

fn pages(dir: &Dir, flags: &[&str]) -> Vec<String> {
    let answer = dir.json(0, &[&["search", "diary page"], flags].concat());
    let mut ids = texts(&answer["hits"], "id");
    ids.sort();
    assert_eq!(answer["in_scope"], ids.len(), "{flags:?}");
    ids
}

#[test]
fn the_first_day_is_inside_and_the_last_day_is_outside() {
    let dir = diary();
    assert_eq!(
        pages(&dir, &["--since", "2026-03-15", "--before", "2026-06-15"]),
        ["march", "night"]
    );
    assert_eq!(
        pages(&dir, &["--since", "2026-03-15", "--before", "2026-06-16"]),
        ["june", "march", "night"]
    );
    assert_eq!(
        pages(&dir, &["--since", "2026-03-16", "--before", "2026-06-16"]),
        ["june", "night"]
    );
    assert_eq!(pages(&dir, &["--before", "2025-01-01"]), ["seconds"]);
}

#[test]
fn a_time_with_an_offset_is_compared_as_the_moment_it_is() {
    let dir = diary();
    assert_eq!(
        pages(&dir, &["--since", "2026-04-01", "--before", "2026-05-01"]),
        ["night"]
    );
    let answer = dir.json(0, &["search", "night", "-k", "1"]);
    assert_eq!(answer["hits"][0]["authored_at"], "2026-04-01T04:30:00Z");
}

#[test]
fn a_drawer_without_a_date_is_of_the_day_it_was_added() {
    let dir = diary();
    assert_eq!(pages(&dir, &["--since", "yesterday"]), ["now"]);
    let answer = dir.json(0, &["search", "diary page now", "-k", "1"]);
    let hit = &answer["hits"][0];
    assert_eq!(
        (&hit["id"], &hit["authored_at"]),
        (&json!("now"), &hit["created_at"])
    );
}

#[test]
fn words_are_days_too() {
    let dir = diary();
    for words in [
        "yesterday",
        "last week",
        "last month",
        "3 days ago",
        "two weeks ago",
        "last monday",
    ] {
        let flags = ["--since", words, "--where", r#"{"date": {"$ne": "x"}}"#];
        let since = pages(&dir, &flags[..2]);
        assert_eq!(since, ["now"], "--since '{words}'");
    }
    assert_eq!(
        pages(&dir, &["--since", "March 2026", "--before", "May 2026"]),
        ["march", "night"]
    );
    assert_eq!(
        pages(&dir, &["--since", "15 March 2026", "--before", "2026-05"]),
        ["march", "night"]
    );
    assert!(!pages(&dir, &["--before", "last week"]).contains(&"now".to_owned()));
}

#[test]
fn k_drawers_of_a_period_come_back_though_better_ones_are_outside() {
    let dir = Dir::new();
    let records = (0..60).map(|n| {
        let (text, date) = if n < 50 {
            ("rocket engine test", "2026-01-01")
        } else {
            ("lunch menu", "2026-05-01")
        };
        json!({"id": format!("d{n}"), "document": format!("{text} {n}"), "metadata": {"date": date}})
    });
    let file = dir.write("in.jsonl", lines(records));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    let answer = dir.json(
        0,
        &[
            "search",
            "rocket engine test",
            "--since",
            "2026-04-01",
            "-k",
            "8",
        ],
    );
    assert_eq!(answer["hits"].as_array().unwrap().len(), 8);
    let dates = answer["hits"].as_array().unwrap().iter();
    assert!(
        dates
            .clone()
            .all(|hit| hit["metadata"]["date"] == "2026-05-01")
    );
}

#[test]
fn what_is_no_date_is_an_error_that_repeats_it_and_shows_one() {
    let dir = diary();
    for (flag, nonsense) in [
        ("--since", "banana"),
        ("--since", "2026-13-45"),
        ("--since", "2026-02-30"),
        ("--before", "15/03/2026"),
        ("--before", ""),
    ] {
        for command in [&["search", "diary"][..], &["why-not", "march", "diary"]] {
            let error = dir.error(64, &[command, &[flag, nonsense]].concat());
            let said = error["message"].as_str().unwrap();
            assert!(said.contains(nonsense) && said.contains(flag), "{said}");
            assert!(said.contains("2026-05-01"), "no example: {said}");
        }
    }
}

#[test]
fn a_period_that_ends_before_it_begins_is_an_error() {
    let dir = diary();
    for before in ["2026-03-01", "2026-06-01"] {
        let error = dir.error(
            64,
            &[
                "search",
                "diary",
                "--since",
                "2026-06-01",
                "--before",
                before,
            ],
        );
        let said = error["message"].as_str().unwrap();
        assert!(
            said.contains("--since") && said.contains("--before"),
            "{said}"
        );
    }
}

#[test]
fn a_period_that_holds_nothing_is_exit_1_with_a_reason() {
    let dir = diary();
    let answer = dir.json(1, &["search", "diary", "--since", "tomorrow"]);
    assert_eq!(answer["hits"], json!([]));
    assert_eq!(answer["warnings"][0]["code"], "filter_excludes_all");
}

#[test]
fn a_question_about_a_period_prefers_what_is_of_it() {
    let dir = Dir::new();
    let records = (1..=12).map(|month| {
        json!({
            "id": format!("m{month}"),
            "document": format!("The team met and decided on item number {month}"),
            "metadata": {"date": format!("2025-{month:02}-10")},
        })
    });
    let file = dir.write("in.jsonl", lines(records));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    for (question, wanted) in [
        ("what did the team decide in March 2025", "m3"),
        ("what did the team decide in October 2025", "m10"),
    ] {
        let answer = dir.json(0, &["search", question, "-k", "3", "--explain"]);
        assert_eq!(answer["hits"][0]["id"], wanted, "{answer}");
        assert!(answer["explain"]["period"].is_array(), "{answer}");
    }
}

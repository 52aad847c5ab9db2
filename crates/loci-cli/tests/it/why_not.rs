//! `why-not`: the reason is the true one, and the advice helps.

use serde_json::{Value, json};

use crate::support::{Dir, lines, texts};

/// 40 drawers about a coffee machine, and two about something else.
fn office() -> Dir {
    let dir = Dir::new();
    let coffee = (0..40).map(|n| {
        json!({
            "id": format!("c{n}"),
            "document": format!("Note {n}: the coffee machine on floor {n} was cleaned"),
            "metadata": {"wing": "office", "room": "kitchen", "n": n, "date": "2026-03-10"},
        })
    });
    let others = [
        json!({
            "id": "espresso",
            "document": "The espresso maker broke and nobody repaired it",
            "metadata": {"wing": "home", "n": 100, "date": "2025-05-05", "source_file": "log.md"},
        }),
        json!({"id": "tax", "document": "Quarterly tax numbers are due", "metadata": {"wing": "money"}}),
    ];
    let file = dir.write("in.jsonl", lines(coffee.chain(others)));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    dir
}

const QUESTION: &str = "coffee machine cleaned";

fn why(dir: &Dir, id: &str, flags: &[&str]) -> Value {
    dir.json(0, &[&["why-not", id, QUESTION], flags].concat())
}

fn found(dir: &Dir, question: &str, flags: &[&str], id: &str) -> bool {
    let improbable = ["--min-probability", "0"];
    let answer = dir.json(0, &[&["search", question], flags, &improbable].concat());
    texts(&answer["hits"], "id").contains(&id.to_owned())
}

/// The k that the advice names.
fn advised(answer: &Value) -> Option<String> {
    let advice: Vec<String> = serde_json::from_value(answer["advice"].clone()).unwrap();
    let text = advice.join(" ");
    let (_, after) = text.split_once("-k ")?;
    let digits = after.chars().take_while(char::is_ascii_digit).collect();
    Some(digits)
}

#[test]
fn an_id_that_does_not_exist_is_exit_1() {
    let dir = office();
    let answer = dir.json(1, &["why-not", "nobody", QUESTION]);
    assert_eq!(
        (&answer["stage"], &answer["rank"]),
        (&json!("unknown"), &Value::Null)
    );
    let human = dir.run(&["why-not", "nobody", QUESTION]);
    assert_eq!(human.code, 1);
    assert!(human.stdout.contains("no drawer `nobody`"), "{human:?}");
}

#[test]
fn a_drawer_that_is_found_is_reported_as_found_with_its_place() {
    let dir = office();
    let search = dir.json(0, &["search", QUESTION]);
    let id = search["hits"][2]["id"].as_str().unwrap();
    let answer = why(&dir, id, &[]);
    assert_eq!(
        (&answer["stage"], &answer["rank"]),
        (&json!("found"), &json!(3))
    );
    assert_eq!(answer["parts"], search["hits"][2]["parts"]);
    let human = dir.run(&["why-not", id, QUESTION]).ok();
    assert!(human.stdout.contains("is found: it is hit 3"), "{human:?}");
}

#[test]
fn the_condition_that_excludes_a_drawer_is_named_and_no_other() {
    let dir = office();
    for (id, flags, named) in [
        ("tax", &["--wing", "office"][..], "wing"),
        ("espresso", &["--room", "kitchen"], "room"),
        ("tax", &["--source", "log.md"], "source"),
        ("espresso", &["--since", "2026-01-01"], "--since"),
        ("c3", &["--before", "2026-01-01"], "--before"),
        ("c3", &["--where", r#"{"n": {"$gt": 50}}"#], "`n`"),
        (
            "tax",
            &["--where-document", r#"{"$contains": "coffee"}"#],
            "--where-document",
        ),
        (
            "espresso",
            &[
                "--wing",
                "home",
                "--since",
                "2026-01-01",
                "--where",
                r#"{"n": 100}"#,
            ],
            "--since",
        ),
    ] {
        let answer = why(&dir, id, flags);
        assert_eq!(answer["stage"], "filter", "{flags:?}: {answer}");
        let reason = answer["reason"].as_str().unwrap();
        assert!(reason.contains(named), "{flags:?}: {reason}");
        for other in [
            "wing",
            "room",
            "source",
            "`n`",
            "--since",
            "--before",
            "--where-document",
        ] {
            assert!(
                other == named || !reason.contains(other),
                "{flags:?}: {reason}"
            );
        }
    }
}

#[test]
fn every_condition_that_excludes_a_drawer_is_named() {
    let dir = office();
    let answer = why(&dir, "c3", &["--wing", "home", "--since", "2027-01-01"]);
    let reason = answer["reason"].as_str().unwrap();
    assert!(
        reason.contains("wing") && reason.contains("--since"),
        "{reason}"
    );
    let human = dir.run(&["why-not", "c3", QUESTION, "--wing", "home"]).ok();
    assert!(human.stdout.contains("the filter"), "{human:?}");
}

#[test]
fn the_k_that_is_advised_brings_the_drawer_in_and_one_less_does_not() {
    let dir = office();
    for id in ["tax", "espresso"] {
        let answer = why(&dir, id, &["-k", "5"]);
        assert_eq!(answer["stage"], "fusion", "{answer}");
        let k = advised(&answer).unwrap();
        assert!(found(&dir, QUESTION, &["-k", &k], id), "{id}: -k {k}");
        assert_eq!(answer["rank"], k.parse::<u64>().unwrap(), "{answer}");
        let less = (k.parse::<u64>().unwrap() - 1).to_string();
        assert!(
            !found(&dir, QUESTION, &["-k", &less], id),
            "{id}: -k {less}"
        );
        assert!(!found(&dir, QUESTION, &["-k", "5"], id), "{id}");
    }
}

#[test]
fn the_k_that_is_advised_brings_the_drawer_in_in_a_large_palace() {
    const WORDS: [&str; 12] = [
        "river", "mountain", "engine", "doctor", "bread", "city", "winter", "music", "paper",
        "glass", "stone", "cloud",
    ];
    let dir = Dir::new();
    let mut state = 1_u64;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    let records: Vec<Value> = (0..1_500)
        .map(|n| {
            let text: Vec<&str> = (0..20).map(|_| word()).collect();
            json!({"id": format!("d{n}"), "document": format!("Record {n}. {}", text.join(" "))})
        })
        .collect();
    let file = dir.write("in.jsonl", lines(records));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    for question in ["river bread", "doctor", "physician"] {
        for id in ["d1", "d50", "d700", "d1400"] {
            let answer = dir.json(0, &["why-not", id, question, "-k", "1"]);
            if answer["stage"] == "found" {
                assert!(found(&dir, question, &["-k", "1"], id), "{answer}");
                continue;
            }
            if let Some(k) = advised(&answer) {
                assert!(
                    k.parse::<u64>().unwrap() <= 1_000,
                    "`-k` refuses it: {answer}"
                );
                assert!(
                    found(&dir, question, &["-k", &k], id),
                    "{question}: {answer}"
                );
            } else {
                assert!(
                    !found(&dir, question, &["-k", "1000"], id),
                    "{question}: {answer}"
                );
            }
        }
    }
}

#[test]
fn a_drawer_over_the_budget_is_reported() {
    let dir = office();
    let search = dir.json(0, &["search", QUESTION, "-k", "42"]);
    let budget = search["hits"][0]["tokens"].to_string();
    let second = search["hits"][1]["id"].as_str().unwrap();
    let answer = why(&dir, second, &["--budget", &budget, "-k", "42"]);
    assert_eq!(
        (&answer["stage"], &answer["rank"]),
        (&json!("budget"), &json!(2))
    );
    assert!(
        answer["advice"].to_string().contains("--budget"),
        "{answer}"
    );
    assert!(!found(
        &dir,
        QUESTION,
        &["-k", "42", "--budget", &budget],
        second
    ));
}

#[test]
fn a_drawer_that_is_too_far_is_reported_with_its_distance() {
    let dir = office();
    let answer = why(&dir, "tax", &["--max-distance", "0.2"]);
    assert_eq!(answer["stage"], "max_distance", "{answer}");
    let distance = answer["distance"]
        .as_f64()
        .unwrap_or_else(|| panic!("{answer}"));
    assert!(distance > 0.2, "{answer}");
    let raised = format!("{:.3}", distance + 0.001);
    assert!(found(
        &dir,
        QUESTION,
        &["-k", "42", "--max-distance", &raised],
        "tax"
    ));
}

#[test]
fn a_drawer_behind_another_of_its_source_is_reported() {
    let dir = Dir::new();
    for (id, text) in [
        ("vault", "deploy key is in the vault"),
        ("friday", "deploy on Fridays is forbidden"),
    ] {
        dir.json(0, &["add", text, "--id", id, "--source", "a.md"]);
    }
    let flags = ["why-not", "friday", "deploy key", "--by-source"];
    let answer = dir.json(0, &flags);
    let reason = answer["reason"].as_str().unwrap();
    assert_eq!(answer["stage"], "source", "{answer}");
    assert!(reason.contains("source"), "{answer}");
    assert!(
        answer["advice"].to_string().contains("--by-source"),
        "{answer}"
    );
    assert_eq!(advised(&answer), None, "no k helps: {answer}");
}

#[test]
fn without_the_meaning_arm_no_drawer_is_reported_to_lack_a_vector_that_has_one() {
    let dir = office();
    for (question, flags) in [(QUESTION, &["--embedder", "none"][..]), ("", &[])] {
        let answer = dir.json(0, &[&["why-not", "tax", question], flags].concat());
        let said = format!("{}{}", answer["reason"], answer["advice"]);
        assert!(!said.contains("has no vector"), "`{question}`: {answer}");
        assert!(!said.contains("reembed"), "`{question}`: {answer}");
    }
}

#[test]
fn a_drawer_that_has_no_vector_is_reported_with_how_to_get_one() {
    let dir = office();
    let text = "Mechanics serviced the brewing apparatus";
    dir.json(
        0,
        &[
            "add",
            text,
            "--id",
            "bare",
            "--collection",
            "drawers",
            "--embedder",
            "none",
        ],
    );
    let answer = why(&dir, "bare", &["-k", "50"]);
    assert!(
        answer["reason"].as_str().unwrap().contains("vector"),
        "{answer}"
    );
    assert!(
        answer["advice"].to_string().contains("loci reembed"),
        "{answer}"
    );
    dir.json(0, &["reembed", "--model", "static"]);
    assert!(found(&dir, QUESTION, &["-k", "50"], "bare"));
}

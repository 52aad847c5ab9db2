//! The JSON that programs read today stays readable: every member keeps its name and its type.
//!
//! `json_shapes.json` holds the shape of each answer. New members are allowed; a missing one, or one of
//! another type, breaks a program. `LOCI_PIN_SHAPES=1` writes the file, for a new command only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::mcp::client::Client;
use crate::support::Dir;

/// Members whose names are data: their values have one shape.
const NAMED_BY_DATA: [&str; 9] = [
    "wings", "rooms", "masked", "metadata", "evidence", "stats", "kinds", "reasons", "labels",
];

/// The expected code of a command that fails with 2 and has an answer nevertheless.
const ANSWER_AND_ERROR: i32 = 0x102;

/// The types of a value: `"string"`, or a map or list of shapes.
fn shape(value: &Value) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("boolean"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
        Value::Array(items) => {
            let shapes = items.iter().map(shape);
            json!([shapes.reduce(merged).unwrap_or(json!("null"))])
        }
        Value::Object(members) => {
            let shapes = members.iter().map(|(name, value)| {
                let data = NAMED_BY_DATA.contains(&name.as_str()) && value.is_object();
                (name.clone(), if data { json!("map") } else { shape(value) })
            });
            Value::Object(shapes.collect())
        }
    }
}

/// What two values have in common: null fits everything, and members of either count.
fn merged(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            for (name, shape) in other {
                let known = one.remove(&name).unwrap_or(json!("null"));
                one.insert(name, merged(known, shape));
            }
            Value::Object(one)
        }
        (Value::Array(one), Value::Array(other)) => {
            let items = one.into_iter().chain(other);
            json!([items.reduce(merged).unwrap_or(json!("null"))])
        }
        (one, other) if one == json!("null") => other,
        (one, _) => one,
    }
}

/// What of the pinned shape is missing or has another type.
fn broken(path: &str, pinned: &Value, found: &Value, problems: &mut Vec<String>) {
    match (pinned, found) {
        (Value::Object(pinned), Value::Object(found)) => {
            for (name, shape) in pinned {
                let path = format!("{path}.{name}");
                match found.get(name) {
                    Some(found) => broken(&path, shape, found, problems),
                    None => problems.push(format!("{path} is missing")),
                }
            }
        }
        (Value::Array(pinned), Value::Array(found)) => {
            for (pinned, found) in pinned.iter().zip(found) {
                broken(&format!("{path}[]"), pinned, found, problems);
            }
        }
        (pinned, found) => {
            let null = json!("null");
            if pinned != found && *pinned != null && *found != null {
                problems.push(format!("{path} was {pinned} and is {found}"));
            }
        }
    }
}

fn commands(dir: &Dir) -> BTreeMap<String, Value> {
    let notes = dir.path("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(
        notes.join("garden.md"),
        "# Garden\n\n## Roses\nPrune the roses in late February.\n",
    )
    .unwrap();
    let notes = notes.to_str().unwrap().to_owned();
    let backup = dir.path("backup.sqlite3").to_str().unwrap().to_owned();
    let lines = dir.path("lines.jsonl").to_str().unwrap().to_owned();
    // In two parts: no file of this repository holds what looks like a secret.
    let key = ["the token is ghp", "_abcdefghijklmnopqrstuvwxyz0123456789"].concat();
    let steps: Vec<(&str, i32, Vec<&str>)> = vec![
        ("init", 0, vec!["init"]),
        (
            "add",
            0,
            vec![
                "add",
                "Ana moved billing to Postgres.",
                "--id",
                "billing",
                "--wing",
                "acme",
                "--room",
                "ops",
            ],
        ),
        ("add masked", 0, vec!["add", &key, "--wing", "acme"]),
        (
            "add exists",
            ANSWER_AND_ERROR,
            vec!["add", "Something else.", "--id", "billing"],
        ),
        (
            "add near",
            0,
            vec!["add", "Ana moved billing to Postgres!", "--wing", "home"],
        ),
        (
            "add check",
            1,
            vec!["add", "--check", "Ana moved billing to Postgres."],
        ),
        ("mine", 0, vec!["mine", &notes]),
        ("mine dry-run", 0, vec!["mine", "--dry-run", &notes]),
        ("search", 0, vec!["search", "who moved billing", "-k", "2"]),
        (
            "search short",
            0,
            vec!["search", "roses", "-k", "50", "--explain"],
        ),
        ("search in", 0, vec!["search", "roses", "--in", &notes]),
        (
            "search nothing",
            1,
            vec!["search", "roses", "--wing", "acne"],
        ),
        ("why-not", 0, vec!["why-not", "billing", "roses", "-k", "1"]),
        ("query", 0, vec!["query", "billing"]),
        ("get", 0, vec!["get", "billing"]),
        ("list", 0, vec!["list"]),
        ("list wing", 0, vec!["list", "--wing", "acme"]),
        (
            "update",
            0,
            vec!["update", "billing", "Ana moved billing to Postgres in May."],
        ),
        ("pin", 0, vec!["pin", "billing"]),
        ("pin list", 0, vec!["pin"]),
        ("runs", 0, vec!["runs"]),
        ("sync", 0, vec!["sync", &notes]),
        ("wings", 0, vec!["wings"]),
        ("wings split", 0, vec!["wings", "split", "notes"]),
        (
            "facts add",
            0,
            vec![
                "facts", "add", "Ana", "works at", "Acme", "--from", "2024-03",
            ],
        ),
        (
            "facts supersede",
            0,
            vec![
                "facts",
                "supersede",
                "Ana",
                "works at",
                "Acme",
                "Initech",
                "--at",
                "2026-05-01",
            ],
        ),
        ("facts query", 0, vec!["facts", "query", "Ana"]),
        ("facts timeline", 0, vec!["facts", "timeline", "Ana"]),
        ("facts conflicts", 1, vec!["facts", "conflicts"]),
        (
            "facts invalidate",
            0,
            vec!["facts", "invalidate", "Ana", "works at", "Initech"],
        ),
        (
            "diary write",
            0,
            vec!["diary", "write", "Moved billing.", "--agent", "claude"],
        ),
        ("diary read", 0, vec!["diary", "read", "--agent", "claude"]),
        ("wake-up", 0, vec!["wake-up", "--wing", "acme"]),
        (
            "links add",
            0,
            vec!["links", "add", "billing", "acme/ops", "--label", "about"],
        ),
        ("links list", 0, vec!["links", "list"]),
        ("links follow", 0, vec!["links", "follow", "billing"]),
        ("links tunnels", 1, vec!["links", "tunnels"]),
        (
            "links remove",
            0,
            vec!["links", "remove", "billing", "acme/ops", "--label", "about"],
        ),
        ("status", 0, vec!["status"]),
        ("verify", 0, vec!["verify"]),
        ("verify deep", 0, vec!["verify", "--deep"]),
        ("repair", 0, vec!["repair"]),
        ("reembed", 0, vec!["reembed", "--model", "static"]),
        ("export", 0, vec!["export", &lines]),
        ("import jsonl", 0, vec!["import", "jsonl", &lines]),
        ("backup", 0, vec!["backup", &backup]),
        ("restore", 0, vec!["restore", &backup, "--replace"]),
        ("undo", 0, vec!["undo", "1"]),
        ("forget", 0, vec!["forget", "billing"]),
        ("model list", 0, vec!["model", "list"]),
        ("doctor", 0, vec!["doctor"]),
        (
            "error",
            2,
            vec!["get", "no such drawer", "--collection", "none"],
        ),
    ];
    let mut shapes = BTreeMap::new();
    for (name, code, arguments) in steps {
        let ran = dir.run(&[&arguments[..], &["--json"]].concat());
        assert_eq!(ran.code, code & 0xff, "{name}: {ran:?}");
        let answer = if code == 2 { &ran.stderr } else { &ran.stdout };
        let answer: Value = serde_json::from_str(answer.trim())
            .unwrap_or_else(|error| panic!("{name}: {error}: {ran:?}"));
        shapes.insert(name.to_owned(), shape(&answer));
    }
    shapes
}

fn tools(dir: &Dir) -> BTreeMap<String, Value> {
    let mut client = Client::new(dir, &["--tools", "full"]);
    let fact = json!({"subject": "Ana", "predicate": "works at", "object": "Acme"});
    let dated = json!({
        "action": "add", "subject": "Zoe", "predicate": "works at", "object": "Acme",
        "date": "2026-01-01",
    });
    let calls = [
        (
            "loci_search nothing yet",
            "loci_search",
            json!({"query": "roses"}),
        ),
        (
            "loci_add",
            "loci_add",
            json!({"drawers": [
                {"id": "roses", "text": "Prune the roses in late February.", "wing": "garden", "room": "beds", "facts": [fact]},
                {"text": "The medlar is picked after frost.", "wing": "garden"},
            ]}),
        ),
        (
            "loci_add duplicate",
            "loci_add",
            json!({"drawers": [{"text": "Prune the roses in late February.", "wing": "garden"}]}),
        ),
        (
            "loci_search",
            "loci_search",
            json!({"query": "when are roses cut", "k": 1}),
        ),
        (
            "loci_search short",
            "loci_search",
            json!({"query": "roses", "k": 20}),
        ),
        ("loci_get", "loci_get", json!({"ids": ["roses", "none"]})),
        ("loci_list", "loci_list", json!({})),
        ("loci_list wing", "loci_list", json!({"wing": "garden"})),
        (
            "loci_update",
            "loci_update",
            json!({"id": "roses", "room": "borders"}),
        ),
        (
            "loci_facts query",
            "loci_facts",
            json!({"action": "query", "subject": "Ana"}),
        ),
        (
            "loci_facts add",
            "loci_facts",
            json!({"action": "add", "subject": "Bo", "predicate": "likes", "object": "tea"}),
        ),
        ("loci_facts add dated", "loci_facts", dated.clone()),
        (
            "loci_facts invalidate",
            "loci_facts",
            json!({"action": "invalidate", "subject": "Zoe", "date": "2026-02-01"}),
        ),
        ("loci_facts add ended", "loci_facts", dated),
        (
            "loci_diary write",
            "loci_diary",
            json!({"text": "Pruned.", "agent": "claude"}),
        ),
        ("loci_diary read", "loci_diary", json!({"agent": "claude"})),
        ("loci_wake_up", "loci_wake_up", json!({"wing": "garden"})),
        (
            "loci_why_not",
            "loci_why_not",
            json!({"id": "roses", "query": "medlar", "min_probability": 0}),
        ),
        (
            "loci_duplicates",
            "loci_duplicates",
            json!({"text": "Prune the roses in late February."}),
        ),
        ("loci_links", "loci_links", json!({"action": "list"})),
        ("loci_runs", "loci_runs", json!({})),
        ("loci_verify", "loci_verify", json!({})),
        ("loci_forget", "loci_forget", json!({"ids": ["roses"]})),
    ];
    let mut shapes = BTreeMap::new();
    for (name, tool, arguments) in calls {
        let result = client.result(tool, &arguments);
        let answer = &result["structuredContent"];
        assert!(
            answer.is_object() && result["isError"] != json!(true),
            "{name}: {result}"
        );
        shapes.insert(name.to_owned(), shape(answer));
    }
    shapes
}

fn pinned() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/json_shapes.json")
}

#[test]
fn answers_keep_every_member_that_programs_read() {
    let mut found = Map::new();
    for (name, shape) in commands(&Dir::new()).into_iter().chain(tools(&Dir::new())) {
        found.insert(name, shape);
    }
    if std::env::var_os("LOCI_PIN_SHAPES").is_some() {
        let text = serde_json::to_string_pretty(&found).unwrap();
        std::fs::write(pinned(), text + "\n").unwrap();
    }
    let pinned: Map<String, Value> =
        serde_json::from_slice(&std::fs::read(pinned()).unwrap()).unwrap();
    let mut problems = Vec::new();
    for (name, shape) in &pinned {
        match found.get(name) {
            Some(found) => broken(name, shape, found, &mut problems),
            None => problems.push(format!("{name} is not asked")),
        }
    }
    assert_eq!(problems, [""; 0]);
}

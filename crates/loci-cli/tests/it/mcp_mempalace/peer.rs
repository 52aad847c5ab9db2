//! The real server writes and answers; an import brings its palace over, and ours must answer the same.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::client::Client;
use super::{filled, recorded};
use crate::support::Dir;

/// What the real server is given, and what both are asked.
fn peers_calls() -> (Vec<Value>, Vec<Value>) {
    let recorded = recorded();
    let calls = recorded["used"].as_array().unwrap().iter();
    let writes = [
        "add_drawer",
        "update_drawer",
        "kg_add",
        "kg_invalidate",
        "diary_write",
    ];
    let (mut given, mut asked): (Vec<Value>, Vec<Value>) = calls
        .filter(|call| call["result"].get("error").is_none() && call.get("code").is_none())
        .cloned()
        .partition(|call| writes.contains(&call["tool"].as_str().unwrap()));
    let left_out = ["search", "check_duplicate", "delete_drawer", "reconnect"];
    asked.retain(|call| !left_out.contains(&call["tool"].as_str().unwrap()));
    let more = [
        ("kg_query", json!({"entity": "swimming"})),
        ("kg_query", json!({"entity": "alice smith"})),
        ("list_drawers", json!({"wing": "wing_scribe"})),
        ("list_rooms", json!({"wing": "wing_claude_code"})),
        ("traverse", json!({"start_room": "diary", "max_hops": 1})),
    ];
    let more = more.into_iter().enumerate();
    asked.extend(more.map(|(at, (tool, arguments))| {
        json!({"name": format!("more{at}"), "tool": tool, "arguments": arguments})
    }));
    given.retain(|call| call["name"] != "add_again");
    (given, asked)
}

/// Lists that have no order of their own.
fn sorted(mut answer: Value) -> Value {
    let lists = ["facts", "active_facts", "historical_facts", "future_facts"];
    for list in lists {
        if let Some(Value::Array(list)) = answer.get_mut(list) {
            list.sort_by_key(ToString::to_string);
        }
    }
    if let Value::Array(rooms) = &mut answer {
        rooms.sort_by_key(ToString::to_string);
    }
    answer
}

/// The parts of the real answer that ours must repeat.
fn without_sentences(mut answer: Value) -> Value {
    if let Some(answer) = answer.as_object_mut() {
        for key in ["message", "error"] {
            answer.remove(key);
        }
        if answer.contains_key("protocol") {
            answer.retain(|key, _| ["total_drawers", "wings", "rooms"].contains(&key.as_str()));
        }
    }
    answer
}

/// Whether ours holds all of theirs with the same values.
fn assert_holds(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (key, value) in theirs {
                let place = format!("{place}.{key}");
                assert_holds(ours.get(key).unwrap_or(&Value::Null), value, &place);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{place}: {ours:?} for {theirs:?}");
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                assert_holds(ours, theirs, &format!("{place}[{at}]"));
            }
        }
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}

#[test]
fn an_imported_palace_answers_as_the_real_server_did() {
    let Some(python) = std::env::var_os("LOCI_PEER_MEMPALACE") else {
        eprintln!("SKIPPED: LOCI_PEER_MEMPALACE names no Python");
        return;
    };
    let dir = Dir::new();
    let home = dir.path("theirs");
    std::fs::create_dir(&home).unwrap();
    let (given, asked) = peers_calls();
    let calls: Vec<&Value> = given.iter().chain(&asked).collect();
    let calls = dir.write("calls.json", serde_json::to_vec(&calls).unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/peers/mempalace_mcp.py");
    let ran = Command::new(python)
        .arg(script)
        .args(["ask".as_ref(), home.as_os_str(), calls.as_os_str()])
        .arg(dir.path("answers.json"))
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let theirs: Value =
        serde_json::from_slice(&std::fs::read(dir.path("answers.json")).unwrap()).unwrap();
    let old = home.join("palace");
    dir.json(0, &["import", "mempalace", old.to_str().unwrap()]);
    let results = theirs.as_object().unwrap().iter();
    let results: Map<String, Value> = results
        .map(|(name, answer)| (name.clone(), answer["result"].clone()))
        .collect();
    let mut client = Client::new(&dir);
    for call in &asked {
        let arguments = filled(&call["arguments"], &results);
        let ours = client.call(call["tool"].as_str().unwrap(), &arguments);
        let theirs = without_sentences(results[call["name"].as_str().unwrap()].clone());
        let place = format!("{} {arguments}", call["tool"]);
        assert_holds(&sorted(ours), &sorted(theirs), &place);
    }
    // What is filed again is known.
    for call in given.iter().filter(|call| call["tool"] == "add_drawer") {
        let again = client.call("add_drawer", &filled(&call["arguments"], &results));
        assert_eq!(again["reason"], "already_exists", "{again}");
    }
}

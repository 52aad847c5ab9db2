//! A session on a palace that its backend only reads: tools, instructions and hints promise nothing else.

use std::path::Path;
use std::sync::Arc;

use loci_contract::json_lines;
use loci_mcp::ToolSet;
use loci_palace::{OpenOptions, Palace, PalaceRef, Registry};
use serde_json::{Value, json};

use crate::in_memory::{Client, session, settings};

fn lay_out(directory: &Path, names: &[&str]) {
    let collections: Vec<Value> = names
        .iter()
        .zip(1..)
        .map(|(name, number)| json!({"name": name, "number": number, "metric": "cosine"}))
        .collect();
    let catalogue = json!({"collections": collections}).to_string();
    std::fs::write(directory.join("catalogue.json"), catalogue).unwrap();
    for number in 1..=names.len() {
        let line = json!({"record": number, "id": format!("d{number}"),
            "text": "Alice moved to Lyon.", "vector": null});
        let path = directory.join(format!("{number}.jsonl"));
        std::fs::write(path, line.to_string()).unwrap();
    }
}

fn backends() -> Registry {
    let mut backends = Registry::new();
    backends.register(Arc::new(json_lines::backend()));
    backends
}

async fn names(client: &mut Client) -> Vec<String> {
    let listed = client.ask("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

#[test]
fn tools_that_can_never_work_are_not_listed_and_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path(), &["drawers"]);
    let palace = PalaceRef::local(directory.path());
    session(
        &settings(palace.clone(), backends(), ToolSet::Full),
        async |client, hello| {
            let instructions = hello["instructions"].as_str().unwrap();
            assert!(instructions.contains("only be read"), "{instructions}");
            assert!(!instructions.contains("add"), "{instructions}");
            let expected = [
                "loci_search",
                "loci_get",
                "loci_list",
                "loci_diary",
                "loci_wake_up",
                "loci_duplicates",
                "loci_why_not",
            ];
            assert_eq!(names(client).await, expected);
            let found = client
                .call("loci_search", json!({"query": "where did Alice move"}))
                .await;
            assert_eq!(found["hits"][0]["id"], "d1", "{found}");
            assert_eq!(client.call("loci_list", json!({})).await["total"], 1);
            for (tool, arguments) in [
                ("loci_add", json!({"drawers": [{"text": "new"}]})),
                ("loci_update", json!({"id": "d1", "room": "r"})),
                ("loci_forget", json!({"ids": ["d1"]})),
                ("loci_facts", json!({"action": "query"})),
                ("loci_verify", json!({})),
                ("loci_diary", json!({"agent": "a", "text": "t"})),
            ] {
                let parameters = json!({"name": tool, "arguments": arguments});
                let refused = client.ask("tools/call", parameters).await;
                assert_eq!(refused["isError"], true, "{tool}: {refused}");
                let words = refused["content"][0]["text"].as_str().unwrap();
                assert!(
                    words.contains("the backend `json-lines`"),
                    "{tool}: {words}"
                );
                assert!(!words.contains("import"), "{tool}: {words}");
            }
        },
    );
    session(
        &settings(palace, backends(), ToolSet::Mempalace),
        async |client, _| {
            let names = names(client).await;
            for writing in [
                "add_drawer",
                "update_drawer",
                "delete_drawer",
                "diary_write",
                "kg_add",
            ] {
                assert!(
                    !names.contains(&format!("mempalace_{writing}")),
                    "{names:?}"
                );
            }
            assert!(names.contains(&"mempalace_search".to_owned()));
            let status = client.call("mempalace_status", json!({})).await;
            let protocol = status["protocol"].as_str().unwrap();
            assert!(!protocol.contains("add_drawer"), "{protocol}");
            let add = json!({"wing": "w", "room": "r", "content": "new"});
            let refused = client.call("mempalace_add_drawer", add).await;
            assert_eq!(refused["success"], false, "{refused}");
        },
    );
}

#[test]
fn hints_on_a_palace_that_is_only_read_name_nothing_that_writes() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path(), &["notes", "people"]);
    let palace = PalaceRef::local(directory.path());
    session(
        &settings(palace, backends(), ToolSet::Full),
        async |client, _| {
            let parameters = json!({"name": "loci_search", "arguments": {"query": "Alice"}});
            let answer = client.ask("tools/call", parameters).await;
            let text = answer.to_string();
            assert!(text.contains("this palace has `notes`, `people`"), "{text}");
            assert!(!text.contains("nothing is remembered yet"), "{text}");
            assert!(!text.contains("loci_add"), "{text}");
            let named = json!({"query": "where did Alice move", "collection": "people"});
            let found = client.call("loci_search", named).await;
            assert_eq!(found["hits"][0]["id"], "d2", "{found}");
            let asked = json!({"id": "d1", "query": "Alice"});
            let parameters = json!({"name": "loci_why_not", "arguments": asked});
            let refused = client.ask("tools/call", parameters).await.to_string();
            assert!(refused.contains("`notes`"), "{refused}");
        },
    );
}

#[test]
fn a_palace_with_another_collection_than_the_default_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = Palace::open(&path, &OpenOptions::create()).unwrap();
    palace.collection("notes", true).unwrap();
    palace.close().unwrap();
    for (set, tool) in [
        (ToolSet::Core, "loci_search"),
        (ToolSet::Mempalace, "mempalace_search"),
    ] {
        let palace = PalaceRef::local(&path);
        session(
            &settings(palace, Registry::new(), set),
            async |client, _| {
                let answer = client.call(tool, json!({"query": "Alice"})).await;
                let warning = &answer["warnings"][0];
                assert_eq!(warning["code"], "other_collections", "{answer}");
                let message = warning["message"].as_str().unwrap();
                assert!(message.ends_with("this palace has `notes`"), "{message}");
            },
        );
    }
}

//! How much a call may ask for, under which names, and what is left out.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::Dir;

fn count(answer: &Value, member: &str) -> usize {
    answer[member].as_array().unwrap().len()
}

#[test]
fn a_number_of_results_is_accepted_as_limit_and_as_k_in_every_tool() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &["--tools", "full"]);
    let drawers: Vec<Value> = (0..4)
        .map(|n| json!({"id": format!("d{n}"), "text": format!("note {n} about the lighthouse")}))
        .collect();
    client.call("loci_add", &json!({"drawers": drawers}));
    for n in 0..4 {
        client.call(
            "loci_diary",
            &json!({"agent": "helm", "text": format!("entry {n}")}),
        );
        client.call(
            "loci_links",
            &json!({"action": "add", "from": format!("d{n}"), "to": format!("d{}", (n + 1) % 4)}),
        );
    }
    for (tool, arguments, member) in [
        ("loci_search", json!({"query": "lighthouse"}), "hits"),
        ("loci_list", json!({}), "drawers"),
        ("loci_diary", json!({"agent": "helm"}), "entries"),
        ("loci_links", json!({"action": "list"}), "links"),
    ] {
        for name in ["limit", "k", "last"] {
            let mut arguments = arguments.clone();
            arguments[name] = json!(2);
            let answer = client.call(tool, &arguments);
            assert_eq!(count(&answer, member), 2, "{tool} {name}: {answer}");
        }
        let mut both = arguments.clone();
        (both["k"], both["limit"]) = (json!(1), json!(2));
        let refused = client.refusal(tool, &both);
        assert!(
            refused.contains("`limit`") && refused.contains("`k`"),
            "{refused}"
        );
    }
    client.call("loci_runs", &json!({"k": 1}));
    let explained = json!({"id": "d0", "query": "lighthouse", "limit": 1});
    assert!(client.call("loci_why_not", &explained)["stage"].is_string());
    client.close();
}

#[test]
fn what_is_read_has_a_cap_and_the_answer_says_how_to_get_the_rest() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    let words: Vec<String> = (0..4_000).map(|n| format!("wörd{n}")).collect();
    let long = words.join(" ");
    let drawers = json!([
        {"id": "short", "text": "A short note."},
        {"id": "long", "text": long},
        {"id": "other", "text": "Another short note."},
        {"id": "run", "text": "x".repeat(400_000)},
    ]);
    client.call("loci_add", &json!({"drawers": drawers}));

    let some = client.call(
        "loci_get",
        &json!({"ids": ["short", "nobody", "long", "other"]}),
    );
    assert_eq!(count(&some, "drawers"), 1, "{some}");
    assert_eq!(some["missing"], json!(["nobody"]));
    assert_eq!(some["left_out"], json!(["long", "other"]));
    assert_eq!(some["warnings"][0]["code"], "drawers_left_out");
    let hint = some["warnings"][0]["hint"].as_str().unwrap();
    assert!(hint.contains("`left_out`"), "{hint}");

    // Following the hints returns every character once.
    let (mut offset, mut read, mut calls) = (0, String::new(), 0);
    loop {
        let part = client.call("loci_get", &json!({"ids": ["long"], "offset": offset}));
        let drawer = &part["drawers"][0];
        let text = drawer["text"].as_str().unwrap();
        assert!(loci_palace::count_tokens(text) <= 10_000);
        read.push_str(text);
        calls += 1;
        if drawer.get("cut").is_none() {
            break;
        }
        let hint = part["warnings"][0]["hint"].as_str().unwrap();
        offset = read.chars().count();
        assert!(hint.contains(&format!("`offset` {offset} ")), "{hint}");
    }
    assert_eq!(read, long);
    assert!(calls > 1);

    // A run of letters is one token for some tokenizers; its bytes count.
    let run = client.call("loci_get", &json!({"ids": ["run"]}));
    assert!(run["drawers"][0]["text"].as_str().unwrap().len() <= 80_000);
    let all = client.call("loci_get", &json!({"ids": ["long"], "budget": 100_000}));
    assert_eq!(all["drawers"][0]["text"], json!(long));
    let refused = client.refusal("loci_get", &json!({"ids": ["short", "long"], "offset": 5}));
    assert!(refused.contains("`offset`"), "{refused}");
    let many: Vec<String> = (0..1_001).map(|n| n.to_string()).collect();
    let refused = client.refusal("loci_get", &json!({"ids": many}));
    assert!(refused.contains("1000"), "{refused}");
    client.close();
}

#[test]
fn facts_that_differ_in_case_are_one_for_an_agent_too() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    let fact = |subject: &str, predicate: &str, object: &str| json!({"action": "add", "subject": subject, "predicate": predicate, "object": object});
    let first = client.call("loci_facts", &fact("Ana", "works at", "Acme"));
    let second = client.call("loci_facts", &fact("ana", "Works At", "acme"));
    assert_eq!(
        (&first["added"], &second["added"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(first["id"], second["id"]);
    for name in ["Ana", "ANA", "acme"] {
        let found = client.call("loci_facts", &json!({"action": "query", "subject": name}));
        assert_eq!(found["total"], 1, "{name}: {found}");
    }
    client.close();
}

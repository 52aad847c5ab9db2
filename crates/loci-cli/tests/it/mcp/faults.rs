//! What a client does wrong is said by name, and the session goes on.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::Dir;

const LIMIT: usize = 16 << 20;

#[test]
fn lines_that_are_no_messages_are_answered_and_the_next_is_read() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    for (line, code) in [
        ("{", -32700),
        ("nonsense", -32700),
        ("\u{feff}{}", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,", -32700),
        ("[]", -32600),
        ("null", -32600),
        ("7", -32600),
        ("{\"id\":5}", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", -32600),
    ] {
        client.write(line);
        let refused = client.message(|message| message.get("error").is_some());
        assert_eq!(refused["error"]["code"], code, "{line}: {refused}");
    }
    // An id that does not fit into 64 bits got no answer, and its client waited for ever.
    client.write("{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"ping\"}");
    let refused = client.message(|message| message.get("error").is_some());
    assert_eq!(refused.get("id"), Some(&Value::Null), "{refused}");
    client.write("");
    client.write("  ");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/nonsense", "params": 7}));
    assert!(client.ask("ping", &json!({}))["result"].is_object());
    client.close();
}

#[test]
fn before_the_handshake_junk_and_notifications_do_no_harm() {
    let dir = Dir::new();
    let mut client = Client::silent(&dir, &[]);
    client.write("nonsense");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9},
    }));
    let early = client.ask("tools/list", &json!({}));
    assert!(early["error"].is_object(), "{early}");
    assert_eq!(client.greet("2025-11-25")["serverInfo"]["name"], "loci");
    client.close();
}

#[test]
fn a_message_beyond_the_limit_is_refused_with_its_id() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    let long = "x".repeat(LIMIT + 100);
    let id = client.begin(
        "tools/call",
        &json!({"name": "loci_search", "arguments": {"query": long, "id": 77}}),
    );
    let refused = client.answer(id);
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("bytes")
    );
    assert!(client.ask("ping", &json!({}))["result"].is_object());
    client.close();
}

#[test]
fn a_long_message_within_the_limit_is_read() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    let query = "harbour ".repeat(1 << 20);
    let arguments = json!({"query": query});
    let answer = client.result("loci_search", &arguments);
    assert!(answer["content"].is_array());
    client.close();
}

#[test]
fn unknown_methods_tools_and_prompts_name_what_there_is() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    let said = |answer: &Value| answer["error"]["message"].as_str().unwrap().to_owned();
    let tool = client.ask("tools/call", &json!({"name": "loci_fly", "arguments": {}}));
    assert_eq!(tool["error"]["code"], -32602);
    assert!(
        said(&tool).contains("loci_fly") && said(&tool).contains("loci_search"),
        "{tool}"
    );
    let method = client.ask("tools/fly", &json!({}));
    assert_eq!(method["error"]["code"], -32601);
    assert!(said(&method).contains("tools/fly"), "{method}");
    let shape = client.ask("tools/call", &json!({"name": 7}));
    assert_eq!(shape["error"]["code"], -32602);
    assert!(said(&shape).contains("name"), "{shape}");
    let shape = client.ask(
        "tools/call",
        &json!({"name": "loci_search", "arguments": [1]}),
    );
    assert_eq!(shape["error"]["code"], -32602, "{shape}");
    let prompt = client.ask("prompts/get", &json!({"name": "sing"}));
    assert!(said(&prompt).contains("recap"), "{prompt}");
    client.close();
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &["--tools", "full"]);
    for (tool, arguments, said) in [
        ("loci_search", json!({}), "`query`: is missing"),
        (
            "loci_search",
            json!({"query": 7}),
            "`query`: must be a string, not a number",
        ),
        ("loci_search", json!({"query": "  "}), "`query`: is empty"),
        ("loci_search", json!({"query": "x", "kk": 1}), "`kk`"),
        ("loci_search", json!({"query": "x", "k": 0}), "`k`"),
        ("loci_search", json!({"query": "x", "k": -1}), "`k`"),
        ("loci_search", json!({"query": "x", "k": 1.5}), "`k`"),
        ("loci_search", json!({"query": "x", "k": "many"}), "`k`"),
        ("loci_search", json!({"query": "x", "k": 1e300}), "`k`"),
        (
            "loci_search",
            json!({"query": "x", "since": "yesteryear"}),
            "`since`",
        ),
        (
            "loci_search",
            json!({"query": "x", "since": "2026-02-01", "before": "2026-01-01"}),
            "`since`",
        ),
        ("loci_get", json!({"ids": []}), "`ids`"),
        ("loci_get", json!({"ids": [7]}), "`ids`"),
        ("loci_get", json!({"ids": ["x".repeat(10_000)]}), "id"),
        ("loci_add", json!({"drawers": []}), "`drawers`"),
        ("loci_add", json!({"drawers": 7}), "`drawers`"),
        (
            "loci_add",
            json!({"drawers": [{"text": "x"}, {"wing": "w"}]}),
            "`drawers[1].text`",
        ),
        (
            "loci_add",
            json!({"drawers": [{"text": "x", "colour": "red"}]}),
            "`drawers[0].colour`",
        ),
        (
            "loci_add",
            json!({"drawers": [{"text": "x", "facts": [{"subject": "s"}]}]}),
            "`drawers[0].facts[0].predicate`",
        ),
        (
            "loci_add",
            json!({"drawers": [{"text": "x", "metadata": {"a": [{}]}}]}),
            "a",
        ),
        (
            "loci_update",
            json!({"id": "nobody", "text": "x"}),
            "no palace",
        ),
        ("loci_update", json!({"id": "nobody"}), "changes nothing"),
        ("loci_forget", json!({}), "`ids` or `source`"),
        (
            "loci_forget",
            json!({"ids": ["a"], "source": "b"}),
            "`ids` or `source`",
        ),
        ("loci_list", json!({"limit": 100_000}), "`limit`"),
        ("loci_facts", json!({"action": "sing"}), "sing"),
        (
            "loci_facts",
            json!({"action": "add", "subject": "a"}),
            "`predicate`: is missing",
        ),
        (
            "loci_diary",
            json!({"agent": "", "text": "x"}),
            "`agent`: is empty",
        ),
        (
            "loci_links",
            json!({"action": "add", "from": "a"}),
            "`to`: is missing",
        ),
        ("loci_verify", json!({"deep": 1}), "`deep`"),
    ] {
        let refusal = client.refusal(tool, &arguments);
        assert!(refusal.contains(said), "{tool} {arguments}: {refusal}");
    }
    client.close();
    assert!(!dir.palace().exists(), "what is refused writes nothing");
}

#[test]
fn a_directory_of_another_program_is_not_made_a_palace() {
    let dir = Dir::new();
    std::fs::create_dir(dir.palace()).unwrap();
    let mut client = Client::new(&dir, &[]);
    std::fs::write(
        dir.palace().join("palace.sqlite3"),
        b"no database at all, just words",
    )
    .unwrap();
    let said = client.refusal("loci_add", &json!({"drawers": [{"text": "x"}]}));
    assert!(said.contains("palace"), "{said}");
    let kept = std::fs::read(dir.palace().join("palace.sqlite3")).unwrap();
    assert_eq!(kept, b"no database at all, just words");
    client.close();
}

#[test]
fn calls_do_not_wait_for_one_another() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    let drawers: Vec<Value> = (0..3_000)
        .map(|n| json!({"text": format!("note {n}")}))
        .collect();
    let long = client.begin(
        "tools/call",
        &json!({"name": "loci_add", "arguments": {"drawers": drawers}}),
    );
    let ping = client.begin("ping", &json!({}));
    // Whichever comes first is taken: it must be the short one.
    let first = client.message(|message| message.get("result").is_some());
    assert_eq!(first["id"], ping);
    assert_eq!(
        client.answer(long)["result"]["structuredContent"]["added"],
        3_000
    );
    client.close();
}

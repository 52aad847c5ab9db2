//! Which revisions of the protocol are spoken, and what differs.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::Dir;

const STATELESS: &str = "2026-07-28";
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// What every request carries in the stateless revision.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    let dir = Dir::new();
    for revision in HANDSHAKES {
        let mut client = Client::silent(&dir, &[]);
        assert_eq!(client.greet(revision)["protocolVersion"], revision);
        let listed = client.ask("tools/list", &json!({}))["result"].clone();
        assert_eq!(listed["tools"].as_array().unwrap().len(), 8);
        assert!(
            listed.get("ttlMs").is_none(),
            "{revision} knows no hints for caches"
        );
        client.close();
    }
}

#[test]
fn a_handshake_of_an_unknown_revision_gets_the_last_one() {
    let dir = Dir::new();
    for revision in ["2099-01-01", "1999-01-01", STATELESS] {
        let mut client = Client::silent(&dir, &[]);
        assert_eq!(client.greet(revision)["protocolVersion"], "2025-11-25");
        client.close();
    }
}

#[test]
fn the_stateless_revision_needs_no_handshake_and_hints_how_long_lists_hold() {
    let dir = Dir::new();
    let mut client = Client::silent(&dir, &[]);
    let found = client.ask("server/discover", &json!({"_meta": meta()}))["result"].clone();
    let versions: Vec<String> = serde_json::from_value(found["supportedVersions"].clone()).unwrap();
    assert!(
        versions.iter().any(|version| version == STATELESS),
        "{found}"
    );
    assert!(
        HANDSHAKES
            .iter()
            .all(|known| versions.iter().any(|version| version == known))
    );
    for list in [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ] {
        let listed = client.ask(list, &json!({"_meta": meta()}))["result"].clone();
        assert!(listed["ttlMs"].as_u64().unwrap() > 0, "{list}: {listed}");
        assert!(listed["cacheScope"].is_string(), "{list}");
    }
    let call = json!({
        "_meta": meta(), "name": "loci_add", "arguments": {"drawers": [{"text": "The harbour freezes."}]},
    });
    let added = client.ask("tools/call", &call);
    assert_eq!(added["result"]["structuredContent"]["added"], 1, "{added}");
    client.close();
}

#[test]
fn the_server_says_what_it_is_for() {
    let dir = Dir::new();
    let mut client = Client::silent(&dir, &[]);
    let greeting = client.greet("2025-11-25");
    assert_eq!(greeting["serverInfo"]["name"], "loci");
    assert!(greeting["instructions"].as_str().unwrap().len() < 300);
    for what in ["tools", "resources", "prompts"] {
        assert!(greeting["capabilities"][what].is_object(), "{what}");
    }
    client.close();
}

#[test]
fn the_handshake_opens_no_palace() {
    let dir = Dir::new();
    // Not even a palace that cannot be opened is in the way.
    std::fs::write(dir.palace(), b"a file, not a directory").unwrap();
    let mut client = Client::new(&dir, &[]);
    assert!(client.ask("tools/list", &json!({}))["result"].is_object());
    let said = client.refusal("loci_add", &json!({"drawers": [{"text": "x"}]}));
    assert!(said.contains("palace"), "{said}");
    client.close();
}

//! What a client does wrong is said, and the session goes on.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::python::{CURRENT, Client, PREVIOUS, peer};
use super::server::Server;
use crate::support::Dir;

/// Everything that an official client lets one get wrong.
fn get_it_wrong(mut client: Client) {
    let drawer = json!({"drawers": [{"text": "here"}]});
    client.call("loci_add", &drawer);
    let unknown = client.refusal("loci_fly", &json!({}));
    assert!(unknown.contains("loci_fly"), "{unknown}");
    for (tool, arguments, named) in [
        ("loci_search", json!({}), "query"),
        ("loci_search", json!({"query": 7}), "query"),
        ("loci_search", json!({"query": "sea", "k": -1}), "k"),
        ("loci_search", json!({"query": "sea", "kk": 1}), "kk"),
        (
            "loci_search",
            json!({"query": "sea", "since": "yesteryear"}),
            "since",
        ),
        ("loci_get", json!({"ids": []}), "ids"),
        ("loci_add", json!({"drawers": []}), "drawers"),
        (
            "loci_add",
            json!({"drawers": [{"wing": "no text"}]}),
            "text",
        ),
        (
            "loci_update",
            json!({"id": "nobody", "text": "x"}),
            "nobody",
        ),
        ("loci_facts", json!({"action": "sing"}), "sing"),
    ] {
        let said = client.refusal(tool, &arguments);
        assert!(said.contains(named), "{tool} {arguments}: {said}");
    }
    let answer = client.ask(&json!({"read": "loci://drawer/drawers/nobody"}));
    assert!(answer["error"]["message"].is_string(), "{answer}");
    let answer = client.ask(&json!({"prompt": "sing"}));
    assert!(answer["error"]["message"].is_string(), "{answer}");
    let added = client.call("loci_add", &json!({"drawers": [{"text": "still here"}]}));
    assert_eq!(added["added"], 1);
    client.close();
}

#[test]
fn wrong_calls_are_refused_by_name_and_the_session_goes_on() {
    for (variable, mode) in [(CURRENT, "auto"), (CURRENT, "legacy"), (PREVIOUS, "legacy")] {
        let Some(python) = peer(variable) else {
            continue;
        };
        let dir = Dir::new();
        get_it_wrong(Client::stdio(&python, &dir, &[], mode));
        let dir = Dir::new();
        let server = Server::start(&dir, &[]);
        get_it_wrong(Client::http(&python, &dir, &server, mode));
    }
}

#[test]
fn arguments_beyond_any_measure_are_refused_and_other_clients_are_served() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let huge = json!({"drawers": [{"text": "x".repeat(40 << 20)}]});
    for client in [
        Client::stdio(&python, &dir, &[], "auto"),
        Client::http(&python, &dir, &server, "auto"),
    ] {
        let mut client = client;
        let answer = client.ask(&json!({"call": "loci_add", "arguments": huge}));
        let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(refused, "{answer}");
    }
    let mut next = Client::http(&python, &dir, &server, "auto");
    let added = next.call(
        "loci_add",
        &json!({"drawers": [{"text": "the next client"}]}),
    );
    assert_eq!(added["added"], 1);
    next.close();
    let mut next = Client::stdio(&python, &dir, &[], "auto");
    assert_eq!(next.call("loci_list", &json!({}))["total"], 1);
    next.close();
}

#[test]
fn a_token_is_asked_for_and_distinguished() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let token = "0123456789abcdef0123456789abcdef";
    let server = Server::guarded(&dir, &[], Some(token));
    let mut client = Client::http(&python, &dir, &server, "auto");
    assert_eq!(client.tools().len(), 8);
    client.close();
    for wrong in [Value::Null, json!("0123456789abcdef0123456789abcdee")] {
        let plan = json!({"url": server.url, "token": wrong, "mode": "auto"});
        let (_, answer) = Client::attempt(&python, &dir, &plan);
        assert!(answer.get("error").is_some(), "{answer}");
    }
}

/// No client of others sends lines that are not JSON, so this one does.
#[test]
fn lines_that_are_no_messages_do_not_end_the_session() {
    let dir = Dir::new();
    let mut server = dir
        .command()
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let greeting = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    let greeted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    writeln!(input, "{greeting}\n{greeted}").unwrap();
    for junk in [
        "{",
        "[]",
        "nonsense",
        "null",
        "{\"jsonrpc\":\"2.0\",\"id\":9}",
        "\u{feff}{}",
        "",
    ] {
        writeln!(input, "{junk}").unwrap();
    }
    input.write_all(b"\xff\xfe\n").unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": "last", "method": "ping"});
    writeln!(input, "{ping}").unwrap();
    let answered = output.any(|line| {
        let line = line.unwrap();
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: `{line}`"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message["id"] == "last" && message["result"].is_object()
    });
    assert!(answered, "no answer to what came after");
    drop(input);
    assert!(server.wait().unwrap().success());
}

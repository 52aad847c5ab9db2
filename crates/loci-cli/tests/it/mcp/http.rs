//! The server over HTTP: who may come in, and several at a time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::server::Server;
use crate::support::Dir;

#[test]
fn clients_have_sessions_and_share_the_palace() {
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let (first, second) = (server.session(), server.session());
    assert_ne!(first, second);
    let added = server.call(
        &first,
        "loci_add",
        &json!({"drawers": [{"text": "The harbour freezes in January."}]}),
    );
    assert_eq!(added["added"], 1);
    let found = server.call(&second, "loci_search", &json!({"query": "harbour"}));
    assert_eq!(found["hits"][0]["text"], "The harbour freezes in January.");
    let ended = server.send("DELETE", "/mcp", &[("Mcp-Session-Id", &first)], "");
    assert!(ended.status < 300, "{}", ended.status);
    let again = server.send(
        "POST",
        "/mcp",
        &[("Mcp-Session-Id", &first)],
        &json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}).to_string(),
    );
    assert_eq!(again.status, 404, "an ended session is unknown");
}

#[test]
fn only_this_machines_names_are_served() {
    let dir = Dir::new();
    let server = Server::start(&dir, &["--allow-host", "nas.local"]);
    for (name, value, status) in [
        ("Host", "localhost", 200),
        ("Host", "nas.local:1", 200),
        ("Host", "evil.example", 403),
        ("Origin", "http://localhost:3000", 200),
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
    ] {
        let answer = server.greet(&[(name, value)]);
        assert_eq!(answer.status, status, "{name}: {value}: {}", answer.body);
    }
    let health = server.send("GET", "/healthz", &[], "");
    assert_eq!((health.status, health.body.as_str()), (200, "ok"));
    assert_eq!(server.send("GET", "/other", &[], "").status, 404);
}

#[test]
fn a_body_beyond_the_limit_is_refused_and_others_are_served() {
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let session = server.session();
    let huge = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "loci_search", "arguments": {"query": "x".repeat(17 << 20)}},
    });
    let headers = [("Mcp-Session-Id", session.as_str())];
    let refused = server.send("POST", "/mcp", &headers, &huge.to_string());
    assert!(
        refused.status == 413 || refused.status == 0,
        "{}",
        refused.status
    );
    let junk = server.send("POST", "/mcp", &headers, "{");
    assert!((400..500).contains(&junk.status), "{}", junk.status);
    assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
    server.call(&session, "loci_list", &json!({}));
}

#[test]
fn a_signal_ends_it_while_clients_listen() {
    let dir = Dir::new();
    let mut server = Server::start(&dir, &[]);
    let session = server.session();
    server.call(
        &session,
        "loci_add",
        &json!({"drawers": [{"text": "The harbour freezes."}]}),
    );
    // A stream that stays open until the server ends it.
    let mut listening = TcpStream::connect(&server.address).unwrap();
    write!(
        listening,
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\
         Authorization: Bearer {}\r\n\r\n",
        server.token.as_deref().unwrap()
    )
    .unwrap();
    let mut first = [0; 12];
    listening.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let since = Instant::now();
    let pid = server.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-s", "TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    let status = server.child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(
        since.elapsed() < Duration::from_secs(20),
        "{:?}",
        since.elapsed()
    );
    let mut output = String::new();
    server
        .child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .unwrap();
    assert_eq!(output, "", "stdout stays empty");
    assert_eq!(dir.json(0, &["verify"])["ok"], true);
}

#[test]
fn a_client_is_served_however_many_sessions_others_left_open() {
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let first = server.session();
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}).to_string();
    let mut used = server.session();
    for at in 0..1_100 {
        let new = server.session();
        if at % 100 == 0 {
            // One that is used stays.
            let answer = server.send("POST", "/mcp", &[("Mcp-Session-Id", &used)], &ping);
            assert_eq!(answer.status, 200, "after {at} sessions");
        }
        if at == 1_050 {
            used = new;
        }
    }
    let gone = server.send("POST", "/mcp", &[("Mcp-Session-Id", &first)], &ping);
    assert_eq!(gone.status, 404, "the session that was idle for longest");
}

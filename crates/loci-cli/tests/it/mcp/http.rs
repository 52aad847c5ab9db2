//! The server over HTTP: who may come in, and several at a time.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Dir;

const TOKEN: &str = "0123456789abcdef";

struct Server {
    child: Child,
    address: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Server {
    fn start(dir: &Dir, arguments: &[&str]) -> Self {
        let mut child = dir
            .command()
            .args(["mcp", "--http", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .unwrap_or_else(|| panic!("{line}"));
        let address = address.split('/').next().unwrap().to_owned();
        Self { child, address }
    }

    /// One request on a connection of its own.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            let _ = write!(request, "Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        let _ = write!(
            request,
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        // A server that refuses early may close before all was sent.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap_or_default(),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    fn greet(&self, headers: &[(&str, &str)]) -> Answer {
        self.send("POST", "/mcp", headers, &greeting().to_string())
    }

    /// A session; gives its id.
    fn session(&self) -> String {
        let answer = self.greet(&[]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let id = answer
            .head
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "))
            .unwrap()
            .to_owned();
        let greeted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let headers = [("Mcp-Session-Id", id.as_str())];
        let accepted = self.send("POST", "/mcp", &headers, &greeted.to_string());
        assert_eq!(accepted.status, 202);
        id
    }

    fn call(&self, session: &str, tool: &str, arguments: &Value) -> Value {
        let call = json!({
            "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        });
        let headers = [("Mcp-Session-Id", session)];
        let answer = self.send("POST", "/mcp", &headers, &call.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.message()["result"]["structuredContent"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// The answer to a request in a stream of events.
    fn message(&self) -> Value {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| serde_json::from_str(data).ok())
            .find(|message: &Value| message.get("id").is_some())
            .unwrap_or_else(|| panic!("no answer in `{}`", self.body))
    }
}

fn greeting() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    })
}

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
fn a_token_is_needed_where_one_is_set() {
    let dir = Dir::new();
    let server = Server::start(&dir, &["--token", TOKEN]);
    let refused = server.greet(&[]);
    assert_eq!(refused.status, 401);
    assert!(
        refused.head.contains("www-authenticate: bearer"),
        "{}",
        refused.head
    );
    assert_eq!(
        server
            .greet(&[("Authorization", "Bearer 0123456789abcdeg")])
            .status,
        401
    );
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(server.greet(&[("Authorization", &bearer)]).status, 200);
}

#[test]
fn an_address_for_others_needs_a_token_and_a_token_must_be_long() {
    let dir = Dir::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = dir.error(2, &["mcp", "--http", address]);
        assert!(
            refused["message"]
                .as_str()
                .unwrap()
                .contains("LOCI_MCP_TOKEN"),
            "{refused}"
        );
    }
    let short = dir.error(2, &["mcp", "--http", "--token", "short"]);
    assert!(
        short["message"].as_str().unwrap().contains("too short"),
        "{short}"
    );
    assert!(
        !short.to_string().contains("`short`"),
        "a token is not shown"
    );
    assert_eq!(dir.run(&["mcp", "--http", "nowhere"]).code, 64);
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
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n"
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

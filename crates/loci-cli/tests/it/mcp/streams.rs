//! Clients that hold what they open: event streams, and connections on which nothing is asked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use super::server::Server;
use crate::support::{Dir, wait_until};

/// More than a server takes connections.
const MANY: usize = 620;
/// A request that waits for others to give up would take longer.
const SOON: Duration = Duration::from_secs(9);

/// Two tests at once would need more file descriptors than many systems give a process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens an event stream and gives it with the head of its answer.
fn stream(server: &Server, session: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let token = server.token.as_deref().unwrap();
    let request = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
         Mcp-Session-Id: {session}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read > 0) {
        head.push(byte[0]);
    }
    (stream, String::from_utf8_lossy(&head).to_ascii_lowercase())
}

/// A new client is greeted and lists the tools.
fn is_served(server: &Server) {
    let since = Instant::now();
    let session = server.session();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let headers = [("Mcp-Session-Id", session.as_str())];
    let answer = server.send("POST", "/mcp", &headers, &list.to_string());
    assert_eq!(
        answer.message()["result"]["tools"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
}

/// 512 open event streams blocked every other request.
#[test]
fn requests_are_answered_while_clients_hold_all_event_streams() {
    let _alone = alone();
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let sessions: Vec<String> = (0..70).map(|_| server.session()).collect();
    let mut held = Vec::new();
    let (mut open, mut refused) = (0, 0);
    for number in 0..MANY {
        let (stream, head) = stream(&server, &sessions[number % sessions.len()]);
        if head.starts_with("http/1.1 200") {
            open += 1;
        } else {
            assert!(head.starts_with("http/1.1 503"), "{number}: `{head}`");
            assert!(head.contains("retry-after: "), "{head}");
            refused += 1;
        }
        held.push(stream);
    }
    assert_eq!((open, refused), (256, MANY - 256));
    is_served(&server);
    // A client that gives its stream up makes room for another.
    held.truncate(10);
    wait_until("a stream is free", || {
        stream(&server, &sessions[69]).1.starts_with("http/1.1 200")
    });
}

#[test]
fn a_session_has_few_event_streams() {
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let session = server.session();
    let held: Vec<(TcpStream, String)> = (0..6).map(|_| stream(&server, &session)).collect();
    let open = held
        .iter()
        .filter(|(_, head)| head.starts_with("http/1.1 200"));
    assert_eq!(open.count(), 4);
    is_served(&server);
}

/// They need no token, so any user of the machine could open them.
#[test]
fn idle_connections_keep_nobody_out() {
    let _alone = alone();
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let mut held = Vec::new();
    for number in 0..MANY {
        let mut connection = TcpStream::connect(&server.address).unwrap();
        // Some say nothing, others begin a request and stop.
        if number % 2 == 0 {
            connection
                .write_all(b"POST /mcp HTTP/1.1\r\nHost: local")
                .unwrap();
        }
        held.push(connection);
        if number % 100 == 0 {
            is_served(&server);
        }
    }
    is_served(&server);
}

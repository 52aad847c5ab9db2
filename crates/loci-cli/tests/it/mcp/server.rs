//! `loci mcp --http` as a process, and a client of it that speaks HTTP/1.1 and nothing more.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Dir;

/// A server on a free loopback port; it ends with this value.
pub(super) struct Server {
    pub(super) child: Child,
    pub(super) address: String,
    /// What it printed after it listened.
    pub(super) notes: String,
    /// What requests send, unless they name another `Authorization`.
    pub(super) token: Option<String>,
    output: Option<BufReader<ChildStderr>>,
}

/// A process that ends with this value.
pub(super) struct Ending(pub(super) Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Server {
    /// Starts it with these arguments and takes the token from the file that it names.
    pub(super) fn start(dir: &Dir, arguments: &[&str]) -> Self {
        Self::spawn(dir.command(), arguments)
    }

    pub(super) fn spawn(mut command: Command, arguments: &[&str]) -> Self {
        let mut child = command
            .args(["mcp", "--http", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stderr.take().unwrap());
        let mut next = || {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            line
        };
        let line = next();
        let address = line
            .split("http://")
            .nth(1)
            .unwrap_or_else(|| panic!("{line}"));
        let address = address.split('/').next().unwrap().to_owned();
        let notes = next();
        let file = notes
            .split('`')
            .nth(1)
            .filter(|_| notes.contains("token is in"));
        let token = file.map(|file| {
            let record: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            record["token"].as_str().unwrap().to_owned()
        });
        Self {
            child,
            address,
            notes,
            token,
            output: Some(output),
        }
    }

    /// What it prints until it ends.
    pub(super) fn rest(&mut self) -> String {
        let mut rest = String::new();
        let mut output = self.output.take().unwrap();
        output.read_to_string(&mut rest).unwrap();
        rest
    }

    /// The file that holds its token.
    pub(super) fn file(&self) -> PathBuf {
        self.notes.split('`').nth(1).unwrap().into()
    }

    pub(super) fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    /// One request on a connection of its own.
    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            let _ = write!(request, "Host: {}\r\n", self.address);
        }
        let is_named = headers.iter().any(|(name, _)| *name == "Authorization");
        if let Some(token) = self.token.as_ref().filter(|_| !is_named) {
            let _ = write!(request, "Authorization: Bearer {token}\r\n");
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

    pub(super) fn greet(&self, headers: &[(&str, &str)]) -> Answer {
        self.send("POST", "/mcp", headers, &greeting().to_string())
    }

    /// A session; gives its id.
    pub(super) fn session(&self) -> String {
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

    pub(super) fn call(&self, session: &str, tool: &str, arguments: &Value) -> Value {
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
    pub(super) fn message(&self) -> Value {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| serde_json::from_str(data).ok())
            .find(|message: &Value| message.get("id").is_some())
            .unwrap_or_else(|| panic!("no answer in `{}`", self.body))
    }
}

pub(super) fn greeting() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    })
}

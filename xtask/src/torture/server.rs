//! A client of `loci mcp` over stdio.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::home::Home;
use super::process::{HANGS, short, signal_group, wait_for};
use super::round::Drawers;

pub(super) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: u64,
}

/// The result of a call.
pub(super) enum Reply {
    /// The structured answer.
    Done(Value),
    /// The message of an error.
    Refused(String),
    /// The server is gone.
    Gone,
    /// No answer came in time.
    Silent,
}

impl Server {
    /// Starts a server and performs the handshake.
    pub(super) fn start(home: &Home, tools: &str) -> anyhow::Result<Self> {
        Self::start_with(home, tools, &[])
    }

    pub(super) fn start_with(home: &Home, tools: &str, more: &[&str]) -> anyhow::Result<Self> {
        let mut child = home
            .command(&[&["mcp", "--tools", tools], more].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let output = child.stdout.take().context("the server has no stdout")?;
        let (sender, messages) = channel();
        // The thread ends when the pipe closes, which is when the server ends.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut server = Self {
            stdin: child.stdin.take(),
            child,
            messages,
            next: 0,
        };
        let greeting = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "torture", "version": "1"},
        });
        let id = server.begin("initialize", &greeting);
        match server.reply(id, HANGS) {
            Reply::Done(_) => {}
            Reply::Refused(why) => bail!("`loci mcp` refused the handshake: {why}"),
            Reply::Gone | Reply::Silent => bail!("`loci mcp` did not answer the handshake"),
        }
        server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Ok(server)
    }

    pub(super) fn signal(&self, signal: Signal) {
        signal_group(&self.child, signal);
    }

    fn write(&mut self, message: &Value) {
        // If the server is gone, the caller notices it while waiting for the answer.
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{message}\n").as_bytes());
            let _ = stdin.flush();
        }
    }

    fn begin(&mut self, method: &str, parameters: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}));
        id
    }

    /// Sends a call without waiting for its answer.
    pub(super) fn send(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.begin("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// The next answer, whichever call it belongs to.
    pub(super) fn next(&mut self, limit: Duration) -> (Option<u64>, Reply) {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => return (None, Reply::Silent),
                Err(RecvTimeoutError::Disconnected) => return (None, Reply::Gone),
                Ok(message) => {
                    if let Some(id) = message["id"].as_u64() {
                        return (Some(id), reply(&message));
                    }
                }
            }
        }
    }

    fn reply(&mut self, id: u64, limit: Duration) -> Reply {
        loop {
            match self.next(limit) {
                (Some(other), _) if other != id => {}
                (_, reply) => return reply,
            }
        }
    }

    pub(super) fn call(&mut self, tool: &str, arguments: &Value, limit: Duration) -> Reply {
        let id = self.send(tool, arguments);
        self.reply(id, limit)
    }

    /// Adds one drawer.
    pub(super) fn add(&mut self, id: &str, text: &str) -> Reply {
        self.call("loci_add", &drawer(id, text), HANGS)
    }

    /// Waits for the end of the server without requesting it.
    pub(super) fn wait(&mut self, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
        wait_for(&mut self.child, limit)
    }

    /// Disconnects as a client should, and waits for the end of the server.
    pub(super) fn close(mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.stdin = None;
        self.wait(HANGS)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Arguments of `loci_add`.
pub(super) fn drawer(id: &str, text: &str) -> Value {
    json!({"drawers": [{"id": id, "text": text}]})
}

/// Arguments of `loci_add` for several drawers.
pub(super) fn batch(drawers: &Drawers) -> Value {
    let drawers: Vec<Value> = drawers
        .iter()
        .map(|(id, text)| json!({"id": id, "text": text}))
        .collect();
    json!({"drawers": drawers})
}

fn reply(message: &Value) -> Reply {
    if let Some(error) = message.get("error") {
        return Reply::Refused(short(&error.to_string()));
    }
    let result = &message["result"];
    if result["isError"] == true {
        return Reply::Refused(short(result["content"][0]["text"].as_str().unwrap_or("")));
    }
    match result.get("structuredContent") {
        Some(content) => Reply::Done(content.clone()),
        None => Reply::Done(result.clone()),
    }
}

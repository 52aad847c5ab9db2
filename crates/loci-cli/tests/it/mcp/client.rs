//! A client of a server at a pipe. Every line that comes must be a message: stdout carries nothing else.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Dir;

/// Nothing takes so long.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What came without being an answer.
    pub(crate) notifications: Vec<Value>,
    waiting: Vec<Value>,
    next: u64,
}

impl Client {
    /// Starts a server and greets it.
    pub(crate) fn new(dir: &Dir, arguments: &[&str]) -> Self {
        let mut client = Self::silent(dir, arguments);
        client.greet("2025-11-25");
        client
    }

    /// Starts a server and says nothing.
    pub(crate) fn silent(dir: &Dir, arguments: &[&str]) -> Self {
        Self::of(dir.command().arg("mcp").args(arguments))
    }

    /// Starts a server by this command and says nothing.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::with_log(command, Stdio::null())
    }

    /// The same; what the server logs goes to `log`.
    pub(crate) fn with_log(command: &mut Command, log: Stdio) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.unwrap();
                let message: Value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("stdout holds `{line}`: {error}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            messages,
            notifications: Vec::new(),
            waiting: Vec::new(),
            next: 0,
        }
    }

    /// The handshake; gives what the server says of itself.
    pub(crate) fn greet(&mut self, revision: &str) -> Value {
        let greeting = self.ask(
            "initialize",
            &json!({
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        greeting["result"].clone()
    }

    /// Sends a line as it is.
    pub(crate) fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(&message.to_string());
    }

    /// Sends a request; gives its id.
    pub(crate) fn begin(&mut self, method: &str, parameters: &Value) -> u64 {
        self.next += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": parameters});
        self.send(&message);
        self.next
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.message(|message| message["id"] == id)
    }

    /// The next message of a kind; what comes before is kept.
    pub(crate) fn message(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&is_it) {
            return self.waiting.remove(at);
        }
        let since = Instant::now();
        loop {
            let left = DEADLINE.saturating_sub(since.elapsed());
            let message = self.messages.recv_timeout(left).unwrap();
            if is_it(&message) {
                return message;
            }
            if message.get("method").is_some() {
                self.notifications.push(message);
            } else {
                self.waiting.push(message);
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.begin(method, parameters);
        self.answer(id)
    }

    /// Calls a tool and gives the whole result.
    pub(crate) fn result(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed; gives the structured answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        assert!(result["structuredContent"].is_object(), "{result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must fail; gives what it says.
    pub(crate) fn refusal(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        text(&result)
    }

    /// Closes its end of stdin.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits until the server has ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(since.elapsed() < DEADLINE, "the server goes on");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the session as a client should.
    pub(crate) fn close(mut self) {
        self.hang_up();
        assert!(self.ended().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

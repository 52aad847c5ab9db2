//! A client that asks `loci mcp --tools mempalace`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Map, Value, json};

use super::filled;
use crate::support::Dir;

/// A client of `loci mcp`.
pub(super) struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Client {
    pub(super) fn new(dir: &Dir) -> Self {
        let mut server = dir
            .command()
            .args(["mcp", "--tools", "mempalace"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut client = Self {
            input: server.stdin.take().unwrap(),
            output: BufReader::new(server.stdout.take().unwrap()),
            server,
            number: 0,
        };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        client.request("initialize", &params);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
    }

    pub(super) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let number = self.number;
        self.send(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "{method}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == number {
                return message;
            }
        }
    }

    /// What a tool answers, as the text says it; or why the call was refused.
    pub(super) fn ask(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let params = json!({"name": format!("mempalace_{tool}"), "arguments": arguments});
        let answer = self.request("tools/call", &params);
        if let Some(error) = answer.get("error") {
            return Err(error.to_string());
        }
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap();
        if result["isError"] == true {
            return Err(text.to_owned());
        }
        let said: Value = serde_json::from_str(text).unwrap();
        let structured = &result["structuredContent"];
        // Only an object can be a structured answer.
        let same = if said.is_array() {
            &structured["result"]
        } else {
            structured
        };
        assert_eq!(same, &said, "{tool}");
        Ok(said)
    }

    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(tool, arguments)
            .unwrap_or_else(|error| panic!("{tool} {arguments}: {error}"))
    }

    /// Files a text and gives its id.
    pub(super) fn add(&mut self, wing: &str, room: &str, content: &str) -> String {
        let drawer = json!({"wing": wing, "room": room, "content": content});
        let answer = self.call("add_drawer", &drawer);
        assert_eq!(answer["success"], true, "{answer}");
        answer["drawer_id"].as_str().unwrap().to_owned()
    }

    pub(super) fn content(&mut self, id: &str) -> String {
        let drawer = self.call("get_drawer", &json!({"drawer_id": id}));
        drawer["content"].as_str().unwrap().to_owned()
    }

    /// Makes the recorded calls of a scene, one after another.
    pub(super) fn scene(&mut self, calls: &[Value]) -> Map<String, Value> {
        let mut answers = Map::new();
        for call in calls {
            let arguments = filled(&call["arguments"], &answers);
            let answer = self.ask(call["tool"].as_str().unwrap(), &arguments);
            let name = call["name"].as_str().unwrap().to_owned();
            let answer = answer.unwrap_or_else(|error| json!({"refused": error}));
            answers.insert(name, answer);
        }
        answers
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

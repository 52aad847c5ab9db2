//! The official Python client as a process that does what it is told, line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::server::Server;
use crate::support::Dir;

/// mcp 2: the revision of July 2026, which needs no handshake, and those before it.
pub(super) const CURRENT: &str = "LOCI_PEER_MCP";
/// mcp 1.30: revisions with a handshake.
pub(super) const PREVIOUS: &str = "LOCI_PEER_MCP_1";

/// A program that a variable names; says so if there is none.
pub(super) fn peer(variable: &str) -> Option<PathBuf> {
    let program = std::env::var_os(variable).map(PathBuf::from);
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    if program.is_none() {
        eprintln!("SKIPPED: {variable} names no program");
    }
    program
}

/// A client that is connected to a server.
pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What the server said of itself.
    pub(super) greeting: Value,
}

impl Client {
    /// A client that starts `loci mcp` with these arguments and talks to it over stdio.
    pub(super) fn stdio(python: &Path, dir: &Dir, arguments: &[&str], mode: &str) -> Self {
        let command = [&[env!("CARGO_BIN_EXE_loci"), "mcp"], arguments].concat();
        Self::connected(
            python,
            dir,
            &json!({
                "command": command,
                "environment": {"HOME": dir.path("home"), "LOCI_PALACE": dir.palace()},
                "mode": mode,
            }),
        )
    }

    /// A client of a server that runs already.
    pub(super) fn http(python: &Path, dir: &Dir, server: &Server, mode: &str) -> Self {
        let plan = json!({"url": server.url, "token": server.token, "mode": mode});
        Self::connected(python, dir, &plan)
    }

    fn connected(python: &Path, dir: &Dir, plan: &Value) -> Self {
        let (mut client, answer) = Self::attempt(python, dir, plan);
        assert_eq!(answer["complaints"], json!([]), "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        client.greeting = answer["result"].clone();
        client
    }

    /// A client and how its attempt to connect went.
    pub(super) fn attempt(python: &Path, dir: &Dir, plan: &Value) -> (Self, Value) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/peers/mcp_client.py");
        let mut child = Command::new(python)
            .arg(script)
            .env("HOME", dir.path("home"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut client = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            greeting: Value::Null,
        };
        let answer = client.ask(plan);
        (client, answer)
    }

    /// Says something and does not wait for the answer.
    pub(super) fn say(&mut self, command: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
    }

    /// The next answer as it is.
    pub(super) fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: `{line}`"))
    }

    /// Says something and gives the answer as it is.
    pub(super) fn ask(&mut self, command: &Value) -> Value {
        self.say(command);
        self.hear()
    }

    /// The result of a command. The client must have nothing to complain of.
    pub(super) fn result(&mut self, command: &Value) -> Value {
        self.say(command);
        self.heard(command)
    }

    /// The result of what was said before.
    pub(super) fn heard(&mut self, command: &Value) -> Value {
        let answer = self.hear();
        assert_eq!(answer["complaints"], json!([]), "{command}: {answer}");
        assert!(answer.get("error").is_none(), "{command}: {answer}");
        answer["result"].clone()
    }

    /// The names of all tools; from now on arguments and results are judged by their schemas.
    pub(super) fn tools(&mut self) -> Vec<String> {
        let tools = self.result(&json!({"list": "tools"}));
        let mut names = crate::support::texts(&tools, "name");
        names.sort();
        names
    }

    /// The structured answer of a tool that is expected to succeed.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.result(&json!({"call": tool, "arguments": arguments}));
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(
            result["structuredContent"].is_object(),
            "{tool} {arguments}: {result}"
        );
        result["structuredContent"].clone()
    }

    /// What a tool says when it refuses: the text of the error.
    pub(super) fn refusal(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask(&json!({"call": tool, "arguments": arguments}));
        let result = &answer["result"];
        if answer.get("error").is_some() {
            return answer["error"]["message"].as_str().unwrap().to_owned();
        }
        assert_eq!(result["isError"], true, "{tool} {arguments}: {answer}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The process of the server that this client started.
    pub(super) fn server_process(&self) -> u32 {
        let output = Command::new("pgrep")
            .args(["-P", &self.child.id().to_string()])
            .output()
            .unwrap();
        let processes = String::from_utf8(output.stdout).unwrap();
        processes.trim().parse().unwrap_or_else(|error| {
            panic!("{error}: children of the client: `{processes}`");
        })
    }

    /// Waits for the end of a client that kills itself.
    pub(super) fn wait(mut self) {
        self.child.wait().unwrap();
    }

    /// Ends the session as a client should: nothing may be wrong with it.
    pub(super) fn close(mut self) {
        self.input = None;
        let answer = self.hear();
        assert_eq!(answer, json!({"result": "closed", "complaints": []}));
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

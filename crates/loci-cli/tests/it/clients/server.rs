//! `loci mcp --http` as a process that clients find by its address.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::Dir;

/// A server on a free loopback port; it ends with this value.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
    /// The token that it asks for.
    pub(super) token: String,
}

impl Server {
    /// Starts it with these arguments and waits until it says where it listens.
    pub(super) fn start(dir: &Dir, arguments: &[&str]) -> Self {
        Self::guarded(dir, arguments, None)
    }

    /// The same with this token instead of a generated one.
    pub(super) fn guarded(dir: &Dir, arguments: &[&str], token: Option<&str>) -> Self {
        let mut command = dir.command();
        command
            .args(["mcp", "--http", "127.0.0.1:0"])
            .args(arguments);
        if let Some(token) = token {
            command.env("LOCI_MCP_TOKEN", token);
        }
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .unwrap_or_else(|| panic!("it does not say where it listens: `{line}`"));
        let url = url.trim_end_matches(['.', ',']).to_owned();
        let mut note = String::new();
        said.read_line(&mut note).unwrap();
        let file = note.split('`').nth(1).unwrap_or_else(|| panic!("{note}"));
        let record: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let token = record["token"].as_str().unwrap().to_owned();
        // A pipe that nobody reads must not hold the server up.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, url, token }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! `loci mcp --http` as a process that clients find by its address.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::support::Dir;

/// A server on a free loopback port; it ends with this value.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
    pub(super) token: Option<&'static str>,
}

impl Server {
    /// Starts it with these arguments and waits until it says where it listens.
    pub(super) fn start(dir: &Dir, arguments: &[&str]) -> Self {
        Self::guarded(dir, arguments, None)
    }

    /// The same, for clients that show this token.
    pub(super) fn guarded(dir: &Dir, arguments: &[&str], token: Option<&'static str>) -> Self {
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
        // Whoever does not read what it says must not hold it up.
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

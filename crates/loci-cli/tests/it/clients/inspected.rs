//! The CLI of the MCP Inspector: a client in another language, of another team.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::python::peer;
use super::server::Server;
use crate::support::Dir;

const INSPECTOR: &str = "LOCI_PEER_INSPECTOR";

/// The inspector and how it reaches a server.
struct Inspector<'a> {
    script: PathBuf,
    dir: &'a Dir,
    /// The URL, or the command and its arguments.
    target: Vec<String>,
    /// What it sends over HTTP.
    token: Option<String>,
    era: &'static str,
}

impl<'a> Inspector<'a> {
    fn stdio(script: &Path, dir: &'a Dir, era: &'static str) -> Self {
        Self {
            script: script.to_owned(),
            dir,
            target: vec![env!("CARGO_BIN_EXE_loci").into(), "mcp".into()],
            token: None,
            era,
        }
    }

    fn http(script: &Path, dir: &'a Dir, server: &Server, era: &'static str) -> Self {
        Self {
            script: script.to_owned(),
            dir,
            target: vec![server.url.clone()],
            token: Some(server.token.clone()),
            era,
        }
    }

    /// One run; what it found out.
    fn run(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new("node");
        command
            .arg(&self.script)
            .args(["--cli", "--format", "json", "--protocol-era", self.era])
            .args(&self.target)
            .args(arguments)
            .env("HOME", self.dir.path("home"))
            .stdin(Stdio::null());
        if let [url] = self.target.as_slice() {
            assert!(url.starts_with("http"), "{url}");
            command.args(["--transport", "http"]);
            let token = self.token.as_deref().unwrap();
            command.args(["--header", &format!("Authorization: Bearer {token}")]);
        } else {
            let palace = self.dir.palace();
            command.args(["-e", &format!("LOCI_PALACE={}", palace.display())]);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{arguments:?}: {said}\n{complained}"
        );
        let answer: Value = serde_json::from_str(&said)
            .unwrap_or_else(|error| panic!("{error}: {said}\n{complained}"));
        answer["result"].clone()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let text = arguments.to_string();
        let result = self.run(&[
            "--method",
            "tools/call",
            "--tool-name",
            tool,
            "--tool-args-json",
            &text,
        ]);
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Lists everything, adds a drawer and finds it.
    fn work(&self) {
        // `--strict` fails for schemas that some client or model could not use.
        let listed = self.run(&["--method", "tools/list", "--strict"]);
        assert_eq!(listed["tools"].as_array().unwrap().len(), 8);
        let drawer = json!({"drawers": [{"text": "The harbour freezes in January."}]});
        assert_eq!(self.call("loci_add", &drawer)["added"], 1);
        let found = self.call("loci_search", &json!({"query": "harbour", "k": 1}));
        assert_eq!(found["hits"][0]["text"], "The harbour freezes in January.");
        for (method, key) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let listed = self.run(&["--method", method]);
            assert!(!listed[key].as_array().unwrap().is_empty(), "{listed}");
        }
    }
}

#[test]
fn the_inspector_lists_adds_and_finds_over_stdio() {
    let Some(script) = peer(INSPECTOR) else {
        return;
    };
    for era in ["legacy", "modern"] {
        let dir = Dir::new();
        Inspector::stdio(&script, &dir, era).work();
    }
}

#[test]
fn the_inspector_lists_adds_and_finds_over_http() {
    let Some(script) = peer(INSPECTOR) else {
        return;
    };
    for era in ["legacy", "modern"] {
        let dir = Dir::new();
        let server = Server::start(&dir, &[]);
        Inspector::http(&script, &dir, &server, era).work();
    }
}

#[test]
fn the_inspector_finds_nothing_to_object_to_in_any_set_of_tools() {
    let Some(script) = peer(INSPECTOR) else {
        return;
    };
    let dir = Dir::new();
    for (set, least) in [("core", 8), ("full", 9), ("mempalace", 20)] {
        let mut inspector = Inspector::stdio(&script, &dir, "legacy");
        inspector.target.extend(["--tools".into(), set.into()]);
        let listed = inspector.run(&["--method", "tools/list", "--strict"]);
        let count = listed["tools"].as_array().unwrap().len();
        assert!(count >= least, "{set}: {count}");
    }
}

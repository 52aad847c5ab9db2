//! A home with agents in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci_agents::Home;
use loci_agents::wiring::{Change, Connect, Outcome, connect, disconnect};
use loci_palace::Result;
use serde_json::Value;
use tempfile::TempDir;

/// All agents, each with the file that lists its servers.
pub(crate) const AGENTS: [(&str, &str); 8] = [
    ("claude-code", ".claude.json"),
    ("codex", ".codex/config.toml"),
    ("cursor", ".cursor/mcp.json"),
    ("gemini", ".gemini/settings.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("zed", ".config/zed/settings.json"),
    ("opencode", ".config/opencode/opencode.json"),
];

pub(crate) struct Scene {
    root: TempDir,
    pub(crate) home: Home,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut home = Home::within(&root.path().join("home of me"));
        // The same directories on every system, so that tests name files by one path.
        home.applications = home.config.clone();
        fs::create_dir_all(root.path().join("my programs")).unwrap();
        fs::write(root.path().join("my programs/loci"), "a program").unwrap();
        fs::create_dir_all(&home.home).unwrap();
        Self { root, home }
    }

    /// The program that entries run. Its path has a space.
    pub(crate) fn program(&self) -> PathBuf {
        self.root.path().join("my programs/loci")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.home.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The JSON value of a file. The parser accepts comments and trailing commas.
    pub(crate) fn json(&self, name: &str) -> Value {
        let options = jsonc_parser::ParseOptions::default();
        let text = self.read(name);
        jsonc_parser::parse_to_serde_value(text.trim_start_matches('\u{feff}'), &options).unwrap()
    }

    pub(crate) fn asked(&self, agents: &[&str]) -> Connect {
        Connect {
            agents: agents.iter().map(|agent| (*agent).to_owned()).collect(),
            program: self.program(),
            palace: None,
            tools: None,
            name: None,
            hooks: true,
            replace_mempalace: false,
        }
    }

    pub(crate) fn connect(&self, agents: &[&str]) -> Vec<Change> {
        self.try_connect(&self.asked(agents)).unwrap()
    }

    pub(crate) fn try_connect(&self, asked: &Connect) -> Result<Vec<Change>> {
        whole(connect(&self.home, asked, &mut |_| Ok(()))?)
    }

    pub(crate) fn disconnect(&self) -> Vec<Change> {
        whole(disconnect(&self.home, &[], false).unwrap()).unwrap()
    }

    /// Every file and directory of the home except Loci's own, with its bytes.
    pub(crate) fn picture(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut picture = BTreeMap::new();
        self.look(&self.home.home, &mut picture);
        picture
    }

    fn look(&self, directory: &Path, picture: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if self.home.state.starts_with(&path) {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                self.look(&path, picture);
                picture.insert(path, None);
            } else {
                let bytes = fs::read(&path).unwrap();
                picture.insert(path, Some(bytes));
            }
        }
    }
}

/// The changes, if no agent was left out.
fn whole(outcome: Outcome) -> Result<Vec<Change>> {
    match outcome.failed.into_iter().next() {
        Some(failed) => Err(failed.error),
        None => Ok(outcome.changes),
    }
}

//! Entries for Loci in the configuration of agents: shown, made, and undone exactly.

use std::path::PathBuf;

use serde::Serialize;

use crate::home::Home;

/// Whether an agent is wired to Loci.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wired {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It names another program or palace than this one.
    Outdated,
    /// The configuration cannot be read.
    Unreadable,
    /// The agent has no such thing.
    Unsupported,
}

/// One agent as it is set up now.
#[derive(Debug, Clone, Serialize)]
pub struct AgentState {
    /// Its short name: `claude-code`, `codex`, `cursor`, …
    pub agent: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Whether it is on this machine.
    pub found: bool,
    /// The MCP server.
    pub server: Wired,
    /// The hooks.
    pub hooks: Wired,
    /// The configuration files that say so.
    pub files: Vec<PathBuf>,
    /// Whether MemPalace's server or hooks are in them.
    pub mempalace: bool,
    /// What to do about it, if anything.
    pub advice: Option<String>,
}

/// The agents that Loci knows, as they are set up now. Reads only.
pub fn survey(home: &Home) -> Vec<AgentState> {
    let _ = home;
    Vec::new()
}

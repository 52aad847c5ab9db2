//! Entries for Loci in the configuration of agents: shown, made, and undone exactly.

mod agents;
mod change;
mod connect;
mod disconnect;
mod document;
mod entry;
mod files;
mod journal;
mod json_text;
mod mempalace;
mod splice;
mod survey;
mod toml_text;
mod written;

use std::path::{Path, PathBuf};

use loci_palace::{Error, Result};
use serde::Serialize;

pub use self::connect::{Act, Change, Connect, Plan, connect, plan};
pub use self::disconnect::disconnect;
pub use self::splice::Edit;
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
    survey_for(home, &program(home).unwrap_or_default())
}

/// The same for the program at `program`.
pub fn survey_for(home: &Home, program: &Path) -> Vec<AgentState> {
    survey::survey(home, program)
}

/// The running program by a path that stays: the one on `PATH` that leads to it, else its own. Packages put a new version
/// into another directory and leave the name on `PATH` as it is.
pub fn program(home: &Home) -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(|error| Error::Internal {
        doing: "finding this program".into(),
        detail: error.to_string(),
    })?;
    let known = survey::found(home).filter(|found| agents::same_file(found, &own));
    Ok(known.unwrap_or(own))
}

/// The short names of the agents that Loci knows.
pub fn agents() -> Vec<&'static str> {
    agents::AGENTS.iter().map(|agent| agent.id).collect()
}

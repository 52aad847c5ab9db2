//! Adds Loci's entries to the configuration of agents, lists them, and removes them exactly.

mod agents;
mod change;
mod connect;
mod disconnect;
mod document;
mod entry;
mod files;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod journal;
mod json_text;
mod mempalace;
mod outcome;
mod splice;
mod survey;
mod toml_text;
mod written;

use std::path::{Path, PathBuf};

use loci_palace::{Error, Result, serialize_optional_path, serialize_paths};
use serde::Serialize;

pub use self::connect::{Connect, Plan, connect, plan};
pub use self::disconnect::disconnect;
pub use self::mempalace::in_project as mempalace_in_project;
pub use self::outcome::{Act, Change, Failed, Outcome};
pub use self::splice::Edit;
use crate::home::Home;

/// Whether an agent is wired to Loci.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wired {
    /// The agent is wired.
    Yes,
    /// The agent is not wired.
    No,
    /// The agent runs another program than this one, or an entry is missing.
    Outdated,
    /// The configuration cannot be read.
    Unreadable,
    /// The agent does not support it.
    Unsupported,
}

/// The state of one agent.
#[derive(Debug, Clone, Serialize)]
pub struct AgentState {
    /// The short name: `claude-code`, `codex`, `cursor`, …
    pub agent: &'static str,
    /// The name for users.
    pub name: &'static str,
    /// Whether the agent is installed on this machine.
    pub found: bool,
    /// The MCP server.
    pub server: Wired,
    /// The hooks.
    pub hooks: Wired,
    /// The configuration files.
    #[serde(serialize_with = "serialize_paths")]
    pub files: Vec<PathBuf>,
    /// The configuration files that cannot be read.
    #[serde(serialize_with = "serialize_paths")]
    pub unreadable: Vec<PathBuf>,
    /// The programs that its entries for Loci run, each once.
    pub entries: Vec<Entry>,
    /// Whether MemPalace's server or hooks are configured.
    pub mempalace: bool,
    /// The advice for the user, if any.
    #[serde(rename = "remedy", skip_serializing_if = "Option::is_none")]
    pub advice: Option<WiringAdvice>,
}

/// Advice about the wiring of an agent. Front ends provide the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum WiringAdvice {
    /// Correct the configuration file by hand.
    CorrectFile {
        /// The problem of the file.
        problem: String,
    },
    /// Connect the agent again, because its entries run another program or some are missing.
    ConnectAgain {
        /// The agent.
        agent: &'static str,
        /// Whether its hooks are wired.
        hooks: bool,
    },
    /// Replace MemPalace's entries.
    ReplaceMempalace {
        /// The agent.
        agent: &'static str,
    },
    /// Connect the agent.
    Connect {
        /// The agent.
        agent: &'static str,
        /// Whether it has hooks.
        hooks: bool,
    },
    /// Add its hooks.
    AddHooks {
        /// The agent.
        agent: &'static str,
    },
}

/// An entry for Loci.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Whether it is a hook; otherwise it is the server.
    pub hook: bool,
    /// The program, as written.
    pub program: String,
    /// Whether that is this program.
    pub current: bool,
    /// Whether the program does not exist any more.
    pub gone: bool,
    /// The palace that it names; `None` for the default one.
    #[serde(serialize_with = "serialize_optional_path")]
    pub palace: Option<PathBuf>,
}

/// Returns the state of all agents that Loci knows. It only reads.
pub fn survey(home: &Home) -> Vec<AgentState> {
    survey_for(home, &program(home).unwrap_or_default())
}

/// Like [`survey()`], for the program at `program`.
pub fn survey_for(home: &Home, program: &Path) -> Vec<AgentState> {
    survey::survey(home, program)
}

/// Returns a stable path of the running program: the one on `PATH` that leads to it, or else its
/// own. Packages install a new version into another directory and keep the name on `PATH`.
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

/// Returns the agent that an unknown name probably means, by the name of its program or the
/// beginning of its own.
pub fn similar_agent(name: &str) -> Option<&'static str> {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let wanted = plain(name);
    let is = |agent: &&agents::Agent| {
        let own = plain(agent.id);
        own == wanted || plain(agent.name) == wanted || agent.programs.contains(&wanted.as_str())
    };
    let begins = |agent: &&agents::Agent| {
        let own = plain(agent.id);
        wanted.len() > 2 && (own.starts_with(&wanted) || wanted.starts_with(&own))
    };
    let mut known = agents::AGENTS.iter();
    let found = known
        .find(is)
        .or_else(|| agents::AGENTS.iter().find(begins));
    found.map(|agent| agent.id)
}

/// The directory with backups of configuration files from before they were changed.
pub fn backups(home: &Home) -> PathBuf {
    home.state.join("wiring").join("backups")
}

//! Entries for Loci in the configuration of agents: shown, made, and undone exactly.

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
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It runs another program than this one, or lacks a part.
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
    #[serde(serialize_with = "serialize_paths")]
    pub files: Vec<PathBuf>,
    /// Those of them that cannot be read.
    #[serde(serialize_with = "serialize_paths")]
    pub unreadable: Vec<PathBuf>,
    /// What its entries for Loci run, each once.
    pub entries: Vec<Entry>,
    /// Whether MemPalace's server or hooks are in them.
    pub mempalace: bool,
    /// What to do about it, if anything.
    #[serde(rename = "remedy", skip_serializing_if = "Option::is_none")]
    pub advice: Option<WiringAdvice>,
}

/// What to do about the wiring of an agent. Front ends have the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum WiringAdvice {
    /// Correct the configuration file by hand.
    CorrectFile {
        /// What is wrong with it.
        problem: String,
    },
    /// Connect the agent again: its entries run another program, or some are missing.
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

/// What an entry for Loci runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Whether it is a hook; else it is the server.
    pub hook: bool,
    /// The program as it is written.
    pub program: String,
    /// Whether that is this program.
    pub current: bool,
    /// Whether there is no such program any more.
    pub gone: bool,
    /// The palace that it names; `None` for the usual one.
    #[serde(serialize_with = "serialize_optional_path")]
    pub palace: Option<PathBuf>,
}

/// The agents that Loci knows, as they are set up now. Reads only.
pub fn survey(home: &Home) -> Vec<AgentState> {
    survey_for(home, &program(home).unwrap_or_default())
}

/// The same for the program at `program`.
pub fn survey_for(home: &Home, program: &Path) -> Vec<AgentState> {
    survey::survey(home, program)
}

/// The running program by a path that stays: the one on `PATH` that leads to it, else its own.
/// Packages put a new version into another directory and leave the name on `PATH` as it is.
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

/// The agent that is probably meant by a name that is none: the name of its program, or the
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

/// The directory that keeps what configuration files held before they were changed.
pub fn backups(home: &Home) -> PathBuf {
    home.state.join("wiring").join("backups")
}

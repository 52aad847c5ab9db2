//! The planned changes, results and failures of wiring.

use std::path::PathBuf;

use loci_palace::{Error, serialize_path};
use serde::{Serialize, Serializer};

use super::splice::Edit;

/// A planned or completed change of one file.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The agent that owns the file.
    pub agent: &'static str,
    /// The file.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// The kind of change.
    pub act: Act,
    /// The edits of its text.
    pub edits: Vec<Edit>,
}

/// The kind of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// The file is created.
    Created,
    /// Entries in the file change.
    Changed,
    /// The file gets its old bytes back.
    Restored,
    /// The file was created by Loci and is removed.
    Removed,
}

/// An agent whose file cannot be changed. The other agents are not affected.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// The agent.
    pub agent: &'static str,
    /// The error of its file.
    #[serde(serialize_with = "message")]
    pub error: Error,
}

/// The result of wiring.
#[derive(Debug, Default, Serialize)]
pub struct Outcome {
    /// The changed files.
    pub changes: Vec<Change>,
    /// The agents that failed, completely or partly.
    pub failed: Vec<Failed>,
}

fn message<S: Serializer>(error: &Error, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

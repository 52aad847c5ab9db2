//! What wiring does to files, did, or could not do.

use std::path::PathBuf;

use loci_palace::{Error, serialize_path};
use serde::{Serialize, Serializer};

use super::splice::Edit;

/// What is to be done to one file, or was.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The agent whose file it is.
    pub agent: &'static str,
    /// The file.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// What happens to it.
    pub act: Act,
    /// The places in it.
    pub edits: Vec<Edit>,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// It is made.
    Created,
    /// Entries in it change.
    Changed,
    /// It goes back to the bytes it had.
    Restored,
    /// It was made by Loci and goes.
    Removed,
}

/// An agent whose file stands in the way. The others are done all the same.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// The agent.
    pub agent: &'static str,
    /// What is wrong with its file.
    #[serde(serialize_with = "message")]
    pub error: Error,
}

/// What was done, and what could not be.
#[derive(Debug, Default, Serialize)]
pub struct Outcome {
    /// The files that were changed.
    pub changes: Vec<Change>,
    /// The agents that were not done, or not wholly.
    pub failed: Vec<Failed>,
}

fn message<S: Serializer>(error: &Error, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

//! One prompt, and what the hook considered for it.

use loci_recall::RELEVANCE_INPUTS;
use serde::{Deserialize, Serialize};

/// What a prompt measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedKind {
    /// A question whose evidence is in the palace.
    Help,
    /// A question whose evidence is not in the palace.
    Cross,
    /// An everyday prompt that needs no memory.
    Junk,
}

/// The kinds of palaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PalaceSize {
    /// Notes and short chats of a project.
    Notes,
    /// One conversation of the data set.
    Small,
    /// All conversations of the data set.
    Large,
}

/// A prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HookRow {
    /// What it measures.
    pub kind: AskedKind,
    /// The id of the question, or the number of the everyday prompt.
    pub id: String,
    /// The text.
    pub prompt: String,
    /// The kind of the palace.
    pub size: PalaceSize,
    /// The drawers, the most relevant first.
    pub considered: Vec<Considered>,
    /// CPU milliseconds of choosing them.
    pub cpu_ms: f64,
}

/// A drawer that was considered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Considered {
    /// Its id.
    pub id: String,
    /// Its relevance.
    pub relevance: f32,
    /// What the relevance is computed from.
    pub inputs: [f32; RELEVANCE_INPUTS],
    /// Whether it belongs to a session with evidence.
    pub is_evidence: bool,
    /// Whether it was added to the prompt.
    pub is_added: bool,
}

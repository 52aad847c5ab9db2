//! One prompt, and what the hook considered for it.

use loci_recall::{LATER_INPUTS, RELEVANCE_INPUTS};
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
    /// Whether the question is about something that changed.
    pub is_update: bool,
    /// The two statements that the question is about, if it is about a pair.
    pub pair: Option<AskedPair>,
    /// Drawers that were compared with later ones. Only in the details.
    pub compared: Vec<Compared>,
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
    /// The drawer that seems to replace it.
    pub later: Option<String>,
}

/// A question about two statements on one thing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskedPair {
    /// The ids of the earlier and the later statement.
    pub ids: [String; 2],
    /// Whether the later one replaces the earlier one.
    pub overruled: bool,
    /// Whether no weight is fitted to it.
    pub held_apart: bool,
}

/// A drawer and the later drawers that it was compared with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compared {
    /// Its id.
    pub id: String,
    /// The inputs of each later drawer, and whether that one really replaces it.
    pub later: Vec<([f32; LATER_INPUTS], bool)>,
}

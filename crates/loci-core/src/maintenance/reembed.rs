//! The result and the progress of `reembed`.

use crate::embedder::EmbedderIdentity;

/// The result of `reembed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reembedded {
    /// Drawers with a vector of the new embedder.
    pub drawers: u64,
    /// Vectors that this run made.
    pub made: u64,
    /// Vectors that an interrupted run made before.
    pub resumed: u64,
    /// The embedder of the old vectors, if it is known.
    pub before: Option<EmbedderIdentity>,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReembedProgress {
    /// Drawers with a new vector.
    pub done: u64,
    /// Drawers with text.
    pub total: u64,
}

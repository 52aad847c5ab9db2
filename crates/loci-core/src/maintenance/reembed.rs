//! What `reembed` did, and how far it is.

use crate::embedder::EmbedderIdentity;

/// What `reembed` did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reembedded {
    /// Drawers that have a vector of the new embedder.
    pub drawers: u64,
    /// Vectors that this run made.
    pub made: u64,
    /// Vectors that an earlier run had made.
    pub resumed: u64,
    /// Who made the old vectors, if that was known.
    pub before: Option<EmbedderIdentity>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReembedProgress {
    /// Drawers with a new vector.
    pub done: u64,
    /// Drawers with text.
    pub total: u64,
}

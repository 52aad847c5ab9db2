//! What Loci does when an agent calls one of its hooks.

use serde::{Deserialize, Serialize};

use crate::home::Home;

/// A call of a hook, as it is noted for `loci doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    /// The event, by Loci's name.
    pub event: String,
    /// The harness that called.
    pub harness: String,
    /// When (RFC 3339).
    pub at: String,
    /// Whether it could do its work.
    pub ok: bool,
    /// What it did, or why not.
    pub note: String,
    /// How long it took.
    pub milliseconds: u64,
}

/// The last call of each hook of each harness, and the last that failed. Reads only.
pub fn last_runs(home: &Home) -> Vec<HookRun> {
    let _ = home;
    Vec::new()
}

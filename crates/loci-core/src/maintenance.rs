//! Housekeeping that a backend offers, the state that says whether it is due, and what the care of
//! a palace reports.

mod forget;
mod reembed;
mod repair;
mod self_test;
mod state;
mod verify;

use std::collections::BTreeMap;

pub use forget::{ForgetOutcome, PurgePending};
pub use reembed::{ReembedProgress, Reembedded};
pub use repair::{KnownBy, LostDrawer, LostRelation, RepairOptions, RepairReport, SalvageReport};
pub use self_test::{RehearsalStep, SelfTest};
pub use state::{PalaceState, Restored};
pub use verify::{Finding, FindingKind, VerifyReport};

use schemars::JsonSchema;
use serde::Serialize;

/// A kind of housekeeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MaintenanceKind {
    /// Refresh planner statistics.
    Analyze,
    /// Give back space and trim tombstones that no index needs.
    Compact,
    /// Rebuild the derived vector index.
    Reindex,
}

/// What a maintenance call did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MaintenanceResult {
    /// The kind that was asked for.
    pub kind: MaintenanceKind,
    /// Whether it ran.
    pub status: MaintenanceStatus,
    /// Numbers about it.
    pub stats: BTreeMap<&'static str, u64>,
}

/// Whether a maintenance call ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MaintenanceStatus {
    /// It ran.
    Ran,
    /// Another process is doing it.
    AlreadyRunning,
    /// There was nothing to do.
    Noop,
}

/// How far the derived index of a collection is behind the truth.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MaintenanceState {
    /// Sequence number of the collection's last change.
    pub seq: u64,
    /// Sequence number the registered index covers; `None` without an index.
    pub covered: Option<u64>,
    /// Vectors in the collection.
    pub vectors: u64,
    /// Vectors that are searched exactly because the index does not cover them.
    pub tail: u64,
    /// Whether the next process that may build will build.
    pub due: bool,
    /// Tombstones that are kept.
    pub tombstones: u64,
    /// Why no automatic rebuild happens, when that is so.
    pub held_back: Option<String>,
}

/// How hard a commit tries to reach the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Survives the death of any process. A power cut may take the last commits, never consistency.
    #[default]
    Normal,
    /// Survives a power cut too: every commit waits for the disk.
    Full,
}

//! Maintenance of a palace: what a backend offers, whether it is due, and what it reports.

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
pub use self_test::{SelfTest, SelfTestStep};
pub use state::{BackupContents, PalaceState, Restored};
pub use verify::{Finding, FindingKind, VerifyReport};

use schemars::JsonSchema;
use serde::Serialize;

/// A kind of maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MaintenanceKind {
    /// Refresh the statistics of the query planner.
    Analyze,
    /// Release free space and remove tombstones that no index needs.
    Compact,
    /// Rebuild the vector index.
    Reindex,
}

/// The result of a maintenance call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MaintenanceResult {
    /// The requested kind.
    pub kind: MaintenanceKind,
    /// Whether it ran.
    pub status: MaintenanceStatus,
    /// Statistics, by name.
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
    /// There is nothing to do.
    Noop,
}

/// How far the index of a collection is behind the collection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MaintenanceState {
    /// Sequence number of the collection's last change.
    pub seq: u64,
    /// Sequence number that the registered index covers; `None` without an index.
    pub covered: Option<u64>,
    /// Number of vectors in the collection.
    pub vectors: u64,
    /// Number of vectors that the index does not cover. They are compared one by one.
    pub tail: u64,
    /// Whether a rebuild is due.
    pub due: bool,
    /// Number of tombstones.
    pub tombstones: u64,
    /// Why automatic rebuilds are suspended; `None` if they are not.
    pub held_back: Option<String>,
}

/// When a commit counts as durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A commit survives the death of any process. A power cut may lose the last commits, but never
    /// consistency.
    #[default]
    Normal,
    /// A commit survives a power cut too, because it waits for the disk.
    Full,
}

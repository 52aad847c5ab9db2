//! The state of a palace, what a backup holds, and the result of a restore.

use std::path::PathBuf;

use crate::warning::Warning;

/// The state of a palace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PalaceState {
    /// The name of the palace, which its backups have too: random, and the same for as long as the
    /// palace exists. Empty if the backend has none.
    pub identity: String,
    /// Format version of the database.
    pub format: i64,
    /// Sequence number of the last change.
    pub seq: u64,
    /// Whether forgotten text may still be in the files. The next process that can do so removes
    /// it.
    pub purge_pending: bool,
    /// Number of facts.
    pub facts: u64,
    /// Number of links.
    pub links: u64,
    /// Number of drawers that a repair quarantined because their bytes were damaged.
    pub damaged_drawers: u64,
    /// Number of facts and links that a repair quarantined because their bytes were damaged.
    pub damaged_relations: u64,
    /// Number of duplicates that were moved to a separate table when the palace was opened.
    pub removed_duplicates: u64,
    /// Total size of the files in the palace directory, in bytes.
    pub bytes: u64,
    /// Number of index files that failed their check and were quarantined.
    pub drift_files: usize,
    /// All quarantined files. Only `forget` removes them.
    pub set_aside: Vec<String>,
    /// Registered index files.
    pub indexes: Vec<String>,
    /// Why this process cannot write the palace; `None` if it can.
    pub read_only: Option<Warning>,
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Number of drawers in the restored palace.
    pub drawers: u64,
    /// Where the previous palace was moved.
    pub set_aside: Option<PathBuf>,
}

/// What a backup holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupContents {
    /// [`PalaceState::identity`] of the palace that it was made of.
    pub identity: String,
    /// Number of drawers.
    pub drawers: u64,
    /// Number of drawers, facts and links whose bytes are not what was written. Only a deep check
    /// counts them.
    pub damaged: u64,
}

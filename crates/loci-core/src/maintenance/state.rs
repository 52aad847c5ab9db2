//! What a palace looks like from outside.

use std::path::PathBuf;

use crate::warning::Warning;

/// The state of a palace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PalaceState {
    /// Format of the database.
    pub format: i64,
    /// Number of the last change.
    pub seq: u64,
    /// Forgotten text may still be in the files; the next process that can will purge it.
    pub purge_pending: bool,
    /// Facts.
    pub facts: u64,
    /// Links.
    pub links: u64,
    /// Drawers that a repair set aside because their bytes were damaged.
    pub damaged_drawers: u64,
    /// Facts and links that a repair set aside because their bytes were damaged.
    pub damaged_relations: u64,
    /// Duplicates that were removed when the palace was opened; they are kept in a side table.
    pub removed_duplicates: u64,
    /// Bytes of all files in the palace directory.
    pub bytes: u64,
    /// Index files that failed their check and were set aside.
    pub drift_files: usize,
    /// All files that were set aside instead of being deleted; only `forget` removes them.
    pub set_aside: Vec<String>,
    /// Registered index files.
    pub indexes: Vec<String>,
    /// This process cannot write the palace, and why.
    pub read_only: Option<Warning>,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Drawers in the palace now.
    pub drawers: u64,
    /// Where the palace that was there before is now.
    pub set_aside: Option<PathBuf>,
}

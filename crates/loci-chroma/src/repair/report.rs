//! What a repair says it did.

use std::path::PathBuf;

use serde::Serialize;

use crate::{Finding, shown};

/// What was done, or in a dry run would be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RepairReport {
    /// The directory that was mended.
    #[serde(serialize_with = "shown::path")]
    pub path: PathBuf,
    /// Whether this only says what would be done.
    pub dry_run: bool,
    /// Whether anything was (or would be) changed.
    pub changed: bool,
    /// What was wrong before.
    pub findings: Vec<Finding>,
    /// What was changed in the database.
    pub changes: Vec<Change>,
    /// Each collection.
    pub collections: Vec<CollectionRepair>,
    /// Things to know that are no damage.
    pub notes: Vec<String>,
    /// The database as it was.
    #[serde(serialize_with = "shown::option")]
    pub backup: Option<PathBuf>,
    /// Segment directories that were renamed.
    pub set_aside: Vec<SetAside>,
}

/// One kind of change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What was changed.
    pub what: String,
    /// How many.
    pub count: u64,
}

impl Change {
    pub(crate) fn new(what: impl Into<String>, count: u64) -> Self {
        Self {
            what: what.into(),
            count,
        }
    }
}

/// One collection.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CollectionRepair {
    /// Its name.
    pub name: String,
    /// Records before.
    pub records: u64,
    /// Whether its vectors were written into the queue.
    pub written_back: bool,
    /// Vectors read from its index.
    pub from_segment: u64,
    /// Vectors read from the queue.
    pub from_queue: u64,
    /// Vectors read from directories that were set aside earlier, or that no collection owns.
    pub from_siblings: u64,
    /// Records whose vector is nowhere: their text must be embedded again.
    pub needs_embedding: Vec<String>,
    /// Ids of records that went with damaged pages of the database; only their vectors are left.
    pub lost: Vec<String>,
    /// Ids that the index had and no record has: deleted records, taken out of it.
    pub ghosts: Vec<String>,
}

/// A directory that was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetAside {
    /// Its path before.
    #[serde(serialize_with = "shown::path")]
    pub from: PathBuf,
    /// Its path now.
    #[serde(serialize_with = "shown::path")]
    pub to: PathBuf,
}

//! The report of a repair.

use std::path::PathBuf;

use loci_core::finding::Finding;
use loci_core::{serialize_optional_path, serialize_path};
use schemars::JsonSchema;
use serde::Serialize;

/// The result of a repair, or its plan in a dry run.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct RepairReport {
    /// The directory that was repaired.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// Whether anything was changed, or would be in a dry run.
    pub changed: bool,
    /// Problems found before the repair.
    pub findings: Vec<Finding>,
    /// Changes to the database.
    pub changes: Vec<Change>,
    /// The collections.
    pub collections: Vec<CollectionRepair>,
    /// Notes that are not about damage.
    pub notes: Vec<String>,
    /// The backup of the database.
    #[serde(serialize_with = "serialize_optional_path")]
    #[schemars(with = "Option<String>")]
    pub backup: Option<PathBuf>,
    /// Segment directories that were renamed.
    pub set_aside: Vec<RenamedDirectory>,
    /// The JSON Lines file with records that have no vector and were moved out of the database.
    /// Absent if there were none, and in a dry run.
    #[serde(serialize_with = "serialize_optional_path")]
    #[schemars(with = "Option<String>")]
    pub moved_file: Option<PathBuf>,
    /// The JSON Lines file with texts of uncertain id. Absent if there were none, and in a dry run.
    #[serde(serialize_with = "serialize_optional_path")]
    #[schemars(with = "Option<String>")]
    pub candidates_file: Option<PathBuf>,
    /// How many texts have an uncertain id.
    pub candidates: u64,
}

impl RepairReport {
    /// Removes the JSON Lines files. Their rows must still be in the database.
    pub(super) fn remove_files(&mut self) {
        let files = [self.moved_file.take(), self.candidates_file.take()];
        for file in files.into_iter().flatten() {
            // The error that led here is the one to report. A redundant file does no harm.
            _ = std::fs::remove_file(file);
        }
    }
}

/// One kind of change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// What was changed.
    pub what: String,
    /// How many times.
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
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct CollectionRepair {
    /// Its name.
    pub name: String,
    /// The number of records before the repair.
    pub records: u64,
    /// Whether its vectors were written into the queue.
    pub written_back: bool,
    /// Vectors read from its index.
    pub from_segment: u64,
    /// Vectors read from the queue.
    pub from_queue: u64,
    /// Vectors read from quarantined directories, or from directories that belong to no collection.
    pub from_siblings: u64,
    /// Records whose vector is in no file. Their text must be embedded again.
    pub needs_embedding: Vec<String>,
    /// How many of them were moved into [`RepairReport::moved_file`].
    pub moved: u64,
    /// Records that got a new vector from their text.
    pub embedded: u64,
    /// Records whose row was lost and was restored.
    pub restored: u64,
    /// Ids of records that were lost with damaged pages of the database. Only their vectors are
    /// left.
    pub lost: Vec<String>,
    /// Ids of records that have lost metadata which no file in the directory holds.
    pub metadata_lost: Vec<String>,
    /// Ids in the index that no record has. They belong to deleted records and were removed from
    /// the index.
    pub ghosts: Vec<String>,
}

/// A directory that was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RenamedDirectory {
    /// The old path.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub from: PathBuf,
    /// The new path.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub to: PathBuf,
}

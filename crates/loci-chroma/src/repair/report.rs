//! What a repair says it did.

use std::path::PathBuf;

use loci_core::{serialize_optional_path, serialize_path};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Finding;

/// What was done, or in a dry run would be.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct RepairReport {
    /// The directory that was repaired.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
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
    #[serde(serialize_with = "serialize_optional_path")]
    #[schemars(with = "Option<String>")]
    pub backup: Option<PathBuf>,
    /// Segment directories that were renamed.
    pub set_aside: Vec<SetAside>,
    /// Records without a vector that were moved out of the directory, in JSON lines; absent if there were none, and in a dry run.
    #[serde(serialize_with = "serialize_optional_path")]
    #[schemars(with = "Option<String>")]
    pub moved_file: Option<PathBuf>,
    /// Texts whose id is not certain, in JSON lines; absent if there were none, and in a dry run.
    #[serde(serialize_with = "serialize_optional_path")]
    #[schemars(with = "Option<String>")]
    pub candidates_file: Option<PathBuf>,
    /// How many such texts there are.
    pub candidates: u64,
}

impl RepairReport {
    /// Removes the files of JSON lines again, where the rows that they hold stay in the database.
    pub(super) fn remove_files(&mut self) {
        let files = [self.moved_file.take(), self.candidates_file.take()];
        for file in files.into_iter().flatten() {
            // The error that led here is the one to report; a file too many does no harm.
            _ = std::fs::remove_file(file);
        }
    }
}

/// One kind of change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
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
    /// How many of them were moved out of the directory, into [`RepairReport::moved_file`].
    pub moved: u64,
    /// Records that got a new vector from their text.
    pub embedded: u64,
    /// Records whose row was gone and was made again.
    pub restored: u64,
    /// Ids of records that went with damaged pages of the database; only their vectors are left.
    pub lost: Vec<String>,
    /// Ids of records that have lost metadata which is in no file here.
    pub metadata_lost: Vec<String>,
    /// Ids that the index had and no record has: deleted records, taken out of it.
    pub ghosts: Vec<String>,
}

/// A directory that was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SetAside {
    /// Its path before.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub from: PathBuf,
    /// Its path now.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub to: PathBuf,
}

//! The verb `status`: counts and sizes of a palace, and how far its indexes are behind.

use std::collections::BTreeMap;

use loci_core::{
    CollectionInfo, MaintenanceState, MetaValue, PalaceState, Result, Selection, Warning,
};
use loci_embed::is_earlier_table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backup::{LastBackup, last_backup};
use crate::detail::Detail;
use crate::palace::Palace;

/// Maximum number of values of a key that are counted in one collection.
const PLACES: usize = 100;

/// The parts of the state to report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Whether the answer has the state of the files.
    pub detail: Detail,
    /// Whether drawers are counted by wing and by room.
    pub places: bool,
}

/// Exact counts, and the state of the indexes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Where the palace is.
    pub palace: String,
    /// Drawers of all collections.
    pub total: u64,
    /// Facts.
    pub facts: u64,
    /// Links.
    pub links: u64,
    /// Bytes of all files in the palace directory.
    pub bytes: u64,
    /// Each collection.
    pub collections: Vec<CollectionStatus>,
    /// The state of the files, in a full answer.
    #[serde(flatten)]
    pub files: Option<Files>,
    /// Drawers by wing, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wings: Option<BTreeMap<String, u64>>,
    /// Drawers by room, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rooms: Option<BTreeMap<String, u64>>,
    /// Warnings about needed repairs and pending work.
    pub warnings: Vec<Warning>,
    /// The palace as a whole, as its backend reports it.
    #[serde(skip)]
    pub state: PalaceState,
}

/// A collection with the state of its index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CollectionStatus {
    /// Counts and settings.
    #[serde(flatten)]
    pub info: CollectionInfo,
    /// How far its index is behind.
    pub index: MaintenanceState,
}

/// The state of the files of a palace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Files {
    /// Drawers of all collections. A brief answer has no such member, because `drawers` is a list
    /// in `loci_list`, which returns the brief answer.
    pub drawers: u64,
    /// Name of the backend.
    pub backend: String,
    /// Format of the database.
    pub format: i64,
    /// Number of the last change.
    pub seq: u64,
    /// Whether forgotten text may still be in the files; the next process that can purges it.
    pub purge_pending: bool,
    /// Drawers that a repair set aside because their bytes were damaged.
    pub damaged_drawers: u64,
    /// Facts and links that a repair set aside because their bytes were damaged.
    pub damaged_relations: u64,
    /// Duplicates that were removed when the palace was opened; they are kept in a side table.
    pub removed_duplicates: u64,
    /// Index files that failed their check and were set aside.
    pub drift_files: usize,
    /// The last backup that was recorded, if there is one.
    pub last_backup: Option<LastBackup>,
    /// Why this process cannot write to the palace, if it cannot.
    pub read_only: Option<String>,
    /// All files that were set aside instead of being deleted; only `forget` removes them.
    pub set_aside: Vec<String>,
    /// Registered index files.
    pub indexes: Vec<String>,
}

impl Palace {
    /// Exact counts and the state of the indexes.
    pub fn status(&self, request: &Request) -> Result<Answer> {
        let mut collections = Vec::new();
        for info in self.collections()? {
            let index = self.collection(&info.name, false)?.maintenance_state()?;
            collections.push(CollectionStatus { info, index });
        }
        let state = self.backend.state(&self.reference)?;
        let total = collections.iter().map(|of| of.info.count).sum();
        let places = |key| request.places.then(|| self.places(key)).transpose();
        Ok(Answer {
            palace: self.place().to_string(),
            total,
            facts: state.facts,
            links: state.links,
            bytes: state.bytes,
            files: (request.detail == Detail::Full).then(|| self.files(total, &state)),
            wings: places("wing")?,
            rooms: places("room")?,
            warnings: warnings_of(&collections, &state),
            collections,
            state,
        })
    }

    fn files(&self, drawers: u64, state: &PalaceState) -> Files {
        Files {
            drawers,
            backend: self.backend_name().to_owned(),
            format: state.format,
            seq: state.seq,
            purge_pending: state.purge_pending,
            damaged_drawers: state.damaged_drawers,
            damaged_relations: state.damaged_relations,
            removed_duplicates: state.removed_duplicates,
            drift_files: state.drift_files,
            last_backup: self.last_backup(state),
            read_only: state.read_only.as_ref().map(Warning::message),
            set_aside: state.set_aside.clone(),
            indexes: state.indexes.clone(),
        }
    }

    /// The last backup that was recorded; `None` if there is none.
    pub fn last_backup(&self, state: &PalaceState) -> Option<LastBackup> {
        last_backup(self.directory()?, state)
    }

    /// Drawers by the value of a key, over all collections.
    fn places(&self, key: &str) -> Result<BTreeMap<String, u64>> {
        let mut places = BTreeMap::new();
        for collection in self.scope(None)? {
            let counts = collection.facet_counts(key, &Selection::all(), PLACES)?;
            for (value, count) in counts.values {
                if let MetaValue::Str(name) = value {
                    *places.entry(name).or_default() += count;
                }
            }
        }
        Ok(places)
    }
}

fn warnings_of(collections: &[CollectionStatus], state: &PalaceState) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let records = state.damaged_drawers + state.damaged_relations;
    if records > 0 {
        warnings.push(Warning::DamagedRecords { records });
    }
    if state.purge_pending {
        warnings.push(Warning::PurgePending);
    }
    for of in collections {
        if of.info.embedder.as_ref().is_some_and(is_earlier_table) {
            warnings.push(Warning::EarlierTable {
                collection: of.info.name.clone(),
            });
        }
        if let Some(reason) = &of.index.held_back {
            warnings.push(Warning::IndexHeldBack {
                collection: of.info.name.clone(),
                reason: reason.clone(),
            });
        }
    }
    warnings
}

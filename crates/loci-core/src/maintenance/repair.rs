//! The results of a repair and a salvage.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::verify::{Finding, add_ok};
use crate::history::LeftOut;
use crate::path_text::{path_text, serialize_path};

/// The result of a repair. JSON also has the member `ok`: [`RepairReport::ok`].
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(transform = add_ok)]
pub struct RepairReport {
    /// Findings before the repair.
    pub before: Vec<Finding>,
    /// Actions, in order.
    pub actions: Vec<String>,
    /// Number of drawers before.
    pub drawers_before: u64,
    /// Number of drawers after.
    pub drawers_after: u64,
    /// Damaged drawers that were moved to the table `damaged_drawers`, by id if it could be read.
    pub set_aside: Vec<String>,
    /// The copy that was made before any change.
    #[schemars(with = "Option<String>")]
    pub copy: Option<PathBuf>,
    /// The salvage into a new palace, if the database could not be read.
    pub salvage: Option<SalvageReport>,
    /// Path of the damaged database, if the salvaged one replaced it.
    #[schemars(with = "Option<String>")]
    pub replaced: Option<PathBuf>,
    /// Findings that remain.
    pub remaining: Vec<Finding>,
}

impl RepairReport {
    /// Whether the palace is healthy afterwards. A salvage into another directory leaves it as
    /// damaged as before.
    pub fn ok(&self) -> bool {
        let still_damaged = self.salvage.is_some() && self.replaced.is_none();
        self.remaining.is_empty() && !still_damaged
    }

    /// Whether the palace is healthy afterwards and has everything that it had before.
    pub fn is_complete(&self) -> bool {
        self.ok() && self.salvage.as_ref().is_none_or(SalvageReport::is_complete)
    }
}

impl Serialize for RepairReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = |path: &Option<PathBuf>| path.as_deref().map(path_text);
        let mut object = serializer.serialize_struct("RepairReport", 10)?;
        object.serialize_field("ok", &self.ok())?;
        object.serialize_field("before", &self.before)?;
        object.serialize_field("actions", &self.actions)?;
        object.serialize_field("drawers_before", &self.drawers_before)?;
        object.serialize_field("drawers_after", &self.drawers_after)?;
        object.serialize_field("set_aside", &self.set_aside)?;
        object.serialize_field("copy", &path(&self.copy))?;
        object.serialize_field("replaced", &path(&self.replaced))?;
        object.serialize_field("salvage", &self.salvage)?;
        object.serialize_field("remaining", &self.remaining)?;
        object.end()
    }
}

/// Options of a repair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RepairOptions {
    /// Replace the damaged palace with the salvaged one. The damaged palace is kept under another
    /// name.
    pub replace: bool,
}

/// How the number of drawers before a salvage is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// From the counters of the collections. The number is exact.
    Counter,
    /// From the remaining traces of drawers. There may have been more.
    #[default]
    Evidence,
}

/// A drawer that could not be read, with everything that is still known about it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct LostDrawer {
    /// Its row number.
    pub row: u64,
    /// Its id.
    pub id: Option<String>,
    /// Its collection, by the name it has in the salvaged palace.
    pub collection: Option<String>,
    /// Its wing.
    pub wing: Option<String>,
    /// Its room.
    pub room: Option<String>,
    /// The file it was mined from.
    pub source_file: Option<String>,
    /// The line it begins at.
    pub line: Option<String>,
    /// Where it is still mentioned, for example `ids`, `labels`, `postings` or `vectors`.
    pub evidence: Vec<&'static str>,
}

/// A fact or link that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct LostRelation {
    /// Its row number.
    pub row: u64,
    /// The id of a fact, or the ends of a link.
    pub what: String,
}

/// The result of a salvage.
///
/// `drawers_before` = `saved` + `damaged_drawers` + `duplicates` + `lost_drawers`. If that does not
/// hold, `discrepancies` explains it.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SalvageReport {
    /// The new palace.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub palace: PathBuf,
    /// Number of drawers before the salvage, as far as it is known.
    pub drawers_before: u64,
    /// How that is known.
    pub known_by: KnownBy,
    /// Number of drawers in the new palace.
    pub saved: u64,
    /// Saved drawers whose vector was lost, by id. Their text was checked against its own hash.
    pub without_vector: Vec<String>,
    /// Number of facts in the new palace.
    pub facts: u64,
    /// Number of links in the new palace.
    pub links: u64,
    /// Records with damaged bytes: drawers by id if it could be read, facts and links by row. They
    /// are kept in `damaged_drawers`, `damaged_facts` and `damaged_links`.
    pub damaged: Vec<String>,
    /// Number of drawers among them.
    pub damaged_drawers: u64,
    /// Duplicate drawers, with the same text from the same location as another one.
    pub duplicates: u64,
    /// Drawers that were neither saved nor kept as damaged.
    pub lost_drawers: u64,
    /// Lost drawers that nothing mentions.
    pub lost_without_a_trace: u64,
    /// Lost drawers that are still mentioned somewhere.
    pub lost: Vec<LostDrawer>,
    /// Facts that were lost.
    pub lost_facts: Vec<LostRelation>,
    /// Links that were lost.
    pub lost_links: Vec<LostRelation>,
    /// Counts that do not add up.
    pub discrepancies: Vec<String>,
    /// Number of ledger rows in the new palace.
    pub sources: u64,
    /// Sources that the next mine reads again, because one of their drawers may be lost.
    pub incomplete_sources: u64,
    /// Data that a salvage does not copy.
    pub left_out: Vec<LeftOut>,
    /// Number of pages that could not be read.
    pub unreadable_pages: u32,
    /// Number of records that could not be read.
    pub damaged_records: u64,
}

impl SalvageReport {
    /// Whether every drawer, fact and link was saved. Vectors that were lost do not count: their
    /// texts are there.
    pub fn is_complete(&self) -> bool {
        self.lost_drawers == 0
            && self.damaged.is_empty()
            && self.lost_facts.is_empty()
            && self.lost_links.is_empty()
            && self.discrepancies.is_empty()
    }
}

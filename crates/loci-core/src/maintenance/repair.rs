//! What a repair or a salvage did.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::verify::{Finding, add_ok};
use crate::history::LeftOut;
use crate::path_text::{path_text, serialize_path};

/// What a repair did. JSON has the member `ok` too: [`RepairReport::ok`].
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(transform = add_ok)]
pub struct RepairReport {
    /// What verify found before.
    pub before: Vec<Finding>,
    /// What was done, in order.
    pub actions: Vec<String>,
    /// Drawers before.
    pub drawers_before: u64,
    /// Drawers after.
    pub drawers_after: u64,
    /// Damaged drawers moved to the side table `damaged_drawers`, by id where it could be read.
    pub set_aside: Vec<String>,
    /// The copy made before anything was changed.
    #[schemars(with = "Option<String>")]
    pub copy: Option<PathBuf>,
    /// The salvage into a new palace, if the database could not be read.
    pub salvage: Option<SalvageReport>,
    /// Where the damaged database is now, if the salvaged one took its place.
    #[schemars(with = "Option<String>")]
    pub replaced: Option<PathBuf>,
    /// What verify still finds.
    pub remaining: Vec<Finding>,
}

impl RepairReport {
    /// Whether the palace is whole afterwards. After a salvage beside it, it is as damaged as
    /// before.
    pub fn ok(&self) -> bool {
        let still_damaged = self.salvage.is_some() && self.replaced.is_none();
        self.remaining.is_empty() && !still_damaged
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

/// How to repair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RepairOptions {
    /// Put a salvaged palace in the place of the damaged one, which is kept under another name.
    pub replace: bool,
}

/// How the number of drawers before a salvage is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// From the counters of the collections: the number is exact.
    Counter,
    /// From what is left of the drawers: there may have been more.
    #[default]
    Evidence,
}

/// A drawer that was there and could not be read, with everything that is still known of it.
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
    /// Where it is still mentioned: `ids`, `labels`, `postings`, `vectors` and the like.
    pub evidence: Vec<&'static str>,
}

/// A fact or link that was there and could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct LostRelation {
    /// Its row number.
    pub row: u64,
    /// The id of a fact, or the ends of a link.
    pub what: String,
}

/// What a salvage saved.
///
/// `drawers_before` = `saved` + `damaged_drawers` + `duplicates` + `lost_drawers`; where that does
/// not hold, `discrepancies` says so.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SalvageReport {
    /// The new palace.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub palace: PathBuf,
    /// Drawers that were there, as far as that is known.
    pub drawers_before: u64,
    /// How that is known.
    pub known_by: KnownBy,
    /// Drawers in the new palace.
    pub saved: u64,
    /// Of those, drawers whose vector was lost, by id; their text was checked by its own hash.
    pub without_vector: Vec<String>,
    /// Facts in it.
    pub facts: u64,
    /// Links in it.
    pub links: u64,
    /// What has damaged bytes: drawers by id where it could be read, facts and links by row; kept
    /// in `damaged_drawers`, `damaged_facts` and `damaged_links`.
    pub damaged: Vec<String>,
    /// Drawers among them.
    pub damaged_drawers: u64,
    /// Drawers that were there already: the same text from the same place.
    pub duplicates: u64,
    /// Drawers that were there and are neither saved nor kept as damaged.
    pub lost_drawers: u64,
    /// Those of them that nothing mentions any more.
    pub lost_without_a_trace: u64,
    /// Those of them that something still mentions.
    pub lost: Vec<LostDrawer>,
    /// Facts that were there and are lost.
    pub lost_facts: Vec<LostRelation>,
    /// Links that were there and are lost.
    pub lost_links: Vec<LostRelation>,
    /// Numbers that do not add up.
    pub discrepancies: Vec<String>,
    /// Rows of the ledger of mining in the new palace.
    pub sources: u64,
    /// Of those, sources that the next mine reads again, because a drawer of theirs may be lost.
    pub incomplete_sources: u64,
    /// What a salvage does not carry over.
    pub left_out: Vec<LeftOut>,
    /// Pages that could not be read.
    pub unreadable_pages: u32,
    /// Records that could not be read.
    pub damaged_records: u64,
}

//! The findings of a verification.

use std::fmt;

use schemars::{JsonSchema, Schema, json_schema};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Maximum number of listed findings of one kind.
const LISTED: usize = 100;

/// A kind of inconsistency. It serialises to one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
#[non_exhaustive]
pub enum FindingKind {
    /// A vector that is missing from an index.
    Missing,
    /// An index entry without a drawer.
    Ghost,
    /// An index entry of an older vector.
    Stale,
    /// A record that differs from what was written.
    Damaged,
    /// A wrong count.
    Count,
    /// A row without an owner.
    Orphan,
    /// Postings that do not match the texts.
    Postings,
    /// Passages that do not match the texts.
    Passages,
    /// Labels that do not match the metadata.
    Labels,
    /// An unusable index file.
    Index,
    /// A damaged log.
    Log,
    /// A table, index, view or trigger that does not belong to a palace.
    Schema,
    /// An error in the database itself.
    Database,
    /// A kind that only one backend has.
    Other(&'static str),
}

impl FindingKind {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Ghost => "ghost",
            Self::Stale => "stale",
            Self::Damaged => "damaged",
            Self::Count => "count",
            Self::Orphan => "orphan",
            Self::Postings => "postings",
            Self::Passages => "passages",
            Self::Labels => "labels",
            Self::Index => "index",
            Self::Log => "log",
            Self::Schema => "schema",
            Self::Database => "database",
            Self::Other(word) => word,
        }
    }
}

impl From<&'static str> for FindingKind {
    fn from(word: &'static str) -> Self {
        match word {
            "missing" => Self::Missing,
            "ghost" => Self::Ghost,
            "stale" => Self::Stale,
            "damaged" => Self::Damaged,
            "count" => Self::Count,
            "orphan" => Self::Orphan,
            "postings" => Self::Postings,
            "passages" => Self::Passages,
            "labels" => Self::Labels,
            "index" => Self::Index,
            "log" => Self::Log,
            "schema" => Self::Schema,
            "database" => Self::Database,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for FindingKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One inconsistency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// The collection, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The drawer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The evidence.
    pub detail: String,
}

/// The result of a verification. JSON also has the member `ok`: [`VerifyReport::ok`].
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(transform = add_ok)]
pub struct VerifyReport {
    /// The findings, at most a hundred of each kind.
    pub findings: Vec<Finding>,
    /// Number of findings that are not listed.
    pub more: u64,
    /// Number of drawers that were checked.
    pub drawers: u64,
    /// Whether rows, postings and codes were recomputed.
    pub deep: bool,
}

impl Serialize for VerifyReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("VerifyReport", 5)?;
        object.serialize_field("ok", &self.ok())?;
        object.serialize_field("findings", &self.findings)?;
        object.serialize_field("more", &self.more)?;
        object.serialize_field("drawers", &self.drawers)?;
        object.serialize_field("deep", &self.deep)?;
        object.end()
    }
}

/// Adds the member `ok` to the schema of a report that computes it.
pub(super) fn add_ok(schema: &mut Schema) {
    if let Some(properties) = schema.ensure_object().get_mut("properties")
        && let Some(properties) = properties.as_object_mut()
    {
        properties.insert("ok".into(), json_schema!({"type": "boolean"}).to_value());
    }
}

impl VerifyReport {
    /// Whether there are no findings.
    pub fn ok(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding, or counts it if its kind has reached the limit.
    pub fn push(
        &mut self,
        kind: impl Into<FindingKind>,
        collection: Option<&str>,
        id: Option<String>,
        detail: impl Into<String>,
    ) {
        let kind = kind.into();
        if self
            .findings
            .iter()
            .filter(|finding| finding.kind == kind)
            .count()
            < LISTED
        {
            self.findings.push(Finding {
                kind,
                collection: collection.map(str::to_owned),
                id,
                detail: detail.into(),
            });
        } else {
            self.more += 1;
        }
    }
}

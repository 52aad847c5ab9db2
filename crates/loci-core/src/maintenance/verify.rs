//! What a verification found.

use std::fmt;

use schemars::{JsonSchema, Schema, json_schema};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Findings of one kind that are listed one by one.
const LISTED: usize = 100;

/// What does not agree. It serialises to one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
#[non_exhaustive]
pub enum FindingKind {
    /// A vector that an index lacks.
    Missing,
    /// An entry of an index without a drawer.
    Ghost,
    /// An entry of an index for an older vector.
    Stale,
    /// A record that is not what was written.
    Damaged,
    /// A count that is wrong.
    Count,
    /// A row that belongs to nothing.
    Orphan,
    /// Postings that do not fit the texts.
    Postings,
    /// Passages that do not fit the texts.
    Passages,
    /// Labels that do not fit the metadata.
    Labels,
    /// An index file that cannot be used.
    Index,
    /// A damaged log.
    Log,
    /// A table, index, view or trigger that is no part of a palace.
    Schema,
    /// The database itself.
    Database,
    /// Something that only one backend knows.
    Other(&'static str),
}

impl FindingKind {
    /// The word that is shown.
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

/// Something that does not agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What does not agree.
    pub kind: FindingKind,
    /// The collection, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The drawer, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The evidence.
    pub detail: String,
}

/// The result of a verification. JSON has the member `ok` too: [`VerifyReport::ok`].
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(transform = add_ok)]
pub struct VerifyReport {
    /// What does not agree, at most a hundred of each kind.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
    pub more: u64,
    /// Drawers looked at.
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
    /// Whether everything agrees.
    pub fn ok(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding, or counts it where its kind has enough.
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

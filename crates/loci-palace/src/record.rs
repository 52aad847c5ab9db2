//! A line of a JSON-lines file: `{"id", "document", "metadata", "embedding"}`, in an export also
//! `collection`, `metric`, `embedder` and the drawer's history; or `{"source": {…}}`, `{"project":
//! {…}}`, `{"fact": {…}}` or `{"link": {…}}`. docs/format.md describes the lines.

pub(crate) mod source;

use loci_core::{
    Batch, EmbedderIdentity, Error, Fact, History, Link, Metadata, MetadataPatch, Origin,
    ProjectRecord, Result, deserialize_strict, refuse_large_integers,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::source::JsonSourceLine;

/// One record as JSON.
///
/// An unknown field is an error, because ignoring it would lose it silently.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonRecord {
    /// The collection it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The collection's metric; left out if it is cosine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The embedder of the collection's vectors; on the first line of a collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<EmbedderIdentity>,
    /// Its id; generated if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The verbatim text.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "text")]
    pub document: Option<String>,
    /// Flat metadata.
    #[serde(
        default,
        skip_serializing_if = "is_empty",
        deserialize_with = "deserialize_strict"
    )]
    pub metadata: Value,
    /// The vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vec<f32>>,
    /// When it was added, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// When it was last changed, in milliseconds since 1970; left out if it was never changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// How often it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses: Option<u64>,
    /// The mined source it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The note of an import about a text without a certain id. It is for people; the import ignores
    /// it.
    #[serde(default, skip_serializing)]
    pub candidate: Option<IgnoredAny>,
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

impl JsonRecord {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Self> {
        refuse_large_integers("record", line, Some("embedding"))?;
        Self::read(line)
    }

    fn read(line: &str) -> Result<Self> {
        // Some editors begin a file with a byte order mark.
        let line = line.trim_start_matches('\u{feff}');
        // An array would be read as the fields of a record in the order of their declaration.
        if !line.trim_start().starts_with('{') {
            return Err(Error::invalid("line", "not a JSON object"));
        }
        serde_json::from_str(line).map_err(|error| unreadable("record", &error))
    }

    /// Whether the line has nothing for a drawer. With a collection, it declares that collection.
    pub(crate) fn is_empty(&self) -> bool {
        self.id.is_none()
            && self.document.is_none()
            && self.embedding.is_none()
            && is_empty(&self.metadata)
    }

    /// Whether the line is an id or metadata without a text, from the candidates of an import. No
    /// drawer can be made of it.
    pub(crate) fn is_candidate_without_text(&self) -> bool {
        self.candidate.is_some() && self.document.as_deref().is_none_or(str::is_empty)
    }

    /// The metadata as a patch.
    pub(crate) fn patch(&self) -> Result<MetadataPatch> {
        if self.metadata.is_null() {
            return Ok(MetadataPatch::default());
        }
        MetadataPatch::from_json(&self.metadata)
    }

    /// The history that the record carries.
    pub(crate) fn history(&self) -> History {
        History {
            created_at: self.created_at,
            updated_at: self.updated_at.or(self.created_at),
            accesses: self.accesses.unwrap_or_default(),
            origin: self.origin.clone(),
        }
    }

    /// The record with a history.
    pub(crate) fn with_history(self, history: History) -> Self {
        Self {
            created_at: history.created_at,
            updated_at: history
                .updated_at
                .filter(|updated| Some(*updated) != history.created_at),
            accesses: Some(history.accesses).filter(|accesses| *accesses > 0),
            origin: history.origin,
            ..self
        }
    }

    /// The record of a drawer.
    pub(crate) fn of(
        id: String,
        document: Option<String>,
        metadata: &Metadata,
        embedding: Option<Vec<f32>>,
    ) -> Self {
        Self {
            id: Some(id),
            document,
            metadata: serde_json::to_value(metadata).unwrap_or_default(),
            embedding,
            ..Self::default()
        }
    }
}

/// The kinds of lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonLine {
    Drawer(JsonRecord),
    Source(JsonSourceLine),
    Project(JsonProjectLine),
    Fact(Fact),
    Link(Link),
}

/// A project and its wing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonProjectLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) collection: Option<String>,
    pub(crate) project: ProjectRecord,
}

/// A fact or a link; exactly one of the two is present.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonRelation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fact: Option<Fact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<Link>,
}

/// The keys that tell which kind an invalid line is meant to be.
#[derive(Deserialize)]
struct LineKeys {
    #[serde(default)]
    source: Option<IgnoredAny>,
    #[serde(default)]
    project: Option<IgnoredAny>,
    #[serde(default)]
    fact: Option<IgnoredAny>,
    #[serde(default)]
    link: Option<IgnoredAny>,
}

impl JsonLine {
    /// Parses a line. The error describes the kind that the line is meant to be.
    pub(crate) fn parse(line: &str) -> Result<Self> {
        refuse_large_integers("record", line, Some("embedding"))?;
        let refused = match JsonRecord::read(line) {
            Ok(record) => return Ok(Self::Drawer(record)),
            Err(error) => error,
        };
        let text = line.trim_start_matches('\u{feff}');
        let what = match serde_json::from_str(text) {
            Ok(LineKeys {
                source: Some(_), ..
            }) => {
                return serde_json::from_str(text)
                    .map(Self::Source)
                    .map_err(|error| unreadable("source", &error));
            }
            Ok(LineKeys {
                project: Some(_), ..
            }) => {
                return serde_json::from_str(text)
                    .map(Self::Project)
                    .map_err(|error| unreadable("project", &error));
            }
            Ok(LineKeys { fact: Some(_), .. }) => "fact",
            Ok(LineKeys { link: Some(_), .. }) => "link",
            _ => return Err(refused),
        };
        let line: JsonRelation =
            serde_json::from_str(text).map_err(|error| unreadable(what, &error))?;
        match (line.fact, line.link) {
            (Some(fact), None) => Ok(Self::Fact(fact)),
            (None, Some(link)) => Ok(Self::Link(link)),
            _ => Err(Error::invalid(
                what,
                "a line must contain one fact or one link",
            )),
        }
    }
}

/// The error about a line that cannot be read, without the names of Rust types. The position is a
/// column, because the parser sees one line at a time.
fn unreadable(what: &str, error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let text = match text.split_once("expected struct ") {
        Some((before, after)) => {
            let rest = after.find(' ').and_then(|end| after.get(end..));
            format!("{before}expected an object{}", rest.unwrap_or_default())
        }
        None => text.to_owned(),
    };
    Error::invalid(what, format!("{text} (column {})", error.column()))
}

/// An empty batch whose columns are all present, for building row by row.
pub(crate) fn columns() -> Batch {
    Batch {
        ids: Vec::new(),
        documents: Some(Vec::new()),
        metadatas: Some(Vec::new()),
        embeddings: Some(Vec::new()),
        embedded: None,
    }
}

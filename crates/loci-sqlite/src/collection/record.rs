//! One row of `drawers`: its checksum, its uniqueness key, its labels, and how it is read back.
//! Every row that is read is checked against its checksum.

use std::hash::Hasher;

use loci_core::{KeyTest, MetaValue, Metadata};
pub(crate) use loci_index::{vector_from_bytes, vector_to_bytes};
use rusqlite::types::Value;
use rusqlite::{Connection, Row};
use xxhash_rust::xxh3::Xxh3;

use crate::fault::Attempt;

/// Longer strings are indexed by their hash.
const LABEL_TEXT_BYTES: usize = 256;

/// The checksum over everything in a drawer. `metadata` is the stored JSON text, `vector` the
/// stored bytes. SQLite's own checks do not detect a flipped byte inside a value; this checksum
/// does.
pub(crate) fn checksum(id: &str, text: Option<&str>, metadata: &str, vector: Option<&[u8]>) -> i64 {
    checksum_of([
        Some(id.as_bytes()),
        text.map(str::as_bytes),
        Some(metadata.as_bytes()),
        vector,
    ])
}

/// The checksum over parts, each with its length, so that no byte can move from one part to
/// another.
pub(crate) fn checksum_of<const N: usize>(parts: [Option<&[u8]>; N]) -> i64 {
    let mut hasher = Xxh3::new();
    for part in parts {
        hasher.write_u64(part.map_or(u64::MAX, |bytes| bytes.len() as u64));
        hasher.write(part.unwrap_or_default());
    }
    hasher.finish() as i64
}

/// The key that makes a mined drawer unique in its collection. For other drawers all parts except
/// the hash are empty. They are not NULL, because NULLs are distinct in UNIQUE.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MinedKey {
    pub(crate) wing: String,
    pub(crate) source_file: String,
    pub(crate) content_hash: Vec<u8>,
    pub(crate) start_line: String,
}

/// The first half of the text's BLAKE3 hash, stored for every drawer. It verifies the text when the
/// vector is lost, and with it the checksum of the whole row.
pub(crate) fn content_hash(text: &str) -> Vec<u8> {
    blake3::hash(text.as_bytes())
        .as_bytes()
        .iter()
        .take(16)
        .copied()
        .collect()
}

impl MinedKey {
    pub(crate) fn of(text: Option<&str>, metadata: &Metadata) -> Self {
        let content_hash = text.map(content_hash).unwrap_or_default();
        let source_file = metadata.get_str("source_file").unwrap_or_default();
        if text.is_none() || source_file.is_empty() {
            return Self {
                content_hash,
                ..Self::default()
            };
        }
        Self {
            wing: key_part(metadata, "wing"),
            source_file: source_file.to_owned(),
            content_hash,
            start_line: line_key(metadata),
        }
    }

    pub(crate) fn is_mined(&self) -> bool {
        !self.source_file.is_empty()
    }
}

/// The line, and the part of it if a long line was split.
fn line_key(metadata: &Metadata) -> String {
    let line = key_part(metadata, "start_line");
    match metadata.get("part") {
        Some(MetaValue::Int(part)) => format!("{line}.{part}"),
        _ => line,
    }
}

/// A value as text; empty if there is none.
fn key_part(metadata: &Metadata, key: &str) -> String {
    match metadata.get(key) {
        None => String::new(),
        Some(MetaValue::Str(text)) => text.clone(),
        Some(value) => serde_json::to_string(value).unwrap_or_default(),
    }
}

/// Type of a label's value. Lists have types of their own, because `$contains` applies only to
/// lists, and the scalar tests never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LabelType(pub(crate) i64);

impl LabelType {
    pub(crate) const NUMBER: Self = Self(1);
    pub(crate) const TEXT: Self = Self(2);
    const BOOL: Self = Self(3);
    /// An empty list has no element to label; this type records that the key exists.
    pub(crate) const EMPTY_LIST: Self = Self(20);
    const LIST: i64 = 10;

    pub(crate) fn in_list(self) -> Self {
        Self(self.0 + Self::LIST)
    }

    pub(crate) fn is_bool(self) -> bool {
        self == Self::BOOL || self == Self::BOOL.in_list()
    }
}

/// A scalar as the label table stores it.
pub(crate) fn label(value: &MetaValue) -> Option<(LabelType, Value)> {
    Some(match value {
        MetaValue::Int(number) => (LabelType::NUMBER, Value::Integer(*number)),
        MetaValue::Float(number) => (LabelType::NUMBER, Value::Real(*number)),
        MetaValue::Bool(truth) => (LabelType::BOOL, Value::Integer(i64::from(*truth))),
        MetaValue::Str(text) if text.len() <= LABEL_TEXT_BYTES => {
            (LabelType::TEXT, Value::Text(text.clone()))
        }
        MetaValue::Str(text) => {
            let hash = blake3::hash(text.as_bytes());
            (
                LabelType::TEXT,
                Value::Blob(hash.as_bytes().iter().take(16).copied().collect()),
            )
        }
        MetaValue::List(_) => return None,
    })
}

/// Converts a stored label back to a value; `None` for a hashed string.
pub(crate) fn unlabel(kind: LabelType, value: Value) -> Option<MetaValue> {
    match value {
        Value::Integer(truth) if kind.is_bool() => Some(MetaValue::Bool(truth != 0)),
        Value::Integer(number) => Some(MetaValue::Int(number)),
        Value::Real(number) => Some(MetaValue::Float(number)),
        Value::Text(text) => Some(MetaValue::Str(text)),
        Value::Blob(_) | Value::Null => None,
    }
}

/// All labels of a drawer, each once.
pub(crate) fn labels(metadata: &Metadata) -> Vec<(&str, LabelType, Value)> {
    let mut labels: Vec<(&str, LabelType, Value)> = Vec::with_capacity(metadata.0.len());
    for (key, value) in &metadata.0 {
        match value {
            MetaValue::List(items) => {
                if items.is_empty() {
                    labels.push((key, LabelType::EMPTY_LIST, Value::Integer(0)));
                }
                for (at, item) in items.iter().enumerate() {
                    // The primary key treats 1 and 1.0 as one value, as `$contains` does.
                    let test = KeyTest::Eq(item.clone());
                    if !items
                        .iter()
                        .take(at)
                        .any(|earlier| test.matches(Some(earlier)))
                    {
                        labels.extend(
                            label(item).map(|(kind, value)| (key.as_str(), kind.in_list(), value)),
                        );
                    }
                }
            }
            scalar => labels.extend(label(scalar).map(|(kind, value)| (key.as_str(), kind, value))),
        }
    }
    labels
}

/// The number of a label key. Adds the key if it is new.
pub(crate) fn ensure_key(db: &Connection, name: &str) -> Attempt<i64> {
    if let Some(key) = find_key(db, name)? {
        return Ok(key);
    }
    db.prepare_cached("INSERT INTO label_keys (name) VALUES (?1)")?
        .execute([name])?;
    Ok(db.last_insert_rowid())
}

/// The number of a label key, if any drawer ever had it.
pub(crate) fn find_key(db: &Connection, name: &str) -> Attempt<Option<i64>> {
    let mut statement = db.prepare_cached("SELECT id FROM label_keys WHERE name = ?1")?;
    let mut rows = statement.query([name])?;
    Ok(match rows.next()? {
        Some(row) => Some(row.get(0)?),
        None => None,
    })
}

/// Columns that [`Stored::read`] expects, in order.
pub(crate) const STORED_COLUMNS: &str = "d.row, d.id, d.text, d.metadata, d.checksum, v.vector";

/// A row as stored in the database.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) row: u64,
    pub(crate) id: String,
    pub(crate) text: Option<String>,
    pub(crate) metadata_text: String,
    pub(crate) checksum: i64,
    pub(crate) vector: Option<Vec<u8>>,
}

impl Stored {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get::<_, i64>(0)? as u64,
            id: row.get(1)?,
            text: row.get(2)?,
            metadata_text: row.get(3)?,
            checksum: row.get(4)?,
            vector: row.get(5)?,
        })
    }

    /// Whether the bytes are those that were written.
    pub(crate) fn is_intact(&self) -> bool {
        checksum(
            &self.id,
            self.text.as_deref(),
            &self.metadata_text,
            self.vector.as_deref(),
        ) == self.checksum
    }

    /// Whether the stored vector has these numbers, in whatever form.
    pub(crate) fn has_vector(&self, vector: &[f32]) -> bool {
        let stored = self.vector.as_deref().and_then(vector_from_bytes);
        stored.is_some_and(|stored| {
            let given = vector.iter().map(|number| number.to_bits());
            stored.iter().map(|number| number.to_bits()).eq(given)
        })
    }

    /// The metadata, if it can be parsed.
    pub(crate) fn metadata(&self) -> Option<Metadata> {
        serde_json::from_str(&self.metadata_text).ok()
    }
}

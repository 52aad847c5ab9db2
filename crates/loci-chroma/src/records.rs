//! Records with everything they have, streamed in order.

use std::collections::BTreeMap;

use loci_core::{MetaValue, Metadata, Result};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension};
use serde_json::Value;

use crate::catalog::scalar;
use crate::directory::Directory;
use crate::queue::{self, Entry, Operation};
use crate::snapshot::unreadable;
use crate::survey::{Live, Origin, Survey};

/// Keys that ChromaDB reserves.
const DOCUMENT: &str = "chroma:document";
const URI: &str = "chroma:uri";

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its text.
    pub document: Option<String>,
    /// Its address, where one was given.
    pub uri: Option<String>,
    /// Its metadata, typed as stored.
    pub metadata: Metadata,
    /// Its vector.
    pub vector: Option<Vec<f32>>,
    /// Where the vector was.
    pub origin: Origin,
    /// When it was first added, in milliseconds since 1970.
    pub added: Option<i64>,
    /// Keys whose value could not be read.
    pub unreadable: Vec<String>,
}

impl Directory {
    /// Hands over all records of a collection, up to `batch` at a time, in the order in which they were first added.
    pub fn for_each_record(
        &self,
        collection: usize,
        survey: &Survey,
        batch: usize,
        take: &mut dyn FnMut(Vec<Record>) -> Result<()>,
    ) -> Result<()> {
        let failed = |error: rusqlite::Error| unreadable(self.snapshot().path(), &error);
        let id = self
            .collections()
            .get(collection)
            .map_or("", |row| row.id.as_str());
        let mut entries: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for entry in queue::read(self.snapshot(), id).map_err(failed)? {
            entries.entry(entry.id.clone()).or_default().push(entry);
        }
        let mut reader = Reader::new(self).map_err(failed)?;
        let mut full = Vec::new();
        for live in &survey.live {
            let entries = entries.get(&live.id).map_or(&[][..], |entries| entries);
            let mut record = reader
                .record(live, entries, survey.metadata_watermark)
                .map_err(failed)?;
            record.vector = self.vector(survey, live)?;
            if record.vector.is_none() {
                record.origin = Origin::Missing;
            }
            full.push(record);
            if full.len() >= batch.max(1) {
                take(std::mem::take(&mut full))?;
            }
        }
        if !full.is_empty() {
            take(full)?;
        }
        Ok(())
    }
}

struct Reader<'a> {
    connection: &'a Connection,
    metadata: Option<CachedStatement<'a>>,
    lists: Option<CachedStatement<'a>>,
    texts: Option<CachedStatement<'a>>,
    times: Option<CachedStatement<'a>>,
}

impl<'a> Reader<'a> {
    fn new(directory: &'a Directory) -> rusqlite::Result<Self> {
        let snapshot = directory.snapshot();
        let connection = snapshot.connection();
        let prepare = |table: &str, order: &str| -> rusqlite::Result<Option<CachedStatement<'a>>> {
            let columns = snapshot.columns(table);
            if columns.is_empty() {
                return Ok(None);
            }
            let has_bool = columns.iter().any(|column| column == "bool_value");
            let boolean = if has_bool { "bool_value" } else { "NULL" };
            Ok(Some(connection.prepare_cached(&format!(
                "SELECT key, string_value, int_value, float_value, {boolean} FROM {table} WHERE id = ?1{order}"
            ))?))
        };
        let texts =
            if snapshot.has_table("embedding_fulltext_search_content") {
                Some(connection.prepare_cached(
                    "SELECT c0 FROM embedding_fulltext_search_content WHERE id = ?1",
                )?)
            } else {
                None
            };
        let has_time = snapshot
            .columns("embeddings")
            .iter()
            .any(|column| column == "created_at");
        let times = if has_time {
            Some(connection.prepare_cached(
                "SELECT CAST(strftime('%s', created_at) AS INTEGER) * 1000 FROM embeddings WHERE id = ?1",
            )?)
        } else {
            None
        };
        Ok(Self {
            connection,
            metadata: prepare("embedding_metadata", "")?,
            lists: prepare("embedding_metadata_array", " ORDER BY rowid")?,
            texts,
            times,
        })
    }

    fn record(
        &mut self,
        live: &Live,
        entries: &[Entry],
        watermark: u64,
    ) -> rusqlite::Result<Record> {
        let mut record = Record {
            id: live.id.clone(),
            document: None,
            uri: None,
            metadata: Metadata::default(),
            vector: None,
            origin: live.origin,
            added: None,
            unreadable: Vec::new(),
        };
        let found = match live.row {
            Some(row) => self.stored(row, &mut record)?,
            None => false,
        };
        // Rows that have lost all their metadata may still have it in the queue.
        let mut gone = false;
        for entry in entries
            .iter()
            .filter(|entry| !found || entry.seq > watermark)
        {
            match entry.operation {
                Operation::Delete => {
                    gone = true;
                    record.document = None;
                    record.uri = None;
                    record.metadata = Metadata::default();
                }
                Operation::Unknown(_) => {}
                // An add of a record that is there changes nothing; an old one counts only if it is what the row says came last.
                Operation::Add if found && !gone => {}
                Operation::Add
                    if entry.seq <= watermark && !gone && live.seq != Some(entry.seq) => {}
                Operation::Add | Operation::Update | Operation::Upsert => {
                    if let Some(json) = queue::metadata(self.connection, entry.seq)? {
                        merge(&mut record, &json);
                    }
                }
            }
        }
        Ok(record)
    }

    /// What the tables have under a row number; whether there was any metadata.
    fn stored(&mut self, row: i64, record: &mut Record) -> rusqlite::Result<bool> {
        let mut any = false;
        if let Some(statement) = &mut self.metadata {
            let mut rows = statement.query([row])?;
            while let Some(found) = rows.next()? {
                let ValueRef::Text(key) = found.get_ref(0)? else {
                    continue;
                };
                any = true;
                let key = String::from_utf8_lossy(key).into_owned();
                match scalar(found, 1) {
                    Some(value) => put(record, key, value),
                    None => record.unreadable.push(key),
                }
            }
        }
        if let Some(statement) = &mut self.lists {
            let mut lists: BTreeMap<String, Vec<MetaValue>> = BTreeMap::new();
            let mut rows = statement.query([row])?;
            while let Some(found) = rows.next()? {
                let ValueRef::Text(key) = found.get_ref(0)? else {
                    continue;
                };
                any = true;
                let key = String::from_utf8_lossy(key).into_owned();
                match scalar(found, 1) {
                    Some(value) => lists.entry(key).or_default().push(value),
                    None => record.unreadable.push(key),
                }
            }
            for (key, values) in lists {
                record.metadata.0.insert(key, MetaValue::List(values));
            }
        }
        if let Some(statement) = &mut self.times {
            record.added = statement
                .query_row([row], |found| found.get(0))
                .optional()?
                .flatten();
        }
        // The full-text index keeps a second copy of every text.
        if record.document.is_none()
            && let Some(statement) = &mut self.texts
        {
            record.document = statement
                .query_row([row], |found| {
                    Ok(match found.get_ref(0)? {
                        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
                        _ => None,
                    })
                })
                .optional()?
                .flatten();
        }
        Ok(any)
    }
}

fn put(record: &mut Record, key: String, value: MetaValue) {
    match (key.as_str(), value) {
        (DOCUMENT, MetaValue::Str(text)) => record.document = Some(text),
        (URI, MetaValue::Str(uri)) => record.uri = Some(uri),
        (_, value) => {
            record.metadata.0.insert(key, value);
        }
    }
}

/// Applies the metadata of an entry as ChromaDB does: keys are merged, null removes one.
fn merge(record: &mut Record, json: &str) {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(json) else {
        record.unreadable.push("metadata in the queue".to_owned());
        return;
    };
    for (key, value) in fields {
        if value.is_null() {
            record.metadata.0.remove(&key);
            continue;
        }
        match value_of(&value) {
            Some(value) => put(record, key, value),
            None => record.unreadable.push(key),
        }
    }
}

fn value_of(value: &Value) -> Option<MetaValue> {
    Some(match value {
        Value::Bool(value) => MetaValue::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(value) => MetaValue::Int(value),
            None => MetaValue::Float(number.as_f64().filter(|value| value.is_finite())?),
        },
        Value::String(text) => MetaValue::Str(text.clone()),
        Value::Array(values) => {
            MetaValue::List(values.iter().map(value_of).collect::<Option<_>>()?)
        }
        Value::Null | Value::Object(_) => return None,
    })
}

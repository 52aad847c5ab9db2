//! Streams complete records in order.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{MetaValue, Metadata, Result};
use loci_salvage::snapshot::{Snapshot, unreadable};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension};
use serde_json::Value;

use crate::chroma::catalog::scalar;
use crate::chroma::directory::Directory;
use crate::chroma::queue::{self, Entry, Operation};
use crate::chroma::survey::{LiveRecord, Origin, Survey};

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
    /// Its URI, if it has one.
    pub uri: Option<String>,
    /// Its metadata, with the stored types.
    pub metadata: Metadata,
    /// Its vector.
    pub vector: Option<Vec<f32>>,
    /// Where the vector was found.
    pub origin: Origin,
    /// When it was first added, in milliseconds since 1970.
    pub added: Option<i64>,
    /// Keys whose value is unreadable.
    pub unreadable: Vec<String>,
    /// The part of its metadata that is known to be lost.
    pub metadata_loss: Option<MetadataLoss>,
}

/// The lost metadata of a record, which no file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataLoss {
    /// The values of these keys. An index of the table still has the keys.
    Keys(Vec<String>),
    /// All rows. The text came from the full-text index, and some values may have come from the
    /// queue.
    Metadata,
    /// Its text, and its metadata if it had any.
    Everything,
}

impl MetadataLoss {
    /// A sentence about what is lost.
    pub fn reason(&self) -> String {
        match self {
            Self::Keys(keys) => format!(
                "the record lacks the metadata `{}`, whose rows are lost",
                keys.join("`, `")
            ),
            Self::Metadata => "the rows of its metadata are lost; the record has only what the \
                 full-text index and the queue still hold"
                .to_owned(),
            Self::Everything => "the record has no text and no metadata; \
                 their rows are lost, if it had any"
                .to_owned(),
        }
    }
}

impl Record {
    /// A record of which only the id is known.
    pub(crate) fn empty(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            document: None,
            uri: None,
            metadata: Metadata::default(),
            vector: None,
            origin: Origin::Missing,
            added: None,
            unreadable: Vec::new(),
            metadata_loss: None,
        }
    }

    /// Whether it has a value for a key of the tables.
    fn has(&self, key: &str) -> bool {
        match key {
            DOCUMENT => self.document.is_some(),
            URI => self.uri.is_some(),
            key => self.metadata.0.contains_key(key),
        }
    }
}

impl Directory {
    /// Passes all records of a collection to a callback, up to `batch` at a time, in the order of
    /// insertion.
    pub fn for_each_record(
        &self,
        collection: usize,
        survey: &Survey,
        batch: usize,
        take: &mut dyn FnMut(Vec<Record>) -> Result<()>,
    ) -> Result<()> {
        let failed = |error: rusqlite::Error| unreadable(self.snapshot().path(), &error);
        let entries = self.entries(collection).map_err(failed)?;
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

    /// The ids of records of a collection whose metadata is lost for good.
    pub fn without_metadata(&self, collection: usize, survey: &Survey) -> Result<Vec<String>> {
        let failed = |error: rusqlite::Error| unreadable(self.snapshot().path(), &error);
        let keys = &self.index_entries().keys;
        let bare = bare_rows(self).map_err(failed)?;
        let live: Vec<&LiveRecord> = survey
            .live
            .iter()
            .filter(|live| {
                let row = live.row.as_ref();
                live.restored.is_some()
                    || row.is_some_and(|row| bare.contains(row) || keys.contains_key(row))
            })
            .collect();
        let mut ids = Vec::new();
        if live.is_empty() {
            return Ok(ids);
        }
        self.for_each_text(
            collection,
            &live,
            survey.metadata_watermark,
            &mut |record| {
                ids.extend(record.metadata_loss.is_some().then_some(record.id));
                Ok(())
            },
        )?;
        Ok(ids)
    }

    /// Passes some records of a collection, without their vectors, to a callback one by one.
    pub fn for_each_text(
        &self,
        collection: usize,
        live: &[&LiveRecord],
        watermark: u64,
        take: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let failed = |error: rusqlite::Error| unreadable(self.snapshot().path(), &error);
        let entries = self.entries(collection).map_err(failed)?;
        let mut reader = Reader::new(self).map_err(failed)?;
        live.iter().try_for_each(|live| {
            let entries = entries.get(&live.id).map_or(&[][..], |entries| entries);
            take(reader.record(live, entries, watermark).map_err(failed)?)
        })
    }

    /// The queue of a collection, by id.
    fn entries(&self, collection: usize) -> rusqlite::Result<BTreeMap<String, Vec<Entry>>> {
        let id = self
            .collections()
            .get(collection)
            .map_or("", |row| row.id.as_str());
        let mut entries: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for entry in queue::read(self.snapshot(), id)? {
            entries.entry(entry.id.clone()).or_default().push(entry);
        }
        Ok(entries)
    }
}

/// The kinds of metadata rows that a record has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rows {
    None,
    /// Only list entries.
    Lists,
    /// Single values, which include the text.
    Values,
}

/// Numbers of the rows of `embeddings` that have no metadata.
fn bare_rows(directory: &Directory) -> rusqlite::Result<HashSet<i64>> {
    let snapshot = directory.snapshot();
    if !snapshot.has_table("embeddings") || !snapshot.has_table("embedding_metadata") {
        return Ok(HashSet::new());
    }
    let mut statement = snapshot
        .connection()
        .prepare("SELECT id FROM embeddings WHERE id NOT IN (SELECT id FROM embedding_metadata)")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

/// Reads records from the tables.
pub(crate) struct Reader<'a> {
    connection: &'a Connection,
    snapshot: &'a Snapshot,
    /// Keys of lost metadata, by row number.
    lost_keys: &'a HashMap<i64, Vec<String>>,
    metadata: Option<CachedStatement<'a>>,
    lists: Option<CachedStatement<'a>>,
    texts: Option<CachedStatement<'a>>,
    times: Option<CachedStatement<'a>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(directory: &'a Directory) -> rusqlite::Result<Self> {
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
            snapshot,
            lost_keys: &directory.index_entries().keys,
            metadata: prepare("embedding_metadata", "")?,
            lists: prepare("embedding_metadata_array", " ORDER BY rowid")?,
            texts,
            times,
        })
    }

    fn record(
        &mut self,
        live: &LiveRecord,
        entries: &[Entry],
        watermark: u64,
    ) -> rusqlite::Result<Record> {
        let mut record = Record {
            origin: live.origin,
            ..Record::empty(&live.id)
        };
        let rows = match live.row {
            Some(row) => self.stored(row, &mut record)?,
            None => Rows::None,
        };
        let found = rows != Rows::None;
        if live.restored.is_some() {
            record.added = self.day_of_neighbour(live.row.unwrap_or(i64::MAX))?;
        }
        // If a row has lost all its metadata, the queue may still have it.
        let from_tables = record.document.is_some();
        let mut gone = false;
        let mut made = false;
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
                // An add of an existing record has no effect. An old add counts only if the row
                // says that it was the last change.
                Operation::Add if found && !gone => {}
                Operation::Add
                    if entry.seq <= watermark && !gone && live.seq != Some(entry.seq) => {}
                Operation::Add | Operation::Update | Operation::Upsert => {
                    // Other entries change some keys and leave the rest.
                    made |= entry.operation == Operation::Add || gone;
                    if let Some(json) = queue::metadata(self.connection, entry.seq)? {
                        merge(&mut record, &json);
                    }
                }
            }
        }
        if let Some(row) = live.row.filter(|_| !made) {
            record.metadata_loss = self.metadata_loss(row, rows, from_tables, &record);
        }
        if record.added.is_none() {
            let first = entries
                .iter()
                .find(|entry| entry.operation != Operation::Delete);
            record.added = first.and_then(|entry| queue::time(self.connection, entry.seq));
        }
        Ok(record)
    }

    /// The lost metadata of a record. `text` says whether the tables have its text.
    fn metadata_loss(
        &self,
        row: i64,
        rows: Rows,
        text: bool,
        record: &Record,
    ) -> Option<MetadataLoss> {
        if let Some(keys) = self.lost_keys.get(&row) {
            let keys: Vec<String> = keys
                .iter()
                .filter(|key| !record.has(key))
                .cloned()
                .collect();
            return (!keys.is_empty()).then_some(MetadataLoss::Keys(keys));
        }
        match (rows, text) {
            (Rows::Values, _) | (Rows::Lists, false) => None,
            // Every text also has a row of metadata.
            (Rows::Lists | Rows::None, true) => Some(MetadataLoss::Metadata),
            (Rows::None, false) => {
                let whole = self.snapshot.is_whole("embedding_metadata");
                (!whole).then_some(MetadataLoss::Everything)
            }
        }
    }

    /// When the record before a row was added. Rows are in chronological order.
    fn day_of_neighbour(&self, row: i64) -> rusqlite::Result<Option<i64>> {
        if self.times.is_none() {
            return Ok(None);
        }
        let day = self
            .connection
            .prepare_cached(
                "SELECT CAST(strftime('%s', created_at) AS INTEGER) * 1000 FROM embeddings WHERE id < ?1 \
                 ORDER BY id DESC LIMIT 1",
            )?
            .query_row([row], |found| found.get(0))
            .optional()?;
        Ok(day.flatten())
    }

    /// Reads what the tables hold under a row number, and returns the kinds of metadata rows.
    pub(crate) fn stored(&mut self, row: i64, record: &mut Record) -> rusqlite::Result<Rows> {
        let mut any = Rows::None;
        if let Some(statement) = &mut self.metadata {
            let mut rows = statement.query([row])?;
            while let Some(found) = rows.next()? {
                let ValueRef::Text(key) = found.get_ref(0)? else {
                    continue;
                };
                any = Rows::Values;
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
                any = any.max(Rows::Lists);
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
        // The full-text index has a second copy of every text.
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

/// Merges the metadata of an entry as ChromaDB does: keys are overwritten, and null removes one.
pub(crate) fn merge(record: &mut Record, json: &str) {
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

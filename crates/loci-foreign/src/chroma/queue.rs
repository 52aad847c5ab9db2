//! The queue of a collection: operations that ChromaDB has acknowledged and not purged yet. Vectors
//! stay in the database and are fetched one at a time.

use loci_salvage::Snapshot;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

/// The id in rows that a repair writes to reserve a number. Each row deletes a record that does not
/// exist.
pub const NUMBER_HOLDER: &str = "loci:holds-this-number";

/// The watermark that a repair gives to an index whose own is unknown. An index that was written
/// has consumed at least the first entry. ChromaDB 0.6 takes 0 for the end of the queue.
pub const LOWEST_WATERMARK: u64 = 1;

/// The operation of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Update,
    Upsert,
    Delete,
    /// An operation that only a later release knows.
    Unknown(i64),
}

/// One entry, without its vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    pub(crate) operation: Operation,
    pub(crate) id: String,
    /// The length of its vector; `None` without one.
    pub(crate) dimension: Option<usize>,
}

/// All entries of the collection, in order.
pub(crate) fn read(snapshot: &Snapshot, collection: &str) -> rusqlite::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    if !snapshot.has_table("embeddings_queue") {
        return Ok(entries);
    }
    // The topic ends with the collection's id. The part before it depends on the tenant.
    let mut statement = snapshot.connection().prepare(
        "SELECT seq_id, operation, id, CASE typeof(vector) WHEN 'blob' THEN length(vector) END \
         FROM embeddings_queue WHERE substr(topic, -length(?1)) = ?1 ORDER BY seq_id",
    )?;
    let mut rows = statement.query([collection])?;
    while let Some(row) = rows.next()? {
        let (Ok(seq), ValueRef::Text(id)) = (u64::try_from(row.get::<_, i64>(0)?), row.get_ref(2)?)
        else {
            continue;
        };
        let operation = match row.get_ref(1)? {
            ValueRef::Integer(0) => Operation::Add,
            ValueRef::Integer(1) => Operation::Update,
            ValueRef::Integer(2) => Operation::Upsert,
            ValueRef::Integer(3) => Operation::Delete,
            ValueRef::Integer(other) => Operation::Unknown(other),
            _ => Operation::Unknown(-1),
        };
        entries.push(Entry {
            seq,
            operation,
            id: String::from_utf8_lossy(id).into_owned(),
            dimension: row
                .get::<_, Option<u32>>(3)?
                .map(|bytes| bytes as usize / size_of::<f32>()),
        });
    }
    Ok(entries)
}

/// The vector of an entry.
pub(crate) fn vector(connection: &Connection, seq: u64) -> rusqlite::Result<Option<Vec<f32>>> {
    let mut statement = connection
        .prepare_cached("SELECT vector, encoding FROM embeddings_queue WHERE seq_id = ?1")?;
    let stored = statement
        .query_row([seq as i64], |row| {
            let ValueRef::Blob(bytes) = row.get_ref(0)? else {
                return Ok(None);
            };
            let integers = matches!(row.get_ref(1)?, ValueRef::Text(b"INT32"));
            let numbers = bytes.as_chunks::<4>().0.iter();
            Ok(Some(if integers {
                numbers
                    .map(|four| i32::from_le_bytes(*four) as f32)
                    .collect()
            } else {
                numbers.map(|four| f32::from_le_bytes(*four)).collect()
            }))
        })
        .optional()?;
    Ok(stored.flatten())
}

/// The metadata of an entry, as JSON.
pub(crate) fn metadata(connection: &Connection, seq: u64) -> rusqlite::Result<Option<String>> {
    let mut statement =
        connection.prepare_cached("SELECT metadata FROM embeddings_queue WHERE seq_id = ?1")?;
    let stored = statement
        .query_row([seq as i64], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Text(json) => Some(String::from_utf8_lossy(json).into_owned()),
                _ => None,
            })
        })
        .optional()?;
    Ok(stored.flatten())
}

/// When an entry was written, in milliseconds since 1970.
pub(crate) fn time(connection: &Connection, seq: u64) -> Option<i64> {
    let sql = "SELECT CAST(strftime('%s', created_at) AS INTEGER) * 1000 FROM embeddings_queue WHERE seq_id = ?1";
    let mut statement = connection.prepare_cached(sql).ok()?;
    statement.query_row([seq as i64], |row| row.get(0)).ok()
}

/// Entries after `watermark` whose text is null, as releases up to 0.6 wrote it.
pub(crate) fn null_documents(
    snapshot: &Snapshot,
    collection: &str,
    watermark: u64,
) -> rusqlite::Result<Vec<u64>> {
    if !snapshot.has_table("embeddings_queue") {
        return Ok(Vec::new());
    }
    let mut statement = snapshot.connection().prepare(
        "SELECT seq_id FROM embeddings_queue WHERE substr(topic, -length(?1)) = ?1 AND seq_id > ?2 \
         AND json_valid(metadata) AND json_type(metadata, '$.\"chroma:document\"') = 'null' ORDER BY seq_id",
    )?;
    let rows = statement.query_map((collection, watermark as i64), |row| {
        Ok(row.get::<_, i64>(0)? as u64)
    })?;
    rows.collect()
}

/// Entries after `watermark` that ChromaDB 1.x cannot read: metadata that is not a JSON object, an
/// unknown encoding, or an id that is not text.
pub(crate) fn unreadable_entries(
    snapshot: &Snapshot,
    collection: &str,
    watermark: u64,
) -> rusqlite::Result<Vec<u64>> {
    if !snapshot.has_table("embeddings_queue") {
        return Ok(Vec::new());
    }
    let mut statement = snapshot.connection().prepare(
        "SELECT seq_id FROM embeddings_queue WHERE substr(topic, -length(?1)) = ?1 AND seq_id > ?2 \
         AND (typeof(id) <> 'text' OR (metadata IS NOT NULL AND (typeof(metadata) <> 'text' OR NOT json_valid(metadata) \
              OR json_type(metadata) <> 'object')) \
              OR (vector IS NOT NULL AND coalesce(encoding, '') <> 'FLOAT32')) ORDER BY seq_id",
    )?;
    let rows = statement.query_map((collection, watermark as i64), |row| {
        Ok(row.get::<_, i64>(0)? as u64)
    })?;
    rows.collect()
}

//! Reads from SQLite's own indexes which rows of a damaged database are lost.

use std::collections::HashMap;

use loci_salvage::{Snapshot, Value};

use super::tables::{EMBEDDINGS, METADATA};

/// A lost row of `embeddings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedRow {
    pub(crate) row: i64,
    pub(crate) segment: String,
    pub(crate) id: String,
}

/// The rows that are lost and that an index still names. Empty unless the database was salvaged.
#[derive(Debug, Default)]
pub(crate) struct IndexEntries {
    /// Lost rows of `embeddings`, by row number.
    pub(crate) rows: Vec<IndexedRow>,
    /// Keys of lost rows of `embedding_metadata`, by the number of their record.
    pub(crate) keys: HashMap<i64, Vec<String>>,
}

impl IndexEntries {
    pub(crate) fn read(snapshot: &Snapshot) -> Self {
        let mut found = Self::default();
        for entry in snapshot.lost_entries(EMBEDDINGS) {
            if let [Value::Text(segment), Value::Text(id), Value::Integer(row)] = entry.as_slice() {
                found.rows.push(IndexedRow {
                    row: *row,
                    segment: segment.clone(),
                    id: id.clone(),
                });
            }
        }
        found.rows.sort_by_key(|entry| entry.row);
        if snapshot.is_whole(METADATA) {
            return found;
        }
        for entry in snapshot.lost_entries(METADATA) {
            if let [Value::Integer(row), Value::Text(key), ..] = entry.as_slice() {
                found.keys.entry(*row).or_default().push(key.clone());
            }
        }
        found
    }
}

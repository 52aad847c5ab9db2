//! The tables of memtomem that are read, and those that have no place in Loci.

use loci_salvage::{Snapshot, Table, Value};

use crate::cells;
use crate::palace::ReadSummary;

/// The tables to salvage if SQLite cannot read the file.
pub(super) const WANTED: &[Table] = &[
    Table {
        name: "chunks",
        sql: "CREATE TABLE chunks (id TEXT PRIMARY KEY, content TEXT, content_hash TEXT, source_file TEXT, heading_hierarchy TEXT, \
              chunk_type TEXT, start_line INTEGER, end_line INTEGER, language TEXT, tags TEXT, namespace TEXT, created_at TEXT, \
              updated_at TEXT, access_count INTEGER, use_count INTEGER, last_accessed_at TEXT, overlap_before INTEGER, \
              overlap_after INTEGER, importance_score REAL, valid_from_unix INTEGER, valid_to_unix INTEGER, scope TEXT, \
              project_root TEXT)",
        fits: is_chunk,
        key_index: None,
    },
    Table {
        name: "_memtomem_meta",
        sql: "CREATE TABLE _memtomem_meta (key TEXT PRIMARY KEY, value TEXT)",
        fits: |_| false,
        key_index: None,
    },
    Table {
        name: "chunk_relations",
        sql: "CREATE TABLE chunk_relations (source_id TEXT, target_id TEXT, relation_type TEXT, created_at TEXT)",
        fits: |values| values.len() == 4 && are_ids(values, 2),
        key_index: None,
    },
    Table {
        name: "chunk_links",
        sql: "CREATE TABLE chunk_links (source_id TEXT, target_id TEXT, link_type TEXT, namespace_target TEXT, created_at TEXT)",
        fits: |values| values.len() == 5 && are_ids(values, 2),
        key_index: None,
    },
    Table {
        name: "chunks_vec_chunks",
        sql: "CREATE TABLE chunks_vec_chunks (chunk_id INTEGER PRIMARY KEY, size INTEGER, validity BLOB, rowids BLOB)",
        fits: |values| matches!(values, [_, Value::Integer(_), Value::Blob(bits), Value::Blob(rows)] if rows.len() == bits.len() * 64),
        key_index: None,
    },
    Table {
        name: "chunks_vec_vector_chunks00",
        sql: "CREATE TABLE chunks_vec_vector_chunks00 (rowid PRIMARY KEY, vectors BLOB)",
        fits: |_| false,
        key_index: None,
    },
];

/// Whether a row looks like a chunk, which begins with id, text, hash and source.
fn is_chunk(values: &[Value]) -> bool {
    are_ids(values, 1)
        && matches!(
            values,
            [_, Value::Text(_), Value::Text(hash), Value::Text(_), Value::Text(_), ..] if hash.len() == 64
        )
        && values.len() >= 11
}

fn are_ids(values: &[Value], count: usize) -> bool {
    values
        .iter()
        .take(count)
        .all(|value| matches!(value, Value::Text(text) if text.len() == 36))
}

/// Tables that are read, or that add nothing to those.
const KNOWN: [&str; 4] = ["chunks", "_memtomem_meta", "chunk_relations", "chunk_links"];

/// Counts the rows of every table that has no place in Loci.
pub(super) fn count_unmapped(snapshot: &Snapshot, summary: &mut ReadSummary) {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let names = cells::collect(snapshot, sql, [], |row| cells::text(row, "name"));
    let derived = |name: &str| name.starts_with("chunks_fts") || name.starts_with("chunks_vec");
    for name in names {
        if !KNOWN.contains(&name.as_str()) && !derived(&name) {
            summary.leave_many(&format!("table `{name}`"), cells::count(snapshot, &name));
        }
    }
}

//! Converts chunks to foreign records.

use jiff::Timestamp;
use loci_core::{MetaValue, Metadata, Result};
use loci_salvage::Snapshot;
use ring::digest::{SHA256, digest};
use rusqlite::Row;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::vectors::VectorTable;
use crate::batches::Batches;
use crate::palace::{ForeignRecord, OnBatch, ReadSummary, VectorOrigin, added};
use crate::{cells, fields};

/// memtomem's default namespace.
const DEFAULT: &str = "default";

/// Every column that is read.
const COLUMNS: [&str; 23] = [
    "id",
    "content",
    "content_hash",
    "source_file",
    "heading_hierarchy",
    "chunk_type",
    "start_line",
    "end_line",
    "language",
    "tags",
    "namespace",
    "created_at",
    "updated_at",
    "access_count",
    "use_count",
    "last_accessed_at",
    "overlap_before",
    "overlap_after",
    "importance_score",
    "valid_from_unix",
    "valid_to_unix",
    "scope",
    "project_root",
];

/// Passes every chunk to a callback.
pub(super) fn read(
    snapshot: &Snapshot,
    vectors: &VectorTable,
    batch: usize,
    take: OnBatch<'_, ForeignRecord>,
) -> Result<ReadSummary> {
    let mut summary = ReadSummary::default();
    let mut batches = Batches::new(batch, take);
    let columns = cells::list(snapshot, "chunks", &COLUMNS);
    let sql = format!("SELECT t._rowid_ AS number, {columns} FROM chunks t ORDER BY t._rowid_");
    let unread = cells::for_each_row_of("chunks", snapshot, &sql, [], |row| {
        match record(row, snapshot, vectors, &mut summary) {
            Some(record) => batches.push(record),
            None => Ok(()),
        }
    })?;
    if let Some(error) = unread {
        summary.lose(None, format!("the rest of the table `chunks`: {error}"));
    }
    summary.read = batches.finish()?;
    Ok(summary)
}

fn record(
    row: &Row<'_>,
    snapshot: &Snapshot,
    vectors: &VectorTable,
    summary: &mut ReadSummary,
) -> Option<ForeignRecord> {
    let number = cells::integer(row, "number").unwrap_or_default();
    let Some(id) = cells::filled(row, "id") else {
        summary.lose(
            None,
            format!("row {number} of the table `chunks` has no id"),
        );
        return None;
    };
    let vector = match vectors.get(snapshot, number) {
        Ok(vector) => vector,
        Err(problem) => {
            summary.lose(Some(id.clone()), format!("its vector {problem}"));
            None
        }
    };
    let content = cells::text(row, "content");
    let mut metadata = metadata(row, summary);
    if let Some(content) = &content
        && !agrees(content, cells::text(row, "content_hash"))
    {
        let reason = MetaValue::Str("the text differs from its hash".into());
        metadata.0.insert("damaged".into(), reason);
    }
    Some(ForeignRecord {
        id,
        document: content,
        added: added(&metadata),
        metadata,
        origin: match vector {
            Some(_) => VectorOrigin::Exact,
            None => VectorOrigin::Missing,
        },
        vector,
    })
}

/// Whether a text matches its hash. memtomem hashes the composed form. A chunk without a hash
/// always matches.
pub(super) fn agrees(content: &str, hash: Option<String>) -> bool {
    let Some(hash) = hash.filter(|hash| !hash.is_empty()) else {
        return true;
    };
    let composed: String = content.nfc().collect();
    hex(composed.as_bytes()) == hash || hex(content.as_bytes()) == hash
}

fn hex(bytes: &[u8]) -> String {
    let digest = digest(&SHA256, bytes);
    let mut text = String::with_capacity(64);
    for byte in digest.as_ref() {
        for half in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(half), 16));
        }
    }
    text
}

fn metadata(row: &Row<'_>, summary: &mut ReadSummary) -> Metadata {
    let mut metadata = Metadata::default();
    let wing = cells::filled(row, "namespace").filter(|name| name != DEFAULT);
    fields::put_text(&mut metadata, "wing", wing);
    for column in [
        "source_file",
        "chunk_type",
        "language",
        "project_root",
        "scope",
    ] {
        fields::put_text(&mut metadata, column, cells::filled(row, column));
    }
    fields::put_text(
        &mut metadata,
        "authored_at",
        cells::filled(row, "created_at"),
    );
    for column in ["updated_at", "last_accessed_at"] {
        fields::put_text(&mut metadata, column, cells::filled(row, column));
    }
    for column in ["start_line", "end_line"] {
        if let Some(number) = cells::integer(row, column) {
            metadata.0.insert(column.into(), MetaValue::Int(number));
        }
    }
    // memtomem writes zero for "never" and "none".
    for column in [
        "access_count",
        "use_count",
        "overlap_before",
        "overlap_after",
    ] {
        if let Some(number) = cells::integer(row, column).filter(|number| *number != 0) {
            metadata.0.insert(column.into(), MetaValue::Int(number));
        }
    }
    if let Some(score) = cells::real(row, "importance_score").filter(|score| *score != 0.0) {
        metadata
            .0
            .insert("importance".into(), MetaValue::Float(score));
    }
    for (column, key) in [
        ("valid_from_unix", "valid_from"),
        ("valid_to_unix", "valid_to"),
    ] {
        match cells::integer(row, column).map(Timestamp::from_second) {
            Some(Ok(moment)) => fields::put_text(&mut metadata, key, Some(moment.to_string())),
            Some(Err(_)) => summary.leave(column),
            None => {}
        }
    }
    for (column, key) in [("heading_hierarchy", "headings"), ("tags", "tags")] {
        list(row, column, key, &mut metadata, summary);
    }
    metadata
}

/// A list that is stored as JSON. A value that is not a list is kept unchanged.
fn list(
    row: &Row<'_>,
    column: &str,
    key: &str,
    metadata: &mut Metadata,
    summary: &mut ReadSummary,
) {
    let Some(text) = cells::filled(row, column) else {
        return;
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(items)) if items.is_empty() => {}
        Ok(value) => fields::put_json(metadata, key, &value, summary),
        Err(_) => fields::put_text(metadata, key, Some(text)),
    }
}

//! Fixes queue rows above the watermark that ChromaDB cannot apply, because a vector is missing or
//! has the wrong length.
//!
//! The record is kept with its metadata and without a vector, and is reported as one that needs
//! embedding.

use std::collections::HashSet;

use rusqlite::{Connection, Result, params};

use super::database::has_table;
use super::plan::{Plan, Work};
use super::queue::OWN;
use super::records::number;
use super::report::Change;
use super::sequence::stored;

const ADD: i64 = 0;
const UPDATE: i64 = 1;
const UPSERT: i64 = 2;
const DELETE: i64 = 3;

struct Row {
    number: i64,
    operation: i64,
    id: String,
    usable: bool,
}

/// Removes unusable vectors from rows above the watermark.
pub(super) fn settle(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let mut count = 0;
    for plan in &work.plans {
        let Some(dimension) = plan.dimension else {
            continue;
        };
        let mark = plan.watermark();
        let rows = waiting(connection, plan, mark, dimension)?;
        let unusable = rows.iter().filter(|row| !row.usable).count();
        if let Some(segment) = plan
            .metadata_segment
            .as_ref()
            .filter(|_| write && unusable > 0)
        {
            rewrite(connection, work, segment, &rows)?;
        }
        count += unusable as u64;
    }
    Ok(vec![Change::new(
        "waiting rows without a usable vector turned into updates",
        count,
    )])
}

fn waiting(connection: &Connection, plan: &Plan, mark: i64, dimension: usize) -> Result<Vec<Row>> {
    let mut statement = connection.prepare(&format!(
        "SELECT seq_id, operation, id, length(vector), coalesce(encoding, 'FLOAT32') FROM embeddings_queue \
         WHERE {OWN} AND seq_id > ?2 ORDER BY seq_id"
    ))?;
    let rows = statement.query_map(params![plan.row.id, mark], |row| {
        let operation: i64 = row.get(1)?;
        let length: Option<i64> = row.get(3)?;
        let encoding: String = row.get(4)?;
        let fits = length == i64::try_from(dimension * 4).ok() || encoding != "FLOAT32";
        Ok(Row {
            number: row.get(0)?,
            operation,
            id: row.get(2)?,
            usable: match operation {
                ADD | UPSERT => length.is_some() && fits,
                UPDATE => length.is_none() || fits,
                _ => true,
            },
        })
    })?;
    rows.collect()
}

/// Turns each unusable row into an update without a vector, and inserts the record if it does not
/// exist.
fn rewrite(connection: &Connection, work: &Work, segment: &str, rows: &[Row]) -> Result<()> {
    let mut exists = connection
        .prepare("SELECT 1 FROM embeddings WHERE segment_id = ?1 AND embedding_id = ?2")?;
    let mut known: HashSet<&str> = HashSet::new();
    for row in rows {
        if exists.exists(params![segment, row.id])? {
            known.insert(&row.id);
        }
    }
    for row in rows {
        let is_known = known.contains(row.id.as_str());
        if row.usable {
            match row.operation {
                ADD | UPSERT => _ = known.insert(&row.id),
                DELETE => _ = known.remove(row.id.as_str()),
                _ => {}
            }
            continue;
        }
        if row.operation != UPDATE && !is_known {
            connection.execute(
                "INSERT OR IGNORE INTO embeddings (segment_id, embedding_id, seq_id) VALUES (?1, ?2, ?3)",
                params![segment, row.id, stored(row.number, work.blob_ids_pending)],
            )?;
            known.insert(&row.id);
        }
        // An add of an existing record has no effect.
        let keeps_metadata = row.operation != ADD || !is_known;
        connection.execute(
            "UPDATE embeddings_queue SET operation = ?2, vector = NULL, encoding = NULL, \
             metadata = CASE WHEN ?3 THEN metadata ELSE '{}' END WHERE seq_id = ?1",
            params![row.number, UPDATE, keeps_metadata],
        )?;
    }
    Ok(())
}

/// Removes null documents. ChromaDB up to 0.6 wrote them for records without a document, and a
/// thread of ChromaDB 1.x ends when it reads one.
pub(super) fn null_documents(connection: &Connection, write: bool) -> Result<Vec<Change>> {
    if !has_table(connection, "embeddings_queue")? {
        return Ok(Vec::new());
    }
    let found = "json_valid(metadata) AND json_type(metadata, '$.\"chroma:document\"') = 'null'";
    let count = number(
        connection,
        &format!("SELECT count(*) FROM embeddings_queue WHERE {found}"),
    )?;
    if write && count > 0 {
        connection.execute(
            &format!(
                "UPDATE embeddings_queue SET metadata = json_remove(metadata, '$.\"chroma:document\"') WHERE {found}"
            ),
            [],
        )?;
    }
    Ok(vec![Change::new(
        "null documents removed from the queue",
        count,
    )])
}

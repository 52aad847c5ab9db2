//! Restores lost rows of `embeddings` for records that are certain.

use loci_foreign::chroma::LiveRecord;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::database::has_table;
use super::plan::{Plan, Work};
use super::records::number;
use super::report::Change;
use super::sequence::stored;

/// Inserts the rows, with the numbers that their metadata uses.
pub(super) fn make(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let mut count = 0;
    for plan in &work.plans {
        let restored = plan.live.iter().filter(|live| live.restored.is_some());
        let Some(segment) = &plan.metadata_segment else {
            continue;
        };
        for live in restored {
            count += 1;
            if write {
                insert(connection, work, plan, segment, live)?;
            }
        }
    }
    Ok(vec![Change::new("rows of records restored", count)])
}

fn insert(
    connection: &Connection,
    work: &Work,
    plan: &Plan,
    segment: &str,
    live: &LiveRecord,
) -> Result<()> {
    let row = match live.row {
        Some(row) => row,
        None => unused(connection)?,
    };
    // The queue does not name this record, so it was written before the index was.
    let seq = live.seq.or(plan.vector_watermark).unwrap_or(0).max(1);
    let seq = i64::try_from(seq).unwrap_or(1);
    connection.execute(
        "INSERT OR IGNORE INTO embeddings (id, segment_id, embedding_id, seq_id) VALUES (?1, ?2, ?3, ?4)",
        params![row, segment, live.id, stored(seq, work.blob_ids_pending)],
    )?;
    let day: Option<rusqlite::types::Value> = connection
        .prepare_cached("SELECT created_at FROM embeddings WHERE id < ?1 ORDER BY id DESC LIMIT 1")?
        .query_row([row], |found| found.get(0))
        .optional()?;
    // The date of its neighbour is closer to the real one than today's date.
    if let Some(day) = day.filter(|day| *day != rusqlite::types::Value::Null) {
        connection.execute(
            "UPDATE embeddings SET created_at = ?2 WHERE id = ?1",
            params![row, day],
        )?;
    }
    Ok(())
}

/// A number that no row, metadata or text uses.
fn unused(connection: &Connection) -> Result<i64> {
    let mut highest = 0;
    for table in [
        "embeddings",
        "embedding_metadata",
        "embedding_metadata_array",
        "embedding_fulltext_search_content",
    ] {
        if has_table(connection, table)? {
            let sql = format!("SELECT coalesce(max(id), 0) FROM {table}");
            highest = highest.max(number(connection, &sql)?);
        }
    }
    Ok(i64::try_from(highest).unwrap_or(i64::MAX).saturating_add(1))
}

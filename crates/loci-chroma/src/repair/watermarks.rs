//! Watermarks that are gone, and those that no write can get above.
//!
//! ChromaDB skips every entry of the queue up to a watermark. Above the largest number of SQLite there
//! is none for the next write, so such a watermark is lowered. The queue is not brought up to it.

use rusqlite::{Connection, Result, params};

use super::database::has_table;
use super::plan::Work;
use super::report::Change;
use super::sequence::stored;
use crate::queue::{LOWEST_WATERMARK, NUMBER_HOLDER};

/// Lowers watermarks that were never the number of a write, and removes the rows that hold such numbers.
pub(super) fn lower(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    for table in ["max_seq_id", "embeddings_queue"] {
        if !has_table(connection, table)? {
            return Ok(Vec::new());
        }
    }
    let mut lowered = 0;
    for plan in &work.plans {
        // The records say themselves what they have taken over. The index does not: entries that it
        // already has are applied once more, as after a crash before the watermark was written.
        for (segment, mark) in [
            (&plan.metadata_segment, plan.watermark()),
            (&plan.row.vector_segment, LOWEST_WATERMARK as i64),
        ] {
            let Some(segment) = segment else { continue };
            let found = "segment_id = ?1 AND sequence_number(seq_id) > ?2";
            let count: u64 = connection.query_row(
                &format!("SELECT count(*) FROM max_seq_id WHERE {found}"),
                params![segment, work.highest_credible],
                |row| Ok(row.get::<_, i64>(0)? as u64),
            )?;
            if write && count > 0 {
                connection.execute(
                    &format!("UPDATE max_seq_id SET seq_id = ?3 WHERE {found}"),
                    params![
                        segment,
                        work.highest_credible,
                        stored(mark, work.blob_ids_pending)
                    ],
                )?;
            }
            lowered += count;
        }
    }
    Ok(vec![
        Change::new("watermarks beyond every write lowered", lowered),
        Change::new(
            "rows beyond every write taken out of the queue",
            holders(connection, work, write)?,
        ),
    ])
}

/// Gives an index that ChromaDB 0.6 cannot load for want of a watermark the lowest one.
pub(super) fn restore(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    if !has_table(connection, "max_seq_id")? {
        return Ok(Vec::new());
    }
    let mut count = 0;
    // An index that is given up needs none.
    let plans = work.plans.iter();
    for plan in plans.filter(|plan| plan.watermark_missing && plan.spool.is_none()) {
        let Some(segment) = &plan.row.vector_segment else {
            continue;
        };
        count += 1;
        if write {
            connection.execute(
                "INSERT OR REPLACE INTO max_seq_id (segment_id, seq_id) VALUES (?1, ?2)",
                params![
                    segment,
                    stored(LOWEST_WATERMARK as i64, work.blob_ids_pending)
                ],
            )?;
        }
    }
    Ok(vec![Change::new("watermarks of indexes made again", count)])
}

/// Rows that hold a number which no write has reached.
fn holders(connection: &Connection, work: &Work, write: bool) -> Result<u64> {
    let found = "FROM embeddings_queue WHERE id = ?1 AND seq_id > ?2";
    let values = params![NUMBER_HOLDER, work.highest_credible];
    let count: i64 = connection.query_row(&format!("SELECT count(*) {found}"), values, |row| {
        row.get(0)
    })?;
    if write && count > 0 {
        connection.execute(&format!("DELETE {found}"), values)?;
    }
    Ok(count as u64)
}

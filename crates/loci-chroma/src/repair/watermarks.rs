//! Restores lost watermarks, and lowers those that no write can exceed.
//!
//! ChromaDB skips every queue entry up to a watermark. If a watermark is the largest number of
//! SQLite, the next write cannot get a higher one, so the watermark is lowered. The queue is not
//! raised to it.

use loci_foreign::chroma::{LOWEST_WATERMARK, NUMBER_HOLDER};
use rusqlite::{Connection, Result, params};

use super::database::has_table;
use super::plan::Work;
use super::report::Change;
use super::sequence::stored;

/// Lowers watermarks that no write ever had as its number, and removes the rows that hold such
/// numbers.
pub(super) fn lower(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    for table in ["max_seq_id", "embeddings_queue"] {
        if !has_table(connection, table)? {
            return Ok(Vec::new());
        }
    }
    let mut lowered = 0;
    for plan in &work.plans {
        // The records show how far they have consumed the queue. The index does not, so ChromaDB
        // applies entries again that it already has, as after a crash before the watermark was
        // written.
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
            "rows beyond every write removed from the queue",
            holders(connection, work, write)?,
        ),
    ])
}

/// Sets the lowest watermark for an index that ChromaDB 0.6 cannot load without one.
pub(super) fn restore(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    if !has_table(connection, "max_seq_id")? {
        return Ok(Vec::new());
    }
    let mut count = 0;
    // An index that is discarded needs no watermark.
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
    Ok(vec![Change::new("watermarks of indexes restored", count)])
}

/// Removes and counts rows that hold a number which no write has reached.
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

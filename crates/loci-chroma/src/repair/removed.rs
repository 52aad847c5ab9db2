//! Removes records without a vector from the tables, because ChromaDB fails on every filter that
//! matches one. They are already durable in a file.

use rusqlite::{Connection, Result, params};

use super::database::has_table;
use super::plan::Work;
use super::queue::OWN;
use super::report::Change;

/// Deletes the records, their metadata and their rows in the queue. A later step updates the
/// full-text index.
pub(super) fn remove(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let mut count = 0;
    let lists = has_table(connection, "embedding_metadata_array")?;
    for plan in &work.plans {
        count += plan.moved.len() as u64;
        if !write {
            continue;
        }
        let segment = plan.metadata_segment.as_deref().unwrap_or_default();
        for live in plan.moved() {
            let row = "SELECT id FROM embeddings WHERE segment_id = ?1 AND embedding_id = ?2";
            for table in ["embedding_metadata", "embedding_metadata_array"] {
                if table == "embedding_metadata" || lists {
                    connection
                        .prepare_cached(&format!("DELETE FROM {table} WHERE id IN ({row})"))?
                        .execute(params![segment, live.id])?;
                }
            }
            connection
                .prepare_cached(
                    "DELETE FROM embeddings WHERE segment_id = ?1 AND embedding_id = ?2",
                )?
                .execute(params![segment, live.id])?;
        }
        let mut entries = connection.prepare(&format!(
            "DELETE FROM embeddings_queue WHERE {OWN} AND id = ?2"
        ))?;
        for live in plan.moved() {
            entries.execute(params![plan.row.id, live.id])?;
        }
    }
    Ok(vec![Change::new(
        "records without a vector moved into a file",
        count,
    )])
}

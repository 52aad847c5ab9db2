//! Removes duplicates from a palace without the uniqueness index: drawers with the same text from
//! the same place. The removed rows are copied to `removed_duplicates` first.

use rusqlite::{Connection, params};

use crate::collection::rows::{insert_tombstone, rebuild_postings, take_row};
use crate::fault::Attempt;

/// Keeps the most used row of each key, then the oldest, then the one with the smallest id. Runs in
/// the caller's transaction. Changes nothing if there are no duplicates.
pub(crate) fn remove(db: &Connection) -> Attempt<u64> {
    let losers: Vec<(i64, i64, i64)> = {
        let mut statement = db.prepare(
            "SELECT row, collection, kept FROM (
                 SELECT d.row AS row, d.collection AS collection,
                        first_value(d.row) OVER ranked AS kept, row_number() OVER ranked AS place
                 FROM drawers d LEFT JOIN usage u ON u.row = d.row
                 WHERE d.source_file <> ''
                 WINDOW ranked AS (
                     PARTITION BY d.collection, d.wing, d.source_file, d.content_hash, d.start_line
                     ORDER BY coalesce(u.access_count, 0) + coalesce(u.use_count, 0) DESC, d.created_at, d.id))
             WHERE place > 1",
        )?;
        statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?
    };
    let mut postings_left = false;
    for (row, collection, kept) in &losers {
        db.prepare_cached(
            "INSERT INTO removed_duplicates
                 (removed_at, kept_row, row, collection, drawer_id, text, metadata, vector, access_count, use_count)
             SELECT ?2, ?3, d.row, d.collection, d.id, d.text, d.metadata, v.vector,
                    coalesce(u.access_count, 0), coalesce(u.use_count, 0)
             FROM drawers d LEFT JOIN vectors v ON v.row = d.row LEFT JOIN usage u ON u.row = d.row
             WHERE d.row = ?1",
        )?
        .execute(params![row, super::now_ms(), kept])?;
        let removed = take_row(db, *collection, *row as u64)?;
        postings_left |= removed
            .as_ref()
            .is_some_and(|removed| removed.postings_left);
        let seq: i64 = db.query_row(
            "UPDATE palace SET seq = seq + 1 WHERE id = 1 RETURNING seq",
            [],
            |r| r.get(0),
        )?;
        insert_tombstone(db, seq as u64, *collection, *row as u64)?;
        db.prepare_cached(
            "UPDATE collections SET drawers = drawers - 1, vectors = vectors - ?2, seq = ?3, terms = terms - ?4
             WHERE id = ?1",
        )?
        .execute(params![
            collection,
            i64::from(removed.as_ref().is_some_and(|removed| removed.had_vector)),
            seq,
            removed.map_or(0, |removed| removed.terms)
        ])?;
    }
    if postings_left {
        rebuild_postings(db)?;
    }
    Ok(losers.len() as u64)
}

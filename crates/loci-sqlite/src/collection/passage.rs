//! The table `passages`: the search data of a drawer.
//!
//! Its columns are derived from text and metadata ([`loci_core::passage`]) and written in the same
//! transaction. `verify --deep` derives them again and compares, and `repair` rebuilds them.

use loci_core::Metadata;
pub(crate) use loci_core::passage::{Passage, Prepared, context, label, terms};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::tokens;
use crate::fault::Attempt;

/// Updates the columns that depend on metadata alone. Returns whether there was a passage to
/// update.
pub(crate) fn update_place(db: &Connection, row: u64, passage: &Passage) -> Attempt<bool> {
    let changed = db
        .prepare_cached(
            "UPDATE passages SET source = ?2, line = ?3, label = ?5,
                 authored_at = coalesce(?4, (SELECT created_at FROM drawers WHERE row = ?1), 0)
             WHERE row = ?1",
        )?
        .execute(params![
            row as i64,
            stored_source(passage),
            passage.line,
            passage.authored_at,
            passage.label
        ])?;
    Ok(changed > 0)
}

/// Writes a passage. A drawer without a date has the date on which it was added.
pub(crate) fn insert(db: &Connection, collection: i64, row: u64, passage: &Passage) -> Attempt<()> {
    db.prepare_cached(
        "INSERT INTO passages (row, collection, source, line, authored_at, terms, label, tokens)
         VALUES (?1, ?2, ?3, ?4,
                 coalesce(?5, (SELECT created_at FROM drawers WHERE row = ?1), 0), ?6, ?7, ?8)",
    )?
    .execute(params![
        row as i64,
        collection,
        stored_source(passage),
        passage.line,
        passage.authored_at,
        passage.length,
        passage.label,
        tokens::to_bytes(&passage.tokens)
    ])?;
    Ok(())
}

/// Whether the stored passage is this one.
pub(crate) fn is_stored(
    db: &Connection,
    collection: i64,
    row: u64,
    passage: &Passage,
) -> Attempt<bool> {
    Ok(db
        .prepare_cached(
            "SELECT 1 FROM passages p WHERE row = ?1 AND collection = ?2 AND source = ?3 AND line = ?4
             AND authored_at = coalesce(?5, (SELECT created_at FROM drawers WHERE row = ?1), 0)
             AND terms = ?6 AND label = ?7 AND tokens IN (?8, ?9)",
        )?
        .exists(params![
            row as i64,
            collection,
            stored_source(passage),
            passage.line,
            passage.authored_at,
            passage.length,
            passage.label,
            tokens::to_bytes(&passage.tokens),
            tokens::to_pairs(&passage.tokens)
        ])?)
}

/// Removes the passage of a row. Returns the number of its terms.
pub(crate) fn delete(db: &Connection, row: u64) -> Attempt<i64> {
    Ok(db
        .prepare_cached("DELETE FROM passages WHERE row = ?1 RETURNING terms")?
        .query_row([row as i64], |columns| {
            Ok(columns.get_ref(0)?.as_i64().unwrap_or_default())
        })
        .optional()?
        .unwrap_or_default())
}

/// Rebuilds all passages, their sums and the postings from the drawers.
pub(crate) fn rebuild(db: &Connection) -> Attempt<()> {
    db.execute("DELETE FROM passages", [])?;
    let mut statement =
        db.prepare("SELECT row, collection, text, metadata FROM drawers ORDER BY row")?;
    let mut rows = statement.query([])?;
    while let Some(columns) = rows.next()? {
        let row = columns.get::<_, i64>(0)? as u64;
        let collection: i64 = columns.get(1)?;
        let text = columns.get_ref(2)?.as_str_or_null().ok().flatten();
        let metadata = metadata(columns, 3)?;
        insert(
            db,
            collection,
            row,
            &Passage::derive(collection, text, &metadata),
        )?;
    }
    db.execute(
        "UPDATE collections SET terms =
             (SELECT coalesce(sum(p.terms), 0) FROM passages p WHERE p.collection = collections.id)",
        [],
    )?;
    super::rows::rebuild_postings(db)
}

/// The metadata in a column; none if it cannot be read.
pub(crate) fn metadata(columns: &Row<'_>, at: usize) -> rusqlite::Result<Metadata> {
    let json = columns.get_ref(at)?.as_str().ok();
    Ok(json
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default())
}

/// 0 stands for no source.
fn stored_source(passage: &Passage) -> i64 {
    passage.source.map_or(0, |source| source as i64)
}

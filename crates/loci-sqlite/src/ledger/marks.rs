//! Removes forgotten text from the marks of sources. [`loci_core::ledger::marks`] decides what is
//! removed.

use loci_core::ledger::marks::cleaned;
use loci_core::{Metadata, SourceRecord};
use rusqlite::{Connection, params};

use crate::fault::Attempt;

/// Cleans the marks of the source of a drawer that is about to be forgotten, and the marks that
/// runs keep for their undo. `rows` are all drawers that this transaction removes.
pub(super) fn clean(db: &Connection, origin: i64, rows: &[u64]) -> Attempt<()> {
    let mut statement = db.prepare_cached(
        "SELECT s.id, s.mark FROM sources s, sources o
         WHERE o.id = ?1 AND s.collection = o.collection AND s.name = o.name
           AND (s.section = 0 OR s.section >= o.section)",
    )?;
    let found: Vec<(i64, String)> = statement
        .query_map([origin], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let keys = keys_that_stay(db, origin, rows)?;
    for (source, mark) in found {
        if let Some(cleaned) = cleaned(&mark, &keys) {
            db.prepare_cached("UPDATE sources SET mark = ?2 WHERE id = ?1")?
                .execute(params![source, cleaned])?;
        }
        clean_kept(db, source, &keys)?;
    }
    Ok(())
}

/// Cleans what a run would restore in the ledger.
fn clean_kept(db: &Connection, source: i64, keys: &Metadata) -> Attempt<()> {
    let mut statement =
        db.prepare_cached("SELECT id, before FROM run_sources WHERE source = ?1 AND before <> ''")?;
    let found: Vec<(i64, String)> = statement
        .query_map([source], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (step, before) in found {
        let Ok(mut record) = serde_json::from_str::<SourceRecord>(&before) else {
            continue;
        };
        let Some(cleaned) = cleaned(&record.mark, keys) else {
            continue;
        };
        record.mark = cleaned;
        let before = serde_json::to_string(&record).unwrap_or_default();
        db.prepare_cached("UPDATE run_sources SET before = ?2 WHERE id = ?1")?
            .execute(params![step, before])?;
    }
    Ok(())
}

/// Metadata of a drawer of the source that is not forgotten. Keys from frontmatter are the same in
/// all its drawers.
fn keys_that_stay(db: &Connection, origin: i64, rows: &[u64]) -> Attempt<Metadata> {
    let rows = serde_json::to_string(rows).unwrap_or_default();
    let mut statement = db.prepare_cached(
        "SELECT metadata FROM drawers WHERE origin = ?1 AND origin <> 0
           AND row NOT IN (SELECT value FROM json_each(?2)) LIMIT 1",
    )?;
    let mut found = statement.query(params![origin, rows])?;
    let Some(columns) = found.next()? else {
        return Ok(Metadata::default());
    };
    let json = columns.get_ref(0)?.as_str().unwrap_or_default();
    Ok(serde_json::from_str(json).unwrap_or_default())
}

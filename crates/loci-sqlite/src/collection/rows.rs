//! The parts of a row in their tables: postings, labels, vector, tombstone. All functions run
//! inside the caller's write transaction, and the caller updates the counters.

use loci_core::Metadata;
use rusqlite::{Connection, params};

use super::passage;
use super::record::{Stored, ensure_key, labels};
use crate::fault::Attempt;

/// What [`take_row`] removed.
pub(crate) struct Removed {
    /// Its id, if it could be read.
    pub(crate) id: Option<String>,
    pub(crate) had_vector: bool,
    /// Number of its terms.
    pub(crate) terms: i64,
    /// Whether postings are left. The text is damaged, so its postings could not be named and
    /// removed; the caller rebuilds all postings in the same transaction.
    pub(crate) postings_left: bool,
}

/// Deletes postings, labels, vector and usage before the row itself, because their values are
/// derived from the row. Also removes rows whose bytes are damaged.
pub(crate) fn take_row(db: &Connection, collection: i64, row: u64) -> Attempt<Option<Removed>> {
    let Some(found) = super::read::fetch(db, row)? else {
        return Ok(None);
    };
    let found = found.ok();
    let id = found.as_ref().map(|stored| stored.id.clone());
    let intact = found.filter(Stored::is_intact);
    if let Some(stored) = &intact {
        let metadata = stored.metadata().unwrap_or_default();
        delete_postings(db, row, stored.text.as_deref(), &metadata)?;
    }
    match intact.as_ref().and_then(Stored::metadata) {
        Some(metadata) => delete_labels(db, collection, row, &metadata)?,
        None => {
            db.execute(
                "DELETE FROM labels WHERE collection = ?1 AND row = ?2",
                params![collection, row as i64],
            )?;
        }
    }
    let had_vector = delete_vector(db, row)?;
    let terms = passage::delete(db, row)?;
    for sql in [
        "DELETE FROM usage WHERE row = ?1",
        "DELETE FROM other_vectors WHERE row = ?1",
        "DELETE FROM fresh_vectors WHERE row = ?1",
    ] {
        db.prepare_cached(sql)?.execute([row as i64])?;
    }
    db.prepare_cached("DELETE FROM drawers WHERE row = ?1")?
        .execute([row as i64])?;
    Ok(Some(Removed {
        id,
        had_vector,
        terms,
        postings_left: intact.is_none(),
    }))
}

/// Rebuilds the postings from the texts.
pub(crate) fn rebuild_postings(db: &Connection) -> Attempt<()> {
    db.execute("INSERT INTO postings (postings) VALUES ('rebuild')", [])?;
    Ok(())
}

/// `terms` are those of the text and its context, joined as [`passage::terms`] does.
pub(crate) fn insert_postings(db: &Connection, row: u64, terms: Option<&str>) -> Attempt<()> {
    db.prepare_cached("INSERT INTO postings (rowid, text) VALUES (?1, ?2)")?
        .execute(params![row as i64, terms])?;
    Ok(())
}

/// Removes postings. With external content, FTS5 needs the exact old terms for this.
pub(crate) fn delete_postings(
    db: &Connection,
    row: u64,
    text: Option<&str>,
    metadata: &Metadata,
) -> Attempt<()> {
    let terms = text.map(|text| passage::terms(text, &passage::context(metadata)).joined);
    db.prepare_cached("INSERT INTO postings (postings, rowid, text) VALUES ('delete', ?1, ?2)")?
        .execute(params![row as i64, terms])?;
    Ok(())
}

pub(crate) fn insert_labels(
    db: &Connection,
    collection: i64,
    row: u64,
    metadata: &Metadata,
) -> Attempt<()> {
    let sql = "INSERT INTO labels (collection, key, type, value, row) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (collection, key, type, value, row) DO NOTHING";
    for_each_label(db, sql, collection, row, metadata)
}

pub(crate) fn delete_labels(
    db: &Connection,
    collection: i64,
    row: u64,
    metadata: &Metadata,
) -> Attempt<()> {
    let sql = "DELETE FROM labels
               WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value = ?4 AND row = ?5";
    for_each_label(db, sql, collection, row, metadata)
}

/// Runs a statement with collection, key, type, value and row of each label of a drawer.
fn for_each_label(
    db: &Connection,
    sql: &str,
    collection: i64,
    row: u64,
    metadata: &Metadata,
) -> Attempt<()> {
    let mut statement = db.prepare_cached(sql)?;
    for (key, kind, value) in labels(metadata) {
        statement.execute(params![
            collection,
            ensure_key(db, key)?,
            kind.0,
            value,
            row as i64
        ])?;
    }
    Ok(())
}

pub(crate) fn delete_vector(db: &Connection, row: u64) -> Attempt<bool> {
    Ok(db
        .prepare_cached("DELETE FROM vectors WHERE row = ?1")?
        .execute([row as i64])?
        > 0)
}

pub(crate) fn insert_tombstone(
    db: &Connection,
    seq: u64,
    collection: i64,
    row: u64,
) -> Attempt<()> {
    db.prepare_cached("INSERT INTO tombstones (seq, collection, row) VALUES (?1, ?2, ?3)")?
        .execute(params![seq as i64, collection, row as i64])?;
    Ok(())
}

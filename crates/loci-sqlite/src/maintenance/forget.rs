//! forget: removes drawers so that no file of the palace holds their text.
//!
//! The delete and the record of a pending purge are committed together, so a kill at any later line
//! leaves a palace that completes the purge. [`super::purge`] rewrites the files.

use std::cell::Cell;

use loci_core::{Error, ForgetOutcome, Metadata, PalaceRef, Result, Selection};
use rusqlite::{Connection, params};

use super::purge::{PurgeWait, Purged, purge};
use crate::SqliteBackend;
use crate::collection::meta::CollectionRow;
use crate::collection::remove::in_slices;
use crate::fault::Attempt;
use crate::ledger::forgotten;
use crate::relations::{self, Forgotten};
use crate::store::connection::Db;
use crate::store::{Head, Store};

/// Removes the selected drawers of the collections and every trace of their text, including the
/// facts that were taken from them and the links that end at them. If the drawer of an id is already
/// gone, its facts are still removed. The files are rewritten once, at the end.
pub(crate) fn forget(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    collections: &[String],
    selection: &Selection,
    before_each: &mut dyn FnMut(usize, &ForgetOutcome) -> Result<()>,
) -> Result<ForgetOutcome> {
    if selection.is_all() {
        return Err(Error::invalid("forget", "needs ids or a filter"));
    }
    let store = backend.store(palace, false)?;
    store.refuse_read_only()?;
    let mut outcome = ForgetOutcome::default();
    for (done, collection) in collections.iter().enumerate() {
        before_each(done, &outcome)?;
        outcome.add(remove(&store, collection, selection)?);
    }
    let pending = store.read("looking for a pending purge", |db| {
        Ok(Head::read(&db.sql)?.purge_pending)
    })?;
    let purged = if pending > 0 {
        purge(&store, PurgeWait::Waits)?
    } else {
        Purged::default()
    };
    Ok(ForgetOutcome {
        purge_pending: purged.pending.is_some(),
        pending_reason: purged.pending,
        removed_files: purged.removed_files,
        ..outcome
    })
}

/// Removes the selected drawers of a collection, their facts and links, and kept copies of them. The
/// first transaction of each slice records that a purge is pending.
fn remove(store: &Store, collection: &str, selection: &Selection) -> Result<ForgetOutcome> {
    let find = |db: &Connection, head: &Head| CollectionRow::require(db, head, collection);
    let related = Cell::new(Forgotten::default());
    let earlier = Cell::new(0);
    let removed = in_slices(
        store,
        "forgetting drawers",
        find,
        selection,
        |db, number, rows| {
            earlier.set(earlier.get() + forgotten::remember(&db.sql, number, rows)?);
            related.set(related.get() + forget_relations(&db.sql, collection, rows)?);
            Ok(())
        },
        note_purge,
    )?;
    let (copies, of_gone) = forget_copies(store, collection, selection)?;
    let related = related.get() + of_gone;
    Ok(ForgetOutcome {
        forgotten: removed.deleted + earlier.get() + copies,
        facts: related.facts,
        links: related.links,
        ..ForgetOutcome::default()
    })
}

/// Removes the facts and links of drawers that are about to be removed.
fn forget_relations(db: &Connection, collection: &str, rows: &[u64]) -> Attempt<Forgotten> {
    let mut statement = db.prepare_cached("SELECT id FROM drawers WHERE row = ?1")?;
    let mut total = Forgotten::default();
    for row in rows {
        // The id of a damaged drawer may not be text.
        let id = statement.query_row([*row as i64], |columns| {
            Ok(columns.get::<_, String>(0).ok())
        })?;
        if let Some(id) = id {
            total = total + relations::forget(db, collection, &id)?;
        }
    }
    Ok(total)
}

/// The ids that have no drawer left in the collection.
fn without_drawer(db: &Connection, collection: i64, ids: Vec<String>) -> Attempt<Vec<String>> {
    let mut statement =
        db.prepare_cached("SELECT 1 FROM drawers WHERE collection = ?1 AND id = ?2")?;
    let mut gone = Vec::new();
    for id in ids {
        if !statement.exists(params![collection, id])? {
            gone.push(id);
        }
    }
    Ok(gone)
}

/// Removes selected drawers that a repair or a clean-up took out of the collection but kept. Also
/// removes the facts and links of those copies, and of ids that are named without any other
/// condition.
fn forget_copies(
    store: &Store,
    collection: &str,
    selection: &Selection,
) -> Result<(usize, Forgotten)> {
    store.write("forgetting copies", |db| {
        let head = Head::read(&db.sql)?;
        let row = CollectionRow::require(&db.sql, &head, collection)?;
        let mut removed = 0;
        let mut gone = if selection.filter.is_none()
            && selection.document.is_none()
            && selection.period.is_none()
        {
            selection.ids.clone().unwrap_or_default()
        } else {
            Vec::new()
        };
        for (table, origin) in [
            ("damaged_drawers", "0"),
            ("removed_duplicates", "0"),
            ("kept_drawers", "origin"),
        ] {
            for copy in selected_copies(db, table, origin, row.id, selection)? {
                gone.push(copy.id);
                if let Some(text) = copy.text {
                    forgotten::remember_copy(&db.sql, row.id, &text, &copy.metadata, copy.origin)?;
                }
                removed += db
                    .sql
                    .execute(&format!("DELETE FROM {table} WHERE id = ?1"), [copy.number])?;
            }
        }
        removed += forgotten::remove_copies(&db.sql, row.id)?;
        let mut related = Forgotten::default();
        for id in without_drawer(&db.sql, row.id, gone)? {
            related = related + relations::forget(&db.sql, collection, &id)?;
        }
        if removed + related.facts + related.links > 0 {
            remove_unused_keys(&db.sql)?;
            let seq = head.seq.max(1) as i64;
            db.sql.execute(
                "UPDATE palace SET purge_pending = max(purge_pending, ?1) WHERE id = 1",
                [seq],
            )?;
        }
        // Committed when this returns: the copies are gone, and the purge is pending if there were
        // any. This follows the removal of the drawers. A crash in between leaves the copies, and
        // forgetting again removes them.
        Ok((removed, related))
    })
}

/// A drawer that a repair, a clean-up or a run kept outside the collection.
struct KeptDrawer {
    number: i64,
    id: String,
    text: Option<String>,
    metadata: Metadata,
    /// Number of its source in the ledger, or 0.
    origin: i64,
}

fn selected_copies(
    db: &Db,
    table: &str,
    origin: &str,
    collection: i64,
    selection: &Selection,
) -> Attempt<Vec<KeptDrawer>> {
    let sql = format!(
        "SELECT id, drawer_id, metadata, text, {origin} FROM {table} WHERE collection = ?1"
    );
    let mut statement = db.sql.prepare(&sql)?;
    let mut rows = statement.query([collection])?;
    let mut selected = Vec::new();
    while let Some(columns) = rows.next()? {
        let text_of = |at| {
            columns
                .get_ref(at)
                .ok()
                .and_then(|value| value.as_str().ok())
        };
        let (id, text) = (text_of(1).unwrap_or_default(), text_of(3));
        let metadata: Metadata = text_of(2)
            .and_then(|json| serde_json::from_str(json).ok())
            .unwrap_or_default();
        let by_id = selection
            .ids
            .as_ref()
            .is_none_or(|ids| ids.iter().any(|wanted| wanted == id));
        let by_filter = selection
            .filter
            .as_ref()
            .is_none_or(|filter| filter.matches(&metadata, text));
        let by_text = selection
            .document
            .as_ref()
            .is_none_or(|filter| filter.matches(text));
        // A copy without a date of its own cannot be matched to a period, so it stays.
        let by_date = selection.period.is_none_or(|period| {
            metadata
                .authored_at()
                .is_some_and(|moment| period.contains(moment))
        });
        if by_id && by_filter && by_text && by_date {
            selected.push(KeptDrawer {
                number: columns.get(0)?,
                id: id.to_owned(),
                text: text.map(str::to_owned),
                origin: columns.get(4)?,
                metadata,
            });
        }
    }
    Ok(selected)
}

/// Removes the names of metadata keys that no drawer has.
fn remove_unused_keys(db: &Connection) -> Attempt<()> {
    db.prepare_cached(
        "DELETE FROM label_keys WHERE NOT EXISTS
             (SELECT 1 FROM collections c, labels l WHERE l.collection = c.id AND l.key = label_keys.id)",
    )?
    .execute([])?;
    Ok(())
}

/// Records the pending purge in the transaction that removes the drawers. A kill after that commit
/// leaves a palace that knows that its files still hold the text.
fn note_purge(db: &Db, rows: &[u64], seq: u64) -> Attempt<()> {
    for row in rows {
        // Copies of the same text that an earlier clean-up or repair kept.
        db.sql
            .prepare_cached("DELETE FROM removed_duplicates WHERE kept_row = ?1 OR row = ?1")?
            .execute([*row as i64])?;
        for sql in [
            "DELETE FROM damaged_drawers WHERE row = ?1",
            "DELETE FROM kept_drawers WHERE row = ?1",
        ] {
            db.sql.prepare_cached(sql)?.execute([*row as i64])?;
        }
    }
    if !rows.is_empty() {
        remove_unused_keys(&db.sql)?;
        db.sql.execute(
            "UPDATE palace SET purge_pending = ?1 WHERE id = 1",
            [seq as i64],
        )?;
    }
    Ok(())
}

//! delete: by ids, by filter, or both. Up to five hundred drawers are removed in one transaction.
//! More are removed in slices, each atomic, so that no other writer waits long.

use loci_core::{DeleteResult, Error, Result, Selection, validate_id};
use rusqlite::Connection;

use super::SqliteCollection;
use super::meta::CollectionRow;
use super::read::rows_in_order;
use super::rowset::Evaluator;
use super::writer::Writer;
use crate::fault::Attempt;
use crate::store::connection::Db;
use crate::store::{Head, Store};

/// Drawers removed per transaction.
const SLICE: usize = 500;

pub(crate) fn delete(collection: &SqliteCollection, selection: &Selection) -> Result<DeleteResult> {
    if selection.is_all() {
        return Err(Error::invalid(
            "delete",
            "needs ids or a filter; to remove everything delete the collection",
        ));
    }
    let find = |db: &Connection, head: &Head| collection.require(db, head);
    in_slices(
        &collection.store,
        "deleting drawers",
        find,
        selection,
        |_, _, _| Ok(()),
        |_, _, _| Ok(()),
    )
}

/// Removes the selected drawers. In the transaction of each slice, `before` receives the collection
/// and the rows that will be removed, and `also` receives the removed rows and the last sequence
/// number.
pub(crate) fn in_slices(
    store: &Store,
    doing: &str,
    find: impl Fn(&Connection, &Head) -> Attempt<CollectionRow>,
    selection: &Selection,
    before: impl Fn(&Db, i64, &[u64]) -> Attempt<()>,
    also: impl Fn(&Db, &[u64], u64) -> Attempt<()>,
) -> Result<DeleteResult> {
    selection
        .ids
        .iter()
        .flatten()
        .try_for_each(|id| validate_id(id))?;
    let mut result = DeleteResult::default();
    // Drawers that are added while slices run are newer than the call and stay.
    let mut newest = None;
    loop {
        let (deleted, seq, more) = store.write(doing, |db| {
            let head = Head::read(&db.sql)?;
            let row = find(&db.sql, &head)?;
            let newest = *newest.get_or_insert(head.seq);
            let evaluator = Evaluator {
                db: &db.sql,
                epoch: db.epoch,
                collection: &row,
                cache: &store.row_sets,
            };
            let mut rows = match evaluator.selection(selection)? {
                Some(set) => rows_in_order(&db.sql, &row, Some(&set), 0, Some(SLICE + 1))?,
                None => Vec::new(),
            };
            let more = rows.len() > SLICE;
            rows.truncate(SLICE);
            rows.retain(|row| *row <= newest);
            before(db, row.id, &rows)?;
            let mut writer = Writer::new(&db.sql, head.seq, row);
            let mut removed = Vec::with_capacity(rows.len());
            for row in rows {
                if writer.remove(row)? {
                    removed.push(row);
                }
            }
            let (seq, _) = writer.finish(None)?;
            also(db, &removed, seq)?;
            // Committed when this returns: this slice, whole. A crash leaves the later slices, and
            // repeating the call removes them.
            Ok((removed.len(), seq, more && !removed.is_empty()))
        })?;
        result.deleted += deleted;
        result.seq = seq;
        if !more {
            return Ok(result);
        }
    }
}

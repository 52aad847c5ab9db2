//! delete: by ids, by filter, by both. Up to five hundred drawers go in one transaction; more go in
//! slices, each atomic, so that no other writer waits long.

use loci_core::{DeleteResult, Error, Selection};

use super::SqliteCollection;
use super::rowset::Evaluator;
use super::write::Writer;
use crate::store::Head;

/// Drawers removed per transaction.
const SLICE: usize = 500;

pub(crate) fn delete(
    collection: &SqliteCollection,
    selection: &Selection,
) -> loci_core::Result<DeleteResult> {
    if selection.is_all() {
        return Err(Error::invalid(
            "delete",
            "needs ids or a filter; to remove everything delete the collection",
        ));
    }
    if let Some(ids) = &selection.ids {
        ids.iter().try_for_each(|id| loci_core::validate_id(id))?;
    }
    let mut result = DeleteResult::default();
    // Drawers added while slices run are newer than the call and stay.
    let mut newest = None;
    loop {
        let (deleted, seq, more, limit) = collection.store.write("deleting drawers", |db| {
            let head = Head::read(&db.sql)?;
            let row = collection.require(&db.sql, &head)?;
            let limit = newest.unwrap_or(head.seq);
            let evaluator = Evaluator {
                db: &db.sql,
                epoch: db.epoch,
                collection: &row,
                cache: &collection.store.row_sets,
            };
            let rows = match evaluator.selection(selection)? {
                Some(set) => {
                    super::read::rows_in_order(&db.sql, &row, Some(&set), 0, Some(SLICE + 1))?
                }
                None => Vec::new(),
            };
            let more = rows.len() > SLICE;
            let mut writer = Writer::new(&db.sql, head.seq, row);
            let mut deleted = 0;
            for row in rows.into_iter().take(SLICE).filter(|row| *row <= limit) {
                deleted += usize::from(writer.remove(row)?);
            }
            let (seq, _) = writer.finish(None)?;
            Ok((deleted, seq, more && deleted > 0, limit))
        })?;
        newest = Some(limit);
        result.deleted += deleted;
        result.seq = seq;
        if !more {
            return Ok(result);
        }
    }
}

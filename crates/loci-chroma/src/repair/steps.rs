//! The steps of a repair, in order, on one connection.
//!
//! `count` runs them without writing, and `apply` runs them in the transaction. Both run the same
//! queries, so a dry run reports what a repair does.

use std::path::Path;

use loci_core::Result;
use loci_foreign::chroma::DATABASE;
use rusqlite::Connection;

use super::plan::Work;
use super::report::Change;
use super::{
    database, pending, queue, records, removed, restore, rows, sequence, tables, watermarks,
};

/// Counts the changes.
pub(super) fn count(connection: &Connection, work: &Work) -> Result<Vec<Change>> {
    run(connection, work, false)
}

/// Makes the changes.
pub(super) fn apply(connection: &Connection, work: &Work) -> Result<Vec<Change>> {
    run(connection, work, true)
}

fn run(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let failed =
        |error: rusqlite::Error| database::failed(Path::new(DATABASE), "repairing", &error);
    let mut changes = Vec::new();
    sequence::register(connection).map_err(failed)?;
    if !work.only_vectors {
        if !work.blob_ids_pending {
            changes.extend(sequence::convert(connection, write).map_err(failed)?);
        }
        changes.extend(tables::segments(connection, work, write).map_err(failed)?);
        changes.extend(tables::dimensions(connection, work, write).map_err(failed)?);
        changes.extend(tables::metrics(connection, work, write).map_err(failed)?);
        changes.extend(rows::make(connection, work, write).map_err(failed)?);
        changes.extend(records::orphans(connection, write).map_err(failed)?);
        changes.extend(restore::metadata(connection, work, write).map_err(failed)?);
        changes.extend(records::documents(connection, write).map_err(failed)?);
        changes.extend(removed::remove(connection, work, write).map_err(failed)?);
        changes.extend(records::full_text(connection, work, write).map_err(failed)?);
        changes.extend(pending::null_documents(connection, write).map_err(failed)?);
        changes.extend(pending::settle(connection, work, write).map_err(failed)?);
    }
    changes.extend(watermarks::lower(connection, work, write).map_err(failed)?);
    if !work.only_vectors {
        changes.extend(watermarks::restore(connection, work, write).map_err(failed)?);
    }
    changes.extend(queue::write_back(connection, work, write)?);
    changes.extend(queue::keep_highest(connection, work, write).map_err(failed)?);
    changes.retain(|change| change.count > 0);
    Ok(changes)
}

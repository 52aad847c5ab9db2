//! Checks the registered snapshot of a collection against the vectors in the database. Only reads;
//! the caller decides whether a file is quarantined.

use std::collections::HashSet;

use loci_index::{ContentDigest, Registration, VectorIndex};
use rusqlite::{Connection, params};

use crate::collection::meta::CollectionRow;
use crate::fault::Attempt;
use crate::index::registry;
use crate::store::Head;
use crate::store::palace_files::PalaceFiles;
use loci_core::VerifyReport;

/// A registered file that failed its check inside the transaction. Another process may have
/// replaced it since, so the caller checks again before it reports it.
pub(crate) struct Unusable {
    pub(crate) collection: String,
    pub(crate) registration: Registration,
}

pub(crate) fn check(
    db: &Connection,
    place: &PalaceFiles,
    head: &Head,
    collection: &CollectionRow,
    deep: bool,
    report: &mut VerifyReport,
) -> Attempt<Option<Unusable>> {
    let Some(registration) = registry::find(db, head, collection.id)? else {
        return Ok(None);
    };
    if registration.covered > head.seq {
        let detail = format!(
            "the database is older than its index: the index covers changes up to {}, the palace ends at {}",
            registration.covered, head.seq
        );
        report.push("index", Some(&collection.name), None, detail);
        return Ok(None);
    }
    let opened = loci_index::open(&place.index_directory(), &registration)
        .and_then(|index| index.warm().map(|_| index));
    match opened {
        Ok(index) => {
            compare(
                db,
                head,
                collection,
                &registration,
                index.as_ref(),
                deep,
                report,
            )?;
            Ok(None)
        }
        Err(_) => Ok(Some(Unusable {
            collection: collection.name.clone(),
            registration,
        })),
    }
}

fn compare(
    db: &Connection,
    head: &Head,
    collection: &CollectionRow,
    registration: &Registration,
    index: &dyn VectorIndex,
    deep: bool,
    report: &mut VerifyReport,
) -> Attempt<()> {
    let name = Some(collection.name.as_str());
    let masked = changed_since(db, collection, registration)?;
    let mut digest = ContentDigest::default();
    let mut agreeing = 0;
    // The rows of this index are in order already. Sorting would hold all vectors in memory.
    let mut statement = db.prepare_cached(
        "SELECT v.row, v.vector, d.id FROM vectors v INDEXED BY vectors_order
         LEFT JOIN drawers d ON d.row = v.row
         WHERE v.collection = ?1 AND v.seq <= ?2 ORDER BY v.row",
    )?;
    let mut rows = statement.query(params![collection.id, registration.covered as i64])?;
    while let Some(columns) = rows.next()? {
        let row = columns.get::<_, i64>(0)? as u64;
        let id: Option<String> = columns.get(2).unwrap_or(None);
        let bytes = columns.get_ref(1)?.as_blob().unwrap_or_default();
        if index.slot(row).is_none() {
            report.push(
                "missing",
                name,
                id,
                format!("row {row} is covered by the index but not in it"),
            );
            continue;
        }
        agreeing += 1;
        digest.add(row, bytes);
        if deep && index.agrees(row, bytes) == Some(false) {
            report.push(
                "stale",
                name,
                id,
                format!("the index holds the code of another vector for row {row}"),
            );
        }
    }
    for row in index.rows() {
        if masked.contains(row) || is_covered(db, collection, registration, *row)? {
            continue;
        }
        report.push(
            "ghost",
            name,
            None,
            format!("the index holds row {row}, which the database does not"),
        );
    }
    // If nothing has changed since the build, the digests must be equal.
    if agreeing == registration.count && digest.finish() != registration.digest {
        report.push(
            "stale",
            name,
            None,
            "the content digest of the index does not match the database",
        );
    }
    if registration.covered < head.tombstone_floor {
        report.push(
            "index",
            name,
            None,
            "the index is older than the oldest delete that is still known",
        );
    }
    Ok(())
}

/// Rows that queries exclude from the snapshot because they changed after it.
fn changed_since(
    db: &Connection,
    collection: &CollectionRow,
    registration: &Registration,
) -> Attempt<HashSet<u64>> {
    let mut changed = HashSet::new();
    for sql in [
        "SELECT row FROM vectors INDEXED BY vectors_seq WHERE collection = ?1 AND seq > ?2",
        "SELECT row FROM tombstones INDEXED BY tombstones_collection WHERE collection = ?1 AND seq > ?2",
    ] {
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query(params![collection.id, registration.covered as i64])?;
        while let Some(columns) = rows.next()? {
            changed.insert(columns.get::<_, i64>(0)? as u64);
        }
    }
    Ok(changed)
}

fn is_covered(
    db: &Connection,
    collection: &CollectionRow,
    registration: &Registration,
    row: u64,
) -> Attempt<bool> {
    let mut statement = db
        .prepare_cached("SELECT 1 FROM vectors WHERE row = ?1 AND collection = ?2 AND seq <= ?3")?;
    Ok(statement.exists(params![
        row as i64,
        collection.id,
        registration.covered as i64
    ])?)
}

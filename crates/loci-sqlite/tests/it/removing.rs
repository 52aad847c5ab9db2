//! Removing in slices leaves nothing behind.

use loci_core::{Backend, Batch, CollectionOptions, MaintenanceKind, PalaceRef};
use loci_sqlite::SqliteBackend;
use rusqlite::Connection;
use tempfile::TempDir;

const NAME: &str = "drawers";

/// A palace with one drawer that no process has open.
fn palace() -> (TempDir, PalaceRef) {
    let directory = tempfile::tempdir().unwrap();
    let place: PalaceRef = directory.path().join("palace").into();
    let backend = SqliteBackend::default();
    let collection = backend
        .get_collection(&place, NAME, true, &CollectionOptions::default())
        .unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["The lamp is lit."]))
        .unwrap();
    backend.close().unwrap();
    (directory, place)
}

fn database(place: &PalaceRef) -> Connection {
    let directory = place.as_directory().unwrap();
    Connection::open(directory.join("palace.sqlite3")).unwrap()
}

fn count(place: &PalaceRef, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    database(place)
        .query_row(&sql, [], |row| row.get(0))
        .unwrap()
}

/// One slice raised the floor to the end, so that the next call found nothing to do.
#[test]
fn compacting_removes_all_tombstones_however_many_there_are() {
    let (_directory, place) = palace();
    let many = 50_000;
    let sql = format!(
        "UPDATE palace SET seq = {many} + 10;
         WITH RECURSIVE n(seq) AS (SELECT 2 UNION ALL SELECT seq + 1 FROM n WHERE seq <= {many})
         INSERT INTO tombstones (seq, collection, row) SELECT seq, 1, seq FROM n;"
    );
    database(&place).execute_batch(&sql).unwrap();
    assert_eq!(count(&place, "tombstones"), many);
    let backend = SqliteBackend::default();
    let collection = backend
        .get_collection(&place, NAME, false, &CollectionOptions::default())
        .unwrap();
    let done = collection
        .run_maintenance(MaintenanceKind::Compact)
        .unwrap();
    assert_eq!(done.stats["tombstones_trimmed"], many as u64);
    backend.close().unwrap();
    assert_eq!(count(&place, "tombstones"), 0);
}

/// `forget` needs a collection, so nothing could reach what a deleted one left.
#[test]
fn a_deleted_collection_leaves_no_damaged_drawer_that_a_repair_kept() {
    let (_directory, place) = palace();
    let sql = "INSERT INTO damaged_drawers (removed_at, row, collection, drawer_id, text)
               SELECT 1, 99, id, 'b', 'A damaged text.' FROM collections";
    database(&place).execute_batch(sql).unwrap();
    assert_eq!(count(&place, "damaged_drawers"), 1);
    let backend = SqliteBackend::default();
    backend.delete_collection(&place, NAME).unwrap();
    backend.close().unwrap();
    assert_eq!(count(&place, "damaged_drawers"), 0);
}

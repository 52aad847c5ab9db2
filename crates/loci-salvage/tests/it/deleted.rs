//! Deleted rows stay deleted as long as the freelist is readable.

use crate::support::{Rows, Store, of_root, page_range, salvage};
use loci_salvage::{Record, Value};

fn store_with_deletions(secure: &str) -> Store {
    let store = Store::empty(4096);
    store
        .sql
        .execute_batch(&format!("PRAGMA secure_delete={secure}"))
        .unwrap();
    store.create_tables();
    store.insert(1..600);
    store
        .sql
        .execute_batch("DELETE FROM memo WHERE id BETWEEN 100 AND 500")
        .unwrap();
    store
        .sql
        .execute_batch("DELETE FROM memo WHERE id % 7 = 0")
        .unwrap();
    let free: u32 = store
        .sql
        .query_row("PRAGMA freelist_count", [], |row| row.get(0))
        .unwrap();
    assert!(free > 100);
    store
}

fn memos(records: &[Record]) -> Rows {
    let memos = records.iter().filter(|record| record.values.len() == 3);
    memos
        .map(|record| (record.rowid, record.values.clone()))
        .collect()
}

#[test]
fn rows_deleted_with_secure_delete_never_come_back() {
    let store = store_with_deletions("ON");
    for zero_first_page in [false, true] {
        let mut bytes = store.bytes();
        if zero_first_page {
            bytes[page_range(1, 4096)].fill(0);
        }
        let (records, _) = salvage(&store.copy(&bytes), Some(4096));
        assert_eq!(memos(&records), store.memo());
    }
}

#[test]
fn pages_on_the_freelist_are_skipped() {
    let store = store_with_deletions("OFF");
    let (records, report) = salvage(&store.path, None);
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(memos(&records), store.memo());
    let free: u32 = store
        .sql
        .query_row("PRAGMA freelist_count", [], |row| row.get(0))
        .unwrap();
    assert_eq!(report.free_pages, free);
}

#[test]
fn without_a_freelist_live_rows_still_tell_themselves_apart_by_root() {
    let store = store_with_deletions("OFF");
    let mut bytes = store.bytes();
    bytes[32..36].copy_from_slice(&0x0fff_ffff_u32.to_be_bytes());
    let (records, report) = salvage(&store.copy(&bytes), None);
    assert!(
        report
            .damages
            .iter()
            .any(|damage| damage.detail.contains("freelist"))
    );
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
}

#[test]
fn a_freelist_bent_into_a_live_tree_hides_no_row() {
    let store = store_with_deletions("OFF");
    for victim in [
        store.root("memo"),
        store.places("memo")[0].leaf,
        store.places("tag")[0].leaf,
    ] {
        let mut bytes = store.bytes();
        bytes[32..36].copy_from_slice(&victim.to_be_bytes());
        let (records, _) = salvage(&store.copy(&bytes), None);
        assert_eq!(of_root(&records, store.root("memo")), store.memo());
        assert_eq!(of_root(&records, store.root("tag")), store.tag());
    }
}

#[test]
fn rows_deleted_from_a_live_page_are_not_read() {
    let store = Store::empty(4096);
    store
        .sql
        .execute_batch(
            "PRAGMA secure_delete=OFF; CREATE TABLE v(a);
             INSERT INTO v VALUES ('kept'), ('dropped'); DELETE FROM v WHERE a = 'dropped'",
        )
        .unwrap();
    assert!(store.bytes().windows(7).any(|window| window == b"dropped"));
    let (records, _) = salvage(&store.path, None);
    let rows = of_root(&records, store.root("v"));
    assert_eq!(rows, Rows::from([(1, vec![Value::Text("kept".into())])]));
}

#[test]
fn a_freelist_that_does_not_match_its_count_is_reported_and_still_used() {
    let store = store_with_deletions("OFF");
    let mut bytes = store.bytes();
    bytes[39] ^= 1;
    let (records, report) = salvage(&store.copy(&bytes), None);
    assert!(
        report.damages[0].detail.contains("header counts"),
        "{report:?}"
    );
    assert_eq!(memos(&records), store.memo());
}

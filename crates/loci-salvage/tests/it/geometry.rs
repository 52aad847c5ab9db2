//! Page size and reserved bytes are found even if the header is wrong. A file that cannot be a
//! database is refused or found empty.

use crate::support::{Store, of_root, page_range, salvage};
use loci_salvage::{DatabaseFile, SalvageError};
use std::fs;
use std::path::Path;

#[test]
fn the_page_size_is_found_without_header_or_hint() {
    for page_size in (9..=16).map(|power| 1 << power) {
        for rows in [4, 300] {
            let store = Store::filled(page_size, rows);
            let mut bytes = store.bytes();
            bytes[page_range(1, page_size)].fill(0);
            let file = DatabaseFile::open(&store.copy(&bytes), None).unwrap();
            assert_eq!(file.page_size(), page_size, "{rows} rows");
        }
    }
}

#[test]
fn a_page_size_that_the_caller_knows_beats_a_header_that_lies() {
    let store = Store::filled(8192, 50);
    let mut bytes = store.bytes();
    bytes[16..18].copy_from_slice(&4096_u16.to_be_bytes());
    let (records, report) = salvage(&store.copy(&bytes), Some(8192));
    assert_eq!(report.damaged_cells, 0, "{:?}", report.damages.first());
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
}

#[test]
fn reserved_bytes_are_honoured() {
    let store = Store::empty(4096);
    store
        .sql
        .execute_batch("CREATE TABLE seed(a); DROP TABLE seed; VACUUM")
        .unwrap();
    let mut bytes = store.bytes();
    assert_eq!(bytes.len(), 4096);
    bytes[20] = 24;
    bytes[105..107].copy_from_slice(&(4096_u16 - 24).to_be_bytes());
    let path = store.copy(&bytes);
    let sql = rusqlite::Connection::open(&path).unwrap();
    let store = Store {
        dir: store.dir,
        path,
        sql,
    };
    store.create_tables();
    store.insert(1..200);
    let check: String = store
        .sql
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    assert_eq!(store.bytes()[20], 24);
    let (records, report) = salvage(&store.path, None);
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
}

#[test]
fn reserved_bytes_that_the_pages_contradict_are_not_believed() {
    let store = Store::filled(8192, 200);
    let mut bytes = store.bytes();
    bytes[20] = 128;
    let (records, report) = salvage(&store.copy(&bytes), None);
    assert!(!report.is_clean());
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
}

#[test]
fn a_hot_journal_is_mentioned_and_a_finished_one_is_not() {
    let store = Store::filled(4096, 20);
    assert!(!salvage(&store.path, None).1.hot_journal);
    store.sql.execute_batch("BEGIN; DELETE FROM memo").unwrap();
    store.sql.cache_flush().unwrap();
    let (_, report) = salvage(&store.path, None);
    assert!(report.hot_journal && !report.is_clean());
    store
        .sql
        .execute_batch("ROLLBACK; PRAGMA journal_mode=PERSIST; DELETE FROM memo")
        .unwrap();
    let journal = fs::read(store.dir.path().join("store.sqlite3-journal")).unwrap();
    assert!(!journal.is_empty());
    assert!(!salvage(&store.path, None).1.hot_journal);
}

#[test]
fn a_missing_file_a_directory_and_a_bad_hint_are_errors() {
    let store = Store::filled(4096, 1);
    let missing = DatabaseFile::open(Path::new("/nonexistent/store.sqlite3"), None);
    assert!(matches!(missing, Err(SalvageError::Open { .. })));
    let directory = DatabaseFile::open(store.dir.path(), None);
    assert!(matches!(directory, Err(SalvageError::NotAFile { .. })));
    let hint = DatabaseFile::open(&store.path, Some(1000));
    assert!(matches!(
        hint,
        Err(SalvageError::PageSizeHint { hint: 1000 })
    ));
}

#[test]
fn salvage_leaves_the_directory_as_it_was() {
    let store = Store::filled(4096, 50);
    let listing = || {
        let mut names: Vec<_> = fs::read_dir(store.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        (names, store.bytes())
    };
    let before = listing();
    salvage(&store.path, None);
    assert!(before == listing());
}

//! Page 1 holds header and schema; no other row depends on it.

use crate::support::{Store, of_root, page_range, salvage};
use loci_salvage::{DatabaseFile, Record};

/// Rows of `memo` and `tag` survive whatever `overwrite` does to page 1, with and without a hint.
fn assert_rows_survive(page_size: u32, overwrite: impl Fn(&mut [u8])) {
    let store = Store::filled(page_size, 300);
    let mut bytes = store.bytes();
    overwrite(&mut bytes[page_range(1, page_size)]);
    let path = store.copy(&bytes);
    for hint in [Some(page_size), None] {
        let file = DatabaseFile::open(&path, hint).unwrap();
        assert_eq!(file.page_size(), page_size);
        let (records, report) = salvage(&path, hint);
        assert!(!report.is_clean());
        assert!(
            report.damages.iter().any(|damage| damage.page == 1),
            "{report:?}"
        );
        assert_eq!(of_root(&records, store.root("memo")), store.memo());
        assert_eq!(of_root(&records, store.root("tag")), store.tag());
    }
}

#[test]
fn all_rows_survive_a_first_page_of_zeros() {
    for page_size in [512, 4096, 8192] {
        assert_rows_survive(page_size, |page| page.fill(0));
    }
}

#[test]
fn all_rows_survive_a_first_page_of_garbage() {
    for page_size in [1024, 4096, 8192] {
        for seed in 0..8 {
            let mut random = fastrand::Rng::with_seed(seed);
            assert_rows_survive(page_size, |page| random.clone().fill(page));
            random.u8(..);
        }
    }
}

#[test]
fn the_schema_survives_a_lost_header() {
    let store = Store::filled(8192, 300);
    let mut bytes = store.bytes();
    bytes[..100].fill(0);
    let file = DatabaseFile::open(&store.copy(&bytes), Some(8192)).unwrap();
    let names: Vec<String> = file.schema().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["memo", "tag", "tag_name"]);
}

#[test]
fn a_lost_first_page_leaves_no_schema_and_a_small_table_without_root() {
    let store = Store::filled(8192, 5);
    let mut bytes = store.bytes();
    bytes[page_range(1, 8192)].fill(0);
    let path = store.copy(&bytes);
    assert_eq!(DatabaseFile::open(&path, Some(8192)).unwrap().schema(), []);
    let (records, report) = salvage(&path, Some(8192));
    let is_tag = |record: &&Record| record.values.len() == 2;
    let tags: Vec<&Record> = records.iter().filter(is_tag).collect();
    assert_eq!(tags.len(), 5);
    assert!(tags.iter().all(|record| record.root.is_none()));
    assert_eq!(report.unreadable_pages, 1);
}

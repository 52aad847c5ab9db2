//! A truncated file keeps every row before the cut.

use crate::support::{Store, assert_survivors, salvage};
use loci_salvage::DatabaseFile;

#[test]
fn a_file_cut_anywhere_keeps_the_rows_before_the_cut() {
    for page_size in [512, 8192] {
        let store = Store::filled(page_size, 300);
        let bytes = store.bytes();
        let tables = ["memo", "tag"].map(|table| store.places(table));
        let rows = [store.memo(), store.tag()];
        let mut random = fastrand::Rng::with_seed(u64::from(page_size));
        for case in 0..60 {
            let at = match case {
                0..20 => case * bytes.len() / 20,
                20..40 => random.usize(..bytes.len() / page_size as usize) * page_size as usize,
                _ => random.usize(..bytes.len()),
            };
            let path = store.copy(&bytes[..at]);
            let (records, report) = salvage(&path, Some(page_size));
            let whole = (at / page_size as usize) as u32;
            for (places, rows) in tables.iter().zip(&rows) {
                assert_survivors(&records, places, rows, &|page| page > whole);
            }
            assert_eq!(report.pages, whole);
            assert_eq!(report.partial_page_bytes as usize, at % page_size as usize);
            if whole > 0 {
                let all = (bytes.len() / page_size as usize) as u32;
                assert_eq!(report.missing_pages, all - whole);
                assert!(!report.is_clean());
            }
        }
    }
}

#[test]
fn an_empty_file_has_no_pages_and_no_damage() {
    let store = Store::empty(4096);
    let path = store.copy(&[]);
    let file = DatabaseFile::open(&path, None).unwrap();
    assert_eq!((file.page_count(), file.schema()), (0, vec![]));
    let (records, report) = salvage(&path, None);
    assert!(records.is_empty() && report.is_clean(), "{report:?}");
}

//! Interior pages show which tree a leaf belongs to. Losing them loses no row.

use crate::support::{Rows, Store, of_root, page_range, salvage};
use std::collections::BTreeSet;

fn all(records: &[loci_salvage::Record], columns: usize) -> Rows {
    let rows = records
        .iter()
        .filter(|record| record.values.len() == columns);
    rows.map(|record| (record.rowid, record.values.clone()))
        .collect()
}

#[test]
fn each_interior_page_can_be_lost_without_losing_a_row() {
    let store = Store::filled(512, 1_500);
    let (memo, tag) = (store.memo(), store.tag());
    let interior = store.pages_of_kind("memo", "internal");
    assert!(interior.len() > 5, "{interior:?}");
    let mut random = fastrand::Rng::with_seed(11);
    for &page in &interior {
        let mut bytes = store.bytes();
        let range = page_range(page, 512);
        random.fill(&mut bytes[range]);
        let (records, _) = salvage(&store.copy(&bytes), None);
        let found = all(&records, 3);
        assert!(memo.iter().all(|(id, row)| found.get(id) == Some(row)));
        assert_eq!(of_root(&records, store.root("tag")), tag);
        let kept = of_root(&records, store.root("memo"));
        assert_eq!(kept.is_empty(), page == store.root("memo"));
        assert!(kept.iter().all(|(id, row)| memo[id] == *row));
    }
}

#[test]
fn rows_below_a_lost_root_stay_grouped_by_the_pages_left() {
    let store = Store::filled(512, 3_000);
    let root = store.root("tag");
    let interior = store.pages_of_kind("tag", "internal");
    let mut bytes = store.bytes();
    bytes[page_range(root, 512)].fill(0);
    let (records, report) = salvage(&store.copy(&bytes), None);
    assert_eq!(report.unreadable_pages, 1);
    let tag = store.tag();
    let groups: BTreeSet<u32> = records
        .iter()
        .filter(|record| record.values.len() == 2)
        .filter_map(|record| record.root)
        .collect();
    assert!(groups.len() > 1 && groups.iter().all(|group| interior.contains(group)));
    let grouped: usize = groups
        .iter()
        .map(|&group| of_root(&records, group).len())
        .sum();
    assert_eq!(grouped, tag.len());
}

#[test]
fn all_interior_pages_together_can_be_lost_without_losing_a_row() {
    let store = Store::filled(512, 800);
    let mut bytes = store.bytes();
    for page in store.pages_of_kind("memo", "internal") {
        bytes[page_range(page, 512)].fill(0xee);
    }
    for page in store.pages_of_kind("tag_name", "internal") {
        bytes[page_range(page, 512)].fill(0xee);
    }
    let (records, _) = salvage(&store.copy(&bytes), None);
    assert_eq!(all(&records, 3), store.memo());
    assert_eq!(of_root(&records, store.root("tag")), store.tag());
}

#[test]
fn a_child_pointer_bent_to_another_table_gives_its_leaf_to_neither() {
    let store = Store::filled(512, 300);
    let root = page_range(store.root("memo"), 512).start;
    let stray = store.places("tag")[0].leaf;
    let mut bytes = store.bytes();
    bytes[root + 8..root + 12].copy_from_slice(&stray.to_be_bytes());
    let (records, _) = salvage(&store.copy(&bytes), None);
    let of_stray: Vec<_> = records
        .iter()
        .filter(|record| record.page == stray)
        .collect();
    assert!(!of_stray.is_empty() && of_stray.iter().all(|record| record.root.is_none()));
}

#[test]
fn a_child_pointer_bent_to_another_root_takes_nothing_from_that_table() {
    let store = Store::filled(512, 300);
    let root = page_range(store.root("memo"), 512).start;
    let mut bytes = store.bytes();
    bytes[root + 8..root + 12].copy_from_slice(&store.root("tag").to_be_bytes());
    let (records, _) = salvage(&store.copy(&bytes), None);
    assert_eq!(of_root(&records, store.root("tag")), store.tag());
}

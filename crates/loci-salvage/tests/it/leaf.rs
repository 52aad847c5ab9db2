//! A damaged leaf or overflow page costs the rows that use it and no others.

use crate::support::{Store, assert_survivors, of_root, page_range, salvage};
use std::collections::BTreeSet;

#[test]
fn an_overwritten_leaf_loses_only_its_own_rows() {
    let store = Store::filled(4096, 400);
    let (memo, places) = (store.memo(), store.places("memo"));
    let leaves: BTreeSet<u32> = places.iter().map(|place| place.leaf).collect();
    for fill in [0, 0xff] {
        for &leaf in leaves.iter().step_by(5) {
            let mut bytes = store.bytes();
            bytes[page_range(leaf, 4096)].fill(fill);
            let (records, report) = salvage(&store.copy(&bytes), None);
            let survivors = assert_survivors(&records, &places, &memo, &|page| page == leaf);
            assert_eq!(of_root(&records, store.root("memo")).len(), survivors);
            assert_eq!(of_root(&records, store.root("tag")), store.tag());
            assert!(report.unreadable_pages >= 1, "{report:?}");
            assert!(
                report.damages.iter().any(|damage| damage.page == leaf),
                "{report:?}"
            );
        }
    }
}

#[test]
fn an_overwritten_overflow_page_loses_only_the_row_it_belongs_to() {
    let store = Store::filled(1024, 120);
    let (memo, places) = (store.memo(), store.places("memo"));
    let mut random = fastrand::Rng::with_seed(2);
    for place in places
        .iter()
        .filter(|place| !place.overflow.is_empty())
        .step_by(3)
    {
        let ends = [place.overflow[0], place.overflow[place.overflow.len() - 1]];
        for lost in ends {
            let mut bytes = store.bytes();
            random.fill(&mut bytes[page_range(lost, 1024)]);
            let (records, report) = salvage(&store.copy(&bytes), None);
            assert_eq!(report.damaged_cells, 1);
            assert_survivors(&records, &places, &memo, &|page| page == lost);
            let mut expected = memo.clone();
            expected.remove(&place.rowid);
            assert_eq!(of_root(&records, store.root("memo")), expected);
        }
    }
}

#[test]
fn a_chain_that_bites_its_tail_is_a_damaged_cell() {
    let store = Store::filled(1024, 120);
    let places = store.places("memo");
    let place = places
        .iter()
        .find(|place| place.overflow.len() > 10)
        .unwrap();
    let mut bytes = store.bytes();
    let link = page_range(place.overflow[5], 1024).start;
    bytes[link..link + 4].copy_from_slice(&place.overflow[2].to_be_bytes());
    let (records, report) = salvage(&store.copy(&bytes), None);
    assert_eq!(report.damaged_cells, 1);
    assert!(
        report.damages[0].detail.contains("comes back"),
        "{report:?}"
    );
    assert_eq!(of_root(&records, store.root("memo")).len(), 119);
}

#[test]
fn each_cell_of_a_page_is_judged_on_its_own() {
    let store = Store::filled(4096, 400);
    let tag = store.tag();
    let places = store.places("tag");
    let leaf = places[200].leaf;
    let rows = places.iter().filter(|place| place.leaf == leaf).count();
    let mut bytes = store.bytes();
    let start = page_range(leaf, 4096).start;
    bytes[start + 8..start + 10].copy_from_slice(&[0, 3]);
    bytes[start + 1..start + 3].fill(0xff);
    bytes[start + 5..start + 8].fill(0xff);
    let (records, report) = salvage(&store.copy(&bytes), None);
    assert_eq!(report.damaged_cells, 1);
    assert_eq!(
        records.iter().filter(|record| record.page == leaf).count(),
        rows - 1
    );
    let kept = of_root(&records, store.root("tag"));
    assert!(kept.len() == tag.len() - 1 && kept.iter().all(|(id, row)| tag[id] == *row));
}

#[test]
fn a_leaf_taken_for_an_interior_page_is_reported() {
    let store = Store::filled(4096, 400);
    let leaf = store.places("tag")[0].leaf;
    let mut bytes = store.bytes();
    bytes[page_range(leaf, 4096).start] ^= 0x08;
    let (_, report) = salvage(&store.copy(&bytes), None);
    assert!(
        report.damages.iter().any(|damage| damage.page == leaf),
        "{report:?}"
    );
}

#[test]
fn a_rowid_out_of_order_is_handed_out_as_suspect() {
    let store = Store::empty(4096);
    store
        .sql
        .execute_batch("CREATE TABLE v(a); INSERT INTO v VALUES ('xyzzy'), ('b'), ('c')")
        .unwrap();
    let mut bytes = store.bytes();
    let text = bytes
        .windows(5)
        .rposition(|window| window == b"xyzzy")
        .unwrap();
    bytes[text - 3] = 100;
    let (records, report) = salvage(&store.copy(&bytes), None);
    assert_eq!(of_root(&records, store.root("v")).len(), 3);
    assert_eq!((report.suspect_cells, report.damaged_cells), (1, 0));
}

#[test]
fn a_leaf_whose_second_half_is_gone_keeps_the_rows_of_its_first_half() {
    let store = Store::filled(8192, 400);
    let (tag, places) = (store.tag(), store.places("tag"));
    let leaf = places[100].leaf;
    let rows = places.iter().filter(|place| place.leaf == leaf).count();
    let mut bytes = store.bytes();
    let range = page_range(leaf, 8192);
    bytes[range.start + 4096..range.end].fill(0);
    let (records, report) = salvage(&store.copy(&bytes), None);
    let kept: Vec<_> = records
        .iter()
        .filter(|record| record.page == leaf)
        .collect();
    assert!(kept.len() > rows / 4 && kept.len() < rows);
    // The cell across the cut keeps its shape and loses part of its text.
    let changed = kept
        .iter()
        .filter(|record| tag[&record.rowid] != record.values);
    assert!(changed.count() <= 1);
    assert!(report.damaged_pages.contains(&leaf));
    assert_eq!(report.damaged_cells as usize, rows - kept.len());
}

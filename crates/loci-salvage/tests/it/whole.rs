//! Whether a tree is completely readable. Only then does a missing row mean that there is none.

use crate::support::{Store, page_range};
use loci_salvage::DatabaseFile;

#[test]
fn a_tree_is_whole_until_any_of_its_pages_is_overwritten() {
    let store = Store::filled(1024, 300);
    let open = |bytes: &[u8]| DatabaseFile::open(&store.copy(bytes), None).unwrap();
    let bytes = store.bytes();
    let file = open(&bytes);
    let (memo, tag) = (store.root("memo"), store.root("tag"));
    assert!(file.is_whole(memo) && file.is_whole(tag));
    assert!(!file.is_whole(0) && !file.is_whole(u32::MAX));
    let mut random = fastrand::Rng::with_seed(7);
    for kind in ["internal", "leaf", "overflow"] {
        let pages = store.pages_of_kind("memo", kind);
        assert!(!pages.is_empty(), "{kind}");
        for &page in pages.iter().step_by(9) {
            let mut bytes = bytes.clone();
            random.fill(&mut bytes[page_range(page, 1024)]);
            // A random page whose first byte alone looks like a page of the tree.
            if kind != "overflow" {
                bytes[page_range(page, 1024)][0] = if kind == "leaf" { 0x0d } else { 0x05 };
            }
            let file = open(&bytes);
            assert!(!file.is_whole(memo), "{kind} {page}");
            assert!(file.is_whole(tag), "{kind} {page}");
        }
    }
}

#[test]
fn a_tree_that_leads_back_to_itself_is_not_whole() {
    let store = Store::filled(1024, 300);
    let mut bytes = store.bytes();
    let root = store.root("memo");
    let page = &mut bytes[page_range(root, 1024)];
    assert_eq!(page[0], 0x05, "an interior page");
    page[8..12].copy_from_slice(&root.to_be_bytes());
    let file = DatabaseFile::open(&store.copy(&bytes), None).unwrap();
    assert!(!file.is_whole(root));
}

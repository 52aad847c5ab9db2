//! Words are found in the collection that is asked, however common they are elsewhere.

use loci_palace::{Batch, Palace, Selection};

use crate::support::open;

/// 10,200 drawers that all hold the word "common".
fn add_common(palace: &Palace, collection: &str) {
    let collection = palace.collection(collection, true).unwrap();
    for chunk in 0..51 {
        let numbers: Vec<u32> = (chunk * 200..(chunk + 1) * 200).collect();
        collection
            .add(
                &Batch::new(numbers.iter().map(|n| format!("big{n}")))
                    .documents(numbers.iter().map(|_| "common")),
            )
            .unwrap();
    }
}

#[test]
fn a_word_common_in_one_collection_is_found_in_another() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let small = palace.collection("small", true).unwrap();
    small
        .add(&Batch::new(["s1", "s2"]).documents(["common ground", "common sense"]))
        .unwrap();
    add_common(&palace, "big");
    let found = loci_palace::search_words(&*small, "common", 5, &Selection::all()).unwrap();
    assert_eq!(found.hits.len(), 2, "warnings: {:?}", found.warnings);
}

#[test]
fn a_rare_word_beside_a_common_one_still_finds_its_drawer() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let drawers = palace.collection("big", true).unwrap();
    drawers
        .add(&Batch::new(["rare"]).documents(["common zyzzyva"]))
        .unwrap();
    add_common(&palace, "big");
    let found =
        loci_palace::search_words(&*drawers, "zyzzyva common", 10, &Selection::all()).unwrap();
    assert_eq!(found.hits.len(), 10);
    assert_eq!(found.hits[0].id, "rare", "warnings: {:?}", found.warnings);
}

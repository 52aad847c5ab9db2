//! Chapter 15: health and maintenance.

use loci_core::{Batch, Capability, MaintenanceKind, Query, Selection};
use serde_json::json;

use crate::Fixture;
use crate::scene::{DRAWERS, empty, everything, lacks, open, plain, points, tagged, worded};

const KINDS: [MaintenanceKind; 3] = [
    MaintenanceKind::Analyze,
    MaintenanceKind::Compact,
    MaintenanceKind::Reindex,
];

pub fn s15_1_an_open_collection_is_healthy(fixture: &dyn Fixture) {
    let health = empty(fixture).health();
    assert!(health.ok, "{health:?}");
    assert!(!health.detail.is_empty());
}

pub fn s15_2_a_closed_or_deleted_collection_is_unhealthy_not_an_error(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let backend = fixture.backend();
    let closed = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    backend.close_palace(&palace).unwrap();
    assert!(!closed.health().ok);
    let deleted = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    backend.delete_collection(&palace, DRAWERS).unwrap();
    assert!(!deleted.health().ok);
}

pub fn s15_3_the_maintenance_state_names_the_last_number_and_counts_vectors(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["bare"])).unwrap();
    collection
        .add(&points([("a", [1.0, 0.0]), ("b", [0.0, 1.0])]))
        .unwrap();
    let seq = collection.delete(&Selection::ids(["a"])).unwrap().seq;
    let state = collection.maintenance_state().unwrap();
    assert_eq!((state.seq, state.vectors), (seq, 1));
}

pub fn s15_4_an_index_never_claims_more_than_there_is(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&points([("a", [1.0, 0.0]), ("b", [0.0, 1.0])]))
        .unwrap();
    for kind in KINDS {
        collection.run_maintenance(kind).unwrap();
        let state = collection.maintenance_state().unwrap();
        assert!(state.tail <= state.vectors, "{state:?}");
        assert!(
            state.covered.is_none_or(|covered| covered <= state.seq),
            "{state:?}"
        );
    }
}

pub fn s15_5_maintenance_answers_with_its_kind(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&points([("a", [1.0, 0.0])])).unwrap();
    for kind in KINDS {
        assert_eq!(collection.run_maintenance(kind).unwrap().kind, kind);
    }
}

pub fn s15_6_maintenance_changes_no_answer(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let names: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    let batch = Batch::new(names.clone())
        .documents(names.iter().map(|name| format!("quagga {name}")))
        .embeddings((0..50).map(|n| vec![1.0, n as f32 / 50.0]));
    collection.add(&batch).unwrap();
    collection
        .update(&tagged([("7", json!({"n": 1}))]))
        .unwrap();
    collection.update(&points([("8", [-1.0, 0.0])])).unwrap();
    collection.delete(&Selection::ids(["0", "1"])).unwrap();
    let query = Query::vector(vec![1.0, 0.0]).k(20);
    let lexical = !lacks(fixture, Capability::LexicalSearch);
    let answers = || {
        let words = lexical.then(|| worded(&*collection, "quagga 17"));
        let found = collection.query(&query).unwrap();
        (everything(&*collection), found.ids, found.documents, words)
    };
    let before = answers();
    for kind in KINDS {
        collection.run_maintenance(kind).unwrap();
        assert_eq!(answers(), before, "after {kind:?}");
    }
}

pub fn s15_7_after_maintenance_the_feed_lists_a_delete_or_says_reset(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::ChangeFeed) {
        return;
    }
    let collection = empty(fixture);
    let seq = collection
        .add(&points([("a", [1.0, 0.0]), ("b", [0.0, 1.0])]))
        .unwrap()
        .seq;
    collection.delete(&Selection::ids(["a"])).unwrap();
    for kind in KINDS {
        collection.run_maintenance(kind).unwrap();
        let page = collection.changes_since(seq, 10).unwrap();
        let listed = page.changes.iter().any(|change| change.id.is_none());
        assert!(listed || page.reset, "after {kind:?}: {page:?}");
    }
}

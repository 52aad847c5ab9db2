//! Chapter 11: facets, recent drawers and the change feed, for backends with these capabilities.

use std::sync::Arc;

use loci_core::{Batch, Capability, Change, Collection, Include, MetaValue, Selection};
use serde_json::json;

use crate::Fixture;
use crate::scene::{empty, lacks, matching, meta, open, plain, tagged};

/// An empty collection; `None` if the sentence does not apply.
fn able(fixture: &dyn Fixture, capability: Capability) -> Option<Arc<dyn Collection>> {
    (!lacks(fixture, capability)).then(|| empty(fixture))
}

fn wings(collection: &dyn Collection) {
    let batch = tagged([
        ("1", json!({"wing": "x"})),
        ("2", json!({"wing": "y", "year": 2026})),
        ("3", json!({"wing": "y", "year": 2026})),
        ("4", json!({"wing": "z"})),
        ("5", json!({"wing": "y"})),
        ("6", json!({"wing": "x"})),
        ("7", json!({})),
    ]);
    collection.add(&batch).unwrap();
}

pub fn s11_1_facets_come_most_frequent_first(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::MetadataFacets) else {
        return;
    };
    wings(&*collection);
    let counts = collection
        .facet_counts("wing", &Selection::all(), 10)
        .unwrap();
    assert_eq!(
        counts.values,
        [("y".into(), 3), ("x".into(), 2), ("z".into(), 1)]
    );
    assert_eq!(counts.more, 0);
}

pub fn s11_2_drawers_lacking_the_key_are_counted_as_missing(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::MetadataFacets) else {
        return;
    };
    wings(&*collection);
    let all = Selection::all();
    assert_eq!(
        collection.facet_counts("wing", &all, 10).unwrap().missing,
        1
    );
    let counts = collection.facet_counts("nowhere", &all, 10).unwrap();
    assert_eq!((counts.values, counts.missing, counts.more), (vec![], 7, 0));
}

pub fn s11_3_a_list_counts_once_for_each_distinct_element(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::MetadataFacets) else {
        return;
    };
    let batch = tagged([
        ("1", json!({"tag": ["a", "b", "c"]})),
        ("2", json!({"tag": ["a", "b", "b"]})),
        ("3", json!({"tag": "a"})),
    ]);
    collection.add(&batch).unwrap();
    let counts = collection
        .facet_counts("tag", &Selection::all(), 10)
        .unwrap();
    assert_eq!(
        counts.values,
        [("a".into(), 3), ("b".into(), 2), ("c".into(), 1)]
    );
    assert_eq!(counts.missing, 0);
}

pub fn s11_4_more_is_the_number_of_values_beyond_the_limit(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::MetadataFacets) else {
        return;
    };
    wings(&*collection);
    let counts = collection
        .facet_counts("wing", &Selection::all(), 1)
        .unwrap();
    assert_eq!((counts.values, counts.more), (vec![("y".into(), 3)], 2));
    let counts = collection
        .facet_counts("wing", &Selection::all(), 0)
        .unwrap();
    assert_eq!((counts.values, counts.more), (vec![], 3));
}

pub fn s11_5_facets_count_the_selected_drawers_only(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::MetadataFacets) else {
        return;
    };
    wings(&*collection);
    let selection = matching(&json!({"wing": "y"}));
    let counts = collection.facet_counts("year", &selection, 10).unwrap();
    assert_eq!((counts.values, counts.missing), (vec![(2026.into(), 2)], 1));
}

pub fn s11_6_values_of_different_types_are_different_facets(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::MetadataFacets) else {
        return;
    };
    let batch = tagged([
        ("a", json!({"k": "1"})),
        ("b", json!({"k": 1})),
        ("c", json!({"k": true})),
        ("d", json!({"k": 1.5})),
    ]);
    collection.add(&batch).unwrap();
    let counts = collection.facet_counts("k", &Selection::all(), 10).unwrap();
    let expected: [MetaValue; 4] = ["1".into(), 1.into(), true.into(), 1.5.into()];
    assert_eq!(counts.values.len(), 4);
    for value in expected {
        assert!(counts.values.contains(&(value, 1)), "{counts:?}");
    }
}

fn recent(collection: &dyn Collection, limit: usize) -> Vec<String> {
    let recent = collection.get_recent(limit, &Selection::all(), Include::NONE);
    recent.unwrap().ids
}

pub fn s11_7_recent_drawers_come_newest_change_first(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::RecencyOrder) else {
        return;
    };
    collection.add(&Batch::new(["a", "b", "c"])).unwrap();
    assert_eq!(recent(&*collection, 10), ["c", "b", "a"]);
    collection
        .update(&Batch::new(["a"]).documents(["new"]))
        .unwrap();
    assert_eq!(recent(&*collection, 10), ["a", "c", "b"]);
}

pub fn s11_8_a_write_that_changes_nothing_makes_nothing_recent(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::RecencyOrder) else {
        return;
    };
    collection
        .add(&Batch::new(["a", "b"]).documents(["x", "y"]))
        .unwrap();
    collection
        .upsert(&Batch::new(["a"]).documents(["x"]))
        .unwrap();
    assert_eq!(recent(&*collection, 10), ["b", "a"]);
}

pub fn s11_9_recent_obeys_limit_selection_and_include(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::RecencyOrder) else {
        return;
    };
    wings(&*collection);
    assert_eq!(recent(&*collection, 2), ["7", "6"]);
    assert_eq!(recent(&*collection, 0), [""; 0]);
    let selection = matching(&json!({"wing": "y"}));
    let found = collection.get_recent(2, &selection, Include::GET).unwrap();
    assert_eq!(found.ids, ["5", "3"]);
    assert_eq!(found.documents, ["", ""]);
    assert_eq!(found.metadatas[0], meta(&json!({"wing": "y"})));
    assert_eq!(found.embeddings, None);
}

fn feed(collection: &dyn Collection, seq: u64) -> Vec<Change> {
    let page = collection.changes_since(seq, 1_000).unwrap();
    assert!(!page.more && !page.reset, "{page:?}");
    page.changes
}

/// The ids of a feed; `-` for a delete.
fn names(changes: &[Change]) -> Vec<&str> {
    changes
        .iter()
        .map(|change| change.id.as_deref().unwrap_or("-"))
        .collect()
}

pub fn s11_10_the_feed_is_in_the_order_of_its_numbers(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::ChangeFeed) else {
        return;
    };
    collection.add(&Batch::new(["c", "a"])).unwrap();
    let seq = collection.add(&Batch::new(["b"])).unwrap().seq;
    let changes = feed(&*collection, 0);
    assert_eq!(names(&changes), ["c", "a", "b"]);
    assert!(changes.is_sorted_by(|a, b| a.seq < b.seq), "{changes:?}");
    assert_eq!(changes[2].seq, seq);
}

pub fn s11_11_a_drawer_changed_several_times_appears_once_at_its_last_number(
    fixture: &dyn Fixture,
) {
    let Some(collection) = able(fixture, Capability::ChangeFeed) else {
        return;
    };
    collection.add(&Batch::new(["a", "b"])).unwrap();
    for text in ["one", "two"] {
        collection
            .update(&Batch::new(["a"]).documents([text]))
            .unwrap();
    }
    let seq = collection
        .update(&Batch::new(["a"]).documents(["three"]))
        .unwrap()
        .seq;
    let changes = feed(&*collection, 0);
    assert_eq!(names(&changes), ["b", "a"]);
    assert_eq!(changes[1].seq, seq);
}

pub fn s11_12_a_delete_has_the_record_number_and_no_id(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::ChangeFeed) else {
        return;
    };
    collection.add(&Batch::new(["a", "b"])).unwrap();
    let record = feed(&*collection, 0)[0].record;
    let seq = collection.delete(&Selection::ids(["a"])).unwrap().seq;
    let changes = feed(&*collection, 0);
    assert_eq!(names(&changes), ["b", "-"]);
    assert_eq!(
        changes[1],
        Change {
            seq,
            record,
            id: None
        }
    );
}

pub fn s11_13_next_and_more_page_through_the_feed(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::ChangeFeed) else {
        return;
    };
    collection
        .add(&Batch::new(["a", "b", "c", "d", "e"]))
        .unwrap();
    collection.delete(&Selection::ids(["b", "d"])).unwrap();
    let whole = feed(&*collection, 0);
    assert_eq!(whole.len(), 5);
    let (mut paged, mut seq) = (vec![], 0);
    loop {
        let page = collection.changes_since(seq, 2).unwrap();
        assert!(page.changes.len() <= 2);
        assert!(page.next > seq);
        seq = page.next;
        paged.extend(page.changes);
        if !page.more {
            break;
        }
    }
    assert_eq!(paged, whole);
}

pub fn s11_14_record_numbers_are_never_used_again(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::ChangeFeed) else {
        return;
    };
    let mut seen = vec![];
    for _ in 0..3 {
        collection.add(&Batch::new(["a"])).unwrap();
        seen.push(feed(&*collection, 0).last().unwrap().record);
        collection.delete(&Selection::ids(["a"])).unwrap();
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

pub fn s11_15_a_drawer_keeps_its_record_number_for_life(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::ChangeFeed) else {
        return;
    };
    collection.add(&Batch::new(["a"])).unwrap();
    let record = feed(&*collection, 0)[0].record;
    collection
        .upsert(&Batch::new(["a"]).documents(["new"]))
        .unwrap();
    assert_eq!(feed(&*collection, 0)[0].record, record);
}

pub fn s11_16_the_feed_starts_after_the_given_number(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::ChangeFeed) else {
        return;
    };
    let seq = collection.add(&Batch::new(["a"])).unwrap().seq;
    collection.add(&Batch::new(["b"])).unwrap();
    assert_eq!(names(&feed(&*collection, seq)), ["b"]);
}

pub fn s11_17_with_nothing_new_the_feed_is_empty_and_does_not_go_back(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture, Capability::ChangeFeed) else {
        return;
    };
    let seq = collection.add(&Batch::new(["a"])).unwrap().seq;
    let page = collection.changes_since(seq, 10).unwrap();
    assert!(page.changes.is_empty() && !page.more && !page.reset);
    assert!(page.next >= seq);
    collection.add(&Batch::new(["b"])).unwrap();
    assert_eq!(names(&feed(&*collection, page.next)), ["b"]);
}

pub fn s11_18_the_feed_of_a_collection_holds_its_own_changes_only(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::ChangeFeed) {
        return;
    }
    let palace = fixture.fresh_palace();
    let one = open(fixture, &palace, "one", &plain()).unwrap();
    let two = open(fixture, &palace, "two", &plain()).unwrap();
    one.add(&Batch::new(["a"])).unwrap();
    two.add(&Batch::new(["b", "c"])).unwrap();
    two.delete(&Selection::ids(["c"])).unwrap();
    one.add(&Batch::new(["d"])).unwrap();
    assert_eq!(names(&feed(&*one, 0)), ["a", "d"]);
    assert_eq!(names(&feed(&*two, 0)), ["b", "-"]);
}

//! Chapter 3: writes.

use loci_core::{Batch, Capability, Collection, Error, Include, Outcome, Query, Selection};
use serde_json::json;

use crate::Fixture;
use crate::scene::{
    DRAWERS, drawer, empty, everything, ids, lacks, last_seq, matching, meta, nearest, one, open,
    patch, plain, points, refused, tagged, worded,
};

pub fn s3_1_text_is_kept_word_for_word(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let texts = [
        "  leading and trailing  \n",
        "line\r\nline\rline\n",
        "tab\tand nul\0inside",
        "gro\u{308}ße größe 👩‍👩‍👧 \u{feff}\u{200d}",
        "'; DROP TABLE drawers; --",
        "",
    ];
    let names = ["a", "b", "c", "d", "e", "f"];
    collection.add(&Batch::new(names).documents(texts)).unwrap();
    assert_eq!(everything(&*collection).documents, texts);
}

pub fn s3_2_vectors_come_back_bit_for_bit(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let vector = vec![0.1, -3.5e-12, f32::MAX, f32::MIN_POSITIVE, 1.0 / 3.0, -0.0];
    collection
        .add(&Batch::new(["a"]).embeddings([vector.clone()]))
        .unwrap();
    let (_, _, stored) = one(&*collection, "a");
    let bits = |vector: &[f32]| vector.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&stored), bits(&vector));
}

pub fn s3_3_a_write_has_one_outcome_per_id_in_their_order(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&Batch::new(["b"]).documents(["old"]))
        .unwrap();
    let result = collection
        .add(&Batch::new(["c", "b", "a"]).documents(["x", "y", "z"]))
        .unwrap();
    assert_eq!(
        result.outcomes,
        [Outcome::Added, Outcome::Exists, Outcome::Added]
    );
}

pub fn s3_4_add_of_an_existing_id_keeps_the_old_record(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let old = drawer("a", "old", &json!({"n": 1})).embeddings([vec![1.0, 0.0]]);
    collection.add(&old).unwrap();
    let before = everything(&*collection);
    let new = drawer("a", "new", &json!({"m": 2})).embeddings([vec![0.0, 1.0]]);
    let result = collection.add(&new).unwrap();
    assert_eq!(result.outcomes, [Outcome::Exists]);
    assert_eq!(everything(&*collection), before);
}

pub fn s3_5_one_id_twice_in_a_call_is_refused_before_anything_is_written(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&Batch::new(["a"]).documents(["old"]))
        .unwrap();
    let before = everything(&*collection);
    let twice = Batch::new(["b", "a", "a"]).documents(["x", "y", "z"]);
    refused!(collection.add(&twice), Error::InvalidInput { .. });
    refused!(collection.upsert(&twice), Error::InvalidInput { .. });
    refused!(collection.update(&twice), Error::InvalidInput { .. });
    assert_eq!(everything(&*collection), before);
}

pub fn s3_6_a_batch_is_all_or_nothing(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let half = "x".repeat(40 << 10);
    collection
        .add(&drawer("full", "old", &json!({"half": half})).embeddings([vec![1.0, 0.0]]))
        .unwrap();
    let (before, seq) = (everything(&*collection), last_seq(&*collection));
    // The second record fails only when it is compared with the stored one.
    let batch = Batch::new(["new", "full"])
        .documents(["x", "y"])
        .metadatas([patch(&json!({})), patch(&json!({"other": half}))]);
    refused!(collection.upsert(&batch), Error::InvalidInput { .. });
    assert_eq!(everything(&*collection), before);
    assert_eq!(last_seq(&*collection), seq);
    assert_eq!(collection.count().unwrap(), 1);
    assert_eq!(collection.add(&Batch::new(["b"])).unwrap().seq, seq + 1);
}

pub fn s3_7_an_empty_batch_succeeds_with_no_outcomes(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let seq = collection.add(&Batch::new(["a"])).unwrap().seq;
    let none = Batch::new([""; 0]).documents([""; 0]);
    for result in [
        collection.add(&none),
        collection.upsert(&none),
        collection.update(&none),
    ] {
        let result = result.unwrap();
        assert!(result.outcomes.is_empty());
        assert_eq!(result.seq, seq);
    }
}

pub fn s3_8_upsert_adds_unknown_ids_and_changes_known_ones(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&Batch::new(["a"]).documents(["old"]))
        .unwrap();
    let result = collection
        .upsert(&Batch::new(["b", "a"]).documents(["added", "changed"]))
        .unwrap();
    assert_eq!(result.outcomes, [Outcome::Added, Outcome::Updated]);
    assert_eq!(everything(&*collection).documents, ["changed", "added"]);
}

pub fn s3_9_update_reports_unknown_ids_and_applies_the_rest(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&Batch::new(["a"]).documents(["old"]))
        .unwrap();
    let result = collection
        .update(&Batch::new(["ghost", "a"]).documents(["x", "changed"]))
        .unwrap();
    assert_eq!(result.outcomes, [Outcome::Unknown, Outcome::Updated]);
    let content = everything(&*collection);
    assert_eq!(
        (content.ids, content.documents),
        (vec!["a".into()], vec!["changed".into()])
    );
}

pub fn s3_10_update_needs_at_least_one_column(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["a"])).unwrap();
    refused!(
        collection.update(&Batch::new(["a"])),
        Error::InvalidInput { .. }
    );
}

pub fn s3_11_a_column_is_as_long_as_the_ids(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    for batch in [
        Batch::new(["a", "b"]).documents(["one"]),
        Batch::new(["a", "b"]).metadatas([meta(&json!({}))]),
        Batch::new(["a", "b"]).embeddings([vec![1.0]]),
        Batch::new(["a"]).documents(["one", "two"]),
    ] {
        refused!(collection.add(&batch), Error::InvalidInput { .. });
        refused!(collection.upsert(&batch), Error::InvalidInput { .. });
        refused!(collection.update(&batch), Error::InvalidInput { .. });
    }
    assert_eq!(collection.count().unwrap(), 0);
}

pub fn s3_12_a_write_that_changes_nothing_is_unchanged_and_draws_no_number(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = drawer("a", "text", &json!({"n": 1, "l": ["x"]})).embeddings([vec![1.0, 0.0]]);
    let seq = collection.add(&batch).unwrap().seq;
    for result in [
        collection.upsert(&batch),
        collection.update(&batch),
        collection.upsert(&Batch::new(["a"])),
        collection.update(&Batch::new(["a"]).metadatas([patch(&json!({"absent": null}))])),
    ] {
        let result = result.unwrap();
        assert_eq!(result.outcomes, [Outcome::Unchanged]);
        assert_eq!(result.seq, seq);
    }
    assert_eq!(last_seq(&*collection), seq);
    assert_eq!(collection.add(&Batch::new(["b"])).unwrap().seq, seq + 1);
}

pub fn s3_13_each_changed_or_deleted_record_draws_one_number(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let start = collection.add(&Batch::new(["a"])).unwrap().seq;
    let added = collection.add(&Batch::new(["b", "a", "c"])).unwrap().seq;
    assert_eq!(added, start + 2);
    let changed = collection
        .update(&Batch::new(["a", "b", "ghost"]).documents(["x", "y", "z"]))
        .unwrap()
        .seq;
    assert_eq!(changed, added + 2);
    let deleted = collection
        .delete(&Selection::ids(["a", "b", "c"]))
        .unwrap()
        .seq;
    assert_eq!(deleted, changed + 3);
}

pub fn s3_14_numbers_increase_across_the_collections_of_a_palace(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let one = open(fixture, &palace, "one", &plain()).unwrap();
    let two = open(fixture, &palace, "two", &plain()).unwrap();
    let mut last = 0;
    for collection in [&one, &two, &one, &two] {
        for seq in [
            collection.upsert(&Batch::new(["a"])).unwrap().seq,
            collection.delete(&Selection::ids(["a"])).unwrap().seq,
        ] {
            assert!(seq > last, "{seq} after {last}");
            last = seq;
        }
    }
}

pub fn s3_15_a_result_names_the_last_number_of_the_call_or_of_the_collection(
    fixture: &dyn Fixture,
) {
    let palace = fixture.fresh_palace();
    let one = open(fixture, &palace, "one", &plain()).unwrap();
    let two = open(fixture, &palace, "two", &plain()).unwrap();
    let seq = one.add(&Batch::new(["a", "b"])).unwrap().seq;
    assert_eq!(last_seq(&*one), seq);
    two.add(&Batch::new(["a"])).unwrap();
    assert_eq!(one.add(&Batch::new(["a"])).unwrap().seq, seq);
    assert_eq!(one.delete(&Selection::ids(["ghost"])).unwrap().seq, seq);
    let deleted = one.delete(&Selection::ids(["a"])).unwrap().seq;
    assert!(deleted > seq);
    assert_eq!(last_seq(&*one), deleted);
}

pub fn s3_16_delete_by_ids_removes_exactly_those(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["a", "b", "c"])).unwrap();
    let result = collection.delete(&Selection::ids(["c", "a"])).unwrap();
    assert_eq!(result.deleted, 2);
    assert_eq!(ids(&*collection, Selection::all()), ["b"]);
}

pub fn s3_17_delete_by_filter_removes_exactly_what_matches(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&three_wings().documents(["red", "blue", "red"]))
        .unwrap();
    let result = collection.delete(&matching(&json!({"wing": "x"}))).unwrap();
    assert_eq!(result.deleted, 1);
    let red = crate::scene::holding(&json!({"$contains": "red"}));
    assert_eq!(collection.delete(&red).unwrap().deleted, 1);
    assert_eq!(ids(&*collection, Selection::all()), ["b"]);
}

fn three_wings() -> Batch {
    tagged([
        ("a", json!({"wing": "x"})),
        ("b", json!({"wing": "y"})),
        ("c", json!({"wing": "y"})),
    ])
}

pub fn s3_18_delete_with_ids_and_filter_needs_both_to_hold(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&three_wings()).unwrap();
    let both = Selection {
        ids: Some(vec!["a".into(), "b".into()]),
        ..matching(&json!({"wing": "y"}))
    };
    assert_eq!(collection.delete(&both).unwrap().deleted, 1);
    assert_eq!(ids(&*collection, Selection::all()), ["a", "c"]);
}

pub fn s3_19_delete_with_neither_ids_nor_filter_is_refused(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["a"])).unwrap();
    refused!(
        collection.delete(&Selection::all()),
        Error::InvalidInput { .. }
    );
    assert_eq!(collection.count().unwrap(), 1);
}

pub fn s3_20_delete_counts_only_drawers_that_existed(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["a"])).unwrap();
    let result = collection.delete(&Selection::ids(["ghost", "a"])).unwrap();
    assert_eq!(result.deleted, 1);
    assert_eq!(
        collection.delete(&Selection::ids(["a"])).unwrap().deleted,
        0
    );
}

pub fn s3_21_delete_with_an_empty_list_of_ids_deletes_nothing(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let seq = collection.add(&Batch::new(["a"])).unwrap().seq;
    let result = collection.delete(&Selection::ids([""; 0])).unwrap();
    assert_eq!((result.deleted, result.seq), (0, seq));
    assert_eq!(collection.count().unwrap(), 1);
}

pub fn s3_22_a_deleted_drawer_is_found_by_no_call(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = points([("a", [1.0, 0.0]), ("b", [0.9, 0.1])])
        .documents(["quagga one", "quagga two"])
        .metadatas([meta(&json!({"wing": "x"})), meta(&json!({"wing": "y"}))]);
    collection.add(&batch).unwrap();
    collection.delete(&Selection::ids(["a"])).unwrap();
    let all = Selection::all();
    assert_eq!(ids(&*collection, all.clone()), ["b"]);
    assert_eq!(ids(&*collection, Selection::ids(["a"])), [""; 0]);
    assert_eq!(ids(&*collection, matching(&json!({"wing": "x"}))), [""; 0]);
    assert_eq!(nearest(&*collection, [1.0, 0.0], 5), ["b"]);
    assert_eq!(collection.count().unwrap(), 1);
    if !lacks(fixture, Capability::LexicalSearch) {
        assert_eq!(worded(&*collection, "quagga"), ["b"]);
    }
    if !lacks(fixture, Capability::MetadataFacets) {
        let facets = collection.facet_counts("wing", &all, 5).unwrap();
        assert_eq!(facets.values, [("y".into(), 1)]);
    }
    if !lacks(fixture, Capability::RecencyOrder) {
        let recent = collection.get_recent(5, &all, Include::NONE).unwrap();
        assert_eq!(recent.ids, ["b"]);
    }
}

pub fn s3_23_ids_are_compared_byte_by_byte(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let names = [
        "a", "A", " a", "a ", "ä", "a\u{308}", "1", "01", "1.0", "a%", "'",
    ];
    let result = collection.add(&Batch::new(names).documents(names)).unwrap();
    assert_eq!(result.count(loci_core::OutcomeKind::Added), names.len());
    for name in names {
        assert_eq!(one(&*collection, name).0, name);
    }
}

pub fn s3_24_a_record_may_hold_nothing_but_its_id(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let result = collection.add(&Batch::new(["a"])).unwrap();
    assert_eq!(result.outcomes, [Outcome::Added]);
    assert_eq!(
        one(&*collection, "a"),
        (String::new(), meta(&json!({})), vec![])
    );
}

pub fn s3_25_null_in_the_metadata_of_a_new_record_is_an_absent_key(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = tagged([("a", json!({"gone": null, "kept": 1}))]);
    collection.add(&batch).unwrap();
    assert_eq!(one(&*collection, "a").1, meta(&json!({"kept": 1})));
}

pub fn s3_26_writes_from_several_threads_lose_nothing(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let write = |thread: usize| {
        let collection: &dyn Collection = &*collection;
        (0..20)
            .map(|n| {
                let id = format!("{thread}-{n}");
                collection.add(&Batch::new([id])).unwrap().seq
            })
            .collect::<Vec<u64>>()
    };
    let mut numbers: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || write(n))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 80);
    assert_eq!(collection.count().unwrap(), 80);
}

pub fn s3_27_a_write_is_seen_by_every_handle_at_its_next_call(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let one = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let two = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    one.add(&points([("a", [1.0, 0.0])])).unwrap();
    assert_eq!(two.dimension().unwrap(), Some(2));
    let found = two.query(&Query::vector(vec![1.0, 0.0])).unwrap();
    assert_eq!(found.ids, [["a"]]);
    two.delete(&Selection::ids(["a"])).unwrap();
    assert_eq!(one.count().unwrap(), 0);
}

//! Chapter 6: `get`, counts, and the shape of results.

use loci_core::{Batch, Filter, Get, GetResult, Include, Metadata, Period, Selection};
use serde_json::json;

use crate::Fixture;
use crate::scene::{drawer, empty, holding, ids, matching, meta, tagged};

pub fn s6_1_get_returns_drawers_in_the_order_they_were_added(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["c", "a"])).unwrap();
    collection.add(&Batch::new(["b"])).unwrap();
    assert_eq!(ids(&*collection, Selection::all()), ["c", "a", "b"]);
}

pub fn s6_2_get_by_ids_keeps_that_order_and_gives_each_drawer_once(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["c", "a", "b"])).unwrap();
    let asked = Selection::ids(["b", "a", "c", "a"]);
    assert_eq!(ids(&*collection, asked), ["c", "a", "b"]);
}

pub fn s6_3_get_drops_unknown_ids(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["a"])).unwrap();
    assert_eq!(ids(&*collection, Selection::ids(["ghost", "a"])), ["a"]);
}

pub fn s6_4_an_empty_list_of_ids_selects_nothing(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["a"])).unwrap();
    assert_eq!(ids(&*collection, Selection::ids([""; 0])), [""; 0]);
}

pub fn s6_5_ids_and_filters_must_all_hold(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = tagged([
        ("a", json!({"wing": "x"})),
        ("b", json!({"wing": "y"})),
        ("c", json!({"wing": "y"})),
    ]);
    collection
        .add(&batch.documents(["red", "red", "blue"]))
        .unwrap();
    let wing = matching(&json!({"wing": "y"}));
    let text = crate::scene::holding(&json!({"$contains": "red"}));
    let by_ids = Selection::ids(["a", "b"]);
    for selection in [
        Selection {
            ids: by_ids.ids.clone(),
            ..wing.clone()
        },
        Selection {
            document: text.document.clone(),
            ..wing.clone()
        },
        Selection {
            ids: by_ids.ids,
            document: text.document,
            ..wing
        },
    ] {
        assert_eq!(ids(&*collection, selection), ["b"]);
    }
}

fn page(fixture: &dyn Fixture, limit: Option<usize>, offset: usize) -> Vec<String> {
    let collection = empty(fixture);
    collection
        .add(&tagged([
            ("a", json!({"n": 1})),
            ("b", json!({"n": 2})),
            ("c", json!({"n": 1})),
            ("d", json!({"n": 1})),
        ]))
        .unwrap();
    let get = Get {
        limit,
        offset,
        ..Get::new(matching(&json!({"n": 1})))
    };
    collection.get(&get).unwrap().ids
}

pub fn s6_6_limit_and_offset_count_after_filtering(fixture: &dyn Fixture) {
    assert_eq!(page(fixture, Some(2), 0), ["a", "c"]);
    assert_eq!(page(fixture, Some(2), 1), ["c", "d"]);
    assert_eq!(page(fixture, None, 2), ["d"]);
    assert_eq!(page(fixture, Some(100), 0), ["a", "c", "d"]);
}

pub fn s6_7_limit_zero_gives_nothing(fixture: &dyn Fixture) {
    assert_eq!(page(fixture, Some(0), 0), [""; 0]);
}

pub fn s6_8_an_offset_past_the_end_gives_nothing(fixture: &dyn Fixture) {
    assert_eq!(page(fixture, None, 3), [""; 0]);
    assert_eq!(page(fixture, Some(1), usize::MAX), [""; 0]);
}

pub fn s6_9_a_field_asked_for_has_one_entry_per_id(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["bare"])).unwrap();
    let full = drawer("full", "text", &json!({"n": 1})).embeddings([vec![1.0, 0.0]]);
    collection.add(&full).unwrap();
    let get = Get {
        include: Include::ALL,
        ..Get::new(Selection::all())
    };
    assert_eq!(
        collection.get(&get).unwrap(),
        GetResult {
            ids: vec!["bare".into(), "full".into()],
            documents: vec![String::new(), "text".into()],
            metadatas: vec![Metadata::default(), meta(&json!({"n": 1}))],
            embeddings: Some(vec![vec![], vec![1.0, 0.0]]),
            warnings: vec![],
        }
    );
}

pub fn s6_10_a_field_not_asked_for_is_empty(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let full = drawer("a", "text", &json!({"n": 1})).embeddings([vec![1.0, 0.0]]);
    collection.add(&full).unwrap();
    let get = Get {
        include: Include::NONE,
        ..Get::new(Selection::all())
    };
    let only_ids = GetResult {
        ids: vec!["a".into()],
        ..GetResult::default()
    };
    assert_eq!(collection.get(&get).unwrap(), only_ids);
}

pub fn s6_11_get_returns_documents_and_metadatas_by_default(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let full = drawer("a", "text", &json!({"n": 1})).embeddings([vec![1.0, 0.0]]);
    collection.add(&full).unwrap();
    let found = collection.get(&Get::new(Selection::all())).unwrap();
    assert_eq!(found.documents, ["text"]);
    assert_eq!(found.metadatas, [meta(&json!({"n": 1}))]);
    assert_eq!(found.embeddings, None);
}

pub fn s6_12_embeddings_asked_for_are_a_list_also_when_nothing_is_found(fixture: &dyn Fixture) {
    let get = Get {
        include: Include::ALL,
        ..Get::new(Selection::all())
    };
    let found = empty(fixture).get(&get).unwrap();
    assert_eq!(found.embeddings, Some(vec![]));
    assert!(found.ids.is_empty() && found.documents.is_empty() && found.metadatas.is_empty());
}

pub fn s6_13_an_id_added_again_stands_at_the_end(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["a", "b"])).unwrap();
    collection.delete(&Selection::ids(["a"])).unwrap();
    collection.add(&Batch::new(["a"])).unwrap();
    assert_eq!(ids(&*collection, Selection::all()), ["b", "a"]);
}

pub fn s6_14_count_is_exact(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    assert_eq!(collection.count().unwrap(), 0);
    collection.add(&Batch::new(["a", "b"])).unwrap();
    collection.add(&Batch::new(["b", "c"])).unwrap();
    collection.upsert(&Batch::new(["c", "d"])).unwrap();
    assert_eq!(collection.count().unwrap(), 4);
    collection.delete(&Selection::ids(["a", "ghost"])).unwrap();
    assert_eq!(collection.count().unwrap(), 3);
}

pub fn s6_15_estimated_count_answers_and_is_zero_when_nothing_was_ever_added(
    fixture: &dyn Fixture,
) {
    let collection = empty(fixture);
    assert_eq!(collection.estimated_count().unwrap(), 0);
    collection.add(&Batch::new(["a", "b"])).unwrap();
    assert!(collection.estimated_count().is_ok());
}

pub fn s6_16_count_selected_is_the_number_of_drawers_that_get_finds(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let metadata = [json!({"n": 1}), json!({"n": 2}), json!({"n": 2}), json!({})];
    for (at, metadata) in metadata.iter().enumerate() {
        let text = format!("text number {at}");
        let batch = drawer(&format!("d{at}"), &text, metadata);
        collection.add(&batch).unwrap();
    }
    collection.delete(&Selection::ids(["d1"])).unwrap();
    let containing = |text: &str| holding(&json!({"$contains": text}));
    let dated = |period: Period| Selection {
        period: Some(period),
        ..Selection::all()
    };
    let in_the_past = Period {
        since: None,
        before: Some(0),
    };
    for (selection, expected) in [
        (Selection::all(), 3),
        (Selection::matching(Filter::eq("n", 2)), 1),
        (matching(&json!({"n": {"$ne": 2}})), 2),
        (Selection::matching(Filter::eq("nowhere", 2)), 0),
        (matching(&json!({"nowhere": {"$ne": 2}})), 3),
        (Selection::ids(["d0", "d0", "d1", "ghost"]), 1),
        (Selection::ids([""; 0]), 0),
        (containing("number 3"), 1),
        (containing("number"), 3),
        (dated(Period::default()), 3),
        (dated(in_the_past), 0),
    ] {
        let found = collection.get(&Get::new(selection.clone())).unwrap();
        assert_eq!(found.ids.len(), expected, "{selection:?}");
        let counted = collection.count_selected(&selection).unwrap();
        assert_eq!(counted, expected as u64, "{selection:?}");
    }
}

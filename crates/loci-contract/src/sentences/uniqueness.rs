//! Chapter 5: mined drawers are unique by source and text.

use loci_core::{Batch, Collection, Error, Metadata, Outcome, Selection};
use serde_json::{Value, json};

use crate::Fixture;
use crate::scene::{
    drawer, empty, everything, ids, last_seq, meta, one, open, plain, refused, tagged,
};

fn mined() -> Value {
    json!({"wing": "w", "source_file": "notes.md", "start_line": 3})
}

/// A collection with the mined drawer `b` and its text "same".
fn holding_b(fixture: &dyn Fixture) -> std::sync::Arc<dyn Collection> {
    let collection = empty(fixture);
    collection.add(&drawer("b", "same", &mined())).unwrap();
    collection
}

fn duplicate_of(id: &str) -> Outcome {
    Outcome::DuplicateOf(id.into())
}

pub fn s5_1_add_of_a_duplicate_writes_nothing_and_names_the_holder(fixture: &dyn Fixture) {
    let collection = holding_b(fixture);
    let (before, seq) = (everything(&*collection), last_seq(&*collection));
    let result = collection.add(&drawer("a", "same", &mined())).unwrap();
    assert_eq!(result.outcomes, [duplicate_of("b")]);
    assert_eq!(result.seq, seq);
    assert_eq!(everything(&*collection), before);
}

pub fn s5_2_upsert_of_a_new_duplicate_writes_nothing_and_names_the_holder(fixture: &dyn Fixture) {
    let collection = holding_b(fixture);
    let before = everything(&*collection);
    let result = collection.upsert(&drawer("a", "same", &mined())).unwrap();
    assert_eq!(result.outcomes, [duplicate_of("b")]);
    assert_eq!(everything(&*collection), before);
}

pub fn s5_3_of_duplicates_in_one_batch_the_first_wins(fixture: &dyn Fixture) {
    for call in [Collection::add, Collection::upsert] {
        let collection = empty(fixture);
        let batch = Batch::new(["x", "y", "z"])
            .documents(["same", "same", "same"])
            .metadatas([meta(&mined()), meta(&mined()), meta(&mined())]);
        let result = call(&*collection, &batch).unwrap();
        assert_eq!(
            result.outcomes,
            [Outcome::Added, duplicate_of("x"), duplicate_of("x")]
        );
        assert_eq!(ids(&*collection, Selection::all()), ["x"]);
    }
}

pub fn s5_4_a_batch_of_only_losers_succeeds(fixture: &dyn Fixture) {
    let collection = holding_b(fixture);
    let batch = Batch::new(["x", "y"])
        .documents(["same", "same"])
        .metadatas([meta(&mined()), meta(&mined())]);
    let result = collection.add(&batch).unwrap();
    assert_eq!(result.outcomes, [duplicate_of("b"), duplicate_of("b")]);
    assert_eq!(collection.count().unwrap(), 1);
}

pub fn s5_5_an_upsert_that_would_make_a_duplicate_leaves_the_drawer_unchanged(
    fixture: &dyn Fixture,
) {
    let collection = holding_b(fixture);
    collection.add(&drawer("a", "other", &mined())).unwrap();
    let before = everything(&*collection);
    let result = collection
        .upsert(&drawer("a", "same", &json!({"extra": 1})))
        .unwrap();
    assert_eq!(result.outcomes, [duplicate_of("b")]);
    assert_eq!(everything(&*collection), before);
}

pub fn s5_6_an_update_that_would_make_a_duplicate_is_a_conflict_and_nothing_is_applied(
    fixture: &dyn Fixture,
) {
    let collection = holding_b(fixture);
    let batch = Batch::new(["a", "c"])
        .documents(["other", "same"])
        .metadatas([meta(&mined()), meta(&json!({}))]);
    collection.add(&batch).unwrap();
    let (before, seq) = (everything(&*collection), last_seq(&*collection));
    refused!(
        collection.update(&Batch::new(["c", "a"]).documents(["changed", "same"])),
        Error::Conflict { .. }
    );
    // A change of metadata alone can make a duplicate too.
    refused!(
        collection.update(&tagged([("c", mined())])),
        Error::Conflict { .. }
    );
    assert_eq!(everything(&*collection), before);
    assert_eq!(last_seq(&*collection), seq);
}

pub fn s5_7_another_wing_file_text_or_line_makes_no_duplicate(fixture: &dyn Fixture) {
    let collection = holding_b(fixture);
    for (id, text, metadata) in [
        ("text", "Same", mined()),
        (
            "wing",
            "same",
            json!({"wing": "v", "source_file": "notes.md", "start_line": 3}),
        ),
        (
            "file",
            "same",
            json!({"wing": "w", "source_file": "Notes.md", "start_line": 3}),
        ),
        (
            "line",
            "same",
            json!({"wing": "w", "source_file": "notes.md", "start_line": 4}),
        ),
        (
            "part",
            "same",
            json!({"wing": "w", "source_file": "notes.md", "start_line": 3, "part": 2}),
        ),
    ] {
        let result = collection.add(&drawer(id, text, &metadata)).unwrap();
        assert_eq!(result.outcomes, [Outcome::Added], "{id}");
    }
}

pub fn s5_8_a_missing_wing_or_line_counts_as_empty(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let bare = json!({"source_file": "notes.md"});
    collection.add(&drawer("b", "same", &bare)).unwrap();
    let result = collection.add(&drawer("a", "same", &bare)).unwrap();
    assert_eq!(result.outcomes, [duplicate_of("b")]);
    let empty_wing = json!({"source_file": "notes.md", "wing": ""});
    let result = collection.add(&drawer("a", "same", &empty_wing)).unwrap();
    assert_eq!(result.outcomes, [duplicate_of("b")]);
    let result = collection.add(&drawer("a", "same", &mined())).unwrap();
    assert_eq!(result.outcomes, [Outcome::Added]);
}

pub fn s5_9_drawers_without_a_source_file_may_say_the_same(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    for (at, metadata) in [
        json!({}),
        json!({"wing": "w", "start_line": 3}),
        json!({"wing": "w", "start_line": 3, "source_file": ""}),
        json!({"wing": "w", "start_line": 3, "source_file": 7}),
    ]
    .iter()
    .enumerate()
    {
        for copy in ["first", "second"] {
            let id = format!("{copy}-{at}");
            let result = collection.add(&drawer(&id, "same", metadata)).unwrap();
            assert_eq!(result.outcomes, [Outcome::Added], "{metadata}");
        }
    }
}

pub fn s5_10_a_duplicate_in_another_collection_is_none(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    for name in ["one", "two"] {
        let collection = open(fixture, &palace, name, &plain()).unwrap();
        let result = collection.add(&drawer("a", "same", &mined())).unwrap();
        assert_eq!(result.outcomes, [Outcome::Added]);
    }
}

pub fn s5_11_a_deleted_drawer_frees_its_key(fixture: &dyn Fixture) {
    let collection = holding_b(fixture);
    collection.delete(&Selection::ids(["b"])).unwrap();
    let result = collection.add(&drawer("a", "same", &mined())).unwrap();
    assert_eq!(result.outcomes, [Outcome::Added]);
}

pub fn s5_12_a_drawer_is_no_duplicate_of_itself(fixture: &dyn Fixture) {
    let collection = holding_b(fixture);
    let result = collection.upsert(&drawer("b", "same", &mined())).unwrap();
    assert_eq!(result.outcomes, [Outcome::Unchanged]);
    let result = collection
        .update(&tagged([("b", json!({"room": "r"}))]))
        .unwrap();
    assert_eq!(result.outcomes, [Outcome::Updated]);
}

pub fn s5_13_an_existing_id_is_exists_before_it_is_a_duplicate(fixture: &dyn Fixture) {
    let collection = holding_b(fixture);
    collection.add(&drawer("a", "other", &mined())).unwrap();
    let result = collection.add(&drawer("a", "same", &mined())).unwrap();
    assert_eq!(result.outcomes, [Outcome::Exists]);
    assert_eq!(one(&*collection, "a").0, "other");
}

pub fn s5_14_a_changed_drawer_frees_its_old_key(fixture: &dyn Fixture) {
    let collection = holding_b(fixture);
    collection
        .update(&Batch::new(["b"]).documents(["moved on"]))
        .unwrap();
    let result = collection.add(&drawer("a", "same", &mined())).unwrap();
    assert_eq!(result.outcomes, [Outcome::Added]);
}

pub fn s5_15_a_drawer_without_text_is_no_duplicate(fixture: &dyn Fixture) {
    let collection = open(fixture, &fixture.fresh_palace(), "drawers", &plain()).unwrap();
    let batch = Batch::new(["a", "b"])
        .metadatas([mined(), mined()].map(|value| Metadata::from_json(&value).unwrap()))
        .embeddings([vec![1.0, 0.0], vec![0.0, 1.0]]);
    assert_eq!(
        collection.add(&batch).unwrap().outcomes,
        [Outcome::Added, Outcome::Added]
    );
}

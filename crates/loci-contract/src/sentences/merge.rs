//! Chapter 4: what `upsert` and `update` change and what they keep.

use loci_core::{Batch, Collection, Embedder, Outcome, Selection};
use serde_json::{Value, json};

use crate::scene::{
    created, drawer, embedding, empty, ids, meta, nearest, one, open, patch, plain, points, tagged,
    warned,
};
use crate::{Fixture, WordEmbedder};

/// Runs both calls that merge, each on a new collection with a drawer `a` that has this metadata.
fn merging(fixture: &dyn Fixture, stored: &Value, change: &Value) -> [loci_core::Metadata; 2] {
    [Collection::upsert, Collection::update].map(|call| {
        let collection = empty(fixture);
        collection.add(&drawer("a", "text", stored)).unwrap();
        let batch = Batch::new(["a"]).metadatas([patch(change)]);
        call(&*collection, &batch).unwrap();
        one(&*collection, "a").1
    })
}

pub fn s4_1_given_keys_replace_and_the_others_stay(fixture: &dyn Fixture) {
    let merged = merging(fixture, &json!({"a": 1, "b": 2}), &json!({"b": 3, "c": 4}));
    assert_eq!(
        merged,
        [(); 2].map(|()| meta(&json!({"a": 1, "b": 3, "c": 4})))
    );
}

pub fn s4_2_null_removes_a_key(fixture: &dyn Fixture) {
    let merged = merging(fixture, &json!({"a": 1, "b": 2}), &json!({"a": null}));
    assert_eq!(merged, [(); 2].map(|()| meta(&json!({"b": 2}))));
}

pub fn s4_3_a_list_is_replaced_whole(fixture: &dyn Fixture) {
    let merged = merging(fixture, &json!({"l": ["x", "y"]}), &json!({"l": ["z"]}));
    assert_eq!(merged, [(); 2].map(|()| meta(&json!({"l": ["z"]}))));
}

pub fn s4_4_values_keep_their_type(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let typed = json!({
        "int": 1, "float": 1.0, "bool": true, "text": "1", "empty": "", "big": i64::MAX,
        "small": i64::MIN, "tiny": 5e-324, "ints": [1, 2], "floats": [1.0], "bools": [false],
        "texts": ["a", "a"], "none": []
    });
    collection.add(&drawer("a", "text", &typed)).unwrap();
    assert_eq!(one(&*collection, "a").1, meta(&typed));
    let result = collection
        .upsert(&tagged([("a", json!({"int": 1.0}))]))
        .unwrap();
    assert_eq!(result.outcomes, [Outcome::Updated]);
    assert_eq!(
        one(&*collection, "a").1.get("int"),
        Some(&loci_core::MetaValue::Float(1.0))
    );
}

pub fn s4_5_an_absent_document_is_kept(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&drawer("a", "kept", &json!({}))).unwrap();
    collection
        .upsert(&tagged([("a", json!({"n": 1}))]))
        .unwrap();
    collection
        .update(&tagged([("a", json!({"n": 2}))]))
        .unwrap();
    assert_eq!(one(&*collection, "a").0, "kept");
}

pub fn s4_6_an_absent_vector_is_kept_while_the_text_stays(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = points([("a", [1.0, 0.0])]).documents(["text"]);
    collection.add(&batch).unwrap();
    collection
        .upsert(&tagged([("a", json!({"n": 1}))]))
        .unwrap();
    let same_text = drawer("a", "text", &json!({"n": 2}));
    let result = collection.update(&same_text).unwrap();
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    assert_eq!(one(&*collection, "a").2, [1.0, 0.0]);
}

pub fn s4_7_an_absent_entry_of_a_column_keeps_that_records_field(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = points([("a", [1.0, 0.0]), ("b", [0.0, 1.0])]).documents(["one", "two"]);
    collection.add(&batch).unwrap();
    let mut batch = Batch::new(["a", "b"]);
    batch.documents = Some(vec![None, Some("new".into())]);
    batch.embeddings = Some(vec![Some(vec![0.5, 0.5]), Some(vec![1.0, 1.0])]);
    collection.update(&batch).unwrap();
    let mut batch = Batch::new(["a", "b"]);
    batch.embeddings = Some(vec![None, Some(vec![3.0, 4.0])]);
    collection.upsert(&batch).unwrap();
    assert_eq!(
        one(&*collection, "a"),
        ("one".into(), meta(&json!({})), vec![0.5, 0.5])
    );
    assert_eq!(
        one(&*collection, "b"),
        ("new".into(), meta(&json!({})), vec![3.0, 4.0])
    );
}

pub fn s4_8_texts_without_a_vector_are_embedded_when_there_is_an_embedder(fixture: &dyn Fixture) {
    let words = WordEmbedder::new("words", 8);
    let collection = created(fixture, &embedding(words.clone()));
    collection
        .add(&Batch::new(["a"]).documents(["red fox"]))
        .unwrap();
    assert_eq!(one(&*collection, "a").2, embed(&words, "red fox"));
    let result = collection
        .update(&Batch::new(["a"]).documents(["blue whale"]))
        .unwrap();
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    assert_eq!(one(&*collection, "a").2, embed(&words, "blue whale"));
    collection
        .upsert(&Batch::new(["a"]).documents(["grey owl"]))
        .unwrap();
    assert_eq!(one(&*collection, "a").2, embed(&words, "grey owl"));
}

fn embed(embedder: &dyn loci_core::Embedder, text: &str) -> Vec<f32> {
    embedder.embed(&[text]).unwrap().remove(0)
}

pub fn s4_9_new_text_without_vector_or_embedder_drops_the_old_vector(fixture: &dyn Fixture) {
    for call in [Collection::upsert, Collection::update] {
        let collection = empty(fixture);
        let batch = points([("a", [1.0, 0.0]), ("b", [0.0, 1.0])]).documents(["one", "two"]);
        collection.add(&batch).unwrap();
        let result = call(&*collection, &Batch::new(["a"]).documents(["other"])).unwrap();
        assert_eq!(result.outcomes, [Outcome::Updated]);
        assert!(warned(&result.warnings, "vector_dropped"));
        assert_eq!(one(&*collection, "a").2, [0.0; 0]);
        assert_eq!(nearest(&*collection, [1.0, 0.0], 5), ["b"]);
    }
}

pub fn s4_10_text_that_never_had_a_vector_changes_without_a_warning(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&Batch::new(["a"]).documents(["one"]))
        .unwrap();
    let result = collection
        .update(&Batch::new(["a"]).documents(["two"]))
        .unwrap();
    assert!(!warned(&result.warnings, "vector_dropped"));
}

pub fn s4_11_a_given_vector_is_taken_instead_of_the_embedders(fixture: &dyn Fixture) {
    let collection = created(fixture, &embedding(WordEmbedder::new("words", 2)));
    let batch = points([("a", [0.25, 0.75])]).documents(["red fox"]);
    collection.add(&batch).unwrap();
    assert_eq!(one(&*collection, "a").2, [0.25, 0.75]);
    let batch = points([("a", [0.75, 0.25])]).documents(["blue whale"]);
    collection.upsert(&batch).unwrap();
    assert_eq!(one(&*collection, "a").2, [0.75, 0.25]);
}

pub fn s4_12_a_changed_drawer_keeps_its_place_in_the_order(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&Batch::new(["a", "b", "c"])).unwrap();
    collection
        .upsert(&Batch::new(["a"]).documents(["new"]))
        .unwrap();
    collection
        .update(&tagged([("b", json!({"n": 1}))]))
        .unwrap();
    assert_eq!(ids(&*collection, Selection::all()), ["a", "b", "c"]);
}

pub fn s4_13_a_handle_without_an_embedder_drops_what_one_with_it_made(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let words = embedding(WordEmbedder::new("words", 8));
    let with = open(fixture, &palace, "drawers", &words).unwrap();
    with.add(&Batch::new(["a"]).documents(["red fox"])).unwrap();
    let without = open(fixture, &palace, "drawers", &plain()).unwrap();
    let result = without
        .update(&Batch::new(["a"]).documents(["blue whale"]))
        .unwrap();
    assert!(warned(&result.warnings, "vector_dropped"));
    assert_eq!(one(&*with, "a").2, [0.0; 0]);
}

pub fn s4_14_vectors_made_beforehand_count_only_if_the_embedder_of_the_handle_made_them(
    fixture: &dyn Fixture,
) {
    let words = WordEmbedder::new("words", 2);
    let collection = created(fixture, &embedding(words.clone()));
    let made = words.embed(&["red fox"]).unwrap();
    let own = Batch::new(["own"]).documents(["red fox"]);
    collection
        .add(&own.embedded(words.identity(), made.clone()))
        .unwrap();
    let other = Batch::new(["other"]).documents(["red fox"]);
    let stranger = WordEmbedder::new("stranger", 2).identity();
    collection
        .add(&other.embedded(stranger, vec![vec![7.0, 7.0]]))
        .unwrap();
    assert_eq!(one(&*collection, "own").2, made[0]);
    assert_eq!(one(&*collection, "other").2, made[0]);
}

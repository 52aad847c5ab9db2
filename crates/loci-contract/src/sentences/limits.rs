//! Chapter 14: input that is too long, too large or not storable is refused before any write.

use loci_core::{
    Batch, Collection, Error, MAX_BATCH_RECORDS, MAX_BATCH_TEXT_BYTES, MAX_BATCH_VECTOR_BYTES,
    MAX_DIMENSION, MAX_DOCUMENT_BYTES, MAX_ID_BYTES, MAX_KEY_BYTES, MAX_METADATA_BYTES, MetaValue,
    MetadataPatch, Outcome,
};
use serde_json::json;

use crate::Fixture;
use crate::scene::{
    drawer, empty, everything, meta, one, open, patch, plain, points, refused, tagged,
};

/// Asserts that `add` and `upsert` both refuse the batch and write nothing.
fn assert_refused(collection: &dyn Collection, batch: &Batch) {
    let before = collection.count().unwrap();
    refused!(collection.add(batch), Error::InvalidInput { .. });
    refused!(collection.upsert(batch), Error::InvalidInput { .. });
    assert_eq!(collection.count().unwrap(), before);
}

pub fn s14_1_a_call_takes_at_most_so_many_records(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let names = |count: usize| (0..count).map(|n| n.to_string());
    assert_refused(&*collection, &Batch::new(names(MAX_BATCH_RECORDS + 1)));
    let result = collection
        .add(&Batch::new(names(MAX_BATCH_RECORDS)))
        .unwrap();
    assert_eq!(
        result.count(loci_core::OutcomeKind::Added),
        MAX_BATCH_RECORDS
    );
}

pub fn s14_2_an_id_is_neither_empty_nor_too_long_nor_holds_nul(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    for id in [String::new(), "x".repeat(MAX_ID_BYTES + 1), "a\0b".into()] {
        assert_refused(&*collection, &Batch::new([id]));
    }
    let longest = "x".repeat(MAX_ID_BYTES);
    collection.add(&Batch::new([longest.as_str()])).unwrap();
    assert_eq!(everything(&*collection).ids, [longest]);
}

pub fn s14_3_a_text_has_at_most_so_many_bytes(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let long = "x".repeat(MAX_DOCUMENT_BYTES + 1);
    assert_refused(&*collection, &Batch::new(["a"]).documents([long.as_str()]));
    let longest = &long[1..];
    collection
        .add(&Batch::new(["a"]).documents([longest]))
        .unwrap();
    assert!(one(&*collection, "a").0 == longest);
}

pub fn s14_4_the_texts_of_a_call_have_at_most_so_many_bytes(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let text = "x ".repeat(MAX_DOCUMENT_BYTES / 2);
    let count = MAX_BATCH_TEXT_BYTES / MAX_DOCUMENT_BYTES;
    let batch =
        |texts: Vec<&str>| Batch::new((0..texts.len()).map(|n| n.to_string())).documents(texts);
    let mut texts = vec![text.as_str(); count];
    texts.push("x");
    assert_refused(&*collection, &batch(texts));
    collection.add(&batch(vec![text.as_str(); count])).unwrap();
}

pub fn s14_5_a_key_is_not_empty_too_long_or_reserved(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let long = "k".repeat(MAX_KEY_BYTES + 1);
    for key in ["", "$eq", "#document", "a\0b", &long] {
        assert_refused(&*collection, &tagged([("a", json!({key: 1}))]));
    }
    let longest = &long[1..];
    collection
        .add(&tagged([("a", json!({longest: 1}))]))
        .unwrap();
    assert_eq!(one(&*collection, "a").1, meta(&json!({longest: 1})));
}

pub fn s14_6_values_are_finite_and_lists_flat_and_of_one_type(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    for value in [
        MetaValue::Float(f64::NAN),
        MetaValue::Float(f64::INFINITY),
        MetaValue::List(vec![MetaValue::Float(f64::NEG_INFINITY)]),
        MetaValue::List(vec![MetaValue::List(vec![])]),
        MetaValue::List(vec![1.into(), "a".into()]),
        MetaValue::List(vec![1.into(), true.into()]),
    ] {
        let patch = MetadataPatch([("k".to_owned(), Some(value))].into());
        assert_refused(&*collection, &Batch::new(["a"]).metadatas([patch]));
    }
    collection
        .add(&tagged([("a", json!({"k": [1, 2.5]}))]))
        .unwrap();
    assert_eq!(one(&*collection, "a").1, meta(&json!({"k": [1, 2.5]})));
}

pub fn s14_7_metadata_has_at_most_so_many_bytes_also_when_merged(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let text = "x".repeat(MAX_METADATA_BYTES);
    assert_refused(&*collection, &tagged([("a", json!({"k": text}))]));
    let half = "x".repeat(MAX_METADATA_BYTES * 2 / 3);
    collection
        .add(&drawer("a", "text", &json!({"one": half})))
        .unwrap();
    let before = everything(&*collection);
    let more = tagged([("a", json!({"two": half}))]);
    refused!(collection.upsert(&more), Error::InvalidInput { .. });
    refused!(collection.update(&more), Error::InvalidInput { .. });
    assert_eq!(everything(&*collection), before);
    let instead = Batch::new(["a"]).metadatas([patch(&json!({"one": null, "two": half}))]);
    let result = collection.update(&instead).unwrap();
    assert_eq!(result.outcomes, [Outcome::Updated]);
}

pub fn s14_8_a_vector_is_not_empty_too_long_or_non_finite(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    for vector in [
        vec![],
        vec![0.5; MAX_DIMENSION + 1],
        vec![1.0, f32::NAN],
        vec![f32::NEG_INFINITY, 1.0],
    ] {
        assert_refused(&*collection, &Batch::new(["a"]).embeddings([vector]));
    }
    let longest = vec![0.5; MAX_DIMENSION];
    collection
        .add(&Batch::new(["a"]).embeddings([longest.clone()]))
        .unwrap();
    assert_eq!(one(&*collection, "a").2, longest);
}

pub fn s14_9_the_vectors_of_a_call_have_one_length(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = Batch::new(["a", "b"]).embeddings([vec![1.0, 0.0], vec![1.0]]);
    assert_refused(&*collection, &batch);
    assert_eq!(collection.dimension().unwrap(), None);
}

pub fn s14_10_a_vector_of_another_dimension_is_refused_before_anything_is_written(
    fixture: &dyn Fixture,
) {
    let collection = empty(fixture);
    collection.add(&points([("a", [1.0, 0.0])])).unwrap();
    let before = everything(&*collection);
    let mut batch = Batch::new(["new", "a"]).documents(["x", "y"]);
    batch.embeddings = Some(vec![None, Some(vec![1.0; 3])]);
    for call in [Collection::upsert, Collection::update] {
        refused!(call(&*collection, &batch), Error::DimensionMismatch { .. });
    }
    let new = Batch::new(["new"]).embeddings([vec![1.0; 3]]);
    refused!(collection.add(&new), Error::DimensionMismatch { .. });
    assert_eq!(everything(&*collection), before);
}

pub fn s14_11_a_collection_name_has_at_most_512_bytes(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    refused!(
        open(fixture, &palace, &"n".repeat(513), &plain()),
        Error::InvalidInput { .. }
    );
    let longest = "n".repeat(512);
    let collection = open(fixture, &palace, &longest, &plain()).unwrap();
    assert_eq!(collection.name(), longest);
}

pub fn s14_12_the_vectors_of_a_call_have_at_most_so_many_bytes(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let count = MAX_BATCH_VECTOR_BYTES / (4 * MAX_DIMENSION) + 1;
    let batch = Batch::new((0..count).map(|n| n.to_string()))
        .embeddings((0..count).map(|_| vec![0.5; MAX_DIMENSION]));
    refused!(collection.add(&batch), Error::InvalidInput { .. });
    assert_eq!(collection.count().unwrap(), 0);
}

//! Chapter 12: errors tell who must act, and name the cause.

use loci_core::{Batch, Collection, Error, ErrorKind, Selection};
use serde_json::json;

use crate::scene::{
    DRAWERS, drawer, embedding, empty, everything, last_seq, open, plain, points, tagged,
};
use crate::{Fixture, WordEmbedder};

fn failure<T>(result: loci_core::Result<T>) -> Error {
    match result {
        Ok(_) => panic!("the call was not refused"),
        Err(error) => error,
    }
}

pub fn s12_1_a_missing_palace_and_a_missing_collection_are_not_found(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let error = failure(backend.get_collection(&palace, DRAWERS, false, &plain()));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(&palace.to_string()), "{error}");
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let error = failure(backend.get_collection(&palace, "other", false, &plain()));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("other"), "{error}");
}

pub fn s12_2_a_closed_backend_is_unavailable_and_named(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    backend.close().unwrap();
    let error = failure(backend.list_collections(&palace));
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains(backend.name()), "{error}");
}

pub fn s12_3_a_dimension_mismatch_names_collection_and_both_lengths(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&points([("a", [1.0, 0.0])])).unwrap();
    let error = failure(collection.add(&Batch::new(["b"]).embeddings([vec![1.0; 3]])));
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let Error::DimensionMismatch {
        collection,
        expected,
        got,
    } = error
    else {
        panic!("{error:?}")
    };
    assert_eq!((collection.as_str(), expected, got), (DRAWERS, 2, 3));
}

pub fn s12_4_an_embedder_mismatch_names_both_embedders(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let one = embedding(WordEmbedder::new("first-embedder", 8));
    open(fixture, &palace, DRAWERS, &one).unwrap();
    let two = embedding(WordEmbedder::new("second-embedder", 8));
    let error = failure(open(fixture, &palace, DRAWERS, &two));
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let text = error.to_string();
    assert!(
        text.contains("first-embedder") && text.contains("second-embedder"),
        "{text}"
    );
}

pub fn s12_5_a_conflict_of_duplicates_names_both_drawers(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let mined = json!({"source_file": "notes.md"});
    collection
        .add(&drawer("drawer-one", "same", &mined))
        .unwrap();
    collection
        .add(&drawer("drawer-two", "other", &mined))
        .unwrap();
    let error = failure(collection.update(&Batch::new(["drawer-two"]).documents(["same"])));
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let text = error.to_string();
    assert!(
        text.contains("drawer-one") && text.contains("drawer-two"),
        "{text}"
    );
}

pub fn s12_6_refused_input_names_what_is_wrong(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let twice = failure(collection.add(&Batch::new(["the-id", "the-id"])));
    let vector = Batch::new(["the-id"]).embeddings([vec![f32::NAN]]);
    let key = tagged([("the-id", json!({"$the-key": 1}))]);
    for (error, name) in [
        (twice, "the-id"),
        (failure(collection.add(&vector)), "the-id"),
        (failure(collection.add(&key)), "$the-key"),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(name), "{error}");
    }
}

pub fn s12_7_a_refused_write_changes_nothing(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&points([("a", [1.0, 0.0])]).documents(["text"]))
        .unwrap();
    let (before, seq) = (everything(&*collection), last_seq(&*collection));
    for bad in [
        Batch::new(["new", ""]).documents(["x", "y"]),
        Batch::new(["new", "a"]).embeddings([vec![1.0, 0.0], vec![f32::NAN, 0.0]]),
        Batch::new(["new", "a"]).embeddings([vec![1.0; 3], vec![1.0; 3]]),
        tagged([("new", json!({})), ("a", json!({"#bad": 1}))]),
        tagged([("new", json!({})), ("a", json!({"mixed": [1, "x"]}))]),
    ] {
        for call in [Collection::add, Collection::upsert, Collection::update] {
            failure(call(&*collection, &bad));
        }
    }
    failure(collection.delete(&Selection::all()));
    assert_eq!(everything(&*collection), before);
    assert_eq!(last_seq(&*collection), seq);
}

//! Chapter 2: collections.

use std::sync::Arc;

use loci_core::{Batch, Capability, Collection, Embedder, Error, Metric, Selection};

use crate::scene::{
    DRAWERS, created, embedding, empty, errors_of_every_call, everything, ids, lacks, measured,
    nearest, one, open, plain, points, refused, worded,
};
use crate::{Fixture, WordEmbedder};

pub fn s2_1_opening_a_missing_collection_without_create_creates_nothing(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    refused!(
        backend.get_collection(&palace, "other", false, &plain()),
        Error::CollectionNotInitialized { .. }
    );
    assert_eq!(backend.list_collections(&palace).unwrap().len(), 1);
}

pub fn s2_2_creating_an_existing_collection_is_a_conflict(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = backend
        .create_collection(&palace, DRAWERS, &plain())
        .unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["kept"]))
        .unwrap();
    refused!(
        backend.create_collection(&palace, DRAWERS, &plain()),
        Error::Conflict { .. }
    );
    assert_eq!(everything(&*collection).documents, ["kept"]);
}

pub fn s2_3_opening_with_create_keeps_an_existing_collection(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["kept"]))
        .unwrap();
    let again = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_eq!(everything(&*again).documents, ["kept"]);
}

pub fn s2_4_the_metric_is_cosine_unless_given(fixture: &dyn Fixture) {
    assert_eq!(empty(fixture).metric(), Metric::Cosine);
}

pub fn s2_5_the_metric_is_fixed_at_creation(fixture: &dyn Fixture) {
    for metric in [Metric::Cosine, Metric::L2, Metric::Ip] {
        let palace = fixture.fresh_palace();
        let collection = open(fixture, &palace, DRAWERS, &measured(metric)).unwrap();
        assert_eq!(collection.metric(), metric);
        let again = open(fixture, &palace, DRAWERS, &plain()).unwrap();
        assert_eq!(again.metric(), metric);
    }
}

pub fn s2_6_opening_with_another_metric_is_a_conflict(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    open(fixture, &palace, DRAWERS, &measured(Metric::L2)).unwrap();
    for create in [true, false] {
        refused!(
            backend.get_collection(&palace, DRAWERS, create, &measured(Metric::Ip)),
            Error::Conflict { .. }
        );
    }
    assert!(open(fixture, &palace, DRAWERS, &measured(Metric::L2)).is_ok());
}

pub fn s2_7_a_deleted_collection_is_gone(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    backend.delete_collection(&palace, DRAWERS).unwrap();
    assert!(backend.list_collections(&palace).unwrap().is_empty());
    refused!(
        backend.get_collection(&palace, DRAWERS, false, &plain()),
        Error::CollectionNotInitialized { .. }
    );
}

pub fn s2_8_deleting_a_missing_collection_is_not_initialized(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    refused!(
        fixture.backend().delete_collection(&palace, "other"),
        Error::CollectionNotInitialized { .. }
    );
}

pub fn s2_9_handles_of_a_deleted_collection_answer_not_initialized(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let old = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    fixture
        .backend()
        .delete_collection(&palace, DRAWERS)
        .unwrap();
    assert_not_initialized(&*old);
    let new = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_not_initialized(&*old);
    assert_eq!(new.count().unwrap(), 0);
}

fn assert_not_initialized(collection: &dyn Collection) {
    for (call, error) in errors_of_every_call(collection) {
        assert!(
            matches!(error, Some(Error::CollectionNotInitialized { .. })),
            "{call} gave {error:?}"
        );
    }
}

pub fn s2_10_a_name_created_again_starts_empty(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let old = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    old.add(&points([("a", [1.0, 0.0])]).documents(["quagga"]))
        .unwrap();
    fixture
        .backend()
        .delete_collection(&palace, DRAWERS)
        .unwrap();
    let new = open(fixture, &palace, DRAWERS, &measured(Metric::L2)).unwrap();
    assert_eq!(new.count().unwrap(), 0);
    assert_eq!(new.dimension().unwrap(), None);
    assert_eq!(new.metric(), Metric::L2);
    assert_eq!(ids(&*new, Selection::all()), [""; 0]);
    new.add(&Batch::new(["b"]).embeddings([vec![1.0, 0.0, 0.0]]))
        .unwrap();
    assert_eq!(everything(&*new).ids, ["b"]);
    if !lacks(fixture, Capability::LexicalSearch) {
        assert_eq!(worded(&*new, "quagga"), [""; 0]);
    }
}

pub fn s2_11_collections_never_leak_into_each_other(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let one = open(fixture, &palace, "one", &plain()).unwrap();
    let two = open(fixture, &palace, "two", &plain()).unwrap();
    one.add(&points([("a", [1.0, 0.0])]).documents(["quagga"]))
        .unwrap();
    two.add(&points([("b", [0.0, 1.0])]).documents(["zebra"]))
        .unwrap();
    assert_eq!(nearest(&*two, [1.0, 0.0], 5), ["b"]);
    assert_eq!(ids(&*two, Selection::all()), ["b"]);
    if !lacks(fixture, Capability::LexicalSearch) {
        assert_eq!(worded(&*two, "quagga zebra"), ["b"]);
    }
    assert_eq!(two.delete(&Selection::ids(["a"])).unwrap().deleted, 0);
    assert_eq!(one.count().unwrap(), 1);
}

pub fn s2_12_one_id_may_stand_in_two_collections(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let one = open(fixture, &palace, "one", &plain()).unwrap();
    let two = open(fixture, &palace, "two", &plain()).unwrap();
    one.add(&Batch::new(["a"]).documents(["first"])).unwrap();
    two.add(&Batch::new(["a"]).documents(["second"])).unwrap();
    one.delete(&Selection::ids(["a"])).unwrap();
    assert_eq!(everything(&*two).documents, ["second"]);
}

pub fn s2_13_an_invalid_name_is_refused_and_creates_nothing(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    for name in ["", " x", "x ", "a\nb", "a\0b"] {
        refused!(
            open(fixture, &palace, name, &plain()),
            Error::InvalidInput { .. }
        );
        refused!(
            backend.create_collection(&palace, name, &plain()),
            Error::InvalidInput { .. }
        );
    }
    refused!(
        backend.list_collections(&palace),
        Error::PalaceNotFound { .. }
    );
    assert!(!palace.directory().unwrap().exists());
}

pub fn s2_14_any_other_name_is_kept_apart_from_all_others(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let mut names = [
        "drawers",
        "Drawers",
        "a/b",
        "../up",
        "a b",
        "100%",
        "a_b",
        "o'hara",
        "x\"y",
        "größe",
        "gro\u{308}ße",
        "日本",
        "x;--",
    ];
    for name in names {
        let collection = open(fixture, &palace, name, &plain()).unwrap();
        collection
            .add(&Batch::new(["a"]).documents([name]))
            .unwrap();
    }
    for name in names {
        let collection = open(fixture, &palace, name, &plain()).unwrap();
        assert_eq!(everything(&*collection).documents, [name]);
    }
    names.sort_unstable();
    let listed = fixture.backend().list_collections(&palace).unwrap();
    let listed: Vec<_> = listed.into_iter().map(|info| info.name).collect();
    assert_eq!(listed, names);
}

pub fn s2_15_the_first_vector_fixes_the_dimension(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&Batch::new(["a"]).documents(["no vector"]))
        .unwrap();
    assert_eq!(collection.dimension().unwrap(), None);
    collection.add(&points([("b", [1.0, 0.0])])).unwrap();
    assert_eq!(collection.dimension().unwrap(), Some(2));
    collection.delete(&Selection::ids(["b"])).unwrap();
    assert_eq!(collection.dimension().unwrap(), Some(2));
}

pub fn s2_16_creating_with_an_embedder_pins_it(fixture: &dyn Fixture) {
    let words = WordEmbedder::new("words", 8);
    let collection = created(fixture, &embedding(words.clone()));
    assert_eq!(collection.embedder().unwrap(), Some(words.identity()));
}

pub fn s2_17_the_first_write_that_uses_an_embedder_pins_it(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let words = WordEmbedder::new("words", 8);
    let collection = open(fixture, &palace, DRAWERS, &embedding(words.clone())).unwrap();
    assert_eq!(collection.embedder().unwrap(), None);
    collection
        .add(&Batch::new(["a"]).documents(["red fox"]))
        .unwrap();
    assert_eq!(collection.embedder().unwrap(), Some(words.identity()));
    assert_eq!(collection.dimension().unwrap(), Some(8));
}

pub fn s2_18_vectors_of_the_caller_pin_no_embedder(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let words = embedding(WordEmbedder::new("words", 2));
    let collection = open(fixture, &palace, DRAWERS, &words).unwrap();
    collection
        .add(&points([("a", [1.0, 0.0])]).documents(["text"]))
        .unwrap();
    assert_eq!(collection.embedder().unwrap(), None);
}

pub fn s2_19_opening_with_another_embedder_is_a_mismatch(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let words = || WordEmbedder::with_digest("words", 8, "1234567890");
    open(fixture, &palace, DRAWERS, &embedding(words())).unwrap();
    for other in [
        WordEmbedder::with_digest("other", 8, "1234567890"),
        WordEmbedder::with_digest("words", 4, "1234567890"),
        WordEmbedder::with_digest("words", 8, "0987654321"),
    ] {
        refused!(
            open(fixture, &palace, DRAWERS, &embedding(other)),
            Error::EmbedderMismatch { .. }
        );
    }
    assert!(open(fixture, &palace, DRAWERS, &embedding(words())).is_ok());
}

pub fn s2_20_a_pinned_collection_opens_without_an_embedder(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let words = WordEmbedder::new("words", 8);
    open(fixture, &palace, DRAWERS, &embedding(words.clone())).unwrap();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_eq!(collection.embedder().unwrap(), Some(words.identity()));
}

pub fn s2_21_a_pinned_embedder_fixes_the_dimension_for_the_callers_vectors(fixture: &dyn Fixture) {
    let collection = created(fixture, &embedding(WordEmbedder::new("words", 8)));
    refused!(
        collection.add(&points([("a", [1.0, 0.0])])),
        Error::DimensionMismatch { .. }
    );
    assert_eq!(collection.count().unwrap(), 0);
}

pub fn s2_22_a_handle_knows_what_the_collection_was_when_it_was_opened(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let words = embedding(WordEmbedder::new("words", 8));
    let first = open(fixture, &palace, DRAWERS, &words).unwrap();
    first
        .add(&Batch::new(["a", "b"]).documents(["red fox", "blue bird"]))
        .unwrap();
    let again = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_eq!(
        std::slice::from_ref(again.info()),
        backend.list_collections(&palace).unwrap()
    );
    first.delete(&Selection::ids(["a"])).unwrap();
    assert_eq!((again.info().count, again.count().unwrap()), (2, 1));
}

pub fn s2_23_a_handle_takes_an_embedder_that_fits_and_refuses_another(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let words = WordEmbedder::new("words", 8);
    open(fixture, &palace, DRAWERS, &embedding(words.clone())).unwrap();
    let handle = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    refused!(
        handle.with_embedder(Arc::new(WordEmbedder::new("other", 8))),
        Error::EmbedderMismatch { .. }
    );
    let embedding = handle.with_embedder(Arc::new(words)).unwrap();
    embedding
        .add(&Batch::new(["a"]).documents(["red fox"]))
        .unwrap();
    assert_eq!(one(&*handle, "a").2.len(), 8);
}

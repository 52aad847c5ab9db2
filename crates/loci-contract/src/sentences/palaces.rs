//! Chapter 1: palaces and backends.

use loci_core::{Batch, Capability, Error, Include, Selection};
use loci_recall::search_words;
use serde_json::json;

use crate::scene::{
    DRAWERS, drawer, embedding, empty, errors_of_every_call, everything, ids, last_seq, measured,
    open, plain, refused,
};
use crate::{Fixture, WordEmbedder};

pub fn s1_1_opening_a_missing_palace_without_create_creates_nothing(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    refused!(
        backend.get_collection(&palace, DRAWERS, false, &plain()),
        Error::PalaceNotFound { .. }
    );
    assert!(!palace.directory().unwrap().exists());
}

pub fn s1_2_opening_with_create_makes_palace_and_collection(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_eq!(collection.name(), DRAWERS);
    assert_eq!(collection.count().unwrap(), 0);
    assert!(
        backend
            .get_collection(&palace, DRAWERS, false, &plain())
            .is_ok()
    );
    assert_eq!(palace.directory().unwrap().is_dir(), fixture.persistent());
}

pub fn s1_3_listing_or_deleting_in_a_missing_palace_creates_nothing(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    refused!(
        backend.list_collections(&palace),
        Error::PalaceNotFound { .. }
    );
    refused!(
        backend.delete_collection(&palace, DRAWERS),
        Error::PalaceNotFound { .. }
    );
    assert!(!palace.directory().unwrap().exists());
}

pub fn s1_4_detect_is_false_for_missing_and_empty_directories(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    assert!(!backend.detect(&palace));
    assert!(!palace.directory().unwrap().exists());
    std::fs::create_dir(palace.directory().unwrap()).unwrap();
    assert!(!backend.detect(&palace));
    assert_eq!(
        std::fs::read_dir(palace.directory().unwrap())
            .unwrap()
            .count(),
        0
    );
}

pub fn s1_5_detect_is_true_for_a_palace_of_this_backend(fixture: &dyn Fixture) {
    if !fixture.persistent() {
        return;
    }
    let palace = fixture.fresh_palace();
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert!(fixture.backend().detect(&palace));
    assert!(fixture.reopen().detect(&palace));
}

pub fn s1_6_a_palace_is_readable_by_its_owner_alone(fixture: &dyn Fixture) {
    if !fixture.persistent() {
        return;
    }
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    collection
        .add(
            &Batch::new(["a"])
                .documents(["text"])
                .embeddings([vec![1.0]]),
        )
        .unwrap();
    assert_owner_only(palace.directory().unwrap());
}

#[cfg(unix)]
fn assert_owner_only(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path).unwrap();
    let mode = metadata.permissions().mode() & 0o777;
    let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(mode, expected, "{} has mode {mode:o}", path.display());
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            assert_owner_only(&entry.unwrap().path());
        }
    }
}

#[cfg(not(unix))]
fn assert_owner_only(_path: &std::path::Path) {}

pub fn s1_7_an_empty_directory_is_no_palace_and_stays_empty(fixture: &dyn Fixture) {
    if !fixture.persistent() {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    std::fs::create_dir(palace.directory().unwrap()).unwrap();
    refused!(
        backend.get_collection(&palace, DRAWERS, false, &plain()),
        Error::PalaceNotFound { .. }
    );
    refused!(
        backend.list_collections(&palace),
        Error::PalaceNotFound { .. }
    );
    assert_eq!(
        std::fs::read_dir(palace.directory().unwrap())
            .unwrap()
            .count(),
        0
    );
}

pub fn s1_8_list_collections_is_sorted_by_name_and_describes_each(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let words = WordEmbedder::new("words", 8);
    open(fixture, &palace, "zeta", &embedding(words)).unwrap();
    let alpha = open(fixture, &palace, "alpha", &measured(loci_core::Metric::L2)).unwrap();
    alpha
        .add(&Batch::new(["a"]).embeddings([vec![1.0, 2.0]]))
        .unwrap();
    alpha.add(&Batch::new(["b"]).documents(["text"])).unwrap();
    let listed = fixture.backend().list_collections(&palace).unwrap();
    let names: Vec<_> = listed.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["alpha", "zeta"]);
    assert_eq!((listed[0].count, listed[0].vectors), (2, 1));
    assert_eq!(listed[0].dimension, Some(2));
    assert_eq!(listed[0].metric, loci_core::Metric::L2);
    assert_eq!(listed[0].embedder, None);
    assert_eq!((listed[1].count, listed[1].vectors), (0, 0));
    assert_eq!(
        listed[1]
            .embedder
            .as_ref()
            .map(|pinned| pinned.name.as_str()),
        Some("words")
    );
}

pub fn s1_9_palaces_never_see_each_others_drawers(fixture: &dyn Fixture) {
    let (one, other) = (empty(fixture), empty(fixture));
    one.add(&Batch::new(["a"]).documents(["here"])).unwrap();
    assert_eq!(other.count().unwrap(), 0);
    other.add(&Batch::new(["a"]).documents(["there"])).unwrap();
    other.delete(&Selection::ids(["a"])).unwrap();
    assert_eq!(everything(&*one).documents, ["here"]);
}

pub fn s1_10_a_closed_palace_can_be_opened_again(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["kept"]))
        .unwrap();
    fixture.backend().close_palace(&palace).unwrap();
    let again = fixture
        .backend()
        .get_collection(&palace, DRAWERS, false, &plain())
        .unwrap();
    assert_eq!(everything(&*again).documents, ["kept"]);
}

pub fn s1_11_handles_of_a_closed_palace_answer_backend_closed(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    fixture.backend().close_palace(&palace).unwrap();
    assert_all_closed(&*collection);
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_all_closed(&*collection);
}

fn assert_all_closed(collection: &dyn loci_core::Collection) {
    for (call, error) in errors_of_every_call(collection) {
        assert!(
            matches!(error, Some(Error::BackendClosed { .. })),
            "{call} gave {error:?}"
        );
    }
}

pub fn s1_12_after_close_every_call_is_backend_closed(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    backend.close().unwrap();
    refused!(
        backend.get_collection(&palace, DRAWERS, true, &plain()),
        Error::BackendClosed { .. }
    );
    refused!(
        backend.create_collection(&palace, "new", &plain()),
        Error::BackendClosed { .. }
    );
    refused!(
        backend.delete_collection(&palace, DRAWERS),
        Error::BackendClosed { .. }
    );
    refused!(
        backend.list_collections(&palace),
        Error::BackendClosed { .. }
    );
    refused!(backend.close_palace(&palace), Error::BackendClosed { .. });
    assert_all_closed(&*collection);
}

pub fn s1_13_health_of_a_closed_backend_is_unhealthy_not_an_error(fixture: &dyn Fixture) {
    let backend = fixture.backend();
    assert!(backend.health().ok);
    backend.close().unwrap();
    let health = backend.health();
    assert!(!health.ok);
    assert!(!health.detail.is_empty());
}

pub fn s1_14_instances_see_each_others_writes_at_their_next_call(fixture: &dyn Fixture) {
    if !fixture.persistent() {
        return;
    }
    let palace = fixture.fresh_palace();
    let here = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let other = fixture.reopen();
    let there = other
        .get_collection(&palace, DRAWERS, false, &plain())
        .unwrap();
    here.add(&Batch::new(["a"]).documents(["from here"]))
        .unwrap();
    assert_eq!(everything(&*there).documents, ["from here"]);
    there
        .upsert(&Batch::new(["a"]).documents(["from there"]))
        .unwrap();
    assert_eq!(everything(&*here).documents, ["from there"]);
    there.delete(&Selection::ids(["a"])).unwrap();
    assert_eq!(here.count().unwrap(), 0);
}

pub fn s1_15_everything_survives_the_instance(fixture: &dyn Fixture) {
    if !fixture.persistent() {
        return;
    }
    let palace = fixture.fresh_palace();
    let words = || embedding(WordEmbedder::new("words", 8));
    let collection = open(fixture, &palace, DRAWERS, &words()).unwrap();
    collection
        .add(&drawer(
            "a",
            "first text",
            &json!({"wing": "w", "n": [1, 2]}),
        ))
        .unwrap();
    collection
        .add(&drawer("b", "second text", &json!({})))
        .unwrap();
    collection.delete(&Selection::ids(["b"])).unwrap();
    let (content, seq) = (everything(&*collection), last_seq(&*collection));
    let (dimension, pinned) = (
        collection.dimension().unwrap(),
        collection.embedder().unwrap(),
    );
    drop(collection);
    fixture.backend().close().unwrap();

    let other = fixture.reopen();
    let again = other
        .get_collection(&palace, DRAWERS, false, &words())
        .unwrap();
    assert_eq!(everything(&*again), content);
    assert_eq!(last_seq(&*again), seq);
    assert_eq!(again.dimension().unwrap(), dimension);
    assert_eq!(again.embedder().unwrap(), pinned);
    assert_eq!(again.metric(), loci_core::Metric::Cosine);
    assert_eq!(ids(&*again, Selection::all()), ["a"]);
}

fn recall(collection: &dyn loci_core::Collection) -> Option<Error> {
    struct Nothing;
    impl loci_recall::Judge for Nothing {
        fn shortlist(&mut self, _: &loci_recall::Findings) -> Vec<usize> {
            Vec::new()
        }
        fn narrow(&mut self, _: &loci_recall::Findings) -> Vec<usize> {
            Vec::new()
        }
        fn choose(&mut self, _: &loci_recall::Findings) -> Vec<u64> {
            Vec::new()
        }
    }
    let all = Selection::all();
    let probe = loci_recall::Probe {
        query: "word",
        vectors: Vec::new(),
        selection: &all,
        depth: 1,
        near: 1,
        context: 0,
        dates: false,
        until: None,
    };
    loci_recall::recall(collection, &probe, &mut Nothing).err()
}

pub fn s1_16_a_call_whose_capability_is_not_named_is_unsupported(fixture: &dyn Fixture) {
    let named = fixture.backend().capabilities();
    let collection = empty(fixture);
    let all = Selection::all();
    for (capability, error) in [
        (
            Capability::LexicalSearch,
            search_words(&*collection, "word", 1, &all).err(),
        ),
        (
            Capability::RecencyOrder,
            collection.get_recent(1, &all, Include::GET).err(),
        ),
        (
            Capability::MetadataFacets,
            collection.facet_counts("wing", &all, 1).err(),
        ),
        (Capability::ChangeFeed, collection.changes_since(0, 1).err()),
        (Capability::Recall, recall(&*collection)),
    ] {
        if named.contains(&capability) {
            assert!(
                error.is_none(),
                "{capability:?} is named but gave {error:?}"
            );
        } else {
            assert!(
                matches!(
                    error.as_ref().map(Error::plain),
                    Some(Error::UnsupportedCapability { .. })
                ),
                "{capability:?} is not named but gave {error:?}"
            );
        }
    }
}

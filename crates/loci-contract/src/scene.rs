//! Common setups and queries of the sentences.

use std::sync::Arc;

use loci_core::{
    Batch, Capability, Collection, CollectionOptions, DocumentFilter, Embedder, Error, Filter, Get,
    GetResult, Include, MaintenanceKind, Metadata, MetadataPatch, Metric, PalaceRef, Query, Result,
    Selection, Warning,
};
use loci_recall::search_words;
use serde_json::Value;

use crate::Fixture;

/// The collection most sentences use.
pub(crate) const DRAWERS: &str = "drawers";

/// Asserts that a call fails with an error of this pattern.
macro_rules! refused {
    ($call:expr, $pattern:pat) => {
        match $call {
            Err(error) if matches!(error.plain(), $pattern) => {}
            Err(other) => panic!("`{}` failed with {other:?}", stringify!($call)),
            Ok(_) => panic!("`{}` was not refused", stringify!($call)),
        }
    };
}
pub(crate) use refused;

/// An empty collection with default options in a new palace.
pub(crate) fn empty(fixture: &dyn Fixture) -> Arc<dyn Collection> {
    created(fixture, &CollectionOptions::default())
}

/// An empty collection with these options in a new palace.
pub(crate) fn created(fixture: &dyn Fixture, options: &CollectionOptions) -> Arc<dyn Collection> {
    open(fixture, &fixture.fresh_palace(), DRAWERS, options).expect("a new collection")
}

/// Opens or creates a collection of the fixture's backend.
pub(crate) fn open(
    fixture: &dyn Fixture,
    palace: &PalaceRef,
    name: &str,
    options: &CollectionOptions,
) -> Result<Arc<dyn Collection>> {
    fixture
        .backend()
        .get_collection(palace, name, true, options)
}

/// Default options.
pub(crate) fn plain() -> CollectionOptions {
    CollectionOptions::default()
}

/// Options with a metric.
pub(crate) fn measured(metric: Metric) -> CollectionOptions {
    CollectionOptions {
        metric: Some(metric),
        embedder: None,
    }
}

/// Options with an embedder.
pub(crate) fn embedding(embedder: impl Embedder + 'static) -> CollectionOptions {
    CollectionOptions {
        metric: None,
        embedder: Some(Arc::new(embedder)),
    }
}

/// Whether the sentence does not apply because the backend lacks this capability.
pub(crate) fn lacks(fixture: &dyn Fixture, capability: Capability) -> bool {
    !fixture.backend().capabilities().contains(&capability)
}

/// One record with text and metadata.
pub(crate) fn drawer(id: &str, text: &str, metadata: &Value) -> Batch {
    Batch::new([id])
        .documents([text])
        .metadatas([patch(metadata)])
}

/// Records with vectors only.
pub(crate) fn points<const N: usize>(points: [(&str, [f32; 2]); N]) -> Batch {
    Batch::new(points.map(|(id, _)| id)).embeddings(points.map(|(_, vector)| vector.to_vec()))
}

/// Records with metadata only.
pub(crate) fn tagged<const N: usize>(records: [(&str, Value); N]) -> Batch {
    let ids = records.each_ref().map(|(id, _)| *id);
    Batch::new(ids).metadatas(records.map(|(_, metadata)| patch(&metadata)))
}

pub(crate) fn meta(value: &Value) -> Metadata {
    Metadata::from_json(value).expect("metadata of the suite is valid")
}

pub(crate) fn patch(value: &Value) -> MetadataPatch {
    MetadataPatch::from_json(value).expect("metadata of the suite is valid")
}

/// The drawers that match a `where` filter.
pub(crate) fn matching(value: &Value) -> Selection {
    Selection::matching(Filter::parse(value).expect("filters of the suite are valid"))
}

/// The drawers whose text matches a `where_document` filter.
pub(crate) fn holding(value: &Value) -> Selection {
    Selection {
        document: Some(DocumentFilter::parse(value).expect("filters of the suite are valid")),
        ..Selection::default()
    }
}

/// Ids of a selection, in the order of `get`.
pub(crate) fn ids(collection: &dyn Collection, selection: Selection) -> Vec<String> {
    let get = Get {
        include: Include::NONE,
        ..Get::new(selection)
    };
    collection.get(&get).expect("get").ids
}

/// The content of the collection.
pub(crate) fn everything(collection: &dyn Collection) -> GetResult {
    let get = Get {
        include: Include::ALL,
        ..Get::new(Selection::all())
    };
    collection.get(&get).expect("get of everything")
}

/// Text, metadata and vector of one drawer.
pub(crate) fn one(collection: &dyn Collection, id: &str) -> (String, Metadata, Vec<f32>) {
    let get = Get {
        include: Include::ALL,
        ..Get::new(Selection::ids([id]))
    };
    let mut found = collection.get(&get).expect("get of one drawer");
    assert_eq!(found.ids, [id]);
    (
        found.documents.remove(0),
        found.metadatas.remove(0),
        found.embeddings.expect("asked for").remove(0),
    )
}

/// Ids of the `k` drawers nearest to one vector.
pub(crate) fn nearest(collection: &dyn Collection, vector: [f32; 2], k: usize) -> Vec<String> {
    let query = Query::vector(vector.to_vec()).k(k);
    collection.query(&query).expect("query").ids.remove(0)
}

/// Ids of the hits of a search by words among all drawers.
pub(crate) fn worded(collection: &dyn Collection, words: &str) -> Vec<String> {
    let found = search_words(collection, words, 10, &Selection::all());
    found
        .expect("lexical search")
        .hits
        .into_iter()
        .map(|hit| hit.id)
        .collect()
}

/// Sequence number of the collection's last change.
pub(crate) fn last_seq(collection: &dyn Collection) -> u64 {
    let state = collection.maintenance_state();
    state.expect("maintenance state").seq
}

/// Whether there is a warning with this code.
pub(crate) fn warned(warnings: &[Warning], code: &str) -> bool {
    warnings.iter().any(|warning| warning.code() == code)
}

/// Asserts that distances are equal up to rounding.
pub(crate) fn assert_near(got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{got:?} against {expected:?}");
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() < 1e-5, "{got:?} against {expected:?}");
    }
}

/// The errors of all fallible calls of a handle, with input that an open collection accepts.
pub(crate) fn errors_of_every_call(
    collection: &dyn Collection,
) -> Vec<(&'static str, Option<Error>)> {
    let batch = Batch::new(["every-call"]).documents(["text"]);
    let (all, some) = (Selection::all(), Selection::ids(["every-call"]));
    vec![
        ("dimension", collection.dimension().err()),
        ("embedder", collection.embedder().err()),
        ("add", collection.add(&batch).err()),
        ("upsert", collection.upsert(&batch).err()),
        ("update", collection.update(&batch).err()),
        ("delete", collection.delete(&some).err()),
        (
            "query",
            collection.query(&Query::vector(vec![1.0, 0.0])).err(),
        ),
        ("get", collection.get(&Get::new(all.clone())).err()),
        (
            "get_recent",
            collection.get_recent(1, &all, Include::GET).err(),
        ),
        ("with_view", search_words(collection, "text", 1, &all).err()),
        ("count", collection.count().err()),
        ("estimated_count", collection.estimated_count().err()),
        (
            "facet_counts",
            collection.facet_counts("wing", &all, 1).err(),
        ),
        ("changes_since", collection.changes_since(0, 1).err()),
        ("maintenance_state", collection.maintenance_state().err()),
        (
            "run_maintenance",
            collection.run_maintenance(MaintenanceKind::Analyze).err(),
        ),
    ]
}

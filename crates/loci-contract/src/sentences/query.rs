//! Chapter 7: the nearest drawers by vector.

use loci_core::{
    Batch, Collection, Error, Include, MAX_RESULTS, Metric, Query, QueryInput, QueryResult,
    Selection,
};
use serde_json::json;

use crate::scene::{
    assert_near, created, embedding, empty, matching, measured, meta, nearest, patch, points,
    refused, warned,
};
use crate::{Fixture, WordEmbedder};

fn vectors(vectors: &[[f32; 2]]) -> Query {
    Query {
        input: QueryInput::Vectors(vectors.iter().map(|vector| vector.to_vec()).collect()),
        ..Query::vector(vec![])
    }
}

fn texts(texts: &[&str]) -> Query {
    Query {
        input: QueryInput::Texts(texts.iter().map(|text| (*text).into()).collect()),
        ..Query::vector(vec![])
    }
}

pub fn s7_1_hits_come_nearest_first(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = points([
        ("far", [-1.0, 0.0]),
        ("near", [1.0, 0.1]),
        ("mid", [0.0, 1.0]),
    ]);
    collection.add(&batch).unwrap();
    let found = collection.query(&vectors(&[[1.0, 0.0]])).unwrap();
    assert_eq!(found.ids, [["near", "mid", "far"]]);
    assert!(found.distances[0].is_sorted());
}

pub fn s7_2_ties_stand_in_the_order_of_insertion(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = points([("z", [0.0, 2.0]), ("a", [0.0, 2.0]), ("m", [0.0, 2.0])]);
    collection.add(&batch).unwrap();
    assert_eq!(nearest(&*collection, [1.0, 1.0], 3), ["z", "a", "m"]);
    assert_eq!(nearest(&*collection, [1.0, 1.0], 2), ["z", "a"]);
}

/// Distances of (3, 4), (0, 2) and (-1, 0) to (1, 0), nearest first.
fn distances(fixture: &dyn Fixture, metric: Metric) -> (Vec<String>, Vec<f32>) {
    let collection = created(fixture, &measured(metric));
    let batch = points([("a", [3.0, 4.0]), ("b", [0.0, 2.0]), ("c", [-1.0, 0.0])]);
    collection.add(&batch).unwrap();
    let mut found = collection.query(&vectors(&[[1.0, 0.0]])).unwrap();
    (found.ids.remove(0), found.distances.remove(0))
}

pub fn s7_3_cosine_distance_is_one_minus_the_cosine(fixture: &dyn Fixture) {
    let (ids, distances) = distances(fixture, Metric::Cosine);
    assert_eq!(ids, ["a", "b", "c"]);
    assert_near(&distances, &[0.4, 1.0, 2.0]);
}

pub fn s7_4_l2_distance_is_squared(fixture: &dyn Fixture) {
    let (ids, distances) = distances(fixture, Metric::L2);
    assert_eq!(ids, ["c", "b", "a"]);
    assert_near(&distances, &[4.0, 5.0, 20.0]);
}

pub fn s7_5_ip_distance_is_one_minus_the_inner_product(fixture: &dyn Fixture) {
    let (ids, distances) = distances(fixture, Metric::Ip);
    assert_eq!(ids, ["a", "b", "c"]);
    assert_near(&distances, &[-2.0, 1.0, 2.0]);
}

pub fn s7_6_a_zero_vector_has_cosine_distance_one_to_everything(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&points([("zero", [0.0, 0.0]), ("x", [1.0, 0.0])]))
        .unwrap();
    let found = collection
        .query(&vectors(&[[0.0, 0.0], [-1.0, 0.0]]))
        .unwrap();
    assert_near(&found.distances[0], &[1.0, 1.0]);
    assert_eq!(found.ids[1], ["zero", "x"]);
    assert_near(&found.distances[1], &[1.0, 2.0]);
}

pub fn s7_7_there_is_one_list_per_query_in_their_order(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&points([("x", [1.0, 0.0]), ("y", [0.0, 1.0])]))
        .unwrap();
    let query = vectors(&[[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]).k(1);
    let found = collection.query(&query).unwrap();
    assert_eq!(found.ids, [["y"], ["x"], ["y"]]);
    assert_eq!(found.distances.len(), 3);
}

pub fn s7_8_k_may_exceed_the_number_of_drawers(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&points([("x", [1.0, 0.0])])).unwrap();
    assert_eq!(nearest(&*collection, [1.0, 0.0], MAX_RESULTS), ["x"]);
}

pub fn s7_9_k_zero_or_above_the_limit_is_refused(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&points([("x", [1.0, 0.0])])).unwrap();
    for k in [0, MAX_RESULTS + 1, usize::MAX] {
        let query = vectors(&[[1.0, 0.0]]).k(k);
        refused!(collection.query(&query), Error::InvalidInput { .. });
    }
}

pub fn s7_10_an_empty_list_of_queries_is_refused(fixture: &dyn Fixture) {
    let collection = created(fixture, &embedding(WordEmbedder::new("words", 2)));
    refused!(collection.query(&vectors(&[])), Error::InvalidInput { .. });
    refused!(collection.query(&texts(&[])), Error::InvalidInput { .. });
}

pub fn s7_11_texts_without_an_embedder_are_unsupported(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&points([("x", [1.0, 0.0])])).unwrap();
    refused!(
        collection.query(&texts(&["red fox"])),
        Error::UnsupportedCapability { .. }
    );
}

pub fn s7_12_texts_are_embedded_by_the_collections_embedder(fixture: &dyn Fixture) {
    let collection = created(fixture, &embedding(WordEmbedder::new("words", 64)));
    let batch = Batch::new(["fox", "whale"]).documents(["red fox runs", "blue whale dives"]);
    collection.add(&batch).unwrap();
    let query = texts(&["blue whale dives", "red fox runs"]).k(1);
    let found = collection.query(&query).unwrap();
    assert_eq!(found.ids, [["whale"], ["fox"]]);
    assert_near(&found.distances.concat(), &[0.0, 0.0]);
}

pub fn s7_13_a_vector_of_another_dimension_is_a_mismatch(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&points([("x", [1.0, 0.0])])).unwrap();
    refused!(
        collection.query(&Query::vector(vec![1.0, 0.0, 0.0])),
        Error::DimensionMismatch {
            expected: 2,
            got: 3,
            ..
        }
    );
}

pub fn s7_14_an_empty_or_non_finite_vector_is_refused(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection.add(&points([("x", [1.0, 0.0])])).unwrap();
    for vector in [vec![], vec![f32::NAN, 0.0], vec![0.0, f32::INFINITY]] {
        let query = Query::vector(vector);
        refused!(collection.query(&query), Error::InvalidInput { .. });
    }
}

pub fn s7_15_a_collection_without_vectors_answers_empty_with_a_warning(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&Batch::new(["a"]).documents(["text"]))
        .unwrap();
    let found = collection
        .query(&vectors(&[[1.0, 0.0], [0.0, 1.0]]))
        .unwrap();
    assert_eq!(found.ids, [[""; 0], []]);
    assert!(
        warned(&found.warnings, "no_vectors"),
        "{:?}",
        found.warnings
    );
}

pub fn s7_16_drawers_without_a_vector_are_never_hits(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&Batch::new(["bare"]).documents(["text"]))
        .unwrap();
    collection.add(&points([("x", [1.0, 0.0])])).unwrap();
    assert_eq!(nearest(&*collection, [1.0, 0.0], 10), ["x"]);
}

pub fn s7_17_filters_apply_inside_retrieval(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let names: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    // The five drawers that the filter selects are the most distant of all.
    let kind = |n: usize| patch(&json!({"kind": if n < 5 { "rare" } else { "common" }}));
    let vector = |n: usize| {
        if n < 5 {
            vec![-1.0, n as f32 / 100.0]
        } else {
            vec![1.0, 0.0]
        }
    };
    let batch = Batch::new(names)
        .metadatas((0..300).map(kind))
        .embeddings((0..300).map(vector));
    collection.add(&batch).unwrap();
    let query = vectors(&[[1.0, 0.0]]).k(5);
    let rare = query.clone().selection(matching(&json!({"kind": "rare"})));
    assert_eq!(
        collection.query(&rare).unwrap().ids,
        [["4", "3", "2", "1", "0"]]
    );
    let not_common = query.selection(matching(&json!({"kind": {"$ne": "common"}})));
    assert_eq!(collection.query(&not_common).unwrap().ids[0].len(), 5);
}

pub fn s7_18_ids_restrict_the_candidates(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = points([
        ("near", [1.0, 0.0]),
        ("mid", [0.0, 1.0]),
        ("far", [-1.0, 0.0]),
    ]);
    collection.add(&batch).unwrap();
    let query = vectors(&[[1.0, 0.0]]).selection(Selection::ids(["far", "mid", "ghost"]));
    assert_eq!(collection.query(&query).unwrap().ids, [["mid", "far"]]);
}

pub fn s7_19_a_filter_that_excludes_everything_warns_with_the_number_of_drawers(
    fixture: &dyn Fixture,
) {
    let collection = empty(fixture);
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    collection
        .add(&Batch::new(names).embeddings([(); 7].map(|()| vec![1.0, 0.0])))
        .unwrap();
    let query = vectors(&[[1.0, 0.0]]).selection(matching(&json!({"wing": "none"})));
    let found = collection.query(&query).unwrap();
    assert_eq!(found.ids, [[""; 0]]);
    let warning = found
        .warnings
        .iter()
        .find(|warning| warning.code() == "filter_excludes_all");
    assert!(warning.unwrap().message().contains('7'), "{warning:?}");
}

fn one_of_two(fixture: &dyn Fixture) -> std::sync::Arc<dyn Collection> {
    let collection = empty(fixture);
    let mut batch = points([("bare", [1.0, 0.0]), ("full", [0.0, 1.0])]);
    batch.documents = Some(vec![None, Some("text".into())]);
    batch.metadatas = Some(vec![patch(&json!({})), patch(&json!({"n": 1}))]);
    collection.add(&batch).unwrap();
    collection
}

pub fn s7_20_a_field_asked_for_has_one_entry_per_hit(fixture: &dyn Fixture) {
    let query = Query {
        include: Include::ALL,
        ..vectors(&[[1.0, 0.0]])
    };
    let found = one_of_two(fixture).query(&query).unwrap();
    assert_eq!(found.documents, [["", "text"]]);
    assert_eq!(
        found.metadatas,
        [[meta(&json!({})), meta(&json!({"n": 1}))]]
    );
    assert_eq!(found.embeddings.unwrap(), [[[1.0, 0.0], [0.0, 1.0]]]);
    assert_near(&found.distances[0], &[0.0, 1.0]);
}

pub fn s7_21_a_field_not_asked_for_is_one_empty_list_per_query(fixture: &dyn Fixture) {
    let query = Query {
        include: Include::NONE,
        ..vectors(&[[1.0, 0.0], [0.0, 1.0]])
    };
    let found = one_of_two(fixture).query(&query).unwrap();
    let expected = QueryResult {
        ids: vec![
            vec!["bare".into(), "full".into()],
            vec!["full".into(), "bare".into()],
        ],
        documents: vec![vec![]; 2],
        metadatas: vec![vec![]; 2],
        distances: vec![vec![]; 2],
        embeddings: None,
        warnings: vec![],
    };
    assert_eq!(found, expected);
}

pub fn s7_22_without_hits_every_field_keeps_the_outer_list(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let query = Query {
        include: Include::ALL,
        ..vectors(&[[1.0, 0.0], [0.0, 1.0]])
    };
    let found = collection.query(&query).unwrap();
    assert_eq!(found.ids, [[""; 0], []]);
    assert_eq!(found.documents, [[""; 0], []]);
    assert_eq!(found.metadatas, vec![vec![]; 2]);
    assert_eq!(found.distances, vec![Vec::<f32>::new(); 2]);
    assert_eq!(found.embeddings, Some(vec![vec![]; 2]));
}

pub fn s7_23_query_returns_documents_metadatas_and_distances_by_default(fixture: &dyn Fixture) {
    let found = one_of_two(fixture)
        .query(&Query::vector(vec![1.0, 0.0]))
        .unwrap();
    assert_eq!(found.documents, [["", "text"]]);
    assert_eq!(found.metadatas[0].len(), 2);
    assert_eq!(found.distances[0].len(), 2);
    assert_eq!(found.embeddings, None);
}

pub fn s7_24_an_update_moves_the_vector(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&points([("a", [1.0, 0.0]), ("b", [0.9, 0.1])]))
        .unwrap();
    collection.update(&points([("a", [-1.0, 0.0])])).unwrap();
    assert_eq!(nearest(&*collection, [1.0, 0.0], 1), ["b"]);
    assert_eq!(nearest(&*collection, [-1.0, 0.0], 1), ["a"]);
}

pub fn s7_25_deleted_drawers_leave_room_for_a_full_answer(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let names: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let vector = |n: usize| vec![1.0, n as f32 / 40.0];
    collection
        .add(&Batch::new(names.clone()).embeddings((0..40).map(vector)))
        .unwrap();
    collection.delete(&Selection::ids(&names[..30])).unwrap();
    assert_eq!(nearest(&*collection, [1.0, 0.0], 10), names[30..]);
}

pub fn s7_26_an_id_added_again_never_inherits_its_old_vector(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    collection
        .add(&points([("a", [1.0, 0.0]), ("b", [0.0, 1.0])]))
        .unwrap();
    collection.delete(&Selection::ids(["a"])).unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["text"]))
        .unwrap();
    assert_eq!(nearest(&*collection, [1.0, 0.0], 10), ["b"]);
    collection.update(&points([("a", [-1.0, 0.0])])).unwrap();
    assert_eq!(nearest(&*collection, [1.0, 0.0], 10), ["b", "a"]);
}

pub fn s7_27_query_takes_texts_or_vectors_and_exactly_one_of_them(_fixture: &dyn Fixture) {
    let (texts, vectors) = (Some(vec!["a".to_owned()]), Some(vec![vec![1.0]]));
    refused!(
        QueryInput::exactly_one(texts.clone(), vectors.clone()),
        Error::InvalidInput { .. }
    );
    refused!(
        QueryInput::exactly_one(None, None),
        Error::InvalidInput { .. }
    );
    assert!(QueryInput::exactly_one(texts, None).is_ok());
    assert!(QueryInput::exactly_one(None, vectors).is_ok());
}

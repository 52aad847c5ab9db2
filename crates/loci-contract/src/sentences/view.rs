//! Chapter 16, second half: the calls of a view.

use std::sync::Arc;

use loci_core::{
    CandidateQuery, Capability, Collection, Error, OutsideQuery, Postings, SearchView, Selection,
    SourceLimits, TermQuery, ViewRequest,
};
use serde_json::json;

use crate::Fixture;
use crate::scene::{DRAWERS, drawer, empty, lacks, matching, open, plain, worded};

const LIMITS: SourceLimits = SourceLimits {
    per_source: 100,
    total: 100,
};

fn able(fixture: &dyn Fixture) -> Option<Arc<dyn Collection>> {
    (!lacks(fixture, Capability::Recall)).then(|| empty(fixture))
}

/// The result of `read` on a view of a selection.
fn view<T>(
    collection: &dyn Collection,
    selection: &Selection,
    mut read: impl FnMut(&mut dyn SearchView) -> T,
) -> T {
    let request = ViewRequest {
        selection,
        vectors: true,
    };
    let mut answer = None;
    collection
        .with_view(&request, &mut |view| {
            answer = Some(read(view));
            Ok(())
        })
        .unwrap();
    answer.unwrap()
}

fn term(term: &str, longer: bool) -> TermQuery {
    TermQuery {
        term: term.into(),
        longer,
    }
}

fn postings(view: &mut dyn SearchView, terms: &[TermQuery], common: usize) -> Vec<Postings> {
    let query = CandidateQuery {
        terms,
        common,
        vectors: &[],
        near: 1,
    };
    view.candidates(&query).unwrap().postings
}

/// Records and counts of one term.
fn listed(view: &mut dyn SearchView, query: TermQuery) -> Vec<(u64, u32)> {
    match postings(view, &[query], 100).remove(0) {
        Postings::Listed(records) => records,
        Postings::TooCommon { drawers } => panic!("{drawers} drawers are too many"),
    }
}

fn ids(view: &mut dyn SearchView, records: &[u64]) -> Vec<String> {
    let drawers = view.fetch(records).unwrap();
    drawers.into_iter().map(|drawer| drawer.id).collect()
}

pub fn s16_7_a_view_answers_as_of_one_commit(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    let text = drawer("a", "quagga", &json!({})).embeddings([vec![1.0, 0.0]]);
    collection.add(&text).unwrap();
    let all = Selection::all();
    let mut before = 0;
    view(&*collection, &all, |view| {
        before = view.statistics().drawers;
        let later = drawer("b", "quagga", &json!({})).embeddings([vec![1.0, 0.0]]);
        collection.add(&later).unwrap();
        assert_eq!(view.statistics().drawers, before);
        let found = listed(view, term("quagga", false));
        assert_eq!(found.len(), 1);
        assert_eq!(ids(view, &[found[0].0]), ["a"]);
    });
    assert_eq!(before, 1);
    view(&*collection, &all, |view| {
        assert_eq!(view.statistics().drawers, 2);
        assert_eq!(listed(view, term("quagga", false)).len(), 2);
    });
}

pub fn s16_8_postings_count_how_often_each_drawer_holds_a_term(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    for (id, text, wing) in [
        ("once", "one quagga", "in"),
        ("twice", "quagga and quagga", "out"),
        ("longer", "a quaggalike okapi", "in"),
    ] {
        collection
            .add(&drawer(id, text, &json!({"wing": wing})))
            .unwrap();
    }
    let inside = matching(&json!({"wing": "in"}));
    view(&*collection, &inside, |view| {
        let found = listed(view, term("quagga", false));
        assert!(found.is_sorted());
        let records: Vec<u64> = found.iter().map(|(record, _)| *record).collect();
        assert_eq!(ids(view, &records), ["once", "twice"]);
        assert_eq!(found[0].1, 1);
        assert_eq!(found[1].1, 2);
        assert!(view.admits(records[0]) && !view.admits(records[1]));
        let longer = listed(view, term("quagga", true));
        assert_eq!(ids(view, &[longer[0].0]), ["longer"]);
        assert_eq!((longer.len(), longer[0].1), (1, 1));
        assert_eq!(listed(view, term("zebra", false)), []);
        let statistics = view.statistics();
        assert_eq!((statistics.in_scope, statistics.drawers), (2, 3));
        let terms = statistics.terms;
        let records: Vec<u64> = [records, vec![longer[0].0]].concat();
        let lengths = view.lengths(&records).unwrap();
        let sum: u64 = lengths.into_iter().flatten().map(u64::from).sum();
        assert_eq!(sum, terms);
    });
}

pub fn s16_9_a_common_term_is_not_listed_and_has_newest_drawers(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    for number in 0..6 {
        let wing = if number == 4 { "out" } else { "in" };
        let text = format!("quagga number{number}");
        collection
            .add(&drawer(&number.to_string(), &text, &json!({"wing": wing})))
            .unwrap();
    }
    let inside = matching(&json!({"wing": "in"}));
    view(&*collection, &inside, |view| {
        let common = term("quagga", false);
        let terms = [common.clone(), term("number3", false)];
        let found = postings(view, &terms, 5);
        assert_eq!(found[0], Postings::TooCommon { drawers: 6 });
        assert!(matches!(&found[1], Postings::Listed(records) if records.len() == 1));
        assert!(matches!(&postings(view, &terms, 6)[0], Postings::Listed(_)));
        let newest = view.newest(&[common], 3).unwrap().remove(0);
        assert_eq!(ids(view, &newest), ["5", "3", "2"]);
    });
}

pub fn s16_10_the_passages_of_a_source_come_in_order_and_within_limits(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    for (id, source, line) in [
        ("c", "talk", 30),
        ("a", "talk", 10),
        ("b", "talk", 20),
        ("d", "letter", 1),
    ] {
        let place = json!({"source_file": source, "start_line": line, "speaker": "Ann"});
        let text = format!("quagga {id}");
        collection.add(&drawer(id, &text, &place)).unwrap();
    }
    collection
        .add(&drawer("alone", "quagga alone", &json!({})))
        .unwrap();
    view(&*collection, &Selection::all(), |view| {
        let found = listed(view, term("quagga", false));
        let records: Vec<u64> = found.iter().map(|(record, _)| *record).collect();
        assert_eq!(ids(view, &records), ["c", "a", "b", "d", "alone"]);
        let around = view.surroundings(&records, LIMITS).unwrap();
        let passages: Vec<_> = around.passages.into_iter().map(Option::unwrap).collect();
        assert!(
            passages
                .iter()
                .map(|passage| passage.record)
                .eq(records.clone())
        );
        assert_eq!(passages[4].source, None);
        assert_eq!(
            (passages[4].label.as_ref(), passages[0].label.as_ref()),
            ("", "ann")
        );
        assert_eq!(around.sources.len(), 2);
        assert_eq!(Some(around.sources[0].source), passages[0].source);
        let members = around.sources[0].passages.iter();
        let members: Vec<u64> = members.map(|passage| passage.record).collect();
        assert_eq!(ids(view, &members), ["a", "b", "c"]);
        let few = SourceLimits {
            per_source: 2,
            total: 2,
        };
        let around = view.surroundings(&records, few).unwrap();
        assert_eq!(around.passages.len(), 5);
        assert_eq!(
            (around.sources.len(), around.sources[0].passages.len()),
            (1, 2)
        );
    });
}

pub fn s16_11_a_record_that_is_not_there_is_answered_with_nothing(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    let text = drawer("a", "quagga", &json!({})).embeddings([vec![1.0, 0.0]]);
    collection.add(&text).unwrap();
    view(&*collection, &Selection::all(), |view| {
        let record = listed(view, term("quagga", false))[0].0;
        let asked = [record + 1_000, record];
        let lengths = view.lengths(&asked).unwrap();
        assert!(lengths[0].is_none() && lengths[1].is_some());
        let around = view.surroundings(&asked, LIMITS).unwrap();
        assert!(around.passages[0].is_none() && around.passages[1].is_some());
        let created = view.created_at(&asked).unwrap();
        assert!(created[0].is_none() && created[1].is_some());
        let tokens = view.tokens(&asked).unwrap();
        assert!(tokens[0].is_empty() && !tokens[1].is_empty());
        let vector = loci_core::SpaceVector {
            space: None,
            vector: vec![1.0, 0.0],
        };
        let distances = view.distances(&[vector], &asked).unwrap();
        assert!(distances[0].is_none());
        let (space, distance) = distances[1].unwrap();
        assert!(space == 0 && distance.abs() < 1e-5, "{distance}");
        assert_eq!(ids(view, &asked), ["a"]);
    });
}

pub fn s16_12_the_error_of_the_work_is_the_error_of_the_call(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    collection.add(&drawer("a", "quagga", &json!({}))).unwrap();
    let all = Selection::all();
    let request = ViewRequest {
        selection: &all,
        vectors: false,
    };
    let refused = collection.with_view(&request, &mut |_| Err(Error::invalid("work", "refused")));
    assert!(
        matches!(&refused, Err(Error::InvalidInput { .. })),
        "{refused:?}"
    );
    assert!(collection.with_view(&request, &mut |_| Ok(())).is_ok());
}

pub fn s16_13_facets_of_a_view_are_counted_over_its_selection(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    for (id, metadata) in [
        ("a", json!({"wing": "in", "room": "x"})),
        ("b", json!({"wing": "in", "room": "y"})),
        ("c", json!({"wing": "in", "room": "y"})),
        ("d", json!({"wing": "in"})),
        ("e", json!({"wing": "out", "room": "z"})),
    ] {
        collection.add(&drawer(id, "quagga", &metadata)).unwrap();
    }
    let inside = matching(&json!({"wing": "in"}));
    let keys = ["wing", "room", "nowhere"];
    let facets = view(&*collection, &inside, |view| view.facets(&keys, 1).unwrap());
    let values: Vec<_> = facets.iter().map(|counts| counts.values.clone()).collect();
    assert_eq!(
        values,
        [vec![("in".into(), 4)], vec![("y".into(), 2)], Vec::new()]
    );
    let missing: Vec<u64> = facets.iter().map(|counts| counts.missing).collect();
    assert_eq!(missing, [0, 1, 4]);
    let more: Vec<u64> = facets.iter().map(|counts| counts.more).collect();
    assert_eq!(more, [0, 1, 0]);
    let all = Selection::all();
    let facets = view(&*collection, &all, |view| {
        view.facets(&["wing"], 10).unwrap()
    });
    assert_eq!(facets[0].values, [("in".into(), 4), ("out".into(), 1)]);
}

/// A collection with one drawer, and another one with three drawers; they share only the word
/// `quagga`.
fn beside_another(fixture: &dyn Fixture) -> Option<Arc<dyn Collection>> {
    if lacks(fixture, Capability::Recall) {
        return None;
    }
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let other = open(fixture, &palace, "other", &plain()).unwrap();
    for (id, word) in [("x", "okapi"), ("y", "zebra"), ("z", "tapir")] {
        let text = format!("quagga {word}");
        other.add(&drawer(id, &text, &json!({}))).unwrap();
    }
    let own = drawer("a", "quagga heron", &json!({}));
    collection.add(&own).unwrap();
    Some(collection)
}

pub fn s16_15_how_rare_a_term_is_counts_over_the_whole_palace(fixture: &dyn Fixture) {
    let Some(collection) = beside_another(fixture) else {
        return;
    };
    view(&*collection, &Selection::all(), |view| {
        let statistics = view.statistics();
        assert_eq!((statistics.palace_drawers, statistics.drawers), (4, 1));
        assert_eq!(listed(view, term("quagga", false)).len(), 4);
        assert_eq!(listed(view, term("okapi", false)).len(), 1);
        let common = postings(view, &[term("quagga", false)], 3).remove(0);
        assert!(matches!(common, Postings::TooCommon { .. }), "{common:?}");
    });
}

pub fn s16_16_a_record_of_another_collection_is_never_found_here(fixture: &dyn Fixture) {
    let Some(collection) = beside_another(fixture) else {
        return;
    };
    view(&*collection, &Selection::all(), |view| {
        let found = listed(view, term("quagga", false));
        let records: Vec<u64> = found.iter().map(|(record, _)| *record).collect();
        assert!(records.is_sorted_by(|a, b| a < b), "{records:?}");
        assert_eq!(ids(view, &records), ["a"]);
        let lengths = view.lengths(&records).unwrap();
        assert_eq!(lengths.into_iter().flatten().count(), 1);
        let around = view.surroundings(&records, LIMITS).unwrap();
        assert_eq!(around.passages.into_iter().flatten().count(), 1);
        let created = view.created_at(&records).unwrap();
        assert_eq!(created.into_iter().flatten().count(), 1);
        let tokens = view.tokens(&records).unwrap();
        assert_eq!(tokens.iter().filter(|tokens| !tokens.is_empty()).count(), 1);
    });
    for word in ["okapi", "zebra", "tapir"] {
        assert_eq!(worded(&*collection, word), Vec::<String>::new(), "{word}");
    }
    assert_eq!(worded(&*collection, "heron"), ["a"]);
}

pub fn s16_17_a_view_counts_outside_of_its_selection(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    for (id, metadata) in [
        ("a", json!({"wing": "in", "room": "x"})),
        ("b", json!({"wing": "in", "room": "y"})),
        ("c", json!({"wing": "out"})),
    ] {
        collection.add(&drawer(id, "quagga", &metadata)).unwrap();
    }
    let nothing = matching(&json!({"wing": "nowhere"}));
    let keys = ["wing".to_owned(), "room".to_owned()];
    let selections = [
        matching(&json!({"wing": "in"})),
        matching(&json!({"room": "x"})),
        Selection::all(),
        nothing.clone(),
    ];
    let query = OutsideQuery {
        keys: &keys,
        limit: 1,
        selections: &selections,
    };
    let outside = view(&*collection, &nothing, |view| view.outside(&query).unwrap());
    assert_eq!(outside.counts, [2, 1, 3, 0]);
    assert_eq!(outside.facets[0].values, [("in".into(), 2)]);
    assert_eq!((outside.facets[0].more, outside.facets[0].missing), (1, 0));
    assert_eq!((outside.facets[1].more, outside.facets[1].missing), (1, 1));
}

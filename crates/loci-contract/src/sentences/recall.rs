//! Chapter 16: what a search needs. Applies to backends with the capability `Recall`.

use std::sync::Arc;

use loci_core::{Batch, Capability, Collection, Error, Get, Period, Selection};
use loci_recall::{Findings, Judge, Probe, ProbeVector, RecallResult, recall};
use serde_json::json;

use crate::Fixture;
use crate::scene::{DRAWERS, drawer, empty, ids, lacks, last_seq, matching, open, plain};

/// Records what it saw, and chooses every candidate.
#[derive(Default)]
struct Everything {
    seen: Findings,
}

impl Judge for Everything {
    fn shortlist(&mut self, findings: &Findings) -> Vec<usize> {
        (0..findings.evidence.len()).collect()
    }

    fn narrow(&mut self, findings: &Findings) -> Vec<usize> {
        (0..findings.evidence.len()).collect()
    }

    fn choose(&mut self, findings: &Findings) -> Vec<u64> {
        self.seen = findings.clone();
        let admitted = findings.evidence.iter().filter(|found| found.admitted);
        admitted.map(|found| found.record).collect()
    }
}

fn ask(
    collection: &dyn Collection,
    query: &str,
    vector: Option<Vec<f32>>,
    selection: &Selection,
) -> (RecallResult, Findings) {
    let mut judge = Everything::default();
    let probe = Probe {
        query,
        vectors: vector
            .map(|vector| ProbeVector {
                space: None,
                pinned: collection.embedder().unwrap(),
                vector,
            })
            .into_iter()
            .collect(),
        selection,
        depth: 10,
        near: 10,
        context: 1,
        dates: true,
        until: None,
    };
    let result = recall(collection, &probe, &mut judge).unwrap();
    (result, judge.seen)
}

fn found(result: &RecallResult) -> Vec<&str> {
    let mut ids: Vec<&str> = result
        .drawers
        .iter()
        .map(|drawer| drawer.id.as_str())
        .collect();
    ids.sort_unstable();
    ids
}

fn able(fixture: &dyn Fixture) -> Option<Arc<dyn Collection>> {
    (!lacks(fixture, Capability::Recall)).then(|| empty(fixture))
}

fn mined(id: &str, text: &str, line: i64) -> Batch {
    drawer(
        id,
        text,
        &json!({"source_file": "talk", "start_line": line, "wing": "w"}),
    )
}

pub fn s16_1_words_and_vectors_find_under_one_selection(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    for (id, text, vector, wing) in [
        ("word", "a quagga", [0.0, 1.0], "in"),
        ("near", "something else", [1.0, 0.0], "in"),
        ("out", "another quagga", [1.0, 0.0], "out"),
    ] {
        let batch = drawer(id, text, &json!({"wing": wing})).embeddings([vector.to_vec()]);
        collection.add(&batch).unwrap();
    }
    let inside = matching(&json!({"wing": "in"}));
    let (result, findings) = ask(&*collection, "quagga", Some(vec![1.0, 0.0]), &inside);
    assert_eq!(found(&result), ["near", "word"]);
    assert_eq!(findings.in_scope, 2);
    let by_words = findings
        .evidence
        .iter()
        .filter(|found| found.lexical.is_some())
        .count();
    assert_eq!(by_words, 1);
}

pub fn s16_2_neighbours_in_the_source_come_along_in_order(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    for (id, text, line) in [
        ("three", "an answer", 30),
        ("one", "hello there", 10),
        ("two", "which quagga", 20),
    ] {
        collection.add(&mined(id, text, line)).unwrap();
    }
    let (result, findings) = ask(&*collection, "quagga", None, &Selection::all());
    assert_eq!(found(&result), ["one", "three", "two"]);
    let record = |id: &str| {
        let drawer = result.drawers.iter().find(|drawer| drawer.id == id);
        drawer.unwrap().record
    };
    let two = findings
        .evidence
        .iter()
        .find(|found| found.record == record("two"))
        .unwrap();
    let at = |places: &[usize]| -> Vec<u64> {
        places
            .iter()
            .map(|at| findings.evidence[*at].record)
            .collect()
    };
    assert_eq!(at(&two.before), [record("one")]);
    assert_eq!(at(&two.after), [record("three")]);
}

pub fn s16_3_what_the_selection_excludes_is_never_admitted(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    collection.add(&mined("in", "which quagga", 1)).unwrap();
    collection.add(&mined("out", "an answer", 2)).unwrap();
    let (result, _) = ask(&*collection, "quagga answer", None, &Selection::ids(["in"]));
    assert_eq!(found(&result), ["in"]);
}

pub fn s16_4_the_choice_comes_back_in_its_order_with_everything(fixture: &dyn Fixture) {
    struct Reversed(Vec<u64>);
    impl Judge for Reversed {
        fn shortlist(&mut self, _: &Findings) -> Vec<usize> {
            Vec::new()
        }
        fn narrow(&mut self, _: &Findings) -> Vec<usize> {
            Vec::new()
        }
        fn choose(&mut self, findings: &Findings) -> Vec<u64> {
            self.0 = findings
                .evidence
                .iter()
                .rev()
                .map(|found| found.record)
                .collect();
            self.0.clone()
        }
    }
    let Some(collection) = able(fixture) else {
        return;
    };
    for id in ["a", "b", "c"] {
        let text = format!("quagga {id}");
        collection
            .add(&drawer(id, &text, &json!({"k": id})))
            .unwrap();
    }
    let all = Selection::all();
    let probe = Probe {
        query: "quagga",
        vectors: Vec::new(),
        selection: &all,
        depth: 10,
        near: 10,
        context: 0,
        dates: false,
        until: None,
    };
    let mut judge = Reversed(Vec::new());
    let result = recall(&*collection, &probe, &mut judge).unwrap();
    let records: Vec<u64> = result.drawers.iter().map(|drawer| drawer.record).collect();
    assert_eq!(records, judge.0);
    assert_eq!(records.len(), 3);
    for drawer in &result.drawers {
        assert_eq!(drawer.document, format!("quagga {}", drawer.id));
        assert_eq!(drawer.metadata.get_str("k"), Some(drawer.id.as_str()));
    }
}

pub fn s16_5_a_question_embedded_for_others_vectors_is_refused(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    collection
        .add(&drawer("a", "quagga", &json!({})).embeddings([vec![1.0, 0.0]]))
        .unwrap();
    let stale = loci_core::EmbedderIdentity {
        name: "somebody".into(),
        dimension: 2,
        digest: String::new(),
    };
    let all = Selection::all();
    let probe = Probe {
        query: "quagga",
        vectors: vec![ProbeVector {
            space: None,
            pinned: Some(stale),
            vector: vec![1.0, 0.0],
        }],
        selection: &all,
        depth: 10,
        near: 10,
        context: 0,
        dates: false,
        until: None,
    };
    let refused = recall(&*collection, &probe, &mut Everything::default());
    assert!(matches!(refused, Err(Error::EmbedderMismatch { .. })));
}

pub fn s16_6_noting_an_access_changes_no_drawer(fixture: &dyn Fixture) {
    let Some(collection) = able(fixture) else {
        return;
    };
    collection.add(&drawer("a", "quagga", &json!({}))).unwrap();
    let before = last_seq(&*collection);
    let (result, _) = ask(&*collection, "quagga", None, &Selection::all());
    let records: Vec<u64> = result.drawers.iter().map(|drawer| drawer.record).collect();
    collection.note_access(&records);
    assert_eq!(last_seq(&*collection), before);
    assert_eq!(ids(&*collection, Selection::all()), ["a"]);
}

pub fn s16_14_a_noted_access_counts_once_the_palace_was_let_go(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Recall) {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    collection.add(&drawer("a", "quagga", &json!({}))).unwrap();
    collection.add(&drawer("b", "zebra", &json!({}))).unwrap();
    for _ in 0..2 {
        let (result, _) = ask(&*collection, "quagga", None, &Selection::all());
        let records: Vec<u64> = result.drawers.iter().map(|drawer| drawer.record).collect();
        collection.note_access(&records);
    }
    backend.close_palace(&palace).unwrap();
    let again = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let ids = ["a", "b", "nobody"].map(String::from);
    assert_eq!(again.access_counts(&ids).unwrap(), [2, 0, 0]);
}

pub fn s8_18_a_period_selects_by_the_date_in_the_metadata(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let day = 86_400_000;
    for (id, metadata) in [
        ("first", json!({"date": "2026-05-01"})),
        (
            "second",
            json!({"authored_at": "2026-05-02T00:00:00Z", "date": "1999-01-01"}),
        ),
        ("third", json!({"timestamp": 1_777_766_400})),
        ("today", json!({"date": "no date"})),
    ] {
        collection.add(&drawer(id, "text", &metadata)).unwrap();
    }
    // 2026-05-01, midnight UTC.
    let may = 1_777_593_600_000_i64;
    let select = |since: Option<i64>, before: Option<i64>| {
        let selection = Selection {
            period: Some(Period { since, before }),
            ..Selection::default()
        };
        collection.get(&Get::new(selection)).unwrap().ids
    };
    assert_eq!(select(Some(may), Some(may + day)), ["first"]);
    assert_eq!(select(Some(may + 1), Some(may + 2 * day)), ["second"]);
    assert_eq!(
        select(Some(may), Some(may + 3 * day)),
        ["first", "second", "third"]
    );
    assert_eq!(select(None, Some(may)), Vec::<String>::new());
    assert_eq!(select(Some(may + 30 * day), None), ["today"]);
    assert_eq!(select(Some(i64::MIN), Some(i64::MAX)).len(), 4);
}

//! The same questions find the same drawers in SQLite and in plain rows, because ranking does not
//! depend on the backend.

use std::sync::Arc;

use jiff::civil::date;
use loci_contract::memory::MemoryBackend;
use loci_core::{
    Backend, Batch, Collection, CollectionOptions, DocumentFilter, Filter, Metadata, PalaceRef,
    Period, Selection, Warning,
};
use loci_embed::StaticEmbedder;
use loci_recall::{Request, search, search_words};
use loci_sqlite::SqliteBackend;
use serde_json::{Value, json};

const SPEAKERS: [&str; 4] = ["Ann", "Bob", "Caroline", "Eve Ray"];
const WINGS: [&str; 3] = ["home", "work", "club"];
const HEADINGS: [&str; 2] = ["Repairs", "Music and pottery"];
const SUBJECTS: [&str; 8] = [
    "the quagga",
    "our boiler",
    "a glacier hike",
    "the pottery class",
    "München trip",
    "lock-free queue in src/queue.rs",
    "cello practice",
    "garden fence",
];
const DEEDS: [&str; 7] = [
    "was repaired after the storm",
    "needs more paint this winter",
    "began at dawn and ended late",
    "costs 42 euros per month",
    "is better than it looked",
    "made everyone laugh a lot",
    "will be cancelled, probably",
];

/// Texts from several files, from conversations and without a source, with dates, speakers, wings
/// and rooms.
fn drawers(prefix: &str, count: usize) -> Batch {
    let mut texts = Vec::new();
    let mut metadatas = Vec::new();
    for n in 0..count {
        let (subject, deed) = (SUBJECTS[n % 8], DEEDS[(n / 3) % 7]);
        let speaker = SPEAKERS[n % 4];
        let mut text = format!("{subject} {deed}");
        if n % 5 == 0 {
            text = format!("{speaker}: {text}. And {subject} again, number {n}.");
        }
        if n % 11 == 0 {
            text = "the very same words of several drawers".into();
        }
        let mut metadata = json!({"wing": WINGS[n % 3], "n": n});
        match n % 4 {
            0 | 1 => {
                metadata["source_file"] = json!(format!("/notes/file{}.md", n % 6));
                metadata["start_line"] = json!(count - n);
                metadata["end_line"] = json!(count - n + 1);
                metadata["heading"] = json!(HEADINGS[n % 2]);
            }
            2 => {
                metadata["source_file"] = json!(format!("talk-{}", n % 5));
                metadata["start_line"] = json!(n);
                metadata["speaker"] = json!(speaker);
            }
            _ => {}
        }
        if n % 3 == 0 {
            metadata["date"] = json!(format!("2026-{:02}-{:02}", 1 + n % 9, 1 + n % 28));
        }
        if n % 7 == 0 {
            metadata["room"] = json!("attic");
        }
        texts.push(text);
        metadatas.push(Metadata::from_json(&metadata).unwrap());
    }
    Batch::new((0..count).map(|n| format!("{prefix}{n}")))
        .documents(texts)
        .metadatas(metadatas)
}

/// A collection of these drawers beside another one, whose words count as well.
fn filled(backend: &dyn Backend, palace: &PalaceRef) -> Arc<dyn Collection> {
    let options = CollectionOptions {
        metric: None,
        embedder: Some(Arc::new(StaticEmbedder::builtin().clone())),
    };
    let other = backend
        .get_collection(palace, "other", true, &options)
        .unwrap();
    other.add(&drawers("x", 60)).unwrap();
    let collection = backend
        .get_collection(palace, "drawers", true, &options)
        .unwrap();
    let added = collection.add(&drawers("d", 200)).unwrap();
    assert!(added.count(loci_core::OutcomeKind::Added) > 150);
    collection
        .add(&Batch::new(["bare"]).metadatas([Metadata::default()]))
        .unwrap();
    collection
}

fn matching(filter: &Value) -> Selection {
    Selection::matching(Filter::parse(filter).unwrap())
}

fn requests() -> Vec<Request> {
    let questions = [
        "what happened to the quagga",
        "did Ann talk about the boiler",
        "Caroline pottery",
        "what did Eve Ray say about the cello",
        "what happened in March 2026",
        "which hike began at dawn on 5 May 2026",
        "last week",
        "the",
        "to be or not to be",
        "",
        "?!",
        "zyzzyva",
        "quag",
        "munchen",
        "src/queue.rs",
        "queue lock",
        "repairs",
        "file3.md paint",
        "the very same words of several drawers",
        "42 euros",
        "laugh a lot, probably",
        "garden fence garden fence paint paint",
        "physician",
        "number 55",
    ];
    let mut requests: Vec<Request> = questions.iter().map(|text| Request::new(*text)).collect();
    let period = Selection {
        period: Some(Period {
            since: Some(1_772_323_200_000),
            before: Some(1_780_272_000_000),
        }),
        ..Selection::default()
    };
    let document = Selection {
        document: Some(DocumentFilter::parse(&json!({"$contains": "storm"})).unwrap()),
        ..Selection::default()
    };
    for selection in [
        matching(&json!({"wing": "home"})),
        matching(&json!({"$and": [{"wing": "work"}, {"n": {"$gte": 50}}]})),
        matching(&json!({"room": {"$ne": "attic"}})),
        matching(&json!({"wing": "nowhere"})),
        Selection::ids(["d1", "d2", "d3", "d77", "bare", "unknown"]),
        period,
        document,
    ] {
        for text in ["the quagga and the boiler", "Ann hike in May 2026"] {
            let mut request = Request::new(text);
            request.selection = selection.clone();
            requests.push(request);
        }
    }
    for (k, by_source, max_distance) in
        [(3, true, None), (50, false, Some(0.6)), (200, false, None)]
    {
        let mut request = Request::new("glacier fence and pottery in winter");
        (request.k, request.by_source) = (k, by_source);
        (request.max_distance, request.explain) = (max_distance, true);
        requests.push(request);
    }
    for request in &mut requests {
        request.today = date(2026, 11, 16);
    }
    requests
}

fn codes(warnings: &[Warning]) -> Vec<&str> {
    warnings.iter().map(loci_core::Warning::code).collect()
}

fn assert_same(what: &str, ours: &[(String, f64)], theirs: &[(String, f64)]) {
    let ids =
        |hits: &[(String, f64)]| -> Vec<String> { hits.iter().map(|(id, _)| id.clone()).collect() };
    assert_eq!(ids(ours), ids(theirs), "{what}");
    for ((id, ours), (_, theirs)) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() < 1e-5, "{what}: {id} {ours} {theirs}");
    }
}

#[test]
fn plain_rows_and_sqlite_give_the_same_hits_scores_and_warnings() {
    let directory = tempfile::tempdir().unwrap();
    let palace = PalaceRef::local(directory.path().join("palace"));
    let (sqlite, memory) = (SqliteBackend::default(), MemoryBackend::new());
    let (ours, theirs) = (filled(&sqlite, &palace), filled(&memory, &palace));
    let embedder = StaticEmbedder::builtin();
    let mut found = 0;
    for request in requests() {
        let what = format!("{:?} in {:?}", request.query, request.selection);
        for embedder in [Some(embedder as &dyn loci_core::Embedder), None] {
            let answer = |collection: &dyn Collection| {
                let answer = search(collection, embedder, &request).unwrap();
                let hits = answer.hits.iter();
                let scored: Vec<(String, f64)> = hits
                    .map(|hit| (hit.id.clone(), f64::from(hit.score)))
                    .collect();
                (scored, answer)
            };
            let ((our_hits, our), (their_hits, their)) = (answer(&*ours), answer(&*theirs));
            assert_same(&what, &our_hits, &their_hits);
            assert_eq!(codes(&our.warnings), codes(&their.warnings), "{what}");
            assert_eq!(our.in_scope, their.in_scope, "{what}");
            assert_eq!(our.verdict.likely, their.verdict.likely, "{what}");
            found += our_hits.len();
        }
        let words = |collection: &dyn Collection| {
            search_words(collection, &request.query, request.k, &request.selection).unwrap()
        };
        let (our, their) = (words(&*ours), words(&*theirs));
        let scored = |result: &loci_recall::LexicalResult| -> Vec<(String, f64)> {
            let hits = result.hits.iter();
            hits.map(|hit| (hit.id.clone(), hit.score)).collect()
        };
        assert_same(&what, &scored(&our), &scored(&their));
        assert_eq!(our.warnings, their.warnings, "{what}");
    }
    assert!(found > 500, "the questions found only {found} drawers");
}

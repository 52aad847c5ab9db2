//! Search: both arms under one selection, as of one commit, and nothing silently less.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_palace::search::{Answer, Request as Question};
use loci_palace::{Filter, OpenOptions, Palace, Period, Selection};
use serde_json::{Value, json};

use super::support::{Op, Request, Row, Worker, cosine, open};

fn row(id: impl Into<String>, text: impl Into<String>, meta: &Value) -> Row {
    Row {
        id: id.into(),
        text: Some(text.into()),
        meta: serde_json::from_value(meta.clone()).unwrap(),
        vector: None,
    }
}

/// Adds texts without vectors: words only.
fn plant(palace: &Palace, collection: &str, rows: &[Row]) {
    let collection = palace.collection(collection, true).unwrap();
    for rows in rows.chunks(500) {
        let rows = rows.to_vec();
        Op::Add { rows }.run(palace, collection.as_ref()).unwrap();
    }
}

fn ask(
    palace: &Palace,
    collection: &str,
    question: &str,
    k: usize,
    selection: Selection,
) -> Answer {
    let request = Question {
        collection: collection.to_owned(),
        k,
        selection,
        ..Question::new(question)
    };
    palace.search(&request).unwrap()
}

/// The same, with hits that probably do not answer the question.
fn ask_all(palace: &Palace, question: &str, k: usize, selection: Selection) -> Answer {
    let request = Question {
        k,
        selection,
        min_probability: Some(0.0),
        ..Question::new(question)
    };
    palace.search(&request).unwrap()
}

fn ids(answer: &Answer) -> BTreeSet<&str> {
    answer.hits.iter().map(|hit| hit.id.as_str()).collect()
}

fn matching(filter: &Value) -> Selection {
    Selection::matching(Filter::parse(filter).unwrap())
}

/// Tells the other threads to end, also when this one panics: a scope waits for all of them.
pub(crate) struct StopOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The two texts that a drawer alternates between.
fn faces(n: usize) -> [String; 2] {
    let word = [
        "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "hazel",
    ][n % 8];
    [
        format!("{word} harbour ships sail at dawn, number {n}"),
        format!("{word} concert violins play at night, number {n}"),
    ]
}

on_disk! {
#[test]
fn a_search_sees_one_commit_while_others_write() {
    const DRAWERS: usize = 16;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let (memory, _) = palace.memory("drawers", true).unwrap();
    let version = |face: usize| -> Vec<Row> {
        (0..DRAWERS)
            .map(|n| row(format!("d{n}"), faces(n)[face].clone(), &json!({})))
            .collect()
    };
    Op::Add { rows: version(0) }
        .run(&palace, memory.collection.as_ref())
        .unwrap();
    let table = palace.embedder("static").unwrap().unwrap();
    let question = "ships in the harbour, violins in the concert";
    let queries = table.embed_queries(&[question], &table.identity());
    let query = queries.unwrap().remove(0);
    let distances: BTreeMap<String, f32> = (0..DRAWERS)
        .flat_map(faces)
        .map(|text| {
            let vector = table.embed(&[&text]).unwrap().remove(0);
            (text, cosine(&query, &vector))
        })
        .collect();
    let stop = AtomicBool::new(false);
    let deleted: Mutex<BTreeSet<String>> = Mutex::default();
    let (mut seen, mut searches) = (BTreeSet::new(), 0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut worker = Worker::serve(&path);
            let embed = |op| Request::Embed {
                collection: "drawers".into(),
                op,
            };
            for turn in 1.. {
                // All of them in one commit.
                worker.must(&embed(Op::Update {
                    rows: version(turn % 2),
                }));
                let brief = row(
                    format!("brief{turn}"),
                    "harbour concert, gone in a moment",
                    &json!({}),
                );
                let ids = vec![brief.id.clone()];
                worker.must(&embed(Op::Add { rows: vec![brief] }));
                worker.must(&embed(Op::Delete { ids: ids.clone() }));
                deleted.lock().unwrap().extend(ids);
                if stop.load(Ordering::Acquire) {
                    return;
                }
            }
        });
        let _stop = StopOnDrop(&stop);
        let mut worker = Worker::serve(&path);
        while searches < 600 || seen.len() < 2 {
            let gone = deleted.lock().unwrap().clone();
            let answer = worker.must(&Request::Search {
                collection: "drawers".into(),
                query: question.into(),
                k: DRAWERS + 1,
                filter: None,
                since: None,
                before: None,
            });
            let hits = answer["hits"].as_array().unwrap();
            let mut faces_seen = BTreeSet::new();
            let mut known = 0;
            for hit in hits {
                let (id, text) = (hit["id"].as_str().unwrap(), hit["text"].as_str().unwrap());
                assert!(
                    !gone.contains(id),
                    "{id} was deleted before the search began"
                );
                if id.starts_with("brief") {
                    continue;
                }
                known += 1;
                let face = usize::from(text.contains("concert"));
                faces_seen.insert(face);
                let expected: &[&str] = if face == 0 {
                    &["ships", "harbour"]
                } else {
                    &["violins", "concert"]
                };
                let words: Vec<&str> = hit["words"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|w| w.as_str().unwrap())
                    .collect();
                assert_eq!(words, expected, "{hit}");
                let distance = hit["distance"].as_f64().unwrap() as f32;
                assert!(
                    (distance - distances[text]).abs() < 1e-4,
                    "{hit}, its own is {}",
                    distances[text]
                );
            }
            assert_eq!(known, DRAWERS, "{answer}");
            assert_eq!(faces_seen.len(), 1, "two commits in one answer: {answer}");
            seen.extend(faces_seen);
            searches += 1;
        }
    });
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}
}

#[test]
fn neighbours_of_a_hit_that_the_filter_leaves_out_are_no_hits() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let (memory, _) = palace.memory("drawers", true).unwrap();
    let rows = (0..60)
        .map(|n| {
            let text = if n % 10 == 4 { format!("the lantern burns, part {n}") } else { format!("filler words, part {n}") };
            let room = ["in", "out"][usize::from(n % 3 == 0)];
            row(format!("d{n}"), text, &json!({"source_file": "s", "start_line": n, "room": room, "date": format!("2023-01-{:02}", n % 28 + 1)}))
        })
        .collect();
    Op::Add { rows }
        .run(&palace, memory.collection.as_ref())
        .unwrap();
    for k in [3, 10, 40] {
        let answer = ask_all(&palace, "lantern", k, matching(&json!({"room": "in"})));
        assert_eq!(answer.hits.len(), k);
        for hit in &answer.hits {
            assert_eq!(hit.room.value().map(String::as_str), Some("in"), "{hit:?}");
        }
        let answer = ask_all(&palace, "lantern", k, Selection::ids(["d3", "d5"]));
        assert_eq!(ids(&answer), ["d3", "d5"].into());
        let period = Selection {
            period: Some(Period {
                since: Some(at("2023-01-05")),
                before: Some(at("2023-01-06")),
            }),
            ..Selection::all()
        };
        let answer = ask_all(&palace, "lantern", k, period);
        assert_eq!(ids(&answer), ["d4", "d32"].into());
    }
}

fn at(date: &str) -> i64 {
    loci_palace::parse_moment(date).unwrap()
}

#[test]
fn a_word_that_is_common_in_one_collection_and_rare_in_another_finds_k_in_both() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    // Interleaved, so that rows of both are next to each other; more of the word than is ever read.
    let big = |from: usize, to: usize| -> Vec<Row> {
        (from..to)
            .map(|n| row(format!("big{n}"), format!("lantern {n}"), &json!({"n": n})))
            .collect()
    };
    let small = |from: usize, to: usize| -> Vec<Row> {
        (from..to)
            .map(|n| {
                row(
                    format!("small{n}"),
                    format!("lantern zeppelin {n}"),
                    &json!({"n": n}),
                )
            })
            .collect()
    };
    plant(&palace, "big", &big(0, 3));
    plant(&palace, "small", &small(0, 6));
    plant(&palace, "big", &big(3, 2_600));
    plant(&palace, "small", &small(6, 12));
    plant(&palace, "big", &big(2_600, 5_000));
    for question in [
        "lantern",
        "lanterns",
        "lantern zeppelin",
        "the lantern of 4",
    ] {
        for (name, total) in [("big", 5_000), ("small", 12)] {
            for k in [1, 10, 20] {
                let answer = ask(&palace, name, question, k, Selection::all());
                assert_eq!(answer.hits.len(), k.min(total), "{question} {name} {k}");
                assert!(
                    answer.hits.iter().all(|hit| hit.id.starts_with(name)),
                    "{question}: {:?}",
                    ids(&answer)
                );
                assert_eq!(ids(&answer).len(), answer.hits.len(), "one twice");
            }
        }
        // The filter leaves a few of the oldest, which a list of the newest does not hold.
        let answer = ask(
            &palace,
            "big",
            question,
            10,
            matching(&json!({"n": {"$lt": 3}})),
        );
        assert_eq!(ids(&answer), ["big0", "big1", "big2"].into(), "{question}");
        let answer = ask(
            &palace,
            "small",
            question,
            10,
            matching(&json!({"n": {"$in": [0, 11]}})),
        );
        assert_eq!(ids(&answer), ["small0", "small11"].into(), "{question}");
        let big = palace.collection("big", false).unwrap();
        let words =
            loci_palace::search_words(&*big, question, 10, &matching(&json!({"n": 1}))).unwrap();
        assert_eq!(words.hits.len(), 1, "{question}: {:?}", words.warnings);
    }
}

#[test]
fn among_tens_of_thousands_with_one_word_the_few_that_the_filter_leaves_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let rows: Vec<Row> = (0..20_600)
        .map(|n| {
            row(
                format!("d{n}"),
                format!("lantern {n}"),
                &json!({"few": n < 4}),
            )
        })
        .collect();
    plant(&palace, "drawers", &rows);
    let few = matching(&json!({"few": true}));
    let answer = ask(&palace, "drawers", "lantern", 10, few);
    assert_eq!(ids(&answer), ["d0", "d1", "d2", "d3"].into());
    let answer = ask(&palace, "drawers", "lantern", 100, Selection::all());
    assert_eq!(answer.hits.len(), 100);
    assert!(
        answer
            .warnings
            .iter()
            .any(|warning| warning.code() == "common_words"),
        "{:?}",
        answer.warnings
    );
    let answer = ask(&palace, "drawers", "lantern 7", 1, Selection::all());
    assert_eq!(answer.hits[0].id, "d7");
}

#[test]
fn k_come_back_although_many_drawers_hold_the_very_same_text() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let same = (0..45).map(|n| row(format!("same{n}"), "thanks for the lantern", &json!({})));
    let others = (0..30).map(|n| {
        row(
            format!("other{n}"),
            format!("number {n} has a lantern that was bought elsewhere"),
            &json!({}),
        )
    });
    let rows: Vec<Row> = same.chain(others).collect();
    for name in ["words", "meaning"] {
        plant(&palace, "words", &rows);
        let (memory, _) = palace.memory("meaning", true).unwrap();
        Op::Add { rows: rows.clone() }
            .run(&palace, memory.collection.as_ref())
            .unwrap();
        for k in [5, 10, 25] {
            let answer = ask(&palace, name, "thanks for the lantern", k, Selection::all());
            assert_eq!(answer.hits.len(), k, "{name}: 31 different texts match");
            assert_eq!(
                answer.hits[0].also_in.as_ref().unwrap().len(),
                44,
                "{name}: not all of them are named"
            );
        }
    }
}

#[test]
fn one_hit_per_source_still_gives_k_when_k_sources_match() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let loud = (0..1_500).map(|n| {
        row(
            format!("loud{n}"),
            format!("lantern lantern lantern {n}"),
            &json!({"source_file": "loud", "start_line": n}),
        )
    });
    let quiet = (0..12).map(|n| {
        row(
            format!("quiet{n}"),
            format!("somewhere in a long sentence number {n} there is one lantern too"),
            &json!({"source_file": format!("quiet{n}")}),
        )
    });
    plant(&palace, "drawers", &loud.chain(quiet).collect::<Vec<_>>());
    let request = Question {
        by_source: true,
        ..Question::new("lantern")
    };
    let answer = palace.search(&request).unwrap();
    let sources: BTreeSet<_> = answer
        .hits
        .iter()
        .filter_map(|hit| hit.source.value())
        .collect();
    assert_eq!(
        (answer.hits.len(), sources.len()),
        (10, 10),
        "{:?}",
        ids(&answer)
    );
}

#[test]
fn a_period_includes_its_first_moment_and_excludes_its_last() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let day = at("2023-05-07");
    let rows = [
        row("first", "a lantern, first", &json!({"date": "2023-05-07"})),
        row("later", "a lantern, later", &json!({"timestamp": day + 1})),
        row(
            "last",
            "a lantern, last",
            &json!({"authored_at": "2023-05-08T00:00:00Z"}),
        ),
        row("old", "a lantern, old", &json!({"date": "1850-01-01"})),
        row("undated", "a lantern, undated", &json!({"date": "someday"})),
        row("bare", "a lantern, bare", &json!({})),
    ];
    let before_adding = now();
    plant(&palace, "drawers", &rows);
    let after_adding = now();
    let find = |since: Option<i64>, before: Option<i64>| -> BTreeSet<String> {
        let selection = Selection {
            period: Some(Period { since, before }),
            ..Selection::all()
        };
        let mut by_get = loci_palace::Get::new(selection.clone());
        by_get.include = loci_palace::Include::NONE;
        let got: BTreeSet<String> = palace
            .collection("drawers", false)
            .unwrap()
            .get(&by_get)
            .unwrap()
            .ids
            .into_iter()
            .collect();
        let answer = ask(&palace, "drawers", "lantern", 10, selection);
        let found: BTreeSet<String> = ids(&answer).into_iter().map(str::to_owned).collect();
        assert_eq!(
            found, got,
            "search and get differ for {since:?} to {before:?}"
        );
        assert_eq!(answer.in_scope, got.len() as u64);
        found
    };
    let set =
        |ids: &[&str]| -> BTreeSet<String> { ids.iter().map(|id| (*id).to_owned()).collect() };
    let next = at("2023-05-08");
    let everything = set(&["first", "later", "last", "old", "undated", "bare"]);
    assert_eq!(find(Some(day), Some(next)), set(&["first", "later"]));
    assert_eq!(find(Some(day + 1), Some(next)), set(&["later"]));
    assert_eq!(
        find(Some(day), Some(next + 1)),
        set(&["first", "later", "last"])
    );
    assert_eq!(find(Some(day), Some(day)), set(&[]));
    assert_eq!(find(Some(next), Some(day)), set(&[]));
    assert_eq!(find(None, Some(0)), set(&["old"]));
    assert_eq!(find(None, None), everything);
    assert_eq!(find(Some(i64::MIN), Some(i64::MAX)), everything);
    assert_eq!(find(Some(i64::MIN), None), everything);
    assert_eq!(find(Some(i64::MAX), None), set(&[]));
    assert_eq!(find(None, Some(i64::MIN)), set(&[]));
    assert_eq!(find(Some(i64::MIN), Some(i64::MIN)), set(&[]));
    // Without a date, the day they were added counts.
    assert_eq!(
        find(Some(before_adding), Some(after_adding + 1)),
        set(&["undated", "bare"])
    );
    // A new date moves a drawer, the loss of it moves it back.
    let collection = palace.collection("drawers", false).unwrap();
    let change = |id: &str, date: Value| {
        let patch = loci_palace::MetadataPatch::from_json(&json!({"date": date})).unwrap();
        let mut batch = loci_palace::Batch::new([id]);
        batch.metadatas = Some(vec![patch]);
        collection.update(&batch).unwrap();
    };
    change("bare", json!("2023-05-07"));
    assert_eq!(
        find(Some(day), Some(next)),
        set(&["first", "later", "bare"])
    );
    change("first", Value::Null);
    assert_eq!(find(Some(day), Some(next)), set(&["later", "bare"]));
    assert_eq!(
        find(Some(before_adding), Some(after_adding + 1)),
        set(&["undated", "first"])
    );
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}

fn now() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64
}

on_disk! {
#[test]
fn sources_of_any_shape_are_searched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let mut rows = Vec::new();
    for n in 0..2_300 {
        let word = if n == 2_250 { "lantern" } else { "filler" };
        rows.push(row(
            format!("long{n}"),
            format!("{word} {n}"),
            &json!({"source_file": "long", "start_line": n}),
        ));
        let word = if n == 2_250 { "zeppelin" } else { "filler" };
        rows.push(row(
            format!("same{n}"),
            format!("{word} {n}"),
            &json!({"source_file": "same", "start_line": 7}),
        ));
        let word = if n == 2_250 { "trombone" } else { "filler" };
        rows.push(row(
            format!("none{n}"),
            format!("{word} {n}"),
            &json!({"source_file": "none"}),
        ));
    }
    for (n, line) in [
        json!(i64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(-1e300),
        json!("9e9"),
        json!(true),
        json!(["a"]),
    ]
    .into_iter()
    .enumerate()
    {
        rows.push(row(
            format!("odd{n}"),
            format!("oddity {n}"),
            &json!({"source_file": "odd", "start_line": line}),
        ));
    }
    plant(&palace, "drawers", &rows);
    for (word, id) in [
        ("lantern", "long2250"),
        ("zeppelin", "same2250"),
        ("trombone", "none2250"),
    ] {
        let answer = ask(&palace, "drawers", word, 5, Selection::all());
        assert_eq!(answer.hits[0].id, id, "{word}");
        let answer = ask(
            &palace,
            "drawers",
            &format!("{word} filler"),
            20,
            Selection::all(),
        );
        assert_eq!(answer.hits.len(), 20, "{word}");
        assert_eq!(answer.hits[0].id, id, "{word} filler");
    }
    assert_eq!(
        ask(&palace, "drawers", "oddity", 10, Selection::all())
            .hits
            .len(),
        7
    );
    palace.close().unwrap();
    let report = Palace::open(&path, &OpenOptions::existing())
        .unwrap()
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}
}

#[test]
fn huge_drawers_and_drawers_without_text_are_searched_beside_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let (memory, _) = palace.memory("drawers", true).unwrap();
    let mut huge = "lorem ipsum dolor sit amet ".repeat(loci_palace::MAX_DOCUMENT_BYTES / 27 - 1);
    huge.push_str("zeppelin");
    let mut one_word = "x".repeat(loci_palace::MAX_DOCUMENT_BYTES - 8);
    one_word.push_str(" lantern");
    let table = palace.embedder("static").unwrap().unwrap();
    let bare = |id: &str, about: &str| Row {
        text: None,
        vector: Some(table.embed(&[about]).unwrap().remove(0)),
        ..row(id, "", &json!({}))
    };
    // One call takes no more text than one huge drawer has.
    for rows in [
        vec![row("huge", huge.clone(), &json!({}))],
        vec![row("word", one_word, &json!({}))],
        vec![
            row("small", "a lantern and a zeppelin", &json!({})),
            row("empty", "", &json!({})),
            bare("bare1", "a telescope for the stars"),
            bare("bare2", "the telescope and the night sky"),
        ],
    ] {
        Op::Add { rows }
            .run(&palace, memory.collection.as_ref())
            .unwrap();
    }
    let answer = ask(&palace, "drawers", "zeppelin", 10, Selection::all());
    assert!(
        ids(&answer).is_superset(&["huge", "small"].into()),
        "{:?}",
        ids(&answer)
    );
    assert_eq!(
        answer
            .hits
            .iter()
            .find(|hit| hit.id == "huge")
            .unwrap()
            .text,
        huge
    );
    let answer = ask(&palace, "drawers", "lantern", 10, Selection::all());
    assert!(ids(&answer).is_superset(&["word", "small"].into()));
    // Two drawers without text are two drawers.
    let answer = ask(
        &palace,
        "drawers",
        "looking at the stars through a telescope",
        2,
        Selection::all(),
    );
    assert_eq!(ids(&answer), ["bare1", "bare2"].into(), "{answer:?}");
    let request = Question {
        budget: Some(50),
        ..Question::new("zeppelin")
    };
    let answer = palace.search(&request).unwrap();
    assert!(answer.tokens <= 50);
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}

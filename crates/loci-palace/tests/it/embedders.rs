//! Who made the vectors of a collection, who makes the question's, and what happens when they are not the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use loci_palace::search::{Answer, Hit, HitDetails, Request};
use loci_palace::{Collection, Embedder, Error, OpenOptions, Palace, Query, Warning};
use serde_json::json;

use crate::protocol::{Fake, embedding};
use crate::support::{Op, Rng, Row, Seeded, contents, cosine, open, seed};

const OLD: [(&str, &str); 3] = [
    ("v1", "the lighthouse keeper wrote letters every evening"),
    ("v2", "a telescope points at the winter sky"),
    ("v3", "violins are tuned before the concert"),
];
const MEANWHILE: [(&str, &str); 3] = [
    ("o1", "rye bread with salt and butter"),
    ("o2", "the railway bridge was repaired in autumn"),
    ("o3", "tomatoes grow behind the garden wall"),
];

pub(crate) fn row(id: &str, text: &str) -> Row {
    Row {
        id: id.into(),
        text: Some(text.into()),
        meta: BTreeMap::new(),
        vector: None,
    }
}

pub(crate) fn add(palace: &Palace, collection: &dyn Collection, rows: &[(&str, &str)]) {
    let rows = rows.iter().map(|(id, text)| row(id, text)).collect();
    Op::Add { rows }.run(palace, collection).unwrap();
}

pub(crate) fn codes(warnings: &[Warning]) -> BTreeSet<&str> {
    warnings.iter().map(loci_palace::Warning::code).collect()
}

pub(crate) fn sql(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap()
}

/// Ids of drawers that have a vector of another embedder, with its bytes as numbers.
pub(crate) fn apart(path: &Path) -> BTreeMap<String, Vec<f32>> {
    sql(path)
        .prepare("SELECT d.id, o.vector FROM other_vectors o JOIN drawers d ON d.row = o.row")
        .unwrap()
        .query_map([], |row| {
            let bytes: Vec<u8> = row.get(1)?;
            Ok((row.get(0)?, loci_index::vector_from_bytes(&bytes).unwrap()))
        })
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap()
}

pub(crate) fn table(palace: &Palace) -> std::sync::Arc<dyn Embedder> {
    palace.embedder("static").unwrap().unwrap()
}

/// The vector of a question. It is not rounded.
pub(crate) fn static_query(palace: &Palace, text: &str) -> Vec<f32> {
    let table = table(palace);
    let queries = table.embed_queries(&[text], &table.identity());
    queries.unwrap().remove(0)
}

/// The vector that is stored for a text.
pub(crate) fn static_vector(palace: &Palace, text: &str) -> Vec<f32> {
    table(palace).embed(&[text]).unwrap().remove(0)
}

pub(crate) fn assert_clean(palace: &Palace) {
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}

/// A collection that the forged model made.
fn modelled(path: &Path) -> Palace {
    let palace = open(path);
    let collection = embedding(&palace, "drawers", Fake::minilm()).unwrap();
    add(&palace, collection.as_ref(), &OLD);
    palace
}

pub(crate) fn hit<'a>(answer: &'a Answer, id: &str) -> &'a Hit {
    answer
        .hits
        .iter()
        .find(|hit| hit.id == id)
        .unwrap_or_else(|| panic!("{id} is not among {:?}", answer.hits))
}

fn found_hit<'a>(answer: &'a loci_recall::Answer, id: &str) -> &'a loci_recall::Hit {
    let hit = answer.hits.iter().find(|hit| hit.id == id);
    hit.unwrap_or_else(|| panic!("{id} is not among {:?}", answer.hits))
}

fn details(hit: &Hit) -> &HitDetails {
    hit.details.as_ref().unwrap()
}

#[test]
fn a_collection_and_its_own_embedder_need_no_word_of_warning() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let (memory, warnings) = palace.memory("drawers", true).unwrap();
    assert_eq!(warnings, []);
    add(&palace, memory.collection.as_ref(), &OLD);
    assert_eq!(
        memory.collection.embedder().unwrap(),
        Some(table(&palace).identity())
    );
    let request = Request {
        min_probability: Some(0.0),
        ..Request::new("stars at night")
    };
    let found = palace.search(&request).unwrap();
    assert_eq!(codes(&found.warnings), BTreeSet::new());
    let nearest = hit(&found, "v2");
    let expected = cosine(
        &static_query(&palace, "stars at night"),
        &static_vector(&palace, OLD[1].1),
    );
    assert!((details(nearest).distance.unwrap() - expected).abs() < 1e-4);
    assert!(apart(&path).is_empty());
    assert_clean(&palace);
}

#[test]
fn while_a_model_is_missing_the_table_stands_in_and_what_it_embeds_stays_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = modelled(&path);
    let before = contents(&palace, "drawers");
    let (memory, warnings) = palace.memory("drawers", false).unwrap();
    assert!(codes(&warnings).contains("model_missing"), "{warnings:?}");
    add(&palace, memory.collection.as_ref(), &MEANWHILE);
    // The model's vectors are as they were; the new ones are in their own table, as the table makes them.
    let after = contents(&palace, "drawers");
    for (id, row) in &before {
        assert_eq!(after.get(id), Some(row));
    }
    let expected: BTreeMap<String, Vec<f32>> = MEANWHILE
        .iter()
        .map(|(id, text)| ((*id).to_owned(), static_vector(&palace, text)))
        .collect();
    assert_eq!(apart(&path), expected);
    for (id, _) in MEANWHILE {
        assert_eq!(after[id].vector, None, "{id}");
    }
    assert_eq!(
        memory.collection.embedder().unwrap(),
        Some(Fake::minilm().0)
    );
    assert_clean(&palace);

    // Found by meaning, in their own space, with a warning.
    let question = "baking a loaf";
    let request = Request {
        min_probability: Some(0.0),
        ..Request::new(question)
    };
    let found = palace.search(&request).unwrap();
    let said = codes(&found.warnings);
    assert!(said.contains("compatible_embedder"), "{said:?}");
    assert!(!codes(&found.warnings).contains("not_compared"));
    let query = static_query(&palace, question);
    for (id, vector) in apart(&path) {
        let hit = hit(&found, &id);
        assert!(
            details(hit).semantic_rank.is_some_and(|rank| rank <= 3),
            "{hit:?}"
        );
        let own = cosine(&query, &vector);
        assert!((details(hit).distance.unwrap() - own).abs() < 1e-4, "{id}");
    }
    assert_eq!(found.hits[0].id, "o1", "the meaning is not found");
    // A rank of each space: the first of one is not pushed down by the other.
    let firsts = found
        .hits
        .iter()
        .filter(|hit| details(hit).semantic_rank == Some(1));
    assert_eq!(firsts.count(), 2);

    // A changed text gets a new vector, also where the model had made one; metadata alone changes none.
    let rows = vec![
        row("o2", "a bakery opens at dawn"),
        row("v2", "the moon is full"),
    ];
    Op::Update { rows }
        .run(&palace, memory.collection.as_ref())
        .unwrap();
    let meta = Row {
        text: None,
        meta: [("wing".to_owned(), json!("bob"))].into(),
        ..row("o1", "")
    };
    Op::Update { rows: vec![meta] }
        .run(&palace, memory.collection.as_ref())
        .unwrap();
    let now = apart(&path);
    assert_eq!(now["o2"], static_vector(&palace, "a bakery opens at dawn"));
    assert_eq!(now["v2"], static_vector(&palace, "the moon is full"));
    assert_eq!(now["o1"], expected["o1"]);
    assert_eq!(contents(&palace, "drawers")["v2"].vector, None);
    let ids = vec!["o3".to_owned()];
    Op::Delete { ids }
        .run(&palace, memory.collection.as_ref())
        .unwrap();
    assert_eq!(apart(&path).len(), 3);
    assert_clean(&palace);

    the_model_is_back(&palace);
}

fn the_model_is_back(palace: &Palace) {
    let path = palace.directory().unwrap();
    let model = Fake::minilm();
    let back = embedding(palace, "drawers", model.clone()).unwrap();
    let question = "baking a loaf";
    let request = loci_recall::Request {
        min_probability: Some(0.0),
        ..loci_recall::Request::new(question)
    };
    let answer = loci_recall::search(back.as_ref(), Some(&model), &request).unwrap();
    let unexpected = ["model_missing", "compatible_embedder", "not_compared"];
    let said = codes(&answer.warnings);
    assert!(
        unexpected.iter().all(|code| !said.contains(code)),
        "{said:?}"
    );
    let query = static_query(palace, question);
    for (id, vector) in apart(path) {
        let distance = found_hit(&answer, &id).distance.unwrap();
        assert!((distance - cosine(&query, &vector)).abs() < 1e-4, "{id}");
    }
    for (id, text) in [OLD[0], OLD[2]] {
        let own = cosine(&model.vector(question), &model.vector(text));
        assert!(
            (found_hit(&answer, id).distance.unwrap() - own).abs() < 1e-4,
            "{id}"
        );
    }
    // A text that changes now is the model's; the same text again is not embedded again.
    let rows = vec![
        row("o1", "the oven is warm"),
        row("o2", "a bakery opens at dawn"),
    ];
    Op::Upsert { rows }.run(palace, back.as_ref()).unwrap();
    let now = apart(path);
    assert_eq!(now.keys().collect::<Vec<_>>(), ["o2", "v2"]);
    assert_eq!(
        contents(palace, "drawers")["o1"].vector,
        Some(model.vector("the oven is warm"))
    );
    let done = palace
        .reembed(
            &loci_palace::reembed::Request {
                collection: "drawers",
                embedder: &model,
            },
            &mut |_| (),
        )
        .unwrap();
    assert_eq!(done.before, Some(model.0.clone()));
    assert!(apart(path).is_empty());
    for row in contents(palace, "drawers").values() {
        assert_eq!(
            row.vector,
            Some(model.vector(row.text.as_ref().unwrap())),
            "{}",
            row.id
        );
    }
    assert_clean(palace);
}

#[test]
fn a_vector_that_the_caller_brings_takes_the_place_of_the_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = modelled(&path);
    let (memory, _) = palace.memory("drawers", false).unwrap();
    add(&palace, memory.collection.as_ref(), &MEANWHILE);
    let model = Fake::minilm();
    let brought = Row {
        text: None,
        vector: Some(model.vector(MEANWHILE[0].1)),
        ..row("o1", "")
    };
    Op::Update {
        rows: vec![brought],
    }
    .run(&palace, memory.collection.as_ref())
    .unwrap();
    assert_eq!(apart(&path).keys().collect::<Vec<_>>(), ["o2", "o3"]);
    // And the other way: the same text, which has a vector, is left as it is.
    let rows = vec![row("o1", MEANWHILE[0].1), row("v1", OLD[0].1)];
    Op::Upsert { rows }
        .run(&palace, memory.collection.as_ref())
        .unwrap();
    assert_eq!(apart(&path).keys().collect::<Vec<_>>(), ["o2", "o3"]);
    assert_eq!(
        contents(&palace, "drawers")["o1"].vector,
        Some(model.vector(MEANWHILE[0].1))
    );
    assert_clean(&palace);
}

#[test]
fn an_embedder_of_another_space_is_refused_by_both_names_with_the_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let collection = embedding(&palace, "drawers", Fake::new("theirs", 384)).unwrap();
    add(&palace, collection.as_ref(), &OLD);
    let before = contents(&palace, "drawers");
    // Nobody named one: words are searched, and that is said.
    let found = palace.search(&Request::new("telescope")).unwrap();
    assert_eq!(found.hits[0].id, "v2");
    assert!(codes(&found.warnings).contains("model_missing"));
    assert_eq!(details(&found.hits[0]).distance, None);
    // Named: refused, for reading and for writing.
    let options = OpenOptions {
        embedder: Some("static".into()),
        ..OpenOptions::existing()
    };
    let named = Palace::open(&path, &options).unwrap();
    let errors = [
        named.search(&Request::new("telescope")).err().unwrap(),
        named.memory("drawers", false).err().unwrap(),
        {
            let stale = embedding(&palace, "drawers", Fake::new("ours", 384)).err();
            stale.unwrap_or_else(|| {
                let ours = embedding(&palace, "drawers", Fake::new("ours", 384)).unwrap();
                let rows = vec![row("new", "a new text")];
                Op::Add { rows }.run(&palace, ours.as_ref()).unwrap_err()
            })
        },
    ];
    for error in errors {
        assert!(matches!(error, Error::EmbedderMismatch { .. }), "{error:?}");
        let said = format!("{error} {:?}", error.help());
        assert!(said.contains("theirs"), "{said}");
        assert!(said.contains("static") || said.contains("ours"), "{said}");
        assert!(
            said.contains("re-embed all texts"),
            "the way out is missing: {said}"
        );
        assert!(
            matches!(
                error.advice(),
                Some(loci_palace::Advice::UsePinnedEmbedder { pinned }) if pinned.contains("theirs")
            ),
            "{error:?}"
        );
    }
    assert_eq!(contents(&palace, "drawers"), before);
}

#[test]
fn vectors_of_nobody_known_are_searched_with_a_warning_until_a_write_says_who() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let plain = palace.collection("drawers", true).unwrap();
    let rows = OLD
        .iter()
        .map(|(id, text)| Row {
            vector: Some(static_vector(&palace, text)),
            ..row(id, text)
        })
        .collect();
    Op::Add { rows }.run(&palace, plain.as_ref()).unwrap();
    assert_eq!(plain.embedder().unwrap(), None);
    let found = palace.search(&Request::new("stars at night")).unwrap();
    assert!(codes(&found.warnings).contains("unknown_embedder"));
    assert!(details(hit(&found, "v2")).distance.is_some());
    assert_eq!(plain.embedder().unwrap(), None, "a search recorded it");
    let (memory, _) = palace.memory("drawers", false).unwrap();
    add(&palace, memory.collection.as_ref(), &MEANWHILE[..1]);
    assert_eq!(plain.embedder().unwrap(), Some(table(&palace).identity()));
    let found = palace.search(&Request::new("stars at night")).unwrap();
    assert!(!codes(&found.warnings).contains("unknown_embedder"));
    assert_clean(&palace);
}

#[test]
fn a_write_that_wrote_no_vector_says_nothing_about_who_makes_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let plain = palace.collection("drawers", true).unwrap();
    add(&palace, plain.as_ref(), &OLD);
    let (memory, _) = palace.memory("drawers", false).unwrap();
    // All of them are there already.
    add(&palace, memory.collection.as_ref(), &OLD);
    assert_eq!(plain.embedder().unwrap(), None);
    assert_eq!(plain.dimension().unwrap(), None);
    // So the caller's vectors set the dimension, and a search still answers.
    let mine = Row {
        vector: Some(vec![1.0; 8]),
        ..row("mine", "my own vector")
    };
    Op::Add { rows: vec![mine] }
        .run(&palace, plain.as_ref())
        .unwrap();
    let found = palace.search(&Request::new("telescope")).unwrap();
    assert_eq!(found.hits[0].id, "v2");
    assert_clean(&palace);
}

#[test]
fn whatever_the_order_of_writes_a_collection_holds_one_dimension_and_can_be_searched() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    for round in 0..60 {
        let path = directory.path().join(round.to_string());
        let palace = open(&path);
        let name = "drawers";
        let pins = rng.below(3);
        if pins == 1 {
            embedding(&palace, name, Fake::minilm()).unwrap();
        }
        palace.collection(name, true).unwrap();
        let stale = palace.memory(name, false).unwrap().0;
        let mut said = Vec::new();
        for step in 0..8 {
            let mut rows = Vec::new();
            for at in 0..=rng.below(2) {
                // Now and then one that is there already.
                let number = if rng.below(4) == 0 { 0 } else { step * 10 + at };
                rows.push(Row {
                    vector: match rng.below(4) {
                        0 => Some(rng.vector(8)),
                        1 => Some(rng.vector(384)),
                        _ => None,
                    },
                    ..row(
                        &format!("d{number}"),
                        &format!("text {number} of step {}", rng.below(2)),
                    )
                });
            }
            rows.dedup_by(|a, b| a.id == b.id);
            let how = rng.below(4);
            let model =
                (pins == 1 && how == 3).then(|| embedding(&palace, name, Fake::minilm()).unwrap());
            let collection = match how {
                0 => palace.collection(name, false).unwrap(),
                1 => std::sync::Arc::clone(&stale.collection),
                _ => model.unwrap_or_else(|| palace.memory(name, false).unwrap().0.collection),
            };
            let op = match rng.below(3) {
                0 => Op::Add { rows },
                1 => Op::Upsert { rows },
                _ => Op::Update { rows },
            };
            let result = op.run(&palace, collection.as_ref());
            said.push(format!("{how} {:?} -> {result:?}", lengths_of(&op)));
            if let Err(error) = result {
                let refused = matches!(
                    error,
                    Error::DimensionMismatch { .. }
                        | Error::InvalidInput { .. }
                        | Error::EmbedderMismatch { .. }
                );
                assert!(refused, "{error:?} {said:#?}");
            }
            let lengths: BTreeSet<usize> = sql(&path)
                .prepare("SELECT vector FROM vectors")
                .unwrap()
                .query_map([], |row| row.get::<_, Vec<u8>>(0))
                .unwrap()
                .map(|bytes| loci_index::stored_dimension(&bytes.unwrap()).unwrap())
                .collect();
            assert!(lengths.len() <= 1, "{lengths:?} {said:#?}");
            let plain = palace.collection(name, false).unwrap();
            let dimension = plain.dimension().unwrap();
            if let (Some(stored), Some(dimension)) = (lengths.first(), dimension) {
                assert_eq!(*stored, dimension, "{said:#?}");
            }
            if let (Some(dimension), Some(pinned)) = (dimension, plain.embedder().unwrap()) {
                assert_eq!(dimension, pinned.dimension, "pinned {pinned} {said:#?}");
            }
            let request = Request {
                collection: name.to_owned(),
                ..Request::new("text of step")
            };
            let found = palace.search(&request);
            assert!(found.is_ok(), "{:?} {said:#?}", found.err());
            if let Some(dimension) = dimension {
                plain.query(&Query::vector(vec![1.0; dimension])).unwrap();
            }
        }
        assert_clean(&palace);
    }
}

fn lengths_of(op: &Op) -> Vec<Option<usize>> {
    match op {
        Op::Add { rows } | Op::Upsert { rows } | Op::Update { rows } => rows
            .iter()
            .map(|row| row.vector.as_ref().map(Vec::len))
            .collect(),
        _ => Vec::new(),
    }
}

/// Embeds a question, and then somebody else reembeds the collection.
struct Overtaken<'a> {
    palace: &'a Palace,
    before: Fake,
    after: Fake,
    times: std::sync::atomic::AtomicUsize,
}

impl Embedder for Overtaken<'_> {
    fn identity(&self) -> loci_palace::EmbedderIdentity {
        self.before.identity()
    }

    fn embed(&self, texts: &[&str]) -> loci_palace::Result<Vec<Vec<f32>>> {
        if self
            .times
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
            == 0
        {
            self.palace.reembed(
                &loci_palace::reembed::Request {
                    collection: "drawers",
                    embedder: &self.after,
                },
                &mut |_| (),
            )?;
        }
        self.before.embed(texts)
    }
}

#[test]
fn a_question_is_never_compared_with_vectors_that_another_embedder_made_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let (before, after) = (Fake::new("before", 32), Fake::new("after", 32));
    let collection = embedding(&palace, "drawers", before.clone()).unwrap();
    add(&palace, collection.as_ref(), &OLD);
    let texts = |collection: &dyn Collection| {
        let mut query = Query::vector(vec![1.0]);
        query.input = loci_palace::QueryInput::Texts(vec![OLD[0].1.into()]);
        collection.query(&query)
    };
    assert_eq!(texts(collection.as_ref()).unwrap().ids[0][0], "v1");
    let overtaken = Overtaken {
        palace: &palace,
        before: before.clone(),
        after: after.clone(),
        times: 0.into(),
    };
    let question = loci_recall::Request::new(OLD[0].1);
    match loci_recall::search(collection.as_ref(), Some(&overtaken), &question) {
        Err(error) => assert!(matches!(error, Error::EmbedderMismatch { .. }), "{error:?}"),
        Ok(answer) => {
            for hit in &answer.hits {
                let mixed = cosine(&before.vector(OLD[0].1), &after.vector(&hit.text));
                let distance = hit.distance.unwrap_or(f32::NAN);
                assert!(
                    (distance - mixed).abs() > 1e-4,
                    "two spaces were compared: {hit:?}"
                );
            }
        }
    }
    // A handle of before the change, by text: an error, not a guess.
    let error = texts(collection.as_ref()).expect_err("two spaces were compared");
    assert!(matches!(error, Error::EmbedderMismatch { .. }), "{error:?}");
    let rows = vec![row("late", "a late text")];
    let error = Op::Add { rows }
        .run(&palace, collection.as_ref())
        .unwrap_err();
    assert!(matches!(error, Error::EmbedderMismatch { .. }), "{error:?}");
    let now = embedding(&palace, "drawers", after).unwrap();
    assert_eq!(texts(now.as_ref()).unwrap().ids[0][0], "v1");
}

#[test]
fn searches_while_the_vectors_change_hands_compare_like_with_like() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let (model, table) = (Fake::minilm(), table(&palace));
    let collection = embedding(&palace, "drawers", model.clone()).unwrap();
    let texts: Vec<String> = (0..40)
        .map(|n| format!("the lantern of house {n} is lit"))
        .collect();
    let rows = texts
        .iter()
        .zip(0..)
        .map(|(text, n)| row(&format!("d{n}"), text))
        .collect();
    Op::Add { rows }.run(&palace, collection.as_ref()).unwrap();
    let question = "a lantern in the dark";
    let same = static_query(&palace, question);
    let apart = table
        .embed_queries(&[question], &model.0)
        .unwrap()
        .remove(0);
    let right: BTreeMap<&str, [f32; 2]> = texts
        .iter()
        .map(|text| {
            let own = cosine(&same, &static_vector(&palace, text));
            (text.as_str(), [own, cosine(&apart, &model.vector(text))])
        })
        .collect();
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut sides = BTreeSet::new();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut other = crate::support::Worker::serve(&path);
            for round in 0..16 {
                other.must(&crate::support::Request::Reembed {
                    collection: "drawers".into(),
                    embedder: ["static", "minilm"][round % 2].into(),
                });
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            let answer = match palace.search(&Request::new(question)) {
                Ok(found) => found,
                Err(Error::EmbedderMismatch { .. }) => continue,
                Err(error) => panic!("{error:?}"),
            };
            assert_eq!(answer.hits.len(), 10);
            let near = |at: usize| {
                answer.hits.iter().all(|hit| {
                    details(hit)
                        .distance
                        .is_some_and(|d| (d - right[hit.text.as_str()][at]).abs() < 1e-4)
                })
            };
            let side = (0..2).find(|at| near(*at));
            sides.insert(side.unwrap_or_else(|| panic!("neither space: {:?}", answer.hits)));
        }
    });
    assert_eq!(sides.len(), 2, "only one side was seen");
    assert_clean(&palace);
}

//! Each part of a score does what its name says.

use std::sync::Arc;

use jiff::civil::date;
use loci_core::{Backend, Batch, Collection, CollectionOptions, Metadata, PalaceRef};
use loci_embed::StaticEmbedder;
use loci_recall::{Answer, MatchedVia, Request, search};
use loci_sqlite::SqliteBackend;
use serde_json::{Value, json};

pub(crate) struct Scene {
    collection: Arc<dyn Collection>,
    embedder: Arc<StaticEmbedder>,
    _backend: SqliteBackend,
    _directory: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new(drawers: &[(&str, &str, Value)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let palace = PalaceRef::local(directory.path().join("palace"));
        let embedder = Arc::new(StaticEmbedder::builtin().clone());
        let options = CollectionOptions {
            metric: None,
            embedder: Some(embedder.clone()),
        };
        let backend = SqliteBackend::default();
        let collection = backend
            .get_collection(&palace, "drawers", true, &options)
            .unwrap();
        for (id, text, metadata) in drawers {
            let batch = Batch::new([*id])
                .documents([*text])
                .metadatas([Metadata::from_json(metadata).unwrap()]);
            collection.add(&batch).unwrap();
        }
        Self {
            collection,
            embedder,
            _backend: backend,
            _directory: directory,
        }
    }

    pub(crate) fn ask(&self, question: &str) -> Answer {
        let request = Request {
            today: date(2026, 11, 16),
            // These tests are about the order of all hits.
            min_probability: Some(0.0),
            ..Request::new(question)
        };
        search(
            self.collection.as_ref(),
            Some(self.embedder.as_ref()),
            &request,
        )
        .unwrap()
    }
}

pub(crate) fn ids(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.id.as_str()).collect()
}

/// Lines of one talk.
fn talk(source: &str, line: i64) -> Value {
    json!({"source_file": source, "start_line": line})
}

#[test]
fn a_score_is_the_sum_of_its_parts_and_orders_the_hits() {
    let scene = Scene::new(&[
        ("a", "Ann: the quagga sleeps", json!({"date": "2026-05-01"})),
        ("b", "Bob: a zebra grazes", json!({})),
        ("c", "the horse runs", json!({})),
    ]);
    let answer = scene.ask("what did Ann say about the quagga in May 2026");
    for hit in &answer.hits {
        assert!((hit.score - hit.parts.score()).abs() < 1e-6, "{hit:?}");
        let parts = hit.parts;
        for part in [parts.words, parts.source, parts.meaning, parts.tokens] {
            assert!(part.is_finite() && part >= 0.0, "{parts:?}");
        }
    }
    assert!(answer.hits.is_sorted_by(|a, b| a.score >= b.score));
    assert_eq!(ids(&answer)[0], "a");
    let best = answer.hits[0].parts;
    assert!(
        best.speaker > 0.0 && best.date > 0.0 && best.words > 0.0,
        "{best:?}"
    );
}

#[test]
fn an_answer_beside_the_passage_that_matches_is_found_before_others() {
    // The same source, so that only being near tells the two apart; the far one is newer.
    let scene = Scene::new(&[
        (
            "asked",
            "What do you practise these days, Caroline?",
            talk("one", 1),
        ),
        (
            "answer",
            "Since last winter mostly the cello, and sometimes I sing.",
            talk("one", 2),
        ),
        ("tea", "Then they had tea.", talk("one", 3)),
        ("bus", "The bus was late again.", talk("one", 4)),
        (
            "far",
            "Mostly the cello, an instrument of wood.",
            talk("one", 5),
        ),
    ]);
    let answer = scene.ask("what does Caroline practise");
    let place = |id: &str| ids(&answer).iter().position(|hit| *hit == id).unwrap();
    assert_eq!(place("asked"), 0);
    assert!(place("answer") < place("far"), "{:?}", ids(&answer));
    let words = |id: &str| {
        let hit = answer.hits.iter().find(|hit| hit.id == id).unwrap();
        (hit.matched_words.len(), hit.parts.words)
    };
    let (held, lent) = words("answer");
    assert!(held == 0 && lent > 0.0, "its neighbour lends it words");
    assert!(words("far").1 < lent);
}

#[test]
fn a_passage_of_a_source_about_the_question_comes_before_the_same_passage_of_another() {
    // Farther away than neighbours lend, and older than the other: only the source speaks for it.
    let scene = Scene::new(&[
        (
            "glacier-1",
            "The glacier hike began at dawn.",
            talk("hike", 1),
        ),
        ("hike-2", "We talked for a while.", talk("hike", 2)),
        ("hike-3", "Then we had tea.", talk("hike", 3)),
        (
            "right-4",
            "It was cold up there, she said.",
            talk("hike", 4),
        ),
        ("hike-5", "We sang on the way.", talk("hike", 5)),
        ("hike-6", "Someone took pictures.", talk("hike", 6)),
        ("glacier-7", "A map of the glacier.", talk("hike", 7)),
        ("house-1", "The kitchen was painted.", talk("house", 1)),
        (
            "wrong-4",
            "It was cold up there, he said.",
            talk("house", 4),
        ),
    ]);
    let answer = scene.ask("was it cold on the glacier");
    let place = |id: &str| ids(&answer).iter().position(|hit| *hit == id).unwrap();
    assert!(place("right-4") < place("wrong-4"), "{:?}", ids(&answer));
}

#[test]
fn who_speaks_counts_if_the_question_names_them() {
    let scene = Scene::new(&[
        ("ann", "Ann: I adopted a dog.", json!({})),
        ("bob", "Bob: I adopted a dog.", json!({})),
        ("eve", "I adopted a dog.", json!({"speaker": "Eve"})),
    ]);
    for (question, first) in [
        ("did Bob adopt a dog", "bob"),
        ("did Ann adopt a dog", "ann"),
        ("did Eve adopt a dog", "eve"),
    ] {
        assert_eq!(ids(&scene.ask(question))[0], first, "{question}");
    }
}

#[test]
fn a_date_counts_if_the_question_names_it_and_only_then() {
    let on = |day: &str| json!({"date": day});
    let scene = Scene::new(&[
        ("march", "we visited the museum of glass", on("2026-03-10")),
        ("may", "we visited the museum of stone", on("2026-05-10")),
        ("june", "we visited the museum of paper", on("2026-06-10")),
    ]);
    for (question, first) in [
        ("which museum did we visit in May 2026", "may"),
        ("which museum did we visit in March", "march"),
        ("which museum did we visit on 10 June 2026", "june"),
    ] {
        assert_eq!(ids(&scene.ask(question))[0], first, "{question}");
    }
    let without = scene.ask("which museum did we visit");
    assert!(without.hits.iter().all(|hit| hit.parts.date == 0.0));
    assert_eq!(ids(&without)[0], "june", "the newer of equals comes first");
}

#[test]
fn a_question_for_nothing_but_a_time_finds_what_is_of_that_time() {
    let on = |day: &str| json!({"date": day});
    let scene = Scene::new(&[
        ("then", "the boiler was repaired", on("2026-11-11")),
        (
            "before",
            "what happened with the fence, and what happened next",
            on("2026-08-01"),
        ),
        ("undated", "a list of things to buy", json!({})),
    ]);
    assert_eq!(ids(&scene.ask("what happened last week"))[0], "then");
}

#[test]
fn meaning_finds_what_no_word_finds_and_says_so() {
    let scene = Scene::new(&[
        ("health", "The physician recommended more sleep.", json!({})),
        ("fence", "The fence needs paint.", json!({})),
    ]);
    let answer = scene.ask("what did the doctor advise");
    assert_eq!(ids(&answer)[0], "health");
    assert_eq!(answer.hits[0].matched_via, MatchedVia::Semantic);
    assert_eq!(answer.hits[0].lexical_rank, None);
}

#[test]
fn more_drawers_that_say_the_same_do_not_change_what_a_score_means() {
    let small = Scene::new(&[("a", "the quagga sleeps", json!({}))]);
    let mut many: Vec<(String, String)> = vec![("a".into(), "the quagga sleeps".into())];
    many.extend((0..200).map(|n| (format!("n{n}"), format!("note {n} about the weather"))));
    let drawers: Vec<(&str, &str, Value)> = many
        .iter()
        .map(|(id, text)| (id.as_str(), text.as_str(), json!({})))
        .collect();
    let large = Scene::new(&drawers);
    let question = "does the quagga sleep";
    let (one, two) = (small.ask(question), large.ask(question));
    assert_eq!(ids(&two)[0], "a");
    assert!(
        (one.hits[0].score - two.hits[0].score).abs() < 0.5,
        "{} {}",
        one.hits[0].score,
        two.hits[0].score
    );
}

#[test]
fn a_question_about_oneself_prefers_what_the_user_said() {
    let text = "we visited the museum of glass";
    let scene = Scene::new(&[
        ("user", text, json!({"role": "user"})),
        (
            "assistant",
            text.to_uppercase().as_str(),
            json!({"role": "assistant"}),
        ),
    ]);
    assert_eq!(ids(&scene.ask("which museum did I visit"))[0], "user");
    let asked = "which museum did you recommend in our previous chat, the museum of glass?";
    let answer = scene.ask(asked);
    let speaker = |id: &str| {
        let hit = answer.hits.iter().find(|hit| hit.id == id);
        hit.map(|hit| hit.parts.speaker)
    };
    assert!(speaker("assistant") > Some(0.0), "{answer:?}");
}

#[test]
fn probabilities_lie_between_0_and_1_and_follow_the_order_of_the_hits() {
    let scene = Scene::new(&[
        ("quagga", "the quagga sleeps in the shed", json!({})),
        ("fence", "the fence needs paint", json!({})),
        ("tea", "then they had tea", json!({})),
    ]);
    let answer = scene.ask("where does the quagga sleep");
    let probabilities: Vec<f32> = answer.hits.iter().map(|hit| hit.probability).collect();
    assert_eq!(probabilities.len(), 3);
    assert!(
        probabilities.is_sorted_by(|a, b| a >= b),
        "{probabilities:?}"
    );
    assert!(
        probabilities
            .iter()
            .all(|share| (0.0..=1.0).contains(share))
    );
    assert!(
        probabilities[0] > 0.3 && probabilities[2] < 0.1,
        "{probabilities:?}"
    );
}

#[test]
fn hits_below_the_least_probability_are_left_out_and_counted() {
    let scene = Scene::new(&[
        ("quagga", "the quagga sleeps in the shed", json!({})),
        ("fence", "the fence needs paint", json!({})),
    ]);
    let ask = |limit| {
        let request = Request {
            min_probability: Some(limit),
            ..Request::new("where does the quagga sleep")
        };
        let embedder = Some(scene.embedder.as_ref() as &dyn loci_core::Embedder);
        search(scene.collection.as_ref(), embedder, &request)
    };
    let answer = ask(0.2).unwrap();
    assert_eq!(ids(&answer), ["quagga"]);
    assert_eq!(
        answer.warnings,
        [loci_core::Warning::min_probability(1, 0.2)]
    );
    assert_eq!(ask(0.0).unwrap().hits.len(), 2);
    for bad in [-0.1, 1.1, f32::NAN] {
        assert!(ask(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_search_by_words_alone_has_a_calibrated_verdict() {
    let scene = Scene::new(&[
        ("shed", "The quagga sleeps in the shed.", json!({})),
        ("fence", "The fence needs paint.", json!({})),
    ]);
    let probability = |question: &str| {
        let request = Request::new(question);
        let answer = search(scene.collection.as_ref(), None, &request).unwrap();
        answer.verdict.probability.unwrap()
    };
    let known = probability("where does the quagga sleep at night");
    let unknown = probability("which paint did the doctor recommend for the kitchen");
    assert!(known > unknown, "{known} {unknown}");
}

#[test]
fn among_sources_one_with_several_good_passages_comes_first() {
    let scene = Scene::new(&[
        ("a", "The quagga eats grass.", talk("one.md", 1)),
        ("b", "A quagga eats grass.", talk("two.md", 1)),
        ("c", "The quagga eats grass now.", talk("two.md", 2)),
        ("d", "Grass is what the quagga eats.", talk("two.md", 3)),
    ]);
    let request = Request {
        by_source: true,
        ..Request::new("what does the quagga eat")
    };
    let answer = search(
        scene.collection.as_ref(),
        Some(scene.embedder.as_ref()),
        &request,
    )
    .unwrap();
    let sources: Vec<&str> = answer
        .hits
        .iter()
        .filter_map(|hit| hit.metadata.get_str("source_file"))
        .collect();
    assert_eq!(sources, ["two.md", "one.md"]);
    for hit in &answer.hits {
        assert!((hit.score - hit.parts.score()).abs() < 1e-6, "{hit:?}");
    }
}

#[test]
fn improbable_hits_are_left_out_by_default_and_counted_but_not_those_with_a_word() {
    let mut drawers = vec![
        ("shed", "The quagga sleeps in the shed.", json!({})),
        ("fence", "The fence needs paint.", json!({})),
        ("tea", "Then they had tea.", json!({})),
    ];
    let ask = |scene: &Scene, question: &str| {
        search(
            scene.collection.as_ref(),
            Some(scene.embedder.as_ref()),
            &Request::new(question),
        )
        .unwrap()
    };
    let answer = ask(&Scene::new(&drawers), "where does the quagga sleep");
    assert_eq!(ids(&answer), ["shed"]);
    assert_eq!(
        answer.warnings,
        [loci_core::Warning::min_probability(2, 0.02)]
    );
    // Many drawers contain the word, so each is an improbable answer.
    let texts: Vec<(String, String)> = (0..300)
        .map(|n| (format!("q{n}"), format!("quagga number {n} of the herd")))
        .collect();
    let many = texts.iter();
    drawers.extend(many.map(|(id, text)| (id.as_str(), text.as_str(), json!({}))));
    let answer = ask(&Scene::new(&drawers), "quagga herd of Ljubljana");
    assert_eq!(answer.hits.len(), 10);
}

#[test]
fn why_not_shows_the_score_that_gave_a_drawer_its_rank() {
    let texts: Vec<(String, String)> = (0..250)
        .map(|n| {
            let herd = "of the herd ".repeat(n % 40);
            (format!("q{n}"), format!("quagga number {n} {herd}"))
        })
        .collect();
    let drawers: Vec<(&str, &str, Value)> = texts
        .iter()
        .map(|(id, text)| (id.as_str(), text.as_str(), json!({})))
        .collect();
    let scene = Scene::new(&drawers);
    let request = Request::new("which quagga leads the herd");
    // At this rank, tokens are not compared.
    let late = texts.iter().find_map(|(id, _)| {
        let embedder = Some(scene.embedder.as_ref() as &dyn loci_core::Embedder);
        let why = loci_recall::why_not(scene.collection.as_ref(), embedder, &request, id).unwrap();
        why.rank.is_some_and(|rank| rank > 140).then_some(why)
    });
    let parts = late.and_then(|why| why.parts).unwrap();
    assert!(parts.tokens.abs() < 1e-6, "{parts:?}");
}

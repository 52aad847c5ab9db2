//! Adding: a text that its wing holds already is not added again, and similar drawers are reported.

use loci_palace::add::{self, Drawer, Duplicates, NEAR_DUPLICATE, Request};
use loci_palace::{
    Batch, Fact, FactQuery, Get, Metadata, OpenOptions, Palace, Selection, check_duplicate,
};
use serde_json::json;

use super::support::open;

fn palace() -> (tempfile::TempDir, Palace) {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    (directory, palace)
}

fn new(text: &str, wing: &str) -> Drawer {
    Drawer {
        text: Some(text.into()),
        metadata: Metadata::from_json(&json!({"wing": wing, "room": "r"})).unwrap(),
        ..Drawer::default()
    }
}

fn request(drawers: &[Drawer]) -> Request {
    Request {
        drawers: drawers.to_vec(),
        ..Request::default()
    }
}

fn duplicates_of(
    palace: &Palace,
    text: &str,
    threshold: f32,
) -> loci_palace::Result<check_duplicate::Answer> {
    palace.check_duplicate(&check_duplicate::Request {
        threshold,
        ..check_duplicate::Request::new(text)
    })
}

fn outcomes(palace: &Palace, drawers: &[Drawer]) -> Vec<&'static str> {
    let report = palace.add(&request(drawers)).unwrap();
    report
        .drawers
        .iter()
        .map(|one| one.outcome.as_str())
        .collect()
}

fn count(palace: &Palace) -> u64 {
    palace
        .collection("drawers", false)
        .unwrap()
        .count()
        .unwrap()
}

#[test]
fn an_absent_collection_holds_no_duplicate_and_is_not_made() {
    let (_directory, palace) = palace();
    let check = duplicates_of(&palace, "x", 0.5).unwrap();
    assert_eq!((check.threshold, check.similar.len()), (0.5, 0));
    assert!(palace.collections().unwrap().is_empty());
}

#[test]
fn exact_and_near_duplicates_are_reported_with_their_similarity() {
    let (_directory, palace) = palace();
    let text = "Alice moved to Lyon in May.";
    let others = [
        new(text, "alice"),
        new("alice  moved to LYON in may.", "bob"),
        new("Alice moved to Lyon in June.", "alice"),
        new("The build needs two cores.", "loci"),
    ];
    assert_eq!(outcomes(&palace, &others), ["added"; 4]);
    let check = duplicates_of(&palace, text, NEAR_DUPLICATE).unwrap();
    let first = &check.similar[0];
    assert!(first.exact && first.similarity > 0.999_999);
    assert_eq!(
        (first.wing.as_deref(), first.room.as_deref()),
        (Some("alice"), Some("r"))
    );
    let second = &check.similar[1];
    assert!(
        !second.exact && second.wing.as_deref() == Some("bob"),
        "{second:?}"
    );
    assert!(second.similarity > 0.99);
    assert!(
        check
            .similar
            .iter()
            .all(|drawer| !drawer.text.as_ref().unwrap().contains("cores"))
    );
    let strict = duplicates_of(&palace, "Alice moved to Lyon in July.", 1.0);
    assert!(strict.unwrap().similar.is_empty());
    let loose = duplicates_of(&palace, "Alice moved to Lyon in July.", 0.5);
    assert!(loose.unwrap().similar.len() >= 2);
    for refused in [-0.1, 1.1, f32::NAN] {
        assert!(duplicates_of(&palace, text, refused).is_err());
    }
}

#[test]
fn a_text_is_kept_once_in_a_wing_and_may_stand_in_another() {
    let (_directory, palace) = palace();
    let text = "Backups run at four.";
    assert_eq!(outcomes(&palace, &[new(text, "a")]), ["added"]);
    let report = palace
        .add(&request(&[new(text, "a"), new(text, "b")]))
        .unwrap();
    assert_eq!(report.added, 1);
    assert!((report.threshold - NEAR_DUPLICATE).abs() < f32::EPSILON);
    assert_eq!(report.drawers[0].outcome.as_str(), "duplicate");
    assert_eq!(report.drawers[0].id, report.drawers[0].similar[0].id);
    assert_eq!(report.drawers[1].outcome.as_str(), "added");
    assert!(report.drawers[1].similar[0].exact);
    assert_eq!(count(&palace), 2);
}

#[test]
fn a_text_given_twice_for_one_wing_is_added_once() {
    let (_directory, palace) = palace();
    let given = [new("x y z", "a"), new("x y z", "a"), new("x y z", "b")];
    let report = palace.add(&request(&given)).unwrap();
    let outcomes: Vec<_> = report
        .drawers
        .iter()
        .map(|one| one.outcome.as_str())
        .collect();
    assert_eq!(outcomes, ["added", "duplicate", "added"]);
    assert_eq!(report.drawers[1].id, report.drawers[0].id);
    assert_eq!(count(&palace), 2);
}

#[test]
fn near_duplicates_are_left_out_only_on_request() {
    let (_directory, palace) = palace();
    outcomes(&palace, &[new("Alice moved to Lyon in May.", "a")]);
    let near = new("alice moved to lyon in may", "a");
    let elsewhere = new("alice moved to lyon in may", "b");
    let report = palace
        .add(&Request {
            duplicates: Duplicates::SkipNear,
            ..request(&[near.clone(), elsewhere])
        })
        .unwrap();
    let kinds: Vec<_> = report
        .drawers
        .iter()
        .map(|one| one.outcome.as_str())
        .collect();
    assert_eq!(kinds, ["near_duplicate", "added"]);
    assert_eq!(outcomes(&palace, &[near]), ["added"]);
    assert_eq!(count(&palace), 3);
}

#[test]
fn an_id_that_is_taken_keeps_its_drawer() {
    let (_directory, palace) = palace();
    let named = |text: &str| Drawer {
        id: Some("move".into()),
        ..new(text, "a")
    };
    assert_eq!(outcomes(&palace, &[named("one thing")]), ["added"]);
    assert_eq!(
        outcomes(&palace, &[named("quite another thing")]),
        ["exists"]
    );
}

#[test]
fn a_call_that_is_too_large_or_empty_of_words_adds_nothing() {
    let (_directory, palace) = palace();
    let many = vec![new("x", "a"); 501];
    let large = [
        new(&"x ".repeat(300_000), "a"),
        new(&"y ".repeat(300_000), "a"),
    ];
    let empty = [new("fine", "a"), new(" ", "a")];
    for (drawers, word) in [
        (&many[..], "500"),
        (&large[..], "1048576"),
        (&empty[..], "empty"),
    ] {
        let refused = palace.add(&request(drawers)).unwrap_err();
        assert!(refused.to_string().contains(word), "{refused}");
    }
    assert!(palace.collections().unwrap().is_empty());
    let nothing = palace.add(&request(&[])).unwrap();
    assert_eq!(nothing.added, 0);
}

#[test]
fn a_duplicate_without_a_vector_is_found_by_its_words() {
    let (directory, _) = palace();
    let path = directory.path().join("plain");
    let without = OpenOptions {
        embedder: Some("none".into()),
        ..super::support::options()
    };
    let palace = Palace::open(&path, &without).unwrap();
    assert_eq!(
        outcomes(&palace, &[new("Alice moved to Lyon.", "a")]),
        ["added"]
    );
    let check = duplicates_of(&palace, "Alice moved to Lyon.", 0.9).unwrap();
    assert!(check.similar[0].exact);
    assert_eq!(check.warnings[0].code(), "no_near_duplicates");
    let check = duplicates_of(&palace, "alice MOVED to lyon.", 0.9).unwrap();
    assert_eq!((check.similar.len(), check.similar[0].exact), (1, false));
    drop(palace);
    let palace = open(&path);
    assert_eq!(
        outcomes(&palace, &[new("Alice moved to Lyon.", "a")]),
        ["duplicate"]
    );
    assert_eq!(
        outcomes(&palace, &[new("Bob stayed in Rome.", "a")]),
        ["added"]
    );
    assert_eq!(
        outcomes(&palace, &[new("Alice moved to Lyon.", "a")]),
        ["duplicate"]
    );
}

#[test]
fn an_exact_duplicate_is_found_among_many_that_say_the_same() {
    let (_directory, palace) = palace();
    let drawers = palace.memory("drawers", true).unwrap().0.collection;
    for number in 0..40_usize {
        let text = format!("backups run{}at four", " ".repeat(number + 2));
        let batch = Batch::new([number.to_string()]).documents([text]);
        drawers.add(&batch).unwrap();
    }
    let last = Batch::new(["exact"]).documents(["backups run at four"]);
    drawers.add(&last).unwrap();
    let check = duplicates_of(&palace, "backups run at four", 0.9).unwrap();
    assert_eq!(
        (check.similar[0].id.as_str(), check.similar[0].exact),
        ("exact", true)
    );
    assert_eq!(check.similar.len(), 10);
}

fn works_at(object: &str) -> Fact {
    Fact {
        subject: "Alice".into(),
        predicate: "works at".into(),
        object: object.into(),
        ..Fact::default()
    }
}

#[test]
fn facts_are_written_with_their_drawer_or_with_the_duplicate_that_is_there() {
    let (_directory, palace) = palace();
    let with = |text: &str, object: &str| Drawer {
        facts: vec![works_at(object)],
        ..new(text, "a")
    };
    let given = [
        with("Alice works at Acme.", "Acme"),
        new("Tea at five.", "a"),
    ];
    let first = palace.add(&request(&given)).unwrap();
    assert_eq!((first.drawers[0].facts, first.drawers[1].facts), (1, 0));
    let again = with("Alice works at Acme.", "Bolt");
    let second = palace.add(&request(&[again])).unwrap();
    assert_eq!(second.drawers[0].outcome.as_str(), "duplicate");
    let third = [new("Bob left.", "a"), with("Alice works at Acme.", "Cyan")];
    palace.add(&request(&third)).unwrap();
    let relations = palace.relations().unwrap().unwrap();
    let facts = relations.facts(&FactQuery::default(), 10, 0).unwrap();
    let objects: Vec<_> = facts.iter().map(|fact| fact.object.as_str()).collect();
    assert_eq!(objects, ["Acme", "Bolt", "Cyan"]);
    for fact in facts {
        assert_eq!(fact.source.unwrap().id, first.drawers[0].id);
    }
}

#[test]
fn a_refused_fact_keeps_its_drawer_out() {
    let (_directory, palace) = palace();
    let drawer = Drawer {
        facts: vec![works_at("Acme"), Fact::default()],
        ..new("Alice works at Acme.", "a")
    };
    assert!(palace.add(&request(&[drawer])).is_err());
    assert!(
        duplicates_of(&palace, "Alice works at Acme.", 0.9)
            .unwrap()
            .similar
            .is_empty()
    );
}

#[test]
fn of_many_who_add_the_same_text_at_once_one_adds_it() {
    let (directory, palace) = palace();
    assert_eq!(outcomes(&palace, &[new("The first one.", "w")]), ["added"]);
    let path = directory.path().join("palace");
    for round in 0..5 {
        let text = format!("The harbour crane number {round} squeaks.");
        let ready = std::sync::Barrier::new(4);
        let all: Vec<add::Added> = std::thread::scope(|scope| {
            let adders: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let palace = open(&path);
                        ready.wait();
                        let mut answer = palace.add(&request(&[new(&text, "w")])).unwrap();
                        answer.drawers.remove(0)
                    })
                })
                .collect();
            adders
                .into_iter()
                .map(|adder| adder.join().unwrap())
                .collect()
        });
        let is_added = |one: &&add::Added| one.outcome.as_str() == "added";
        let added: Vec<&add::Added> = all.iter().filter(is_added).collect();
        assert_eq!(added.len(), 1, "{all:?}");
        for other in all.iter().filter(|other| !is_added(other)) {
            assert_eq!(other.outcome.as_str(), "duplicate");
            assert_eq!(other.duplicate_of.as_ref(), Some(&added[0].id));
        }
    }
    assert_eq!(count(&palace), 6);
}

#[test]
fn a_drawer_that_was_changed_or_moved_does_not_keep_its_first_text_out() {
    let (_directory, palace) = palace();
    let texts = ["The crane is red.", "The bell over the gate is cracked."];
    let given = texts.map(|text| new(text, "w"));
    let report = palace.add(&request(&given));
    let ids: Vec<String> = report
        .unwrap()
        .drawers
        .into_iter()
        .map(|one| one.id)
        .collect();
    let (memory, _) = palace.memory("drawers", false).unwrap();
    let changed = Batch::new([ids[0].clone()]).documents(["Omar mended the lamp in the yard."]);
    memory.collection.update(&changed).unwrap();
    let elsewhere = Metadata::from_json(&json!({"wing": "other"})).unwrap();
    let moved = Batch::new([ids[1].clone()]).metadatas([elsewhere]);
    memory.collection.update(&moved).unwrap();
    assert_eq!(outcomes(&palace, &given), ["added"; 2]);
    assert_eq!(count(&palace), 4);
}

#[test]
fn a_duplicate_is_added_on_request_and_the_answer_names_what_it_left_out() {
    let (_directory, palace) = palace();
    let drawers = [
        new("Backups run at four.", "a"),
        new("Backups run at four.", "a"),
    ];
    let first = palace.add(&request(&drawers)).unwrap();
    assert_eq!(first.added, 1);
    assert_eq!(
        first.drawers[1].duplicate_of.as_ref(),
        Some(&first.drawers[0].id)
    );
    let again = palace
        .add(&Request {
            duplicates: Duplicates::Add,
            ..request(&drawers)
        })
        .unwrap();
    assert_eq!((again.added, count(&palace)), (2, 3));
    assert!(
        again
            .drawers
            .iter()
            .all(|drawer| drawer.duplicate_of.is_none())
    );
}

#[test]
fn a_drawer_of_a_vector_alone_is_added_beside_drawers_with_text() {
    let (_directory, palace) = palace();
    outcomes(&palace, &[new("Backups run at four.", "a")]);
    let dimension = palace.collections().unwrap()[0].dimension.unwrap();
    let bare = Drawer {
        vector: Some(vec![0.5; dimension]),
        ..Drawer::default()
    };
    let mixed = [bare.clone(), new("Backups run at four.", "a"), bare];
    assert_eq!(outcomes(&palace, &mixed), ["added", "duplicate", "added"]);
    assert_eq!(count(&palace), 3);
}

#[test]
fn a_brief_answer_about_many_drawers_names_similar_ones_and_quotes_none() {
    let (_directory, palace) = palace();
    let drawers: Vec<Drawer> = (0..21)
        .map(|n| new(&format!("Line number {n}."), "a"))
        .collect();
    let brief = |drawers: &[Drawer]| {
        let request = Request {
            detail: loci_palace::Detail::Brief,
            ..request(drawers)
        };
        palace.add(&request).unwrap()
    };
    assert_eq!(brief(&drawers).added, 21);
    let many = brief(&drawers);
    assert!(many.drawers.iter().all(|added| added.similar.len() == 1));
    assert!(
        many.drawers
            .iter()
            .all(|added| added.similar[0].text.is_none())
    );
    let few = brief(&drawers[..2]);
    assert_eq!(
        few.drawers[0].similar[0].text.as_deref(),
        Some("Line number 0.")
    );
    let mut joined = add::Answer::default();
    for slice in drawers.chunks(20) {
        joined.append(brief(slice), loci_palace::Detail::Brief);
    }
    assert_eq!(joined, many);
}

#[test]
fn a_vector_that_does_not_fit_is_refused_even_if_the_text_is_there() {
    let (_directory, palace) = palace();
    outcomes(&palace, &[new("Backups run at four.", "a")]);
    let misfit = Drawer {
        vector: Some(vec![1.0, 0.0, 0.0]),
        ..new("Backups run at four.", "a")
    };
    let refused = palace.add(&request(&[misfit])).unwrap_err();
    assert_eq!(refused.code(), "dimension_mismatch", "{refused}");
    assert_eq!(count(&palace), 1);
}

/// Ten similar drawers are listed. When ten other wings held the same text, the one of the same wing
/// was not among them, and a drawer with an id of its own was added a second time.
#[test]
fn an_exact_duplicate_with_its_own_id_is_found_among_thirty_wings_that_hold_the_text() {
    let (_directory, palace) = palace();
    let text = "The kettle is on the left shelf.";
    // The newest wing is looked at last, or first: each wing is asked.
    let wings: Vec<String> = (0..30).map(|at| format!("wing {at}")).collect();
    let held: Vec<Drawer> = wings.iter().map(|wing| new(text, wing)).collect();
    assert_eq!(outcomes(&palace, &held), ["added"; 30]);
    for (at, wing) in wings.iter().enumerate() {
        let again = Drawer {
            id: Some(format!("own {at}")),
            ..new(text, wing)
        };
        let answer = palace.add(&request(&[again])).unwrap();
        let one = &answer.drawers[0];
        assert_eq!(one.outcome.as_str(), "duplicate", "{wing}");
        assert_eq!(one.similar.len(), 10, "{wing}");
        let named = one.similar.iter().find(|other| other.id == one.id).unwrap();
        assert_eq!(named.wing.as_deref(), Some(wing.as_str()));
    }
    assert_eq!(count(&palace), 30);
}

#[test]
fn a_duplicate_without_a_wing_is_found_among_thirty_wings_that_hold_the_text() {
    let (_directory, palace) = palace();
    let text = "The kettle is on the left shelf.";
    let homeless = |id: &str| Drawer {
        id: Some(id.into()),
        text: Some(text.into()),
        ..Drawer::default()
    };
    assert_eq!(outcomes(&palace, &[homeless("first")]), ["added"]);
    let held: Vec<Drawer> = (0..30).map(|at| new(text, &format!("wing {at}"))).collect();
    assert_eq!(outcomes(&palace, &held), ["added"; 30]);
    assert_eq!(outcomes(&palace, &[homeless("second")]), ["duplicate"]);
    // The same text under its own id is known too; another text is not stored.
    assert_eq!(outcomes(&palace, &[homeless("first")]), ["duplicate"]);
    let other = Drawer {
        text: Some("Another text.".into()),
        ..homeless("first")
    };
    assert_eq!(outcomes(&palace, &[other]), ["exists"]);
}

#[test]
fn a_duplicate_without_a_vector_is_found_among_thirty_wings_that_hold_the_text() {
    let directory = tempfile::tempdir().unwrap();
    let options = OpenOptions {
        embedder: Some("none".into()),
        ..OpenOptions::create()
    };
    let palace = Palace::open(directory.path().join("palace").as_path(), &options).unwrap();
    let text = "The kettle is on the left shelf.";
    let held: Vec<Drawer> = (0..30).map(|at| new(text, &format!("wing {at}"))).collect();
    assert_eq!(outcomes(&palace, &held), ["added"; 30]);
    for at in [0, 15, 29] {
        let again = Drawer {
            id: Some(format!("own {at}")),
            ..new(text, &format!("wing {at}"))
        };
        assert_eq!(outcomes(&palace, &[again]), ["duplicate"], "wing {at}");
    }
}

#[test]
fn a_near_duplicate_of_its_wing_is_left_out_among_thirty_wings_that_are_as_near() {
    let (_directory, palace) = palace();
    let text = "Alice moved to Lyon in May.";
    let near = "Alice moved to Lyon in June.";
    // The drawer of the wing is neither the first nor the last of those that are as near.
    let mut held: Vec<Drawer> = (0..29).map(|at| new(near, &format!("wing {at}"))).collect();
    held.insert(15, new(near, "home"));
    assert_eq!(outcomes(&palace, &held), ["added"; 30]);
    let answer = palace
        .add(&Request {
            duplicates: Duplicates::SkipNear,
            threshold: 0.8,
            ..request(&[new(text, "home")])
        })
        .unwrap();
    assert_eq!(answer.drawers[0].outcome.as_str(), "near_duplicate");
}

#[test]
fn a_full_answer_about_one_drawer_repeats_its_members_and_a_brief_one_does_not() {
    let (_directory, palace) = palace();
    let full = palace.add(&request(&[new("Tea at five.", "a")])).unwrap();
    assert_eq!(full.only.as_ref(), full.drawers.first());
    let brief = palace
        .add(&Request {
            detail: loci_palace::Detail::Brief,
            ..request(&[new("Tea at six.", "a")])
        })
        .unwrap();
    assert_eq!((brief.only, brief.drawers.len()), (None, 1));
}

#[test]
fn a_fact_of_a_text_whose_first_drawer_was_changed_names_the_new_drawer() {
    let (_directory, palace) = palace();
    let given = new("Alice works at Acme.", "a");
    let first = palace
        .add(&request(std::slice::from_ref(&given)))
        .unwrap()
        .drawers;
    palace
        .update(&loci_palace::update::Request {
            id: first[0].id.clone(),
            text: Some("Alice left.".into()),
            ..loci_palace::update::Request::default()
        })
        .unwrap();
    let with_fact = Drawer {
        facts: vec![works_at("Acme")],
        ..given
    };
    let again = palace.add(&request(&[with_fact])).unwrap();
    assert_eq!(again.drawers[0].outcome.as_str(), "added");
    assert_ne!(again.drawers[0].id, first[0].id);
    let relations = palace.relations().unwrap().unwrap();
    let facts = relations.facts(&FactQuery::default(), 10, 0).unwrap();
    let source = facts[0].source.as_ref().unwrap();
    assert_eq!((facts.len(), &source.id), (1, &again.drawers[0].id));
}

/// The id of a text with a secret is that of the text that is stored: who adds the stored text gets the
/// same id.
#[test]
fn the_id_of_a_drawer_follows_from_its_masked_text() {
    let (_directory, palace) = palace();
    // In two parts: no file of this repository holds what looks like a secret.
    let key = ["the token is ghp", "_abcdefghijklmnopqrstuvwxyz0123456789"].concat();
    let added = palace.add(&request(&[new(&key, "a")])).unwrap();
    assert!(!added.masked.is_empty());
    let id = added.drawers[0].id.clone();
    let drawers = palace.collection("drawers", false).unwrap();
    let stored = drawers
        .get(&Get::new(Selection::ids([id.clone()])))
        .unwrap()
        .documents
        .remove(0);
    assert_ne!(stored, key);
    let (_other, other) = self::palace();
    let again = other.add(&request(&[new(&stored, "a")])).unwrap();
    assert_eq!(again.drawers[0].id, id);
}

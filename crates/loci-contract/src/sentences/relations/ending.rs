//! Ending and superseding facts.

use loci_core::{Collection, Error, Fact, FactQuery, Related};
use serde_json::json;

use super::{all_facts, fact, fresh, full_fact, named, related};
use crate::Fixture;
use crate::scene::{DRAWERS, drawer, open, plain, refused};

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn ended(fact: Fact, valid_to: &str) -> Fact {
    Fact {
        valid_to: Some(valid_to.into()),
        ..fact
    }
}

/// The sequence number that the next drawer would get.
fn next_seq(drawers: &dyn Collection, id: &str) -> u64 {
    drawers.add(&drawer(id, id, &json!({}))).unwrap().seq
}

pub fn s17_21_ending_a_fact_writes_its_end_and_nothing_else(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let open_fact = Fact {
        valid_to: None,
        ..full_fact()
    };
    relations
        .add_facts(&[named("a"), open_fact.clone(), named("b")])
        .unwrap();
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let before = next_seq(&*drawers, "x");
    let done = relations
        .end_facts(&ids(&["f", "a"]), "2026-01-01")
        .unwrap();
    let expected = [
        ended(open_fact, "2026-01-01"),
        ended(named("a"), "2026-01-01"),
    ];
    assert_eq!(done, expected);
    let [first, second] = expected;
    assert_eq!(all_facts(&*relations), [second, first, named("b")]);
    assert_eq!(next_seq(&*drawers, "y"), before + 3);
    let known = relations.add_facts(&[named("a")]).unwrap();
    assert_eq!(known, related(0, 1));
    assert_eq!(
        all_facts(&*relations)[0].valid_to.as_deref(),
        Some("2026-01-01")
    );
}

pub fn s17_22_what_has_ended_or_begins_later_or_is_missing_is_not_ended(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let later = Fact {
        valid_from: Some("2026-02".into()),
        ..named("later")
    };
    let facts = [
        ended(named("past"), "2020"),
        later,
        ended(named("planned"), "9000-01-01"),
        ended(named("unreadable"), "one day"),
    ];
    relations.add_facts(&facts).unwrap();
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let before = next_seq(&*drawers, "x");
    let all = ids(&["past", "later", "nobody", "unreadable"]);
    assert_eq!(relations.end_facts(&all, "2026-01-31").unwrap(), []);
    assert_eq!(relations.end_facts(&all, "2019").unwrap(), []);
    assert_eq!(relations.end_facts(&[], "2019").unwrap(), []);
    assert_eq!(all_facts(&*relations), facts);
    assert_eq!(next_seq(&*drawers, "y"), before + 1);
    let planned = ids(&["planned", "planned"]);
    let done = relations.end_facts(&planned, "2026-02-01").unwrap();
    assert_eq!(done, [ended(named("planned"), "2026-02-01")]);
    assert_eq!(relations.end_facts(&planned, "2026-01-01").unwrap(), []);
}

pub fn s17_23_an_end_that_is_no_date_is_refused(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    relations.add_facts(&[named("a")]).unwrap();
    for end in ["", "soon", "2026-13", "2026-02-30"] {
        refused!(
            relations.end_facts(&ids(&["a"]), end),
            Error::InvalidInput { .. }
        );
        refused!(
            relations.supersede(&ids(&["a"]), end, &named("b")),
            Error::InvalidInput { .. }
        );
    }
    refused!(
        relations.supersede(&ids(&["a"]), "2026", &fact("", "is", "b")),
        Error::InvalidInput { .. }
    );
    assert_eq!(all_facts(&*relations), [named("a")]);
}

pub fn s17_24_superseding_ends_and_adds_in_one(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    relations.add_facts(&[named("a"), named("b")]).unwrap();
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let before = next_seq(&*drawers, "x");
    let coffee = Fact {
        object: "coffee".into(),
        ..named("c")
    };
    let done = relations
        .supersede(&ids(&["a", "b", "gone"]), "2026", &coffee)
        .unwrap();
    let old = [ended(named("a"), "2026"), ended(named("b"), "2026")];
    assert_eq!(done, old);
    let [a, b] = old;
    let all = [a, b, coffee];
    assert_eq!(all_facts(&*relations), all);
    assert_eq!(next_seq(&*drawers, "y"), before + 4);
    let again = Fact {
        object: "milk".into(),
        ..named("d")
    };
    for (ids, word) in [
        (ids(&["a"]), "ended 2026"),
        (ids(&["nobody"]), "does not exist"),
        (ids(&[]), "does not exist"),
    ] {
        match relations.supersede(&ids, "2026-05", &again) {
            Err(error @ Error::Conflict { .. }) => {
                let text = error.to_string();
                for word in [word, "coffee", "`c`"] {
                    assert!(text.contains(word), "{text}");
                }
            }
            other => panic!("{ids:?} gave {other:?}"),
        }
    }
    assert_eq!(all_facts(&*relations), all);
    assert_eq!(next_seq(&*drawers, "z"), before + 5);
}

pub fn s17_25_a_fact_that_has_ended_does_not_take_anothers_place(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let facts = [named("a"), ended(named("b"), "2020")];
    relations.add_facts(&facts).unwrap();
    for id in ["a", "b"] {
        refused!(
            relations.supersede(&ids(&["a"]), "2026", &named(id)),
            Error::Conflict { .. }
        );
    }
    assert_eq!(all_facts(&*relations), facts);
    relations.add_facts(&[named("c")]).unwrap();
    relations
        .supersede(&ids(&["a"]), "2026", &named("c"))
        .unwrap();
    assert_eq!(relations.counts().unwrap(), (3, 0));
}

pub fn s17_26_of_several_threads_that_supersede_a_fact_one_wins(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    for round in 0..10 {
        let old = format!("old {round}");
        relations.add_facts(&[named(&old)]).unwrap();
        let won: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let (relations, old) = (&relations, &old);
                    scope.spawn(move || {
                        let new = named(&format!("new {round} {thread}"));
                        // Later threads use earlier dates, because the order of dates must not
                        // matter.
                        let end = format!("2026-01-{:02}", 9 - thread);
                        match relations.supersede(std::slice::from_ref(old), &end, &new) {
                            Ok(ended) => ended.len(),
                            Err(Error::Conflict { .. }) => 0,
                            Err(error) => panic!("{error}"),
                        }
                    })
                })
                .collect();
            let results = threads.into_iter().map(|thread| thread.join().unwrap());
            results.sum()
        });
        assert_eq!(won, 1);
        assert_eq!(relations.counts().unwrap().0, 2 * (round + 1));
    }
}

pub fn s17_27_names_are_found_whatever_their_case_if_that_is_asked(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let facts = [
        ("1", fact("Alice", "Knows", "Bob")),
        ("2", fact(" ALICE", "knows", "carol")),
        ("3", fact("bob", "likes", "alice\n")),
        ("4", fact("Alice Smith", "knows", "Bob")),
        ("5", fact("Ökonom", "ist", "Σίσυφος")),
        ("6", fact("Alicf", "knows", "")),
    ]
    .map(|(id, fact)| Fact {
        id: id.into(),
        ..fact
    });
    relations.add_facts(&facts).unwrap();
    let some = |text: &str| Some(text.to_owned());
    let any_case = || FactQuery {
        any_case: true,
        ..FactQuery::default()
    };
    for (entity, subject, predicate, object, expected) in [
        ("", "", "", "", "123456"),
        ("alice", "", "", "", "123"),
        ("", "aLiCe ", "", "", "12"),
        ("", "", "KNOWS", "", "1246"),
        ("", "alice", "knows ", "BOB", "1"),
        ("BOB", "", "", "", "134"),
        ("ökonom", "", "", "", "5"),
        ("ΣΊΣΥΦΟΣ", "", "", "", "5"),
        ("alic", "", "", "", ""),
        ("Ali%", "", "", "", ""),
    ] {
        let unless_empty = |text: &str| some(text).filter(|text| !text.is_empty());
        let query = FactQuery {
            entity: unless_empty(entity),
            subject: unless_empty(subject),
            predicate: unless_empty(predicate),
            object: unless_empty(object),
            ..any_case()
        };
        let found = relations.facts(&query, 10, 0).unwrap();
        let ids: String = found.iter().map(|fact| fact.id.as_str()).collect();
        assert_eq!(ids, expected, "{query:?}");
        let mut visited = Vec::new();
        relations
            .each_fact(&query, &mut |fact| visited.push(fact))
            .unwrap();
        assert_eq!(visited, found);
    }
    let by_id = FactQuery {
        id: some("1 "),
        ..any_case()
    };
    assert_eq!(relations.facts(&by_id, 10, 0).unwrap(), []);
    assert_eq!(
        relations.spellings("alice").unwrap(),
        [" ALICE", "Alice", "alice\n"]
    );
    assert_eq!(relations.spellings("nobody").unwrap(), [""; 0]);
    assert_eq!(
        relations.names_like("ALI", 10).unwrap(),
        ["Alice", "Alice Smith", "Alicf", "alice\n"]
    );
    assert_eq!(relations.names_like("b", 1).unwrap(), ["Bob"]);
    assert_eq!(relations.names_like("x", 9).unwrap(), [""; 0]);
}

pub fn s17_28_nothing_of_a_supersession_counts_as_added_twice(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    relations.add_facts(&[named("a"), named("b")]).unwrap();
    relations
        .supersede(&ids(&["a"]), "2026", &named("b"))
        .unwrap();
    let facts = all_facts(&*relations);
    assert_eq!(facts, [ended(named("a"), "2026"), named("b")]);
    assert_eq!(
        relations.add_facts(&[named("b")]).unwrap(),
        Related { added: 0, known: 1 }
    );
}

//! Facts that differ only in letter case are one.

use std::sync::Barrier;

use loci_palace::facts::{self, Selector};
use loci_palace::{Fact, FactQuery, Palace};

use super::support::open;

fn fact(subject: &str, predicate: &str, object: &str) -> Fact {
    Fact {
        subject: subject.into(),
        predicate: predicate.into(),
        object: object.into(),
        ..Fact::default()
    }
}

fn add(palace: &Palace, fact: &Fact) -> facts::add::Answer {
    let request = facts::add::Request { fact: fact.clone() };
    palace.add_fact(&request).unwrap()
}

fn all(palace: &Palace) -> Vec<Fact> {
    let relations = palace.relations().unwrap().unwrap();
    relations.facts(&FactQuery::default(), 100, 0).unwrap()
}

fn query(palace: &Palace, subject: &str) -> Vec<String> {
    let answer = palace.query_facts(&facts::query::Request {
        selector: Selector {
            subject: Some(subject.into()),
            ..Selector::default()
        },
        ..facts::query::Request::default()
    });
    let facts = answer.unwrap().facts.into_iter();
    facts.map(|state| state.fact.id).collect()
}

#[test]
fn a_fact_in_another_case_is_not_stored_twice_and_is_found_by_either() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    for (first, second) in [
        (
            fact("Ana", "works at", "Acme"),
            fact("ana", "Works At", "acme"),
        ),
        (
            fact("Ольга", "живёт в", "Осло"),
            fact("ОЛЬГА", "ЖИВЁТ В", "осло"),
        ),
        (
            fact("Straße", "führt nach", "Ærø"),
            fact("STRAẞE", "FÜHRT NACH", "ÆRØ "),
        ),
    ] {
        let before = all(&palace).len();
        let added = add(&palace, &first);
        assert!(added.added);
        let again = add(&palace, &second);
        assert!(!again.added && again.conflicts.is_empty(), "{again:?}");
        assert_eq!(again.id, added.id);
        assert_eq!(all(&palace).len(), before + 1);
        for spelling in [&first.subject, &second.subject] {
            assert_eq!(query(&palace, spelling), [added.id.as_str()]);
        }
    }
    let both = [fact("Bo", "is", "up"), fact("bo", "Is", "UP")];
    let added = palace.add_facts(&both).unwrap();
    assert_eq!((added[0].added, added[1].added), (true, false));
    assert_eq!(added[0].id, added[1].id);
}

#[test]
fn a_palace_that_holds_both_spellings_keeps_working() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    // Earlier versions derived an id from each spelling.
    let stored = [
        fact("Ana", "works at", "Acme"),
        fact("ana", "Works At", "acme"),
    ]
    .map(|fact| Fact {
        id: fact.key().into_owned(),
        ..fact
    });
    let relations = palace.relations().unwrap().unwrap();
    assert_eq!(relations.add_facts(&stored).unwrap().added, 2);
    assert_eq!(query(&palace, "ANA").len(), 2);
    for stored in &stored {
        let again = add(
            &palace,
            &fact(&stored.subject, &stored.predicate, &stored.object),
        );
        assert_eq!((again.added, &again.id), (false, &stored.id));
    }
    assert!(!add(&palace, &fact("ANA", "works at", "ACME")).added);
    let ended = palace.invalidate_facts(&facts::invalidate::Request {
        selector: Selector {
            subject: Some("Ana".into()),
            ..Selector::default()
        },
        ended: Some("2026-01-01".into()),
    });
    assert_eq!(ended.unwrap().ended.len(), 2);
    // It holds again: one new fact, whatever the case.
    assert!(add(&palace, &fact("aNA", "works at", "Acme")).added);
    assert!(!add(&palace, &fact("Ana", "works at", "acme")).added);
    assert_eq!(all(&palace).len(), 3);
}

#[test]
fn spellings_that_several_threads_add_at_once_are_one_fact() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let names = ["Ana", "ana", "ANA", "aNa"];
    let start = Barrier::new(names.len());
    let added: usize = std::thread::scope(|scope| {
        let threads = names.map(|name| {
            let (palace, start) = (&palace, &start);
            scope.spawn(move || {
                start.wait();
                usize::from(add(palace, &fact(name, "likes", "Tea")).added)
            })
        });
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert_eq!((added, all(&palace).len()), (1, 1));
}

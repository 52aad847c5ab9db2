//! Refused calls, sequence numbers, and visibility.

use loci_core::{
    DrawerRef, Error, Fact, FactQuery, LinkEnd, MAX_BATCH_RECORDS, MAX_BATCH_TEXT_BYTES,
    MAX_ENTITY_BYTES, MAX_ID_BYTES, MAX_VALIDITY_BYTES, Relations,
};
use serde_json::json;

use super::{all_facts, all_links, at, fact, fresh, full_fact, link, named, related};
use crate::Fixture;
use crate::scene::{DRAWERS, drawer, meta, open, plain, refused};

fn refused_facts() -> Vec<(&'static str, Fact)> {
    let source = |collection: &str, id: &str| {
        Some(DrawerRef {
            collection: collection.into(),
            id: id.into(),
        })
    };
    vec![
        ("subject", fact("", "likes", "tea")),
        ("subject", fact(" \n", "likes", "tea")),
        ("predicate", fact("Alice", "", "tea")),
        ("object", fact("Alice", "likes", "t\0a")),
        ("id", named("n\0l")),
        (
            "valid_from",
            Fact {
                valid_from: Some(String::new()),
                ..named("a")
            },
        ),
        (
            "valid_to",
            Fact {
                valid_to: Some("\0".into()),
                ..named("a")
            },
        ),
        (
            "confidence",
            Fact {
                confidence: Some(1.1),
                ..named("a")
            },
        ),
        (
            "confidence",
            Fact {
                confidence: Some(-0.1),
                ..named("a")
            },
        ),
        (
            "confidence",
            Fact {
                confidence: Some(f64::NAN),
                ..named("a")
            },
        ),
        (
            "confidence",
            Fact {
                confidence: Some(f64::INFINITY),
                ..named("a")
            },
        ),
        (
            "collection",
            Fact {
                source: source("", "a"),
                ..named("a")
            },
        ),
        (
            "id",
            Fact {
                source: source("c", ""),
                ..named("a")
            },
        ),
        (
            "$k",
            Fact {
                metadata: meta(&json!({"$k": 1})),
                ..named("a")
            },
        ),
    ]
}

pub fn s17_11_a_call_with_a_refused_part_writes_nothing(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    for (word, bad) in refused_facts() {
        match relations.add_facts(&[named("good"), bad.clone()]) {
            Err(error @ Error::InvalidInput { .. }) => {
                assert!(error.to_string().contains(word), "{error}");
            }
            other => panic!("{bad:?} gave {other:?}"),
        }
    }
    for bad in [
        link(at(""), at("b"), ""),
        link(at("a"), LinkEnd::drawer(" c", "b"), ""),
        link(at("a"), LinkEnd::room("", "r"), ""),
        link(at("a"), LinkEnd::room("w", "\0"), ""),
        link(at("a"), at("b"), "\0"),
    ] {
        refused!(
            relations.add_links(&[link(at("good"), at("b"), ""), bad]),
            Error::InvalidInput { .. }
        );
    }
    assert_eq!(relations.counts().unwrap(), (0, 0));
}

pub fn s17_12_what_stands_at_a_limit_is_accepted_and_beyond_it_refused(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let facts = |count: usize| -> Vec<Fact> { (0..count).map(|n| named(&n.to_string())).collect() };
    relations.add_facts(&facts(MAX_BATCH_RECORDS)).unwrap();
    refused!(
        relations.add_facts(&facts(MAX_BATCH_RECORDS + 1)),
        Error::InvalidInput { .. }
    );
    let long = |length: usize| "x".repeat(length);
    let of = |more: usize| {
        [
            Fact {
                id: long(MAX_ID_BYTES + more),
                ..named("")
            },
            fact(&long(MAX_ENTITY_BYTES + more), "b", "c"),
            fact("a", &long(MAX_ENTITY_BYTES + more), "c"),
            fact("a", "b", &long(MAX_ENTITY_BYTES + more)),
            Fact {
                valid_from: Some(long(MAX_VALIDITY_BYTES + more)),
                ..named("from")
            },
            Fact {
                valid_to: Some(long(MAX_VALIDITY_BYTES + more)),
                ..named("to")
            },
        ]
    };
    assert_eq!(relations.add_facts(&of(0)).unwrap(), related(6, 0));
    for bad in of(1) {
        refused!(relations.add_facts(&[bad]), Error::InvalidInput { .. });
    }
    let links = |more: usize| {
        [
            link(at("a"), at("b"), &long(MAX_ENTITY_BYTES + more)),
            link(
                at("a"),
                LinkEnd::room(long(MAX_ENTITY_BYTES + more), ""),
                "",
            ),
            link(
                at("a"),
                LinkEnd::room("w", long(MAX_ENTITY_BYTES + more)),
                "",
            ),
        ]
    };
    assert_eq!(relations.add_links(&links(0)).unwrap(), related(3, 0));
    for bad in links(1) {
        refused!(relations.add_links(&[bad]), Error::InvalidInput { .. });
    }
    let large: Vec<Fact> = (0..MAX_BATCH_TEXT_BYTES / MAX_ENTITY_BYTES)
        .map(|n| fact(&n.to_string(), "b", &long(MAX_ENTITY_BYTES)))
        .collect();
    refused!(relations.add_facts(&large), Error::InvalidInput { .. });
    relations.add_facts(&large[1..]).unwrap();
}

pub fn s17_15_new_facts_and_links_draw_numbers_and_known_ones_none(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let first = drawers.add(&drawer("a", "a", &json!({}))).unwrap().seq;
    relations
        .add_facts(&[named("a"), named("b"), named("a")])
        .unwrap();
    relations.add_facts(&[named("b")]).unwrap();
    relations.add_links(&[link(at("a"), at("b"), "")]).unwrap();
    relations.add_links(&[link(at("a"), at("b"), "")]).unwrap();
    let next = drawers.add(&drawer("b", "b", &json!({}))).unwrap().seq;
    assert_eq!(next, first + 4);
}

pub fn s17_16_facts_of_several_threads_are_added_once_each(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let added: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let relations = &relations;
                scope.spawn(move || {
                    let mut added = 0;
                    for n in 0..25 {
                        let own = named(&format!("{thread} {n}"));
                        let shared = named(&n.to_string());
                        added += relations.add_facts(&[own, shared]).unwrap().added;
                        let shared = link(at("a"), at(&n.to_string()), "");
                        added += relations.add_links(&[shared]).unwrap().added;
                    }
                    added
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(added, 4 * 25 + 25 + 25);
    assert_eq!(relations.counts().unwrap(), (125, 25));
}

pub fn s17_17_palaces_never_see_each_others_facts_and_links(fixture: &dyn Fixture) {
    let (Some((_, one)), Some((_, other))) = (fresh(fixture), fresh(fixture)) else {
        return;
    };
    one.add_facts(&[named("a")]).unwrap();
    one.add_links(&[link(at("a"), at("b"), "")]).unwrap();
    assert_eq!(other.counts().unwrap(), (0, 0));
    assert_eq!(one.counts().unwrap(), (1, 1));
}

pub fn s17_18_a_missing_palace_has_no_relations_and_a_closed_one_answers_so(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let (backend, missing) = (fixture.backend(), fixture.fresh_palace());
    refused!(backend.relations(&missing), Error::PalaceNotFound { .. });
    assert!(!missing.directory().unwrap().exists());
    backend.close_palace(&palace).unwrap();
    let calls = |relations: &dyn Relations| {
        [
            relations.add_facts(&[named("a")]).err(),
            relations.add_facts(&[]).err(),
            relations.facts(&FactQuery::default(), 1, 0).err(),
            relations.add_links(&[link(at("a"), at("b"), "")]).err(),
            relations.links(None, 1, 0).err(),
            relations.counts().err(),
            relations.end_facts(&[], "2026").err(),
            relations
                .supersede(&["a".into()], "2026", &named("b"))
                .err(),
            relations.end_facts(&["b".into()], "2026").err(),
            relations.spellings("a").err(),
            relations.names_like("a", 1).err(),
            relations.remove_links(&[]).err(),
            relations.each_fact(&FactQuery::default(), &mut drop).err(),
        ]
    };
    for error in calls(&*relations) {
        assert!(
            matches!(error, Some(Error::BackendClosed { .. })),
            "{error:?}"
        );
    }
    let again = backend.relations(&palace).unwrap().unwrap();
    assert!(calls(&*again).iter().all(Option::is_none));
    backend.close().unwrap();
    for error in calls(&*again) {
        assert!(
            matches!(error, Some(Error::BackendClosed { .. })),
            "{error:?}"
        );
    }
    refused!(backend.relations(&palace), Error::BackendClosed { .. });
}

pub fn s17_19_instances_see_each_others_facts_and_links(fixture: &dyn Fixture) {
    let Some((palace, here)) = fresh(fixture).filter(|_| fixture.persistent()) else {
        return;
    };
    let other = fixture.reopen();
    let there = other.relations(&palace).unwrap().unwrap();
    here.add_facts(&[named("a")]).unwrap();
    assert_eq!(all_facts(&*there), [named("a")]);
    let shared = link(at("a"), at("b"), "");
    there.add_links(std::slice::from_ref(&shared)).unwrap();
    assert_eq!(there.add_facts(&[named("a")]).unwrap(), related(0, 1));
    assert_eq!(all_links(&*here), [shared]);
}

pub fn s17_20_facts_and_links_survive_the_instance(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture).filter(|_| fixture.persistent()) else {
        return;
    };
    relations.add_facts(&[full_fact(), named("a")]).unwrap();
    let kept = link(at("a"), LinkEnd::room("w", "r"), "in");
    relations.add_links(std::slice::from_ref(&kept)).unwrap();
    drop(relations);
    fixture.backend().close().unwrap();
    let other = fixture.reopen();
    let again = other.relations(&palace).unwrap().unwrap();
    assert_eq!(all_facts(&*again), [full_fact(), named("a")]);
    assert_eq!(all_links(&*again), [kept]);
}

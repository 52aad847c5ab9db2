//! Facts: their content, their ids, and queries for them.

use loci_core::{Fact, FactQuery, Link};

use super::{all_facts, at, fact, fresh, full_fact, link, named, related};
use crate::Fixture;

pub fn s17_1_a_fact_comes_back_with_everything_it_was_given(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let whole = Fact {
        id: "g".into(),
        confidence: Some(1.0),
        object: String::new(),
        ..fact("a", "b", "")
    };
    let facts = [full_fact(), whole];
    relations.add_facts(&facts).unwrap();
    assert_eq!(all_facts(&*relations), facts);
}

pub fn s17_2_a_fact_without_an_id_is_kept_under_its_key(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let fact = Fact {
        id: String::new(),
        ..full_fact()
    };
    relations.add_facts(std::slice::from_ref(&fact)).unwrap();
    let found = all_facts(&*relations);
    assert_eq!(found[0].id, fact.key());
    let query = FactQuery {
        id: Some(fact.key().into_owned()),
        ..FactQuery::default()
    };
    assert_eq!(relations.facts(&query, 10, 0).unwrap(), found);
}

pub fn s17_3_adding_a_fact_twice_adds_it_once_and_keeps_the_first(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let first = [named("a"), named("b"), fact("x", "is", "y")];
    assert_eq!(relations.add_facts(&first).unwrap(), related(3, 0));
    let kept = all_facts(&*relations);
    let other = Fact {
        object: "coffee".into(),
        ..named("a")
    };
    let again = [other, fact("x", "is", "y"), named("c"), named("c")];
    assert_eq!(relations.add_facts(&again).unwrap(), related(1, 3));
    assert_eq!(all_facts(&*relations)[..3], kept);
    assert_eq!(relations.counts().unwrap(), (4, 0));
    assert_eq!(relations.add_facts(&[]).unwrap(), related(0, 0));
}

pub fn s17_32_a_fact_without_an_id_that_differs_only_in_case_is_known(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let first = fact("Ána Σmith", "Works At", "ACME");
    assert_eq!(
        relations.add_facts(std::slice::from_ref(&first)).unwrap(),
        related(1, 0)
    );
    let kept = all_facts(&*relations);
    let same = [
        fact("ána ςmith", "works at", "acme"),
        fact(" ÁNA σMITH ", "WORKS AT", "Acme"),
    ];
    assert_eq!(relations.add_facts(&same).unwrap(), related(0, 2));
    assert_eq!(all_facts(&*relations), kept);
    let since = Fact {
        valid_from: Some("2024".into()),
        ..fact("ána σmith", "works at", "acme")
    };
    let taken = Fact {
        source: Some(loci_core::DrawerRef {
            collection: "drawers".into(),
            id: "d".into(),
        }),
        ..fact("ána σmith", "works at", "acme")
    };
    let with_id = Fact {
        id: "mine".into(),
        ..fact("ána σmith", "works at", "acme")
    };
    let others = [fact("ana σmith", "works at", "acme"), since, taken, with_id];
    assert_eq!(relations.add_facts(&others).unwrap(), related(4, 0));
    // Within one call too, and in a palace that holds several spellings.
    let twice = [
        fact("Bo", "is", "Up"),
        fact("bo", "IS", "up"),
        same[0].clone(),
    ];
    assert_eq!(relations.add_facts(&twice).unwrap(), related(1, 2));
    assert_eq!(relations.counts().unwrap(), (6, 0));
}

pub fn s17_4_facts_come_in_the_order_added(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let ids = ["m", "z", "a", "k"];
    relations
        .add_facts(&ids[..2].iter().map(|id| named(id)).collect::<Vec<_>>())
        .unwrap();
    relations.add_facts(&ids.map(named)).unwrap();
    let found: Vec<String> = all_facts(&*relations)
        .into_iter()
        .map(|fact| fact.id)
        .collect();
    assert_eq!(found, ids);
    let query = FactQuery {
        entity: Some("tea".into()),
        ..FactQuery::default()
    };
    let found = relations.facts(&query, 10, 0).unwrap();
    assert_eq!(
        found
            .iter()
            .map(|fact| fact.id.as_str())
            .collect::<Vec<_>>(),
        ids
    );
}

pub fn s17_5_facts_are_found_by_each_of_their_names_and_all_given_must_hold(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let facts = [
        ("1", fact("Alice", "knows", "Bob")),
        ("2", fact("Bob", "knows", "Alice")),
        ("3", fact("Alice", "likes", "tea")),
        ("4", fact("alice", "knows", "Bob ")),
        ("5", fact("Alice", "is", "Alice")),
    ]
    .map(|(id, fact)| Fact {
        id: id.into(),
        ..fact
    });
    relations.add_facts(&facts).unwrap();
    let some = |text: &str| Some(text.to_owned());
    let nothing = FactQuery::default;
    for (query, expected) in [
        (nothing(), "12345"),
        (
            FactQuery {
                id: some("3"),
                ..nothing()
            },
            "3",
        ),
        (
            FactQuery {
                id: some("6"),
                ..nothing()
            },
            "",
        ),
        (
            FactQuery {
                subject: some("Alice"),
                ..nothing()
            },
            "135",
        ),
        (
            FactQuery {
                predicate: some("knows"),
                ..nothing()
            },
            "124",
        ),
        (
            FactQuery {
                object: some("Bob"),
                ..nothing()
            },
            "1",
        ),
        (
            FactQuery {
                entity: some("Alice"),
                ..nothing()
            },
            "1235",
        ),
        (
            FactQuery {
                entity: some("Alice"),
                predicate: some("knows"),
                ..nothing()
            },
            "12",
        ),
        (
            FactQuery {
                subject: some("Alice"),
                predicate: some("knows"),
                ..nothing()
            },
            "1",
        ),
        (
            FactQuery {
                entity: some("Bob"),
                object: some("Alice"),
                ..nothing()
            },
            "2",
        ),
        (
            FactQuery {
                id: some("1"),
                subject: some("Bob"),
                ..nothing()
            },
            "",
        ),
        (
            FactQuery {
                subject: some("Ali%"),
                ..nothing()
            },
            "",
        ),
    ] {
        let found = relations.facts(&query, 10, 0).unwrap();
        let ids: String = found.into_iter().map(|fact| fact.id).collect();
        assert_eq!(ids, expected, "{query:?}");
    }
}

pub fn s17_6_limit_and_offset_cut_what_is_found(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let facts: Vec<Fact> = (0..7).map(|n| named(&n.to_string())).collect();
    relations.add_facts(&facts).unwrap();
    let links: Vec<Link> = (0..7)
        .map(|n| link(at("a"), at(&n.to_string()), ""))
        .collect();
    relations.add_links(&links).unwrap();
    let query = FactQuery {
        subject: Some("Alice".into()),
        ..FactQuery::default()
    };
    for (limit, offset, expected) in [
        (3, 0, 0..3),
        (3, 3, 3..6),
        (3, 6, 6..7),
        (3, 7, 7..7),
        (3, usize::MAX, 7..7),
        (0, 2, 0..0),
        (usize::MAX, 5, 5..7),
    ] {
        let found = relations.facts(&query, limit, offset).unwrap();
        assert_eq!(found, facts[expected.clone()], "{limit} from {offset}");
        for end in [None, Some(&at("a"))] {
            let found = relations.links(end, limit, offset).unwrap();
            assert_eq!(found, links[expected.clone()], "{limit} from {offset}");
        }
    }
}

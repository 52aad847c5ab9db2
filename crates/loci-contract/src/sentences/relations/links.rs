//! Links: their ends, queries for them, and what happens when their drawer is deleted.

use loci_core::{Batch, DrawerRef, Fact, Link, LinkEnd, Selection};
use serde_json::json;

use super::{all_facts, all_links, at, fresh, link, named, related};
use crate::Fixture;
use crate::scene::{DRAWERS, drawer, meta, open, plain};

pub fn s17_7_a_link_comes_back_with_everything_it_was_given(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let links = [
        Link {
            metadata: meta(&json!({"strength": 0.5, "by": ["Zoë"]})),
            ..link(at("a/b"), LinkEnd::room("alice", "Küche"), "steht in 🍳")
        },
        link(LinkEnd::room("alice", ""), LinkEnd::room("bob", "work"), ""),
    ];
    assert_eq!(relations.add_links(&links).unwrap(), related(2, 0));
    assert_eq!(all_links(&*relations), links);
}

pub fn s17_8_there_is_one_link_per_pair_of_ends_and_label(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let first = Link {
        metadata: meta(&json!({"n": 1})),
        ..link(at("a"), at("b"), "follows")
    };
    let others = [
        link(at("b"), at("a"), "follows"),
        link(at("a"), at("b"), "Follows"),
        link(at("a"), LinkEnd::drawer("other", "b"), "follows"),
        link(at("a"), LinkEnd::room(DRAWERS, "b"), "follows"),
        link(LinkEnd::room(DRAWERS, "a"), at("b"), "follows"),
    ];
    relations.add_links(std::slice::from_ref(&first)).unwrap();
    let again = link(at("a"), at("b"), "follows");
    assert_eq!(relations.add_links(&[again]).unwrap(), related(0, 1));
    assert_eq!(relations.add_links(&others).unwrap(), related(5, 0));
    assert_eq!(all_links(&*relations)[0], first);
    assert_eq!(relations.counts().unwrap(), (0, 6));
}

pub fn s17_9_links_are_found_from_both_ends_in_the_order_added(fixture: &dyn Fixture) {
    let Some((_, relations)) = fresh(fixture) else {
        return;
    };
    let room = LinkEnd::room("w", "r");
    let links = [
        link(at("b"), at("a"), "1"),
        link(at("a"), room.clone(), "2"),
        link(at("b"), at("c"), "3"),
        link(at("a"), at("a"), "4"),
        link(LinkEnd::drawer("other", "a"), LinkEnd::room("w", ""), "5"),
    ];
    relations.add_links(&links).unwrap();
    for (end, expected) in [
        (Some(&at("a")), "124"),
        (Some(&at("b")), "13"),
        (Some(&at("c")), "3"),
        (Some(&room), "2"),
        (Some(&LinkEnd::room("w", "")), "5"),
        (Some(&at("d")), ""),
        (None, "12345"),
    ] {
        let found = relations.links(end, 10, 0).unwrap();
        let labels: String = found.into_iter().map(|link| link.label).collect();
        assert_eq!(labels, expected, "{end:?}");
    }
}

pub fn s17_10_what_facts_and_links_name_need_not_exist(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let source = DrawerRef {
        collection: "nowhere".into(),
        id: "nobody".into(),
    };
    let fact = Fact {
        source: Some(source),
        ..named("f")
    };
    let link = link(LinkEnd::drawer("nowhere", "nobody"), at("later"), "");
    relations.add_facts(std::slice::from_ref(&fact)).unwrap();
    relations.add_links(std::slice::from_ref(&link)).unwrap();
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    drawers.add(&drawer("later", "text", &json!({}))).unwrap();
    assert_eq!(all_facts(&*relations), [fact]);
    assert_eq!(all_links(&*relations), [link]);
    let listed = fixture.backend().list_collections(&palace).unwrap();
    assert_eq!(listed.len(), 1);
}

pub fn s17_13_links_go_with_their_drawer_and_facts_stay(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    for id in ["a", "b"] {
        drawers.add(&drawer(id, id, &json!({}))).unwrap();
    }
    let taken = Fact {
        source: Some(DrawerRef {
            collection: DRAWERS.into(),
            id: "a".into(),
        }),
        ..named("f")
    };
    relations.add_facts(std::slice::from_ref(&taken)).unwrap();
    let stays = [
        link(at("b"), at("c"), ""),
        link(LinkEnd::drawer("other", "a"), at("b"), ""),
        link(LinkEnd::room(DRAWERS, "a"), at("b"), ""),
    ];
    relations.add_links(&stays).unwrap();
    let goes = [
        link(at("a"), at("b"), ""),
        link(at("c"), at("a"), ""),
        link(at("a"), at("a"), ""),
    ];
    relations.add_links(&goes).unwrap();
    drawers.delete(&Selection::ids(["a"])).unwrap();
    assert_eq!(all_links(&*relations), stays);
    assert_eq!(all_facts(&*relations), [taken]);
    drawers
        .upsert(&Batch::new(["b"]).documents(["new"]))
        .unwrap();
    assert_eq!(all_links(&*relations), stays);
}

pub fn s17_14_a_deleted_collection_takes_its_links_along(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    open(fixture, &palace, "other", &plain()).unwrap();
    let other = |id: &str| LinkEnd::drawer("other", id);
    let taken = Fact {
        source: Some(DrawerRef {
            collection: "other".into(),
            id: "a".into(),
        }),
        ..named("f")
    };
    relations.add_facts(std::slice::from_ref(&taken)).unwrap();
    let stays = [
        link(at("a"), at("b"), ""),
        link(LinkEnd::room("other", "a"), at("a"), ""),
    ];
    relations.add_links(&stays).unwrap();
    relations
        .add_links(&[link(other("a"), at("b"), ""), link(at("b"), other("c"), "")])
        .unwrap();
    fixture
        .backend()
        .delete_collection(&palace, "other")
        .unwrap();
    assert_eq!(all_links(&*relations), stays);
    assert_eq!(all_facts(&*relations), [taken]);
}

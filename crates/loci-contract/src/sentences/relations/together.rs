//! Removing links, and writing facts and links together with drawers.

use loci_core::{DrawerRef, Error, Fact, LinkEnd, Outcome};
use serde_json::json;

use super::{all_facts, all_links, at, fact, fresh, link, named, related};
use crate::Fixture;
use crate::scene::{DRAWERS, drawer, meta, open, plain, refused};

pub fn s17_29_links_are_removed_by_ends_and_label(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let room = LinkEnd::room("w", "r");
    let links = [
        link(at("a"), at("b"), "is"),
        link(at("b"), at("a"), "is"),
        link(at("a"), at("b"), ""),
        link(room.clone(), at("a"), "is"),
    ];
    relations.add_links(&links).unwrap();
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let before = drawers.add(&drawer("x", "x", &json!({}))).unwrap().seq;
    let mut same = link(at("a"), at("b"), "is");
    same.metadata = meta(&json!({"other": true}));
    let gone = [
        same.clone(),
        link(room, at("a"), "is"),
        same,
        link(at("a"), at("c"), "is"),
    ];
    assert_eq!(relations.remove_links(&gone).unwrap(), 2);
    assert_eq!(all_links(&*relations), links[1..3]);
    assert_eq!(relations.remove_links(&gone).unwrap(), 0);
    assert_eq!(relations.remove_links(&[]).unwrap(), 0);
    let next = drawers.add(&drawer("y", "y", &json!({}))).unwrap().seq;
    assert_eq!(next, before + 3);
    refused!(
        relations.remove_links(&[link(at("a"), at("b"), ""), link(at(""), at("b"), "")]),
        Error::InvalidInput { .. }
    );
    assert_eq!(relations.counts().unwrap(), (0, 2));
    assert_eq!(relations.add_links(&links).unwrap(), related(2, 2));
}

fn taken_from(id: &str) -> Fact {
    Fact {
        source: Some(DrawerRef {
            collection: DRAWERS.into(),
            id: id.into(),
        }),
        ..fact("Alice", "likes", "tea")
    }
}

pub fn s17_30_drawers_come_with_their_facts_and_links_or_not_at_all(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let batch = drawer("a", "text", &json!({}));
    for (facts, links) in [
        (vec![named("good"), fact("", "is", "b")], vec![]),
        (
            vec![named("good")],
            vec![link(at("a"), LinkEnd::room("", "r"), "")],
        ),
    ] {
        refused!(
            drawers.add_with(&batch, &facts, &links),
            Error::InvalidInput { .. }
        );
    }
    let mut bad = drawer("b", "text", &json!({}));
    bad.ids[0].clear();
    refused!(
        drawers.add_with(&bad, &[named("good")], &[]),
        Error::InvalidInput { .. }
    );
    assert_eq!(drawers.count().unwrap(), 0);
    assert_eq!(relations.counts().unwrap(), (0, 0));
    let facts = [taken_from("a"), named("b"), named("b")];
    let links = [link(at("a"), LinkEnd::room("w", "r"), "in")];
    let (written, added) = drawers.add_with(&batch, &facts, &links).unwrap();
    assert_eq!(written.outcomes, [Outcome::Added]);
    assert_eq!(added, related(3, 1));
    assert_eq!(all_facts(&*relations)[0].source, facts[0].source);
    assert_eq!(all_facts(&*relations)[0].id, facts[0].key());
    assert_eq!(all_links(&*relations), links);
    let (written, added) = drawers.add_with(&batch, &facts, &links).unwrap();
    assert_eq!(written.outcomes, [Outcome::Exists]);
    assert_eq!(added, related(0, 4));
    let next = drawers.add(&drawer("c", "c", &json!({}))).unwrap().seq;
    assert_eq!(
        next,
        written.seq + 4,
        "one drawer, two facts and a link drew numbers"
    );
}

pub fn s17_31_what_names_a_duplicate_names_the_drawer_that_is_there(fixture: &dyn Fixture) {
    let Some((palace, relations)) = fresh(fixture) else {
        return;
    };
    let drawers = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let mined = json!({"wing": "w", "source_file": "notes.md", "start_line": 1});
    drawers.add(&drawer("first", "same", &mined)).unwrap();
    let elsewhere = Fact {
        source: Some(DrawerRef {
            collection: "other".into(),
            id: "again".into(),
        }),
        ..named("elsewhere")
    };
    let facts = [taken_from("again"), elsewhere.clone()];
    let links = [
        link(at("again"), at("x"), "from"),
        link(at("x"), at("again"), "to"),
    ];
    let (written, added) = drawers
        .add_with(&drawer("again", "same", &mined), &facts, &links)
        .unwrap();
    assert_eq!(written.outcomes, [Outcome::DuplicateOf("first".into())]);
    assert_eq!(added, related(4, 0));
    let found = all_facts(&*relations);
    assert_eq!(found[0].source, taken_from("first").source);
    assert_eq!(found[0].id, taken_from("first").key());
    assert_eq!(found[1], elsewhere);
    let expected = [
        link(at("first"), at("x"), "from"),
        link(at("x"), at("first"), "to"),
    ];
    assert_eq!(all_links(&*relations), expected);
}

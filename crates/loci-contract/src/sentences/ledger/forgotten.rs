//! Forgotten texts do not come back.

use loci_core::{PalaceRef, TextPlace};
use std::sync::Arc;

use super::{begin, counts, file, forget, ledger, only_texts, texts};
use crate::Fixture;
use crate::scene::{DRAWERS, lacks, open, plain};
use loci_core::{Capability, Collection};

const SECRET: &str = "the password of the shed is a secret of mine";

/// A collection with one forgotten text of a source, and its palace.
fn forgotten(fixture: &dyn Fixture) -> Option<(PalaceRef, Arc<dyn Collection>, u64)> {
    if lacks(fixture, Capability::Mining) || lacks(fixture, Capability::Forgetting) {
        return None;
    }
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let run = begin(&*collection);
    assert!(!ledger(&*collection).has_forgotten().unwrap());
    file(&*collection, run, "/notes/a.md", &["red", SECRET, "blue"]);
    let id = texts(&*collection)
        .into_iter()
        .find(|(text, _)| text == SECRET)
        .unwrap()
        .1;
    assert!(forget(fixture, &palace, &id));
    Some((palace, collection, run))
}

pub fn s19_25_a_forgotten_text_is_not_filed_again(fixture: &dyn Fixture) {
    let Some((_, collection, run)) = forgotten(fixture) else {
        return;
    };
    assert!(ledger(&*collection).has_forgotten().unwrap());
    let filed = file(&*collection, run, "/notes/a.md", &["red", SECRET, "blue"]);
    assert_eq!(filed, counts(0, 0, 0, 2));
    assert_eq!(
        file(&*collection, run, "/notes/b.md", &[SECRET]),
        counts(0, 0, 0, 0)
    );
    assert_eq!(only_texts(&*collection), ["blue", "red"]);
}

pub fn s19_26_forgotten_lines_are_found_in_any_text(fixture: &dyn Fixture) {
    let Some((_, collection, _)) = forgotten(fixture) else {
        return;
    };
    let text = format!("another text\n{SECRET}\nits end");
    let lines = |text: &str, place| ledger(&*collection).forgotten_lines(text, place).unwrap();
    let elsewhere = TextPlace::Whole {
        source: "/notes/z.md",
    };
    assert_eq!(lines(&text, elsewhere), [(2, 2)]);
    assert_eq!(lines(SECRET, TextPlace::Unknown), [(1, 1)]);
    assert_eq!(lines("another text\nits end", elsewhere), []);
}

pub fn s19_27_a_text_that_is_allowed_again_comes_back(fixture: &dyn Fixture) {
    let Some((_, collection, run)) = forgotten(fixture) else {
        return;
    };
    let place = TextPlace::Whole {
        source: "/notes/a.md",
    };
    ledger(&*collection).allow_again(SECRET, place).unwrap();
    assert!(!ledger(&*collection).has_forgotten().unwrap());
    assert_eq!(
        ledger(&*collection).forgotten_lines(SECRET, place).unwrap(),
        []
    );
    assert_eq!(
        file(&*collection, run, "/notes/b.md", &[SECRET]),
        counts(1, 0, 0, 0)
    );
}

pub fn s19_28_an_undo_does_not_bring_a_forgotten_text_back(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Mining) || lacks(fixture, Capability::Forgetting) {
        return;
    }
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let first = begin(&*collection);
    file(&*collection, first, "/notes/a.md", &[SECRET, "red"]);
    file(&*collection, first, "/notes/b.md", &[SECRET]);
    let second = begin(&*collection);
    file(&*collection, second, "/notes/a.md", &["red"]);
    let id = texts(&*collection)
        .into_iter()
        .find(|(text, _)| text == SECRET)
        .unwrap()
        .1;
    assert!(forget(fixture, &palace, &id));
    ledger(&*collection).undo(second).unwrap();
    assert_eq!(only_texts(&*collection), ["red"]);
}

pub fn s19_29_forgetting_makes_a_filing_that_is_under_way_stale(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Mining) || lacks(fixture, Capability::Forgetting) {
        return;
    }
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let run = begin(&*collection);
    file(&*collection, run, "/notes/a.md", &["red", SECRET]);
    let change = super::change(&*collection, super::row("/notes/a.md"), &["red", SECRET]);
    let id = texts(&*collection)
        .into_iter()
        .find(|(text, _)| text == SECRET)
        .unwrap()
        .1;
    assert!(forget(fixture, &palace, &id));
    let filed = ledger(&*collection).file(run, &[change]).unwrap();
    assert_eq!(filed, [loci_core::Filed::Stale]);
}

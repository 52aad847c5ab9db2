//! How filing changes drawers.

use loci_core::{Batch, Filed, LEFTOVERS, Selection, SourceChange, SourceRecord};
use serde_json::json;

use super::{begin, change, counts, file, file_one, ledger, mined, only_texts, pieces, row, texts};
use crate::scene::{created, embedding, nearest, one, patch, worded};
use crate::{Fixture, WordEmbedder};

pub fn s19_1_filing_adds_keeps_updates_and_removes_drawers(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/a.md");
    assert_eq!(
        file(&*collection, run, name, &["red", "blue", "green"]),
        counts(3, 0, 0, 0)
    );
    let before = texts(&*collection);
    // The first text did not move, the second moved up, the third was removed, and one is new.
    assert_eq!(
        file(&*collection, run, name, &["red", "green", "white"]),
        counts(1, 1, 1, 1)
    );
    let after = texts(&*collection);
    assert_eq!(only_texts(&*collection), ["green", "red", "white"]);
    for text in ["green", "red"] {
        let id = |found: &[(String, String)]| found.iter().find(|(held, _)| held == text).cloned();
        assert_eq!(id(&before), id(&after), "the id of an unchanged text stays");
    }
    assert_eq!(
        ledger(&*collection)
            .drawers_of(&super::here(), name)
            .unwrap(),
        3
    );
}

pub fn s19_2_filing_on_an_old_revision_writes_nothing(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/a.md");
    let stale = change(&*collection, row(name), &["blue"]);
    file(&*collection, run, name, &["red"]);
    let fresh = change(&*collection, row("/notes/b.md"), &["white"]);
    let filed = ledger(&*collection).file(run, &[stale, fresh]).unwrap();
    assert_eq!(filed, [Filed::Stale, Filed::Done(counts(1, 0, 0, 0))]);
    assert_eq!(only_texts(&*collection), ["red", "white"]);
}

pub fn s19_3_what_grows_keeps_its_drawer_under_another_text(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/talk");
    file(&*collection, run, name, &["a question"]);
    let id = texts(&*collection)[0].1.clone();
    let grown = SourceChange {
        grows: true,
        ..change(&*collection, row(name), &["a question and an answer"])
    };
    assert_eq!(file_one(&*collection, run, &grown), counts(0, 1, 0, 0));
    assert_eq!(
        texts(&*collection),
        [("a question and an answer".to_owned(), id)]
    );
}

pub fn s19_4_drawers_move_only_if_the_change_moves_them(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/a.md");
    file(&*collection, run, name, &["red"]);
    let id = texts(&*collection)[0].1.clone();
    let elsewhere = |moves| {
        let mut other = change(&*collection, row(name), &["red"]);
        other.record.wing = "shed".into();
        other.moves = moves;
        for piece in other.pieces.iter_mut().flatten() {
            piece.metadata.0.insert("wing".into(), "shed".into());
        }
        other
    };
    assert_eq!(
        file_one(&*collection, run, &elsewhere(false)),
        counts(0, 0, 0, 1)
    );
    assert_eq!(one(&*collection, &id).1.get_str("wing"), Some("garden"));
    assert_eq!(
        file_one(&*collection, run, &elsewhere(true)),
        counts(0, 1, 0, 0)
    );
    assert_eq!(one(&*collection, &id).1.get_str("wing"), Some("shed"));
}

pub fn s19_5_drawers_lose_dropped_keys_and_keep_those_of_others(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/a.md");
    let mut first = change(&*collection, row(name), &["red"]);
    for piece in first.pieces.iter_mut().flatten() {
        piece.metadata.0.insert("author".into(), "ana".into());
    }
    file_one(&*collection, run, &first);
    let id = texts(&*collection)[0].1.clone();
    let own = Batch::new([id.as_str()]).metadatas([patch(&json!({"mine": true}))]);
    collection.update(&own).unwrap();
    let second = SourceChange {
        drops: vec!["author".into()],
        ..change(&*collection, row(name), &["red"])
    };
    assert_eq!(file_one(&*collection, run, &second), counts(0, 1, 0, 0));
    let metadata = one(&*collection, &id).1;
    assert_eq!(metadata.get("author"), None);
    assert!(metadata.get("mine").is_some());
}

pub fn s19_6_text_that_moves_to_another_section_keeps_its_drawer(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/large.md");
    let section = |number| SourceRecord {
        section: number,
        ..row(name)
    };
    file_one(
        &*collection,
        run,
        &change(&*collection, section(1), &["red", "blue"]),
    );
    let before = texts(&*collection);
    // The first section defers the text that it lost; the second section takes it.
    let first = SourceChange {
        defers: true,
        ..change(&*collection, section(1), &["red"])
    };
    assert_eq!(file_one(&*collection, run, &first), counts(0, 0, 0, 1));
    assert_eq!(texts(&*collection), before);
    let mut second = change(&*collection, section(2), &["blue"]);
    second.pieces = Some(pieces(name, &["red", "blue"]).split_off(1));
    assert_eq!(file_one(&*collection, run, &second), counts(0, 0, 0, 1));
    assert_eq!(texts(&*collection), before);
    let leftovers = SourceChange {
        record: section(LEFTOVERS),
        removed: true,
        ..SourceChange::default()
    };
    assert_eq!(file_one(&*collection, run, &leftovers), counts(0, 0, 0, 0));
    assert_eq!(texts(&*collection), before);
}

pub fn s19_7_a_removed_source_takes_its_drawers_and_its_row(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/a.md");
    file(&*collection, run, name, &["red", "blue"]);
    file(&*collection, run, "/notes/b.md", &["white"]);
    let removed = SourceChange {
        removed: true,
        pieces: None,
        ..change(&*collection, row(name), &[])
    };
    assert_eq!(file_one(&*collection, run, &removed), counts(0, 0, 2, 0));
    assert_eq!(only_texts(&*collection), ["white"]);
    assert_eq!(
        ledger(&*collection).source(&super::here(), name).unwrap(),
        []
    );
    assert_eq!(file_one(&*collection, run, &removed), counts(0, 0, 0, 0));
}

pub fn s19_8_a_change_without_pieces_leaves_the_drawers(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/a.md");
    file(&*collection, run, name, &["red"]);
    let bare = SourceChange {
        pieces: None,
        ..change(
            &*collection,
            SourceRecord {
                complete: false,
                ..row(name)
            },
            &[],
        )
    };
    assert_eq!(file_one(&*collection, run, &bare), counts(0, 0, 0, 0));
    assert_eq!(only_texts(&*collection), ["red"]);
    assert!(!ledger(&*collection).source(&super::here(), name).unwrap()[0].complete);
}

pub fn s19_9_filed_texts_are_found_by_words_and_vectors(fixture: &dyn Fixture) {
    if mined(fixture).is_none() {
        return;
    }
    let collection = created(fixture, &embedding(WordEmbedder::new("words", 2)));
    let run = begin(&*collection);
    file(&*collection, run, "/notes/a.md", &["a heron by the river"]);
    let id = texts(&*collection)[0].1.clone();
    assert_eq!(worded(&*collection, "heron"), [id.as_str()]);
    assert_eq!(nearest(&*collection, [1.0, 0.0], 1), [id.as_str()]);
    collection.delete(&Selection::ids([id])).unwrap();
    assert_eq!(
        ledger(&*collection)
            .drawers_of(&super::here(), "/notes/a.md")
            .unwrap(),
        0
    );
}

pub fn s19_10_a_text_that_somebody_changed_is_no_longer_the_sources(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/a.md");
    file(&*collection, run, name, &["red"]);
    let id = texts(&*collection)[0].1.clone();
    let tagged = Batch::new([id.as_str()]).metadatas([patch(&json!({"mine": true}))]);
    collection.update(&tagged).unwrap();
    assert_eq!(
        ledger(&*collection)
            .drawers_of(&super::here(), name)
            .unwrap(),
        1
    );
    let own = Batch::new([id.as_str()]).documents(["crimson"]);
    collection.update(&own).unwrap();
    assert_eq!(
        ledger(&*collection)
            .drawers_of(&super::here(), name)
            .unwrap(),
        0
    );
    assert_eq!(
        file(&*collection, run, name, &["white"]),
        counts(1, 0, 0, 0)
    );
    assert_eq!(only_texts(&*collection), ["crimson", "white"]);
}

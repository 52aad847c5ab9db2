//! Runs and their undo.

use loci_core::{Batch, Error, RunKind, RunState, Selection};
use serde_json::json;

use super::{begin, counts, file, ledger, mined, only_texts, texts};
use crate::Fixture;
use crate::scene::refused;

pub fn s19_19_runs_are_numbered_and_listed_newest_first(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let first = begin(&*collection);
    file(&*collection, first, "/notes/a.md", &["red"]);
    let ledger = ledger(&*collection);
    ledger
        .end_run(first, &RunState::Done, &json!({"files": 1}))
        .unwrap();
    let second = ledger.begin_run(&RunKind::Sync, &[]).unwrap();
    assert!(second > first);
    let runs = ledger.runs(10).unwrap();
    let brief: Vec<_> = runs
        .iter()
        .map(|run| (run.id, run.kind.as_str(), run.state.as_str(), run.sources))
        .collect();
    assert_eq!(
        brief,
        [(second, "sync", "running", 0), (first, "mine", "done", 1)]
    );
    assert_eq!(runs[1].summary, json!({"files": 1}));
    assert!(runs[1].finished_at.is_some() && runs[0].finished_at.is_none());
    assert_eq!(ledger.runs(1).unwrap().len(), 1);
}

pub fn s19_20_only_a_run_that_is_under_way_files(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let run = begin(&*collection);
    let change = super::change(&*collection, super::row("/notes/a.md"), &["red"]);
    let ledger = ledger(&*collection);
    refused!(
        ledger.file(run + 7, std::slice::from_ref(&change)),
        Error::Busy { .. }
    );
    ledger.end_run(run, &RunState::Done, &json!({})).unwrap();
    refused!(ledger.file(run, &[change]), Error::Busy { .. });
    assert_eq!(collection.count().unwrap(), 0);
}

pub fn s19_21_undo_restores_what_a_run_added_changed_and_removed(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let first = begin(&*collection);
    file(&*collection, first, "/notes/a.md", &["red", "blue"]);
    let before = texts(&*collection);
    let rows = ledger(&*collection)
        .source(&super::here(), "/notes/a.md")
        .unwrap();
    let second = begin(&*collection);
    assert_eq!(
        file(&*collection, second, "/notes/a.md", &["blue", "white"]),
        counts(1, 1, 1, 0)
    );
    file(&*collection, second, "/notes/b.md", &["green"]);
    let undone = ledger(&*collection).undo(second).unwrap();
    assert_eq!(
        (undone.removed, undone.restored, undone.left, undone.sources),
        (2, 2, 0, 2)
    );
    assert_eq!(texts(&*collection), before);
    let now = ledger(&*collection)
        .source(&super::here(), "/notes/a.md")
        .unwrap();
    assert_eq!(
        (now.len(), now[0].hash, now[0].complete),
        (1, rows[0].hash, true)
    );
    assert!(now[0].revision > rows[0].revision);
    assert_eq!(
        ledger(&*collection)
            .source(&super::here(), "/notes/b.md")
            .unwrap(),
        []
    );
    assert_eq!(
        ledger(&*collection).runs(1).unwrap()[0].state,
        RunState::Undone
    );
}

pub fn s19_22_undo_leaves_what_somebody_changed_or_deleted_since(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let run = begin(&*collection);
    file(&*collection, run, "/notes/a.md", &["red", "blue", "green"]);
    let id = |text: &str| {
        texts(&*collection)
            .into_iter()
            .find(|(held, _)| held == text)
            .unwrap()
            .1
    };
    collection
        .update(&Batch::new([id("red")]).documents(["my own"]))
        .unwrap();
    collection.delete(&Selection::ids([id("blue")])).unwrap();
    let undone = ledger(&*collection).undo(run).unwrap();
    assert_eq!((undone.removed, undone.left), (1, 1));
    assert_eq!(only_texts(&*collection), ["my own"]);
}

pub fn s19_23_undo_refuses_unknown_undone_and_overtaken_runs(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let first = begin(&*collection);
    file(&*collection, first, "/notes/a.md", &["red"]);
    let second = begin(&*collection);
    file(&*collection, second, "/notes/a.md", &["blue"]);
    let ledger = ledger(&*collection);
    refused!(ledger.undo(first), Error::Conflict { .. });
    refused!(ledger.undo(second + 9), Error::InvalidInput { .. });
    assert_eq!(only_texts(&*collection), ["blue"]);
    ledger.undo(second).unwrap();
    refused!(ledger.undo(second), Error::InvalidInput { .. });
    ledger.undo(first).unwrap();
    assert_eq!(collection.count().unwrap(), 0);
}

pub fn s19_24_undo_of_a_rename_gives_the_old_name_back(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let first = begin(&*collection);
    file(&*collection, first, "/notes/a.md", &["red"]);
    let second = begin(&*collection);
    let ledger = ledger(&*collection);
    assert!(
        ledger
            .rename(second, "/notes/a.md", &super::row("/notes/b.md"))
            .unwrap()
    );
    ledger.undo(second).unwrap();
    assert_eq!(ledger.drawers_of(&super::here(), "/notes/a.md").unwrap(), 1);
    assert_eq!(ledger.source(&super::here(), "/notes/b.md").unwrap(), []);
}

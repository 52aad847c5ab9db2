//! Chapter 19: the ledger.

mod filing;
mod forgotten;
mod runs;
mod sources;

use std::sync::Arc;

use loci_core::{
    Capability, Collection, Counts, Filed, Ledger, Machine, Piece, RunKind, SourceChange,
    SourceHash, SourceRecord,
};
use serde_json::json;

use crate::scene::{DRAWERS, empty, lacks, meta};
use crate::{Fixture, scene};

pub use filing::*;
pub use forgotten::*;
pub use runs::*;
pub use sources::*;

/// A new collection; `None` if the backend has no ledger.
fn mined(fixture: &dyn Fixture) -> Option<Arc<dyn Collection>> {
    if lacks(fixture, Capability::Mining) {
        assert!(
            empty(fixture).ledger().is_none(),
            "a ledger without the capability"
        );
        return None;
    }
    Some(empty(fixture))
}

fn ledger(collection: &dyn Collection) -> &dyn Ledger {
    collection.ledger().expect("a ledger")
}

fn begin(collection: &dyn Collection) -> u64 {
    ledger(collection)
        .begin_run(&RunKind::Mine, &["/notes".into()])
        .unwrap()
}

fn here() -> Machine {
    named("here")
}

fn named(host: &str) -> Machine {
    Machine {
        id: format!("{host}-id"),
        host: host.into(),
    }
}

fn hash(of: u8) -> SourceHash {
    [of; 16]
}

/// The row of a complete source.
fn row(name: &str) -> SourceRecord {
    SourceRecord {
        name: name.into(),
        machine: here(),
        kind: "file".into(),
        root: "/notes".into(),
        wing: "garden".into(),
        room: "notes".into(),
        hash: hash(1),
        recipe: "words 1".into(),
        complete: true,
        ..SourceRecord::default()
    }
}

/// Pieces of a source at lines 1, 2, ….
fn pieces(name: &str, texts: &[&str]) -> Vec<Piece> {
    let piece = |(at, text): (usize, &&str)| Piece {
        text: (*text).into(),
        metadata: meta(&json!({
            "wing": "garden", "room": "notes", "source_file": name,
            "start_line": at + 1, "end_line": at + 1,
        })),
        part: 1,
    };
    texts.iter().enumerate().map(piece).collect()
}

/// A change of a source to these texts, based on the current row.
fn change(collection: &dyn Collection, record: SourceRecord, texts: &[&str]) -> SourceChange {
    let rows = ledger(collection)
        .source(&record.machine, &record.name)
        .unwrap();
    let known = rows.iter().find(|row| row.section == record.section);
    SourceChange {
        pieces: Some(pieces(&record.name, texts)),
        record: SourceRecord {
            revision: known.map_or(0, |row| row.revision),
            ..record
        },
        ..SourceChange::default()
    }
}

fn file_one(collection: &dyn Collection, run: u64, change: &SourceChange) -> Counts {
    let filed = ledger(collection)
        .file(run, std::slice::from_ref(change))
        .unwrap();
    match filed.as_slice() {
        [Filed::Done(counts)] => *counts,
        other => panic!("{other:?}"),
    }
}

/// Files these texts as the source with this name, and returns the counts.
fn file(collection: &dyn Collection, run: u64, name: &str, texts: &[&str]) -> Counts {
    file_one(collection, run, &change(collection, row(name), texts))
}

/// Id and text of every drawer, ordered by text.
fn texts(collection: &dyn Collection) -> Vec<(String, String)> {
    let all = scene::everything(collection);
    let mut found: Vec<(String, String)> = all.documents.into_iter().zip(all.ids).collect();
    found.sort();
    found
}

fn only_texts(collection: &dyn Collection) -> Vec<String> {
    texts(collection)
        .into_iter()
        .map(|(text, _)| text)
        .collect()
}

fn counts(new: u64, updated: u64, removed: u64, kept: u64) -> Counts {
    Counts {
        new,
        updated,
        removed,
        kept,
    }
}

/// Forgets the drawer with this id. False if the backend does not support it.
fn forget(fixture: &dyn Fixture, palace: &loci_core::PalaceRef, id: &str) -> bool {
    if lacks(fixture, Capability::Forgetting) {
        return false;
    }
    let selection = loci_core::Selection::ids([id]);
    let outcome = fixture
        .backend()
        .forget(palace, DRAWERS, &selection)
        .unwrap();
    assert!(outcome.forgotten > 0, "{outcome:?}");
    true
}

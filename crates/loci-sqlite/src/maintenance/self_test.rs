//! A write, a search and a forgetting, rehearsed in the palace itself.
//!
//! A drawer is written, read, found by its words, forgotten and looked for again: with the code of every other write, in the
//! real tables, under the real write lock, in one transaction that is rolled back. So no other process ever sees it, and a kill
//! at any moment leaves nothing of it: what was not committed is not there, and pages are not spilled into the log meanwhile.
//! Then the number of the format is written over itself and committed: a real commit through the real log, after which every
//! row is as it was. What stays unproved is the purge: it rewrites the whole file, which is no part of a quick look.

use std::time::Duration;

use loci_core::{CollectionOptions, Error, Outcome, PalaceRef, RehearsalStep, Result, SelfTest};
use rusqlite::{Connection, params};

use crate::SqliteBackend;
use crate::backend::{Create, create_row};
use crate::collection::meta::CollectionRow;
use crate::collection::passage;
use crate::collection::read::fetch;
use crate::collection::record::vector_bytes;
use crate::collection::write::Mode;
use crate::collection::writer::{Change, Writer};
use crate::fault::Attempt;
use crate::ledger::forgotten;
use crate::store::connection::{Db, with_patience};
use crate::store::{Head, Store, schema};

/// How long the rehearsal waits for other writers.
const PATIENCE: Duration = Duration::from_secs(2);
const DOING: &str = "rehearsing a write";
/// Collection and id of the rehearsal. The control character keeps it apart from every collection that there can be.
const NAME: &str = "\u{1}rehearsal";

/// Rehearses a write of this text, which should be one that no drawer has. Leaves no trace.
pub(crate) fn self_test(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    text: &str,
    vector: &[f32],
) -> Result<SelfTest> {
    let store = backend.store(palace, false)?;
    let mut done = Vec::new();
    let played = with_patience(PATIENCE, || play(&store, text, vector, &mut done));
    Ok(SelfTest {
        done,
        trouble: played.err().map(patiently),
    })
}

/// The error says how long it really waited.
fn patiently(error: Error) -> Error {
    match error {
        Error::Busy { what, .. } => Error::Busy {
            what,
            waited: PATIENCE,
        },
        Error::Locked { lock, holder, .. } => Error::Locked {
            lock,
            holder,
            waited: PATIENCE,
        },
        error => error,
    }
}

fn play(store: &Store, text: &str, vector: &[f32], done: &mut Vec<RehearsalStep>) -> Result<()> {
    store.alone(DOING, |db| {
        try_write(db, text, vector, done)?;
        commit_nothing(&db.sql)?;
        done.push(RehearsalStep::Commit);
        Ok(())
    })
}

fn try_write(db: &Db, text: &str, vector: &[f32], done: &mut Vec<RehearsalStep>) -> Attempt<()> {
    db.sql.pragma_update(None, "cache_spill", false)?;
    db.sql.execute_batch("BEGIN IMMEDIATE")?;
    let acted = act(db, text, vector, done);
    // After some errors SQLite has rolled back by itself.
    if !db.sql.is_autocommit() {
        db.sql.execute_batch("ROLLBACK")?;
    }
    acted
}

fn act(db: &Db, text: &str, vector: &[f32], done: &mut Vec<RehearsalStep>) -> Attempt<()> {
    create_row(db, NAME, Create::Always, &CollectionOptions::default())?;
    let db = &db.sql;
    let row = write(db, text, vector)?;
    done.push(RehearsalStep::Write);
    let stored = fetch(db, row)?.and_then(std::result::Result::ok);
    let as_written = stored.is_some_and(|stored| {
        stored.is_intact()
            && stored.text.as_deref() == Some(text)
            && stored.vector == Some(vector_bytes(vector))
    });
    expect(as_written, "a drawer is not read as it was written")?;
    done.push(RehearsalStep::Read);
    expect(
        is_found(db, text, row)?,
        "a drawer is not found by its words",
    )?;
    done.push(RehearsalStep::Find);
    forget(db, row)?;
    let gone = fetch(db, row)?.is_none() && !is_found(db, text, row)?;
    expect(gone, "a forgotten drawer is still there")?;
    done.push(RehearsalStep::Forget);
    Ok(())
}

fn write(db: &Connection, text: &str, vector: &[f32]) -> Attempt<u64> {
    let (mut writer, _) = writer(db)?;
    let change = Change {
        id: NAME,
        text: Some(text),
        prepared: None,
        patch: None,
        vector: Some(vector),
        other: None,
        has_embedder: false,
        origin: None,
        created_at: None,
    };
    let outcome = writer.record(&change, Mode::Add)?;
    expect(outcome == Outcome::Added, "a drawer is not added")?;
    let row = writer.seq();
    writer.finish(None)?;
    Ok(row)
}

fn forget(db: &Connection, row: u64) -> Attempt<()> {
    let (mut writer, collection) = writer(db)?;
    forgotten::remember(db, collection, &[row])?;
    expect(writer.remove(row)?, "a drawer is not removed")?;
    writer.finish(None)?;
    Ok(())
}

/// A writer into the collection of the rehearsal, with the collection's number.
fn writer(db: &Connection) -> Attempt<(Writer<'_>, i64)> {
    let head = Head::read(db)?;
    let collection = CollectionRow::require(db, &head, NAME)?;
    let number = collection.id;
    Ok((Writer::new(db, head.seq, collection), number))
}

fn is_found(db: &Connection, text: &str, row: u64) -> Attempt<bool> {
    let terms = passage::terms(text, "").joined;
    let quoted: Vec<String> = terms.split(' ').map(|term| format!("\"{term}\"")).collect();
    let mut statement =
        db.prepare("SELECT 1 FROM postings WHERE postings MATCH ?1 AND rowid = ?2")?;
    Ok(statement.exists(params![quoted.join(" "), row as i64])?)
}

/// Commits a page that is written with what stands there already.
fn commit_nothing(db: &Connection) -> Attempt<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    let committed = schema::format(db).and_then(|format| {
        db.pragma_update(None, "user_version", format)?;
        db.execute_batch("COMMIT")?;
        Ok(())
    });
    if committed.is_err() && !db.is_autocommit() {
        let _ = db.execute_batch("ROLLBACK");
    }
    committed
}

fn expect(holds: bool, otherwise: &str) -> Attempt<()> {
    if holds {
        return Ok(());
    }
    Err(Error::Internal {
        doing: DOING.into(),
        detail: otherwise.into(),
    }
    .into())
}

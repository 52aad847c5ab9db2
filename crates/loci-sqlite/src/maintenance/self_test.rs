//! Tests a write, a search and a forget in the palace itself.
//!
//! The test writes a drawer, reads it, finds it by its words, forgets it and searches for it again.
//! It uses the code of every other write, the real tables and the real write lock, in one
//! transaction that is rolled back. No other process ever sees the drawer, and a kill at any moment
//! leaves nothing of it: the transaction is not committed, and its pages are not spilled into the
//! log.
//!
//! Then the format number is overwritten with itself and committed. This is a real commit through
//! the real log, and every row stays as it was. The purge is not tested, because it rewrites the
//! whole file.

use std::time::Duration;

use loci_core::{CollectionOptions, Error, Outcome, PalaceRef, Result, SelfTest, SelfTestStep};
use rusqlite::{Connection, params};

use crate::SqliteBackend;
use crate::backend::{Create, create_row};
use crate::collection::meta::CollectionRow;
use crate::collection::passage;
use crate::collection::read::fetch;
use crate::collection::record::vector_to_bytes;
use crate::collection::write::Mode;
use crate::collection::writer::{Change, Writer};
use crate::fault::Attempt;
use crate::ledger::forgotten;
use crate::store::connection::{Db, with_patience};
use crate::store::{Head, Store, schema};

/// How long the test waits for other writers.
const PATIENCE: Duration = Duration::from_secs(2);
const DOING: &str = "testing a write";
/// Collection and id of the test drawer. No collection can have this name, because it holds a
/// control character.
const NAME: &str = "\u{1}rehearsal";

/// Tests a write of this text, which no drawer should have. Leaves no trace.
pub(crate) fn self_test(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    text: &str,
    vector: &[f32],
) -> Result<SelfTest> {
    let store = backend.store(palace, false)?;
    let mut done = Vec::new();
    let result = with_patience(PATIENCE, || run_steps(&store, text, vector, &mut done));
    Ok(SelfTest {
        done,
        trouble: result.err().map(with_real_wait),
    })
}

/// Corrects the wait time in an error to the time that the test really waited.
fn with_real_wait(error: Error) -> Error {
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

fn run_steps(
    store: &Store,
    text: &str,
    vector: &[f32],
    done: &mut Vec<SelfTestStep>,
) -> Result<()> {
    store.alone(DOING, |db| {
        try_write(db, text, vector, done)?;
        commit_nothing(&db.sql)?;
        done.push(SelfTestStep::Commit);
        Ok(())
    })
}

fn try_write(db: &Db, text: &str, vector: &[f32], done: &mut Vec<SelfTestStep>) -> Attempt<()> {
    // Without this, a large transaction could write pages into the log before it ends, and a kill
    // would leave the text there.
    db.sql.pragma_update(None, "cache_spill", false)?;
    db.sql.execute_batch("BEGIN IMMEDIATE")?;
    let result = write_read_forget(db, text, vector, done);
    // SQLite has already rolled back after some errors.
    if !db.sql.is_autocommit() {
        db.sql.execute_batch("ROLLBACK")?;
    }
    result
}

fn write_read_forget(
    db: &Db,
    text: &str,
    vector: &[f32],
    done: &mut Vec<SelfTestStep>,
) -> Attempt<()> {
    create_row(db, NAME, Create::Always, &CollectionOptions::default())?;
    let db = &db.sql;
    let row = write(db, text, vector)?;
    done.push(SelfTestStep::Write);
    let stored = fetch(db, row)?.and_then(std::result::Result::ok);
    let as_written = stored.is_some_and(|stored| {
        stored.is_intact()
            && stored.text.as_deref() == Some(text)
            && stored.vector == Some(vector_to_bytes(vector))
    });
    expect(as_written, "a drawer is not read as it was written")?;
    done.push(SelfTestStep::Read);
    expect(
        is_found(db, text, row)?,
        "a drawer is not found by its words",
    )?;
    done.push(SelfTestStep::Find);
    forget(db, row)?;
    let gone = fetch(db, row)?.is_none() && !is_found(db, text, row)?;
    expect(gone, "a forgotten drawer is still there")?;
    done.push(SelfTestStep::Forget);
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

/// A writer for the collection of the test, with the collection's number.
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

/// Commits a page with its old content.
fn commit_nothing(db: &Connection) -> Attempt<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    let committed = schema::format(db).and_then(|format| {
        db.pragma_update(None, "user_version", format)?;
        // A real commit that changes no row. A crash before or after it leaves the same palace.
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

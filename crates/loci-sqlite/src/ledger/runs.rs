//! Recorded runs: started, ended, listed, and the data that their undo needs.
//!
//! The steps of a run are written in the transactions that change its sources, so a killed run can
//! be undone as far as it got.

use loci_core::ledger::undoing::{KEPT_RUNS, unknown_run};
use loci_core::{Error, MetadataPatch, Result, RunKind, RunRecord, RunState, SourceRecord};
use rusqlite::{Connection, OptionalExtension, params};

use super::running;
use crate::collection::SqliteCollection;
use crate::fault::Attempt;
use crate::store::{Head, now_ms};

pub(super) fn begin(
    collection: &SqliteCollection,
    kind: &RunKind,
    roots: &[String],
) -> Result<u64> {
    let roots = serde_json::to_string(roots).unwrap_or_default();
    running::remove_abandoned(&collection.store.place);
    let mut held = None;
    let run = collection.store.write("recording a run", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        db.sql.execute(
            "INSERT INTO runs (collection, kind, state, roots, summary, started_at)
             VALUES (?1, ?2, 'running', ?3, '{}', ?4)",
            params![row.id, kind.as_str(), roots, now_ms()],
        )?;
        let run = db.sql.last_insert_rowid() as u64;
        // The lock is held before the run is visible. A kill between the two leaves a lock file of
        // no run, which the next run removes.
        held = Some(running::hold(&collection.store.place, run)?);
        // Committed when this returns, before the run changes anything. A run that is killed stays
        // `running` in the table, and its recorded steps can be undone.
        Ok(run)
    })?;
    if let Some(lock) = held {
        collection.store.running.keep(run, lock);
    }
    Ok(run)
}

pub(super) fn end(
    collection: &SqliteCollection,
    run: u64,
    state: &RunState,
    summary: &serde_json::Value,
) -> Result<()> {
    collection.store.write("recording the end of a run", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        db.sql.execute(
            "UPDATE runs SET state = ?3, summary = ?4, finished_at = ?5 WHERE id = ?1 AND collection = ?2",
            params![run as i64, row.id, state.as_str(), summary.to_string(), now_ms()],
        )?;
        let oldest: Option<i64> = db
            .sql
            .query_row(
                "SELECT DISTINCT run FROM run_sources ORDER BY run DESC LIMIT 1 OFFSET ?1",
                [KEPT_RUNS as i64 - 1],
                |row| row.get(0),
            )
            .optional()?;
        // Runs beyond the limit lose their undo data, in the transaction that ends this run. Their
        // drawers stay, but such a run cannot be undone any more.
        if let Some(oldest) = oldest {
            for sql in [
                "DELETE FROM kept_drawers WHERE step IN (SELECT id FROM run_sources WHERE run < ?1)",
                "DELETE FROM run_sources WHERE run < ?1",
            ] {
                db.sql.execute(sql, [oldest])?;
            }
        }
        Ok(())
    })?;
    // The end is committed. A kill before this leaves a lock file that nobody holds.
    collection
        .store
        .running
        .release(&collection.store.place, run);
    Ok(())
}

/// The last runs, newest first. A run without an end whose lock nobody holds was killed.
pub(super) fn list(collection: &SqliteCollection, limit: usize) -> Result<Vec<RunRecord>> {
    let mut runs = recorded(collection, limit)?;
    let place = collection.store.origin();
    let ours = &collection.store.running;
    for run in &mut runs {
        if run.state == RunState::Running && !ours.has(run.id) && !running::is_held(place, run.id) {
            run.state = RunState::Interrupted;
        }
    }
    Ok(runs)
}

fn recorded(collection: &SqliteCollection, limit: usize) -> Result<Vec<RunRecord>> {
    collection.read("listing runs", |db, row| {
        let mut statement = db.sql.prepare_cached(
            "SELECT id, kind, state, roots, summary, started_at, finished_at,
                    (SELECT count(DISTINCT source) FROM run_sources s WHERE s.run = runs.id)
             FROM runs WHERE collection = ?1 ORDER BY id DESC LIMIT ?2",
        )?;
        let found = statement.query_map(
            params![row.id, i64::try_from(limit).unwrap_or(i64::MAX)],
            |columns| {
                let roots: String = columns.get(3)?;
                let summary: String = columns.get(4)?;
                Ok(RunRecord {
                    id: columns.get::<_, i64>(0)? as u64,
                    kind: columns.get::<_, String>(1)?.into(),
                    state: columns.get::<_, String>(2)?.into(),
                    roots: serde_json::from_str(&roots).unwrap_or_default(),
                    summary: serde_json::from_str(&summary).unwrap_or_default(),
                    started_at: columns.get(5)?,
                    finished_at: columns.get(6)?,
                    sources: columns.get::<_, i64>(7)? as u64,
                })
            },
        )?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    })
}

/// Refuses a run that does not belong to this collection.
pub(super) fn require(db: &Connection, collection: i64, run: u64) -> Attempt<RunState> {
    let state: Option<String> = db
        .query_row(
            "SELECT state FROM runs WHERE id = ?1 AND collection = ?2",
            params![run as i64, collection],
            |row| row.get(0),
        )
        .optional()?;
    let state = state.map(RunState::from);
    Ok(state.ok_or_else(|| unknown_run(run))?)
}

/// Ends a run if its palace was replaced by one that does not know it.
pub(super) fn require_running(db: &Connection, collection: i64, run: u64) -> Attempt<()> {
    let running: bool = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND collection = ?2 AND state = 'running')",
        )?
        .query_row(params![run as i64, collection], |row| row.get(0))?;
    if running {
        return Ok(());
    }
    Err(Error::Busy {
        what: format!("mining: run {run} is not running in this palace; if the palace was replaced, start the run again"),
        waited: std::time::Duration::ZERO,
    }
    .into())
}

/// Starts a step of a run: the changes to one row of the ledger, recorded for undo before anything
/// is changed. Returns its number.
pub(super) fn begin_step(
    db: &Connection,
    run: u64,
    source: i64,
    first_row: u64,
    before: Option<&SourceRecord>,
) -> Attempt<i64> {
    let before = before
        .map(|record| serde_json::to_string(record).unwrap_or_default())
        .unwrap_or_default();
    db.prepare_cached(
        "INSERT INTO run_sources (run, source, first_row, last_row, before) VALUES (?1, ?2, ?3, 0, ?4)",
    )?
    .execute(params![run as i64, source, first_row as i64, before])?;
    Ok(db.last_insert_rowid())
}

/// Ends a step. The rows that it inserted have numbers up to this one.
pub(super) fn end_step(db: &Connection, step: i64, last_row: u64) -> Attempt<()> {
    db.prepare_cached("UPDATE run_sources SET last_row = ?2 WHERE id = ?1")?
        .execute(params![step, last_row as i64])?;
    Ok(())
}

/// Keeps the old state of a drawer before a step changes or removes it. `back` leads from its new
/// metadata to the old ones; without it, the drawer is removed. With `text`, the text is kept too;
/// without it, only the place.
pub(super) fn keep(
    db: &Connection,
    step: i64,
    row: u64,
    back: Option<&MetadataPatch>,
    text: bool,
) -> Attempt<()> {
    let patch = back
        .and_then(|patch| serde_json::to_string(patch).ok())
        .unwrap_or_default();
    db.prepare_cached(
        "INSERT INTO kept_drawers (step, removed, row, collection, drawer_id, text, metadata, patch, origin, created_at,
                                   access_count, use_count)
         SELECT ?1, ?3, d.row, d.collection, d.id, iif(?4, d.text, NULL), d.metadata, ?5, d.origin, d.created_at,
                coalesce(u.access_count, 0), coalesce(u.use_count, 0)
         FROM drawers d LEFT JOIN usage u ON u.row = d.row WHERE d.row = ?2",
    )?
    .execute(params![step, row as i64, back.is_none(), text, patch])?;
    Ok(())
}

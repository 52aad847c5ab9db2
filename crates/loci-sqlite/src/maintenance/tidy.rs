//! Planner statistics, tombstones and the write-ahead log. This work changes no answer and can be
//! interrupted at any point.

use loci_core::{MaintenanceKind, MaintenanceResult, MaintenanceStatus, Result};

use crate::index::build::trim_tombstones;
use crate::store::{Head, Store};

/// Refreshes planner statistics from a bounded sample, so that the write transaction stays short.
pub(crate) fn analyze(store: &Store) -> Result<MaintenanceResult> {
    store.write("refreshing planner statistics", |db| {
        db.sql
            .execute_batch("PRAGMA analysis_limit = 200; ANALYZE")?;
        Ok(())
    })?;
    Ok(ran(MaintenanceKind::Analyze, 0))
}

/// Removes tombstones that no snapshot needs, and moves the log into the database.
pub(crate) fn compact(store: &Store) -> Result<MaintenanceResult> {
    let mut trimmed = 0;
    loop {
        let removed = store.write("trimming tombstones", |db| {
            trim_tombstones(db, &Head::read(&db.sql)?, 0)
        })?;
        trimmed += removed;
        if removed == 0 {
            break;
        }
    }
    // PASSIVE waits for no reader and copies only what nobody needs. The log keeps its length, and
    // a crash leaves every commit in the log or the database.
    let checkpoint = store.alone("checkpointing", |db| {
        let sql = &db.sql;
        Ok(sql.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
    });
    if let Err(error) = checkpoint {
        tracing::debug!(%error, "the log was not moved into the database");
    }
    Ok(ran(MaintenanceKind::Compact, trimmed))
}

fn ran(kind: MaintenanceKind, trimmed: u64) -> MaintenanceResult {
    MaintenanceResult {
        kind,
        status: MaintenanceStatus::Ran,
        stats: [("tombstones_trimmed", trimmed)].into(),
    }
}

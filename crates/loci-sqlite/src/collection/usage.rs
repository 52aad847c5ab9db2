//! Counts how often drawers were returned. Counts are collected in memory and written later, in a
//! short transaction of their own, by a thread that waits for other writers. No search waits for
//! it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use super::SqliteCollection;
use crate::fault::Attempt;
use crate::store::connection::{Db, with_patience};
use crate::store::{Head, Store, now_ms};

/// How long counts are collected before they are written.
const GATHERING: Duration = Duration::from_millis(500);

/// How often a running process tries to write them while others hold the lock.
const ATTEMPTS: usize = 20;
/// How long one attempt waits for other writers.
const PATIENCE: Duration = Duration::from_millis(250);

type Counts = HashMap<(u64, u64), u64>;

/// Counts that are not written yet.
#[derive(Default)]
pub(crate) struct Usage {
    /// By generation and row, because after a restore the same number may be another drawer.
    pending: Mutex<Counts>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Held from taking counts out until they are written.
    writing: Mutex<()>,
}

impl Usage {
    /// Adds one to the counts of these rows. The next [`flush`] writes them.
    pub(crate) fn note(&self, generation: u64, records: &[u64]) {
        let mut pending = lock(&self.pending);
        for record in records {
            *pending.entry((generation, *record)).or_default() += 1;
        }
    }

    fn put_back(&self, counts: Counts) {
        let mut pending = lock(&self.pending);
        for (record, count) in counts {
            *pending.entry(record).or_default() += count;
        }
    }

    fn take(&self) -> Counts {
        std::mem::take(&mut *lock(&self.pending))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread that writes the pending counts after a while, unless one is running.
pub(crate) fn write_later(store: &Arc<Store>) {
    if store.read_only().is_some() {
        return;
    }
    let mut writer = lock(&store.usage.writer);
    if writer.as_ref().is_some_and(|thread| !thread.is_finished()) {
        return;
    }
    let held = Arc::downgrade(store);
    *writer = std::thread::Builder::new()
        .name("loci-usage".into())
        .spawn(move || {
            for _ in 0..ATTEMPTS {
                std::thread::sleep(GATHERING);
                let Some(store) = held.upgrade() else { return };
                let _writing = lock(&store.usage.writing);
                let pending = store.usage.take();
                if write(&store, &pending) {
                    return;
                }
                // Nothing was committed, so the counts stay for the next attempt.
                store.usage.put_back(pending);
            }
        })
        .ok();
}

/// Writes the pending counts. Counts that cannot be written, or that a kill takes, are lost; no
/// drawer depends on them.
pub(crate) fn flush(store: &Store) {
    let _writing = lock(&store.usage.writing);
    let pending = store.usage.take();
    write(store, &pending);
}

fn write(store: &Store, pending: &Counts) -> bool {
    if pending.is_empty() {
        return true;
    }
    let written = with_patience(PATIENCE, || {
        store.write("counting accesses", |db| apply(db, pending))
    });
    if let Err(error) = &written {
        tracing::debug!(%error, "access counts were not written");
    }
    written.is_ok()
}

fn apply(db: &Db, pending: &Counts) -> Attempt<()> {
    let mut statement = db.sql.prepare_cached(
        "INSERT INTO usage (row, access_count, last_used_at)
         SELECT row, ?2, ?3 FROM drawers WHERE row = ?1
         ON CONFLICT (row) DO UPDATE SET access_count = access_count + ?2, last_used_at = ?3",
    )?;
    let now = now_ms();
    let generation = Head::read(&db.sql)?.generation;
    for ((noted, row), count) in pending {
        // These counts belong to a palace that was replaced by a restore.
        if *noted != generation {
            continue;
        }
        statement.execute(params![*row as i64, *count as i64, now])?;
    }
    Ok(())
}

/// Access counts by id; 0 for an unknown id.
pub(crate) fn counts(collection: &SqliteCollection, ids: &[String]) -> loci_core::Result<Vec<u64>> {
    collection.read("reading access counts", |db, row| {
        let mut statement = db.sql.prepare_cached(
            "SELECT u.access_count FROM drawers d JOIN usage u ON u.row = d.row
             WHERE d.collection = ?1 AND d.id = ?2",
        )?;
        let mut counts = Vec::with_capacity(ids.len());
        for id in ids {
            let count: Option<i64> = statement
                .query_row(params![row.id, id], |columns| columns.get(0))
                .optional()?;
            counts.push(count.unwrap_or(0) as u64);
        }
        Ok(counts)
    })
}

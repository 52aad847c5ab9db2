//! Builds a snapshot from the vectors in the database and registers it.
//!
//! Holds `index.lock`, and a write transaction only for the registration. A kill at any line leaves
//! the old registration, or the new one with a stray file that the next builder removes.

use std::sync::{Arc, PoisonError};

use loci_core::{Error, MaintenanceKind, MaintenanceResult, MaintenanceStatus, Result};
use loci_index::{BuildSpec, Builder, Identity};
use rusqlite::{OptionalExtension as _, params};

use super::registry;
use crate::collection::meta::CollectionRow;
use crate::collection::record::vector_from_bytes;
use crate::fault::Attempt;
use crate::maintenance::working_copy;
use crate::store::connection::Db;
use crate::store::lock::FileLock;
use crate::store::palace_files::{PalaceFiles, ensure_private_directory};
use crate::store::{Head, Store};

/// Rows read per transaction while building, so that checkpoints are never held up for long.
const CHUNK: i64 = 2_000;
/// Number of places in the collection that the sample is taken from, and rows taken at each.
const SAMPLE_PLACES: u64 = 32;
const SAMPLE_ROWS: i64 = 64;
/// Tombstones of this many last sequence numbers are kept for readers of the change feed.
const TOMBSTONES_KEPT: u64 = 100_000;
/// Tombstones that one transaction removes at most.
const TRIMMED_AT_ONCE: i64 = 20_000;

/// A process that continues to write builds when the tail is this many times the limit.
pub(crate) const PATIENCE_WHILE_RUNNING: u64 = 5;

/// When a build runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// On request, unless another process is building.
    Now,
    /// Always, after any build that is running.
    Must,
    /// If the tail exceeds this many limits, and failures do not hold it back.
    Due { patience: u64 },
}

/// Builds the snapshot of a collection.
pub(crate) fn build(store: &Store, name: &str, when: When) -> Result<MaintenanceResult> {
    let result = |status, stats: &[(&'static str, u64)]| MaintenanceResult {
        kind: MaintenanceKind::Reindex,
        status,
        stats: stats.iter().copied().collect(),
    };
    store.refuse_read_only()?;
    let wanted = |db: &Db| {
        let head = Head::read(&db.sql)?;
        let Some(collection) = CollectionRow::find(&db.sql, &head, name)? else {
            return Ok(None);
        };
        let go = match when {
            When::Now | When::Must => true,
            When::Due { patience } => {
                registry::is_due(&db.sql, &head, &collection, patience)?
                    && registry::held_back(&db.sql, collection.id)?.is_none()
            }
        };
        Ok(go.then_some((head, collection)))
    };
    if store
        .read("looking whether the index is due", wanted)?
        .is_none()
    {
        return Ok(result(MaintenanceStatus::Noop, &[]));
    }
    let directory = store.place.index_directory();
    let lock = match when {
        When::Must => Some(FileLock::exclusive(&store.place.index_lock())?),
        When::Now | When::Due { .. } => FileLock::try_exclusive(&store.place.index_lock())?,
    };
    let Some(_lock) = lock else {
        return Ok(result(MaintenanceStatus::AlreadyRunning, &[]));
    };
    ensure_directory(&store.place)?;
    // Check again: the last holder of the lock may have built the same index.
    let Some((head, collection)) = store.read("looking whether the index is due", wanted)? else {
        return Ok(result(MaintenanceStatus::Noop, &[]));
    };
    remove_strays(store)?;
    working_copy::tidy(&store.place);
    let Some(dimension) = collection.dimension.filter(|_| collection.vectors > 0) else {
        // Unregistered first, removed second. A crash in between leaves a stray file that is never
        // opened; the next builder removes it.
        store.write("removing an empty index", |db| {
            db.sql.execute(
                "DELETE FROM snapshots WHERE collection = ?1",
                [collection.id],
            )?;
            Ok(())
        })?;
        remove_strays(store)?;
        return Ok(result(MaintenanceStatus::Ran, &[("indexed", 0)]));
    };
    let spec = BuildSpec {
        identity: Identity {
            palace: head.identity,
            generation: head.generation,
            collection: collection.id as u64,
        },
        covered: head.seq,
        dimension,
        metric: collection.metric,
    };
    let sample = store.read("sampling vectors", |db| sample(db, &collection, dimension))?;
    let mut builder = Builder::create(&directory, spec, &sample)?;
    let (indexed, skipped) = push_all(store, &mut builder, &head, &collection)?;
    // The file is complete, synced and renamed when `finish` returns, and not yet used. It is
    // registered only now, because every registered file must be complete. A crash in between
    // leaves an unregistered file, which the next builder removes.
    let registration = builder.finish()?;
    let registered = store.write("registering the index", |db| {
        let now = Head::read(&db.sql)?;
        let same =
            CollectionRow::find(&db.sql, &now, name)?.is_some_and(|row| row.id == collection.id);
        // The palace was restored, the collection was replaced, or tombstones that this file needs
        // were removed during the build. The file could return deleted rows, so it is not
        // registered.
        if now.generation != head.generation || !same || now.tombstone_floor > registration.covered
        {
            return Ok(false);
        }
        registry::put(&db.sql, &registration)?;
        trim_tombstones(db, &now, TOMBSTONES_KEPT)?;
        Ok(true)
    })?;
    // The old file is unlinked only after the commit that replaced its registration. A process that
    // still has it open keeps its descriptor.
    remove_strays(store)?;
    if !registered {
        return Ok(result(MaintenanceStatus::Noop, &[]));
    }
    tracing::debug!(
        collection = name,
        indexed,
        covered = registration.covered,
        "built the index"
    );
    Ok(result(
        MaintenanceStatus::Ran,
        &[
            ("indexed", indexed),
            ("skipped", skipped),
            ("bytes", registration.bytes),
            ("covered", registration.covered),
        ],
    ))
}

/// Creates the index directory. Anything else under its name is quarantined. The caller holds
/// `index.lock`.
pub(crate) fn ensure_directory(place: &PalaceFiles) -> Result<()> {
    let directory = place.index_directory();
    let usable = std::fs::metadata(&directory).is_ok_and(|metadata| metadata.is_dir());
    if !usable && std::fs::symlink_metadata(&directory).is_ok() {
        loci_index::set_aside(&place.directory, "index")?;
    }
    ensure_private_directory(&directory)
}

fn push_all(
    store: &Store,
    builder: &mut Builder,
    head: &Head,
    collection: &CollectionRow,
) -> Result<(u64, u64)> {
    let (mut after, mut indexed, mut skipped) = (0_i64, 0, 0);
    loop {
        let last = store.read("reading vectors for the index", |db| {
            if Head::read(&db.sql)?.generation != head.generation {
                return Err(Error::Conflict {
                    what: "the palace was replaced while its index was built".into(),
                }
                .into());
            }
            let mut statement = db.sql.prepare_cached(CHUNK_SQL)?;
            let mut rows =
                statement.query(params![collection.id, after, head.seq as i64, CHUNK])?;
            let mut last = None;
            while let Some(columns) = rows.next()? {
                let row: i64 = columns.get(0)?;
                last = Some(row);
                let pushed = match columns.get_ref(1)?.as_blob() {
                    Ok(bytes) => builder.push(row as u64, bytes),
                    Err(_) => Err(Error::invalid("vector", "is not a blob")),
                };
                match pushed {
                    Ok(()) => indexed += 1,
                    // A damaged vector cannot be ranked; `verify --deep` reports it.
                    Err(Error::InvalidInput { .. }) => skipped += 1,
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(last)
        })?;
        match last {
            Some(row) => after = row,
            None => return Ok((indexed, skipped)),
        }
    }
}

/// Vectors of a collection by row, up to a sequence number.
pub(crate) const CHUNK_SQL: &str = "SELECT row, vector FROM vectors INDEXED BY vectors_order
     WHERE collection = ?1 AND row > ?2 AND seq <= ?3 ORDER BY row LIMIT ?4";

/// Vectors from evenly spread places, flattened.
fn sample(db: &Db, collection: &CollectionRow, dimension: usize) -> Attempt<Vec<f32>> {
    let bounds =
        "SELECT min(row), max(row) FROM vectors INDEXED BY vectors_order WHERE collection = ?1";
    let (first, last): (Option<i64>, Option<i64>) =
        db.sql.query_row(bounds, [collection.id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(Vec::new());
    };
    let mut statement = db.sql.prepare_cached(CHUNK_SQL)?;
    let mut sample = Vec::new();
    let mut after = first - 1;
    for place in 0..SAMPLE_PLACES {
        let start = first - 1 + ((last - first) as u64 / SAMPLE_PLACES * place) as i64;
        after = after.max(start);
        let mut rows = statement.query(params![collection.id, after, i64::MAX, SAMPLE_ROWS])?;
        while let Some(columns) = rows.next()? {
            after = columns.get(0)?;
            let vector = columns
                .get_ref(1)?
                .as_blob()
                .ok()
                .and_then(vector_from_bytes);
            sample.extend(
                vector
                    .filter(|vector| vector.len() == dimension)
                    .into_iter()
                    .flatten(),
            );
        }
    }
    Ok(sample)
}

/// Removes temporary and unregistered snapshot files. The caller holds `index.lock`, so none of
/// them is being built.
pub(crate) fn remove_strays(store: &Store) -> Result<()> {
    let keep = store.read("listing registered snapshots", |db| {
        registry::names(&db.sql)
    })?;
    loci_index::remove_leftovers(&store.place.index_directory(), &keep)?;
    Ok(())
}

/// Removes tombstones that no registered snapshot needs, except for the last `kept` sequence
/// numbers. Raising the floor in the same transaction makes older snapshots and views unusable, so
/// that no deleted row comes back.
pub(crate) fn trim_tombstones(db: &Db, head: &Head, kept: u64) -> Attempt<u64> {
    let covered: Option<i64> = db.sql.query_row(
        "SELECT min(covered) FROM snapshots WHERE generation = ?1",
        [head.generation as i64],
        |row| row.get(0),
    )?;
    let floor = covered
        .map_or(head.seq, |covered| covered as u64)
        .min(head.seq.saturating_sub(kept));
    if floor <= head.tombstone_floor {
        return Ok(0);
    }
    // A slice at a time keeps the write lock short. The floor rises only to the last tombstone of the
    // slice: everything below it is gone, and the next call goes on behind it.
    let last: Option<i64> = db
        .sql
        .query_row(
            "SELECT seq FROM tombstones WHERE seq <= ?1 ORDER BY seq LIMIT 1 OFFSET ?2",
            [floor as i64, TRIMMED_AT_ONCE - 1],
            |row| row.get(0),
        )
        .optional()?;
    let floor = last.unwrap_or(floor as i64);
    let removed = db
        .sql
        .execute("DELETE FROM tombstones WHERE seq <= ?1", [floor])?;
    db.sql.execute(
        "UPDATE palace SET tombstone_floor = ?1 WHERE id = 1",
        [floor],
    )?;
    Ok(removed as u64)
}

/// Builds in the background if `patience` makes it due. The thread is joined when the palace is
/// closed.
pub(crate) fn request(store: &Arc<Store>, name: &str, patience: u64) {
    if store.read_only().is_some() {
        return;
    }
    let mut slot = store.builder.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.as_ref().is_some_and(|running| !running.is_finished()) {
        return;
    }
    let (store, name) = (Arc::clone(store), name.to_owned());
    let work = move || {
        if let Err(error) = build(&store, &name, When::Due { patience }) {
            tracing::warn!(collection = name, %error, "the index was not built; answers stay exact");
        }
    };
    *slot = std::thread::Builder::new()
        .name("loci-index".into())
        .spawn(work)
        .ok();
}

/// Waits for a background build.
pub(crate) fn join(store: &Store) {
    let running = store
        .builder
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(running) = running {
        let _ = running.join();
    }
}

//! The table that registers snapshot files. Only a registered file is ever opened, so a file that
//! is older, newer or foreign is never used.

use loci_core::Metric;
use loci_index::{Identity, Registration};
use rusqlite::{Connection, params};

use crate::collection::meta::CollectionRow;
use crate::fault::Attempt;
use crate::store::{Head, now_ms};

/// Failures within this time count against automatic rebuilds.
const FAILURE_WINDOW_MS: i64 = 3_600_000;
/// This many failures hold automatic rebuilds back.
const FAILURE_LIMIT: i64 = 2;

/// The registered snapshot of a collection. One of another generation does not count.
pub(crate) fn find(db: &Connection, head: &Head, collection: i64) -> Attempt<Option<Registration>> {
    let mut statement = db.prepare_cached(
        "SELECT name, generation, covered, count, dimension, metric, digest, checksum, bytes
         FROM snapshots WHERE collection = ?1",
    )?;
    let mut rows = statement.query([collection])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let generation = row.get::<_, i64>(1)? as u64;
    if generation != head.generation {
        return Ok(None);
    }
    Ok(Some(Registration {
        name: row.get(0)?,
        identity: Identity {
            palace: head.identity,
            generation,
            collection: collection as u64,
        },
        covered: row.get::<_, i64>(2)? as u64,
        count: row.get::<_, i64>(3)? as u64,
        dimension: row.get::<_, i64>(4)? as usize,
        metric: Metric::parse(&row.get::<_, String>(5)?)?,
        digest: row.get(6)?,
        checksum: row.get::<_, i64>(7)? as u64,
        bytes: row.get::<_, i64>(8)? as u64,
    }))
}

/// Makes `registration` the only snapshot of its collection.
pub(crate) fn put(db: &Connection, registration: &Registration) -> Attempt<()> {
    db.execute(
        "INSERT INTO snapshots (collection, name, generation, covered, count, dimension, metric, digest,
                                checksum, bytes, built_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (collection) DO UPDATE SET
             name = excluded.name, generation = excluded.generation, covered = excluded.covered,
             count = excluded.count, dimension = excluded.dimension, metric = excluded.metric,
             digest = excluded.digest, checksum = excluded.checksum, bytes = excluded.bytes,
             built_at = excluded.built_at",
        params![
            registration.identity.collection as i64,
            registration.name,
            registration.identity.generation as i64,
            registration.covered as i64,
            registration.count as i64,
            registration.dimension as i64,
            registration.metric.as_str(),
            registration.digest,
            registration.checksum as i64,
            registration.bytes as i64,
            now_ms(),
        ],
    )?;
    Ok(())
}

/// Removes one registration, unless another has replaced it.
pub(crate) fn remove(db: &Connection, collection: i64, name: &str) -> Attempt<()> {
    db.execute(
        "DELETE FROM snapshots WHERE collection = ?1 AND name = ?2",
        params![collection, name],
    )?;
    Ok(())
}

/// Names of all registered files of this generation.
pub(crate) fn names(db: &Connection) -> Attempt<Vec<String>> {
    let mut statement = db.prepare_cached(
        "SELECT name FROM snapshots WHERE generation = (SELECT generation FROM palace WHERE id = 1)",
    )?;
    let names = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(names)
}

/// Records that a file failed its check.
pub(crate) fn record_failure(db: &Connection, collection: i64, detail: &str) -> Attempt<()> {
    // Failures in the future were recorded before the clock went back.
    let now = now_ms();
    db.execute(
        "DELETE FROM index_failures WHERE at < ?1 OR at > ?2",
        [now - FAILURE_WINDOW_MS, now],
    )?;
    db.execute(
        "INSERT INTO index_failures (collection, at, detail) VALUES (?1, ?2, ?3)",
        params![collection, now, detail],
    )?;
    Ok(())
}

/// Why automatic rebuilds are held back, if they are.
pub(crate) fn held_back(db: &Connection, collection: i64) -> Attempt<Option<String>> {
    let mut statement = db.prepare_cached(
        "SELECT count(*), max(detail) FROM index_failures WHERE collection = ?1 AND at > ?2 AND at <= ?3",
    )?;
    let now = now_ms();
    let (count, detail): (i64, Option<String>) = statement
        .query_row(params![collection, now - FAILURE_WINDOW_MS, now], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    Ok((count >= FAILURE_LIMIT).then(|| {
        format!(
            "the index failed {count} times within an hour ({}); answers are exact, and a repair rebuilds it",
            detail.unwrap_or_default()
        )
    }))
}

/// Number of changes that a snapshot up to `covered` does not contain, counted up to `limit`.
pub(crate) fn changes_after(
    db: &Connection,
    collection: i64,
    covered: u64,
    limit: u64,
) -> Attempt<u64> {
    let mut total = 0;
    for sql in [
        "SELECT count(*) FROM (SELECT 1 FROM vectors INDEXED BY vectors_seq
          WHERE collection = ?1 AND seq > ?2 LIMIT ?3)",
        "SELECT count(*) FROM (SELECT 1 FROM tombstones INDEXED BY tombstones_collection
          WHERE collection = ?1 AND seq > ?2 LIMIT ?3)",
    ] {
        let mut statement = db.prepare_cached(sql)?;
        let count: i64 = statement
            .query_row(params![collection, covered as i64, limit as i64], |row| {
                row.get(0)
            })?;
        total += count as u64;
    }
    Ok(total)
}

/// How many uncovered changes a collection may have before its snapshot is rebuilt.
pub(crate) fn tail_limit(collection: &CollectionRow) -> u64 {
    2_000.max(collection.vectors / 20)
}

/// Whether the snapshot is missing or too far behind. `patience` multiplies the limit: a process
/// that continues to write rebuilds rarely, and one that exits leaves a short tail.
pub(crate) fn is_due(
    db: &Connection,
    head: &Head,
    collection: &CollectionRow,
    patience: u64,
) -> Attempt<bool> {
    let limit = tail_limit(collection) * patience;
    let registered = find(db, head, collection.id)?;
    match registered {
        None => Ok(collection.vectors > limit),
        Some(registration) if registration.covered < head.tombstone_floor => Ok(true),
        Some(registration) if collection.seq.saturating_sub(registration.covered) <= limit => {
            Ok(false)
        }
        Some(registration) => {
            Ok(changes_after(db, collection.id, registration.covered, limit + 1)? > limit)
        }
    }
}

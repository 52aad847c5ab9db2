//! Writes vectors into the queue, from which ChromaDB builds its index.
//!
//! ChromaDB applies rows up to the watermark M of the metadata only to the index, so an upsert
//! there restores a vector and leaves its record unchanged. All collections share the numbers of
//! the queue, which only grow. The highest row must not fall below any watermark, or ChromaDB would
//! skip its next writes as already seen.

use std::path::Path;

use loci_core::{Error, Result};
use loci_foreign::chroma::{DATABASE, NUMBER_HOLDER};
use rusqlite::{Connection, OptionalExtension, params};

use super::database;
use super::plan::{Plan, Work};
use super::report::Change;
use super::sequence::stored;
use super::spool::Spool;

const UPSERT: i64 = 2;
const DELETE: i64 = 3;
/// Selects the rows of one collection, whose topic ends with its id.
pub(super) const OWN: &str = "substr(topic, -length(?1)) = ?1";

/// Writes the vectors of every collection whose index is discarded.
pub(super) fn write_back(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for plan in &work.plans {
        let Some(spool) = &plan.spool else { continue };
        changes.push(Change::new("indexes discarded, to be rebuilt", 1));
        changes.push(Change::new(
            format!("vectors of `{}` written into the queue", plan.row.name),
            spool.len() as u64,
        ));
        if write {
            write_collection(connection, work, plan, spool)?;
        }
    }
    Ok(merged(changes))
}

fn write_collection(
    connection: &Connection,
    work: &Work,
    plan: &Plan,
    spool: &Spool,
) -> Result<()> {
    let failed = |error: rusqlite::Error| {
        database::failed(Path::new(DATABASE), "writing vectors to", &error)
    };
    let topic = topic(connection, plan).map_err(failed)?;
    let mut mark = plan.watermark();
    connection
        .execute(
            &format!("DELETE FROM embeddings_queue WHERE {OWN} AND seq_id <= ?2"),
            params![plan.row.id, mark],
        )
        .map_err(failed)?;
    let mut numbers = free_numbers(connection, mark, spool.len()).map_err(failed)?;
    if numbers.len() < spool.len() {
        mark = raised(connection, plan, spool.len())?;
        numbers = free_numbers(connection, mark, spool.len()).map_err(failed)?;
    }
    insert_all(connection, plan, spool, &topic, &numbers)?;
    if let Some(vector) = &plan.row.vector_segment {
        connection
            .execute("DELETE FROM max_seq_id WHERE segment_id = ?1", [vector])
            .map_err(failed)?;
    }
    if let Some(metadata) = plan.metadata_segment.as_ref().filter(|_| mark > 0) {
        connection
            .execute(
                "INSERT OR REPLACE INTO max_seq_id (segment_id, seq_id) VALUES (?1, ?2)",
                params![metadata, stored(mark, work.blob_ids_pending)],
            )
            .map_err(failed)?;
    }
    Ok(())
}

fn insert_all(
    connection: &Connection,
    plan: &Plan,
    spool: &Spool,
    topic: &str,
    numbers: &[i64],
) -> Result<()> {
    let failed = |error: rusqlite::Error| {
        database::failed(Path::new(DATABASE), "writing vectors to", &error)
    };
    let mut statement = connection
        .prepare(
            "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding, metadata) \
             VALUES (?1, ?2, ?3, ?4, ?5, 'FLOAT32', '{}')",
        )
        .map_err(failed)?;
    // Numbers descend and records ascend.
    let mut numbers = numbers.iter().rev();
    spool.for_each(&mut |position, vector| {
        let (Some(live), Some(number)) = (plan.live.get(position), numbers.next()) else {
            return Err(Error::Internal {
                doing: "writing vectors into the queue".into(),
                detail: "a vector has no record or no number".into(),
            });
        };
        statement
            .execute(params![number, UPSERT, topic, live.id, vector])
            .map_err(failed)?;
        Ok(())
    })
}

/// The topic of the collection's rows in the queue.
fn topic(connection: &Connection, plan: &Plan) -> rusqlite::Result<String> {
    let known: Option<String> = connection
        .query_row(
            &format!("SELECT topic FROM embeddings_queue WHERE {OWN} LIMIT 1"),
            [&plan.row.id],
            |row| row.get(0),
        )
        .optional()?;
    Ok(known.unwrap_or_else(|| format!("persistent://default/default/{}", plan.row.id)))
}

/// Up to `wanted` unused numbers, from `mark` downwards.
fn free_numbers(connection: &Connection, mark: i64, wanted: usize) -> rusqlite::Result<Vec<i64>> {
    let mut free = Vec::with_capacity(wanted);
    let mut next = mark;
    let mut statement = connection.prepare(
        "SELECT seq_id FROM embeddings_queue WHERE seq_id BETWEEN 1 AND ?1 ORDER BY seq_id DESC",
    )?;
    let mut rows = statement.query([mark])?;
    while free.len() < wanted {
        let taken: i64 = match rows.next()? {
            Some(row) => row.get(0)?,
            None => 0,
        };
        while next > taken && free.len() < wanted {
            free.push(next);
            next -= 1;
        }
        if taken == 0 {
            break;
        }
        next = taken - 1;
    }
    Ok(free)
}

/// A watermark above every number, for files with more records than numbers below their watermark.
/// Refuses if rows wait above the old watermark, because ChromaDB would skip them.
fn raised(connection: &Connection, plan: &Plan, wanted: usize) -> Result<i64> {
    let failed =
        |error: rusqlite::Error| database::failed(Path::new(DATABASE), "numbering", &error);
    let waiting: bool = connection
        .prepare(&format!("SELECT 1 FROM embeddings_queue WHERE {OWN}"))
        .and_then(|mut statement| statement.exists([&plan.row.id]))
        .map_err(failed)?;
    if waiting {
        return Err(Error::Corrupt {
            what: format!("the sequence numbers of collection `{}`", plan.row.name),
            path: DATABASE.into(),
            detail: format!(
                "{wanted} vectors do not fit below its watermark and later writes wait above it; import it instead"
            ),
        });
    }
    let (highest, marks) = heights(connection).map_err(failed)?;
    let highest = highest.max(marks.map_or(0, |(_, mark)| mark));
    Ok(highest.saturating_add(wanted as i64))
}

/// The highest row of the queue, and the highest watermark with its segment.
fn heights(connection: &Connection) -> rusqlite::Result<(i64, Option<(String, i64)>)> {
    let highest = connection.query_row(
        "SELECT coalesce(max(seq_id), 0) FROM embeddings_queue",
        [],
        |row| row.get(0),
    )?;
    let mark = connection
        .query_row(
            "SELECT max_seq_id.segment_id, sequence_number(max_seq_id.seq_id) AS mark FROM max_seq_id \
             JOIN segments ON segments.id = max_seq_id.segment_id \
             JOIN collections ON collections.id = segments.collection WHERE mark IS NOT NULL ORDER BY mark DESC LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok((highest, mark))
}

/// Stores the highest number ever seen in the queue, so that the next write gets a new one.
pub(super) fn keep_highest(
    connection: &Connection,
    work: &Work,
    write: bool,
) -> rusqlite::Result<Vec<Change>> {
    for table in ["max_seq_id", "segments", "collections", "embeddings_queue"] {
        if !database::has_table(connection, table)? {
            return Ok(Vec::new());
        }
    }
    let (highest, mark) = heights(connection)?;
    let Some((segment, mark)) = mark.filter(|(_, mark)| *mark > highest) else {
        return Ok(Vec::new());
    };
    let collection: Option<String> = connection
        .query_row(
            "SELECT collection FROM segments WHERE id = ?1",
            [&segment],
            |row| row.get(0),
        )
        .optional()?;
    let owner = work
        .plans
        .iter()
        .find(|plan| Some(&plan.row.id) == collection.as_ref());
    let Some(owner) = owner else {
        return Ok(Vec::new());
    };
    if write {
        connection.execute(
            "INSERT INTO embeddings_queue (seq_id, operation, topic, id, metadata) VALUES (?1, ?2, ?3, ?4, '{}')",
            params![mark, DELETE, topic(connection, owner)?, NUMBER_HOLDER],
        )?;
    }
    Ok(vec![Change::new("queue brought up to its watermark", 1)])
}

/// Adds up changes that have the same name.
fn merged(changes: Vec<Change>) -> Vec<Change> {
    let mut merged: Vec<Change> = Vec::new();
    for change in changes {
        match merged.iter_mut().find(|known| known.what == change.what) {
            Some(known) => known.count += change.count,
            None => merged.push(change),
        }
    }
    merged
}

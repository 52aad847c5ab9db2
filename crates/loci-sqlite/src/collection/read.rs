//! get, get_recent, counts and the change feed. Each answer is read in one read
//! transaction. A damaged row is reported and left out.

use loci_core::{Change, Changes, Get, GetResult, Include, Metadata, Selection, Warning};
use roaring::RoaringTreemap;
use rusqlite::{Connection, params};

use super::SqliteCollection;
use super::meta::CollectionRow;
use super::record::{STORED_COLUMNS, Stored, vector_from_bytes};
use super::rowset::{Evaluator, RowSet};
use crate::fault::Attempt;
use crate::store::connection::Db;

/// Sets of at most this many rows are sorted by themselves, instead of being matched during a scan
/// of the collection.
const FEW: u64 = 1_000;

/// Rows of a set in insertion order, after `offset`, at most `limit`.
pub(crate) fn rows_in_order(
    db: &Connection,
    collection: &CollectionRow,
    set: Option<&RowSet>,
    offset: usize,
    limit: Option<usize>,
) -> Attempt<Vec<u64>> {
    let limit = limit.unwrap_or(usize::MAX);
    if let Some(rows) = set.and_then(RowSet::listed) {
        return Ok(rows.iter().skip(offset).take(limit).collect());
    }
    // Everything, or nearly everything: scan the collection in order.
    let skip_in_sql = if set.is_none() { offset } else { 0 };
    let mut statement = db.prepare_cached(
        "SELECT row FROM drawers INDEXED BY drawers_order WHERE collection = ?1 ORDER BY row LIMIT -1 OFFSET ?2",
    )?;
    let mut found = statement.query(params![collection.id, skip_in_sql as i64])?;
    let mut to_skip = offset - skip_in_sql;
    let mut rows = Vec::new();
    while rows.len() < limit {
        let Some(columns) = found.next()? else { break };
        let row = columns.get::<_, i64>(0)? as u64;
        if set.is_none_or(|set| set.contains(row)) {
            if to_skip > 0 {
                to_skip -= 1;
            } else {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// Reads one row with its vector, or `None` if it is gone. A row whose columns cannot be decoded is
/// returned as an error of that row.
pub(crate) fn fetch(db: &Connection, row: u64) -> Attempt<Option<Result<Stored, u64>>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {STORED_COLUMNS} FROM drawers d LEFT JOIN vectors v ON v.row = d.row WHERE d.row = ?1"
    ))?;
    let mut rows = statement.query([row as i64])?;
    Ok(rows
        .next()?
        .map(|columns| Stored::read(columns).map_err(|_| row)))
}

/// A drawer that passed its checksum.
pub(crate) struct Intact {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) metadata: Metadata,
    pub(crate) vector: Vec<f32>,
}

/// Collects damaged rows into one warning.
#[derive(Default)]
pub(crate) struct Damaged {
    names: Vec<String>,
}

impl Damaged {
    /// Fetches a row and checks it. A damaged row is recorded and not returned.
    pub(crate) fn fetch(&mut self, db: &Connection, row: u64) -> Attempt<Option<Intact>> {
        let stored = match fetch(db, row)? {
            None => return Ok(None),
            Some(Err(row)) => {
                self.names.push(format!("row {row}"));
                return Ok(None);
            }
            Some(Ok(stored)) => stored,
        };
        let vector = stored
            .vector
            .as_deref()
            .map_or(Some(Vec::new()), vector_from_bytes);
        match (stored.is_intact(), stored.metadata(), vector) {
            (true, Some(metadata), Some(vector)) => Ok(Some(Intact {
                id: stored.id,
                text: stored.text.unwrap_or_default(),
                metadata,
                vector,
            })),
            _ => {
                self.names.push(loci_core::quoted(&stored.id));
                Ok(None)
            }
        }
    }

    /// Records a row that the vector search could not read.
    pub(crate) fn note(&mut self, name: String) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    pub(crate) fn into_warning(self) -> Option<Warning> {
        (!self.names.is_empty()).then(|| Warning::DamagedRows {
            drawers: self.names.len(),
            names: self.names.into_iter().take(5).collect(),
        })
    }
}

pub(crate) fn get(collection: &SqliteCollection, get: &Get) -> loci_core::Result<GetResult> {
    collection.read("reading drawers", |db, row| {
        let set = collection.evaluator(db, row).selection(&get.selection)?;
        let rows = rows_in_order(&db.sql, row, set.as_ref(), get.offset, get.limit)?;
        assemble(&db.sql, &rows, get.include)
    })
}

/// Number of rows of a selection, without reading them. A damaged drawer counts, as it does in the
/// collection's counter.
pub(crate) fn count(
    collection: &SqliteCollection,
    selection: &Selection,
) -> loci_core::Result<u64> {
    collection.read("counting drawers", |db, row| {
        let set = collection.evaluator(db, row).selection(selection)?;
        Ok(set.map_or(row.drawers, |set| set.len(row.drawers)))
    })
}

pub(crate) fn get_recent(
    collection: &SqliteCollection,
    limit: usize,
    selection: &Selection,
    include: Include,
) -> loci_core::Result<GetResult> {
    collection.read("reading recent drawers", |db, row| {
        let set = collection.evaluator(db, row).selection(selection)?;
        let listed = set.as_ref().and_then(RowSet::listed);
        if let Some(few) = listed.filter(|rows| rows.len() <= FEW) {
            return assemble(&db.sql, &newest(&db.sql, few, limit)?, include);
        }
        let mut statement = db.sql.prepare_cached(
            "SELECT row FROM drawers INDEXED BY drawers_seq WHERE collection = ?1 ORDER BY seq DESC",
        )?;
        let mut found = statement.query([row.id])?;
        let mut rows = Vec::new();
        while rows.len() < limit {
            let Some(columns) = found.next()? else { break };
            let candidate = columns.get::<_, i64>(0)? as u64;
            if set.as_ref().is_none_or(|set| set.contains(candidate)) {
                rows.push(candidate);
            }
        }
        drop(found);
        assemble(&db.sql, &rows, include)
    })
}

/// The rows of a small set that were changed last, newest first.
fn newest(db: &Connection, rows: &RoaringTreemap, limit: usize) -> Attempt<Vec<u64>> {
    let mut statement = db.prepare_cached("SELECT seq FROM drawers WHERE row = ?1")?;
    let mut dated: Vec<(i64, u64)> = Vec::new();
    for row in rows {
        let mut found = statement.query([row as i64])?;
        if let Some(columns) = found.next()? {
            dated.push((columns.get(0)?, row));
        }
    }
    dated.sort_unstable_by(|a, b| b.cmp(a));
    Ok(dated.into_iter().map(|(_, row)| row).take(limit).collect())
}

fn assemble(db: &Connection, rows: &[u64], include: Include) -> Attempt<GetResult> {
    let mut result = GetResult {
        embeddings: include.embeddings.then(Vec::new),
        ..GetResult::default()
    };
    let mut damaged = Damaged::default();
    for row in rows {
        let Some(drawer) = damaged.fetch(db, *row)? else {
            continue;
        };
        result.ids.push(drawer.id);
        if include.documents {
            result.documents.push(drawer.text);
        }
        if include.metadatas {
            result.metadatas.push(drawer.metadata);
        }
        if let Some(embeddings) = &mut result.embeddings {
            embeddings.push(drawer.vector);
        }
    }
    result.warnings.extend(damaged.into_warning());
    Ok(result)
}

pub(crate) fn changes_since(
    collection: &SqliteCollection,
    seq: u64,
    limit: usize,
) -> loci_core::Result<Changes> {
    collection.read_with_head("reading changes", |db, row, head| {
        let mut changes: Vec<Change> = Vec::new();
        let page = limit.saturating_add(1).min(i64::MAX as usize) as i64;
        let mut puts = db.sql.prepare_cached(
            "SELECT seq, row, id FROM drawers INDEXED BY drawers_seq
             WHERE collection = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
        )?;
        let mut found = puts.query(params![row.id, seq as i64, page])?;
        while let Some(columns) = found.next()? {
            changes.push(Change {
                seq: columns.get::<_, i64>(0)? as u64,
                record: columns.get::<_, i64>(1)? as u64,
                id: Some(columns.get(2)?),
            });
        }
        // If the drawer of a tombstone exists, only its vector was dropped. The same holds for an
        // earlier tombstone of a drawer that was deleted later.
        let mut deletes = db.sql.prepare_cached(
            "SELECT t.seq, t.row FROM tombstones t INDEXED BY tombstones_collection
             WHERE t.collection = ?1 AND t.seq > ?2
               AND NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = t.row)
               AND NOT EXISTS (SELECT 1 FROM tombstones later WHERE later.row = t.row AND later.seq > t.seq)
             ORDER BY t.seq LIMIT ?3",
        )?;
        let mut found = deletes.query(params![row.id, seq as i64, page])?;
        while let Some(columns) = found.next()? {
            changes.push(Change {
                seq: columns.get::<_, i64>(0)? as u64,
                record: columns.get::<_, i64>(1)? as u64,
                id: None,
            });
        }
        changes.sort_by_key(|change| change.seq);
        let more = changes.len() > limit;
        changes.truncate(limit);
        let next = changes.last().map_or(seq, |change| change.seq);
        Ok(Changes { changes, next, more, reset: seq > 0 && seq < head.tombstone_floor })
    })
}

impl SqliteCollection {
    pub(crate) fn evaluator<'a>(&'a self, db: &'a Db, row: &'a CollectionRow) -> Evaluator<'a> {
        Evaluator {
            db: &db.sql,
            epoch: db.epoch,
            collection: row,
            cache: &self.store.row_sets,
        }
    }
}

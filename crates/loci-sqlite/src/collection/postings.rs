//! The postings of terms.
//!
//! FTS5 stores the postings, but its ranking is not used. It costs about a microsecond per match,
//! gives no weight to a word in half of the drawers, and cannot weight terms. [`segments`] reads the
//! rows of a term from FTS5's tables. Longer terms, and tables that it does not understand, are read
//! through FTS5's own view of its index.

mod doclist;
mod segments;
#[cfg(test)]
mod tests;

use loci_core::{Postings, TermQuery};
use rusqlite::{Connection, OptionalExtension, params};

use self::segments::{Rows, Segments};
use crate::fault::Attempt;
use crate::store::connection::Db;

/// Looks up the collection per match. With a join, the planner could start from the wrong table.
pub(crate) const NEWEST: &str = "SELECT rowid FROM postings WHERE postings MATCH ?1
     AND (SELECT collection FROM passages WHERE row = postings.rowid) = ?2 ORDER BY rowid DESC";

/// The leaf pages of a segment from one on.
pub(crate) const LEAVES: &str =
    "SELECT block FROM main.postings_data WHERE id >= ?1 AND id <= ?2 ORDER BY id";
/// The last page whose first term is not above a term.
pub(crate) const DIRECTORY: &str = "SELECT pgno FROM main.postings_idx
     WHERE segid = ?1 AND term <= ?2 ORDER BY term DESC LIMIT 1";

/// The rows that contain these terms, unless more than `common` do.
pub(crate) fn read(db: &Db, terms: &[TermQuery], common: usize) -> Attempt<Vec<Postings>> {
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let mut segments = Segments::read(&db.sql)?.ok();
    let mut postings = Vec::with_capacity(terms.len());
    for query in terms {
        let rows = match segments.as_mut().filter(|_| !query.longer) {
            Some(segments) => segments.rows(&query.term, common)?.ok(),
            None => None,
        };
        postings.push(match rows {
            Some(Rows::Listed(rows)) => Postings::Listed(rows),
            Some(Rows::Counted(drawers)) => Postings::TooCommon { drawers },
            None => through_fts5(db, query, common)?,
        });
    }
    Ok(postings)
}

/// The same through FTS5's view of its index.
fn through_fts5(db: &Db, query: &TermQuery, common: usize) -> Attempt<Postings> {
    db.ensure_vocabulary()?;
    if query.longer {
        return longer(&db.sql, &query.term, common);
    }
    // Counting is ten times cheaper than reading.
    match drawers(&db.sql, &query.term)? {
        drawers if drawers > common as u64 => Ok(Postings::TooCommon { drawers }),
        _ => instances(&db.sql, &query.term, common),
    }
}

/// The number of terms of rows, as far as FTS5 stores it in a form that is known.
pub(crate) fn lengths(db: &Connection, rows: &[u64], lengths: &mut [Option<u32>]) -> Attempt<()> {
    let mut statement = db.prepare_cached("SELECT sz FROM main.postings_docsize WHERE id = ?1")?;
    for (length, row) in lengths.iter_mut().zip(rows) {
        let mut found = statement.query([*row as i64])?;
        let Some(columns) = found.next()? else {
            continue;
        };
        // One number for each column, and the postings have one.
        let bytes = columns.get_ref(0)?.as_blob().unwrap_or_default();
        *length = doclist::varint(bytes)
            .filter(|(_, used)| *used == bytes.len())
            .and_then(|(terms, _)| u32::try_from(terms).ok());
    }
    Ok(())
}

/// The newest rows of a collection that contain a term and that `admits` accepts.
pub(crate) fn newest(
    db: &Connection,
    collection: i64,
    query: &TermQuery,
    limit: usize,
    admits: impl Fn(u64) -> bool,
) -> Attempt<Vec<u64>> {
    let star = if query.longer { "*" } else { "" };
    let mut statement = db.prepare_cached(NEWEST)?;
    let mut rows = statement.query(params![format!("\"{}\"{star}", query.term), collection])?;
    let mut newest = Vec::new();
    while newest.len() < limit {
        let Some(columns) = rows.next()? else { break };
        let row = columns.get::<_, i64>(0)? as u64;
        if admits(row) {
            newest.push(row);
        }
    }
    Ok(newest)
}

fn instances(db: &Connection, term: &str, common: usize) -> Attempt<Postings> {
    let mut statement = db.prepare_cached("SELECT doc FROM temp.mentions WHERE term = ?1")?;
    let mut rows = statement.query([term])?;
    let mut found: Vec<(u64, u32)> = Vec::new();
    while let Some(columns) = rows.next()? {
        let row = columns.get::<_, i64>(0)? as u64;
        let read = found.len();
        match found.last_mut() {
            Some(last) if last.0 == row => last.1 += 1,
            _ if read == common => return Ok(too_common(common)),
            _ => found.push((row, 1)),
        }
    }
    Ok(Postings::Listed(found))
}

/// The same for all longer terms that begin with `term`.
fn longer(db: &Connection, term: &str, common: usize) -> Attempt<Postings> {
    let mut statement =
        db.prepare_cached("SELECT doc FROM temp.mentions WHERE term > ?1 AND term < ?2")?;
    // No term contains the last code point.
    let mut rows = statement.query([term, &format!("{term}\u{10ffff}")])?;
    let mut found: Vec<u64> = Vec::new();
    while let Some(columns) = rows.next()? {
        if found.len() >= 2 * common {
            return Ok(too_common(common));
        }
        found.push(columns.get::<_, i64>(0)? as u64);
    }
    found.sort_unstable();
    found.dedup();
    if found.len() > common {
        return Ok(too_common(common));
    }
    Ok(Postings::Listed(
        found.into_iter().map(|row| (row, 1)).collect(),
    ))
}

/// A term with more rows than were read. Counting them all would cost as much as reading them.
fn too_common(common: usize) -> Postings {
    Postings::TooCommon {
        drawers: common as u64,
    }
}

/// Number of drawers that contain a term.
fn drawers(db: &Connection, term: &str) -> Attempt<u64> {
    let found: Option<i64> = db
        .prepare_cached("SELECT doc FROM temp.frequencies WHERE term = ?1")?
        .query_row([term], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0) as u64)
}

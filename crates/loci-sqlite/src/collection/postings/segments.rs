//! The segments of the postings, read from FTS5's own tables.
//!
//! FTS5 stores sorted terms with their rows in segments, and every write adds a segment or merges
//! some. The format is part of SQLite's file format: `fts5_index.c` describes it. Reading it here
//! costs a tenth of reading it through the virtual table `fts5vocab`, which returns each mention as
//! a row of SQL. A row that occurs in several segments counts as in the newest one.

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::doclist::{Doclist, Malformed, Page, Summary, varint};
use super::{DIRECTORY, LEAVES};
use crate::fault::Attempt;

/// The version of FTS5's format that this module reads.
const VERSION: i64 = 4;
/// The row of the list of segments.
const STRUCTURE: i64 = 10;
/// The number of a page has this many bits; the number of its segment is above them.
const PAGE_BITS: u32 = 37;
/// Bytes at the beginning of the list of segments that change with the settings of the table.
const COOKIE_BYTES: usize = 4;
/// The most segments that FTS5 writes.
const MOST_SEGMENTS: u64 = 2_000;
/// Terms of the whole index begin with this byte.
const MAIN: u8 = b'0';

/// The result of a read that FTS5 may have to repeat.
pub(super) type Read<T> = Attempt<Result<T, Malformed>>;

/// The rows that contain a term.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// Rows and how often each contains the term, ascending.
    Listed(Vec<(u64, u32)>),
    /// More than were asked for: how many.
    Counted(u64),
}

/// The segments as of one transaction.
pub(super) struct Segments<'a> {
    leaves: CachedStatement<'a>,
    directory: CachedStatement<'a>,
    oldest_first: Vec<Segment>,
    /// The rows of the last term. Used again, because new memory costs more than reading.
    rows: Vec<(u64, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    id: i64,
    first: i64,
    last: i64,
}

impl Segment {
    fn row(&self, page: i64) -> i64 {
        (self.id << PAGE_BITS) + page
    }
}

impl<'a> Segments<'a> {
    pub(super) fn read(db: &'a Connection) -> Read<Self> {
        let version: Option<i64> = db
            .prepare_cached("SELECT v FROM main.postings_config WHERE k = 'version'")?
            .query_row([], |row| row.get(0))
            .optional()?;
        if version != Some(VERSION) {
            return Ok(Err(Malformed));
        }
        let structure: Option<Vec<u8>> = db
            .prepare_cached("SELECT block FROM main.postings_data WHERE id = ?1")?
            .query_row([STRUCTURE], |row| row.get(0))
            .optional()?;
        let Some(mut segments) = structure.as_deref().and_then(segments) else {
            return Ok(Err(Malformed));
        };
        // Older segments usually have smaller rows.
        segments.reverse();
        Ok(Ok(Self {
            leaves: db.prepare_cached(LEAVES)?,
            directory: db.prepare_cached(DIRECTORY)?,
            oldest_first: segments,
            rows: Vec::new(),
        }))
    }

    /// The rows of a term. If there are more than `most`, they are only counted.
    pub(super) fn rows(&mut self, term: &str, most: usize) -> Read<Rows> {
        let term = stored(term);
        let mut lists = Vec::new();
        let mut keep = most;
        loop {
            lists.clear();
            self.rows.clear();
            for segment in self.oldest_first.clone() {
                match self.doclist(segment, &term, keep)? {
                    Ok(list) => lists.extend(list),
                    Err(malformed) => return Ok(Err(malformed)),
                }
            }
            if lists.iter().all(|list| list.is_complete) {
                break;
            }
            let live: u64 = lists.iter().map(|list| list.live).sum();
            if live > most as u64 && are_apart(&lists) {
                return Ok(Ok(Rows::Counted(live)));
            }
            keep = usize::MAX;
        }
        merge(&mut self.rows);
        Ok(Ok(if self.rows.len() > most {
            Rows::Counted(self.rows.len() as u64)
        } else {
            Rows::Listed(self.rows.clone())
        }))
    }

    /// Appends the rows of a term in a segment.
    fn doclist(&mut self, segment: Segment, term: &[u8], keep: usize) -> Read<Option<Summary>> {
        let page = self.page_of(segment, term)?;
        let mut leaves = self
            .leaves
            .query(params![segment.row(page), segment.row(segment.last)])?;
        let Some(columns) = leaves.next()? else {
            return Ok(Err(Malformed));
        };
        let mut list = Doclist::new(keep, &mut self.rows);
        let begun = Page::new(columns.get_ref(0)?.as_blob().unwrap_or_default()).and_then(|page| {
            let Some((at, to)) = find(&page, term)? else {
                return Ok(None);
            };
            list.begin(&page, at, to)?;
            Ok(Some(to == page.end))
        });
        let mut goes_on = match begun {
            Ok(Some(goes_on)) => goes_on,
            Ok(None) => return Ok(Ok(None)),
            Err(malformed) => return Ok(Err(malformed)),
        };
        while goes_on {
            let Some(columns) = leaves.next()? else { break };
            let bytes = columns.get_ref(0)?.as_blob().unwrap_or_default();
            match Page::new(bytes).and_then(|page| list.resume(&page)) {
                Ok(more) => goes_on = more,
                Err(malformed) => return Ok(Err(malformed)),
            }
        }
        Ok(list.finish().map(Some))
    }

    /// The page on which a term is, if the segment has it.
    fn page_of(&mut self, segment: Segment, term: &[u8]) -> Attempt<i64> {
        let found: Option<i64> = self
            .directory
            .query_row(params![segment.id, term], |row| row.get(0))
            .optional()?;
        // The lowest bit says whether there is an index of the rows of the last term.
        let page = found.map_or(0, |page| page >> 1);
        Ok(page.clamp(segment.first, segment.last))
    }
}

/// A term as FTS5 stores it.
fn stored(term: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(term.len() + 1);
    bytes.push(MAIN);
    bytes.extend_from_slice(term.as_bytes());
    bytes
}

/// Where the doclist of a term begins and ends on a page. It may go on if it ends with the page.
fn find(page: &Page<'_>, term: &[u8]) -> Result<Option<(usize, usize)>, Malformed> {
    let mut terms = page.terms().peekable();
    let mut is_first = true;
    // How many bytes of `term` the last term begins with.
    let mut same = 0;
    while let Some(at) = terms.next() {
        let mut at = at?;
        let mut kept = 0;
        if !std::mem::take(&mut is_first) {
            (kept, at) = page.number(at)?;
        }
        let kept = usize::try_from(kept).map_err(|_| Malformed)?;
        let (length, after) = page.number(at)?;
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        let new = page.slice(after, length)?;
        // Terms are sorted, so one that has less in common comes after `term`.
        if kept < same {
            return Ok(None);
        }
        if kept > same {
            continue;
        }
        let rest = term.get(same..).unwrap_or_default();
        let common = new.iter().zip(rest).take_while(|(a, b)| a == b).count();
        same += common;
        if same == term.len() {
            if common < new.len() {
                return Ok(None);
            }
            let to = terms.next().transpose()?.unwrap_or(page.end);
            return Ok(Some((after + length, to)));
        }
        if new.get(common) > term.get(same) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Reads the list of segments. Levels are from new to old, the segments of a level from old to new.
fn segments(bytes: &[u8]) -> Option<Vec<Segment>> {
    let mut rest = bytes.get(COOKIE_BYTES..)?;
    let mut next = || {
        let (number, length) = varint(rest)?;
        rest = rest.get(length..)?;
        Some(number)
    };
    let (levels, total, _writes) = (next()?, next()?, next()?);
    if levels > MOST_SEGMENTS || total > MOST_SEGMENTS {
        return None;
    }
    let mut found = Vec::new();
    let mut read = 0;
    for _ in 0..levels {
        let (_merging, count) = (next()?, next()?);
        let start = found.len();
        if count > total {
            return None;
        }
        for _ in 0..count {
            let number = |number: u64| i64::try_from(number).ok().filter(|n| *n < 1 << 31);
            let (id, first, last) = (number(next()?)?, number(next()?)?, number(next()?)?);
            if id == 0 || last < first || (first == 0 && last > 0) {
                return None;
            }
            read += 1;
            // A merge that is under way leaves segments without pages.
            if last > 0 {
                found.push(Segment { id, first, last });
            }
        }
        found.get_mut(start..)?.reverse();
    }
    (read == total).then_some(found)
}

/// Whether the rows of each list are all below those of the next, which is newer. Then no row is in
/// two of them. A row that was written again is also in an older list.
fn are_apart(lists: &[Summary]) -> bool {
    lists.windows(2).all(|pair| match pair {
        [older, newer] => older.last < newer.first,
        _ => true,
    })
}

/// Sorts the rows of several lists, oldest list first. A row counts as in the newest list, and
/// deleted rows are left out.
fn merge(rows: &mut Vec<(u64, u32)>) {
    if !rows.is_sorted_by(|a, b| a.0 < b.0) {
        // Stable, so that the newest of equal rows comes last.
        rows.sort_by_key(|(row, _)| *row);
        rows.dedup_by(|newer, older| {
            let same = newer.0 == older.0;
            if same {
                *older = *newer;
            }
            same
        });
    }
    rows.retain(|(_, count)| *count > 0);
}

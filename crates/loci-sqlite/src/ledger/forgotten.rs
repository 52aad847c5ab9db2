//! What must not come back: keyed hashes of forgotten texts and of their lines. Nothing can be read out of them, and
//! without the palace's key nothing can be guessed.
//!
//! A source may be cut differently when it is mined again, so whole texts are not enough: a stretch of lines that holds
//! most lines of a forgotten text is that text.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::Result;
use rusqlite::{Connection, params};

use crate::collection::SqliteCollection;
use crate::fault::Attempt;
use crate::store::connection::Db;
use crate::store::{Head, now_ms};

/// Shorter lines say nothing.
const LINE_BYTES: usize = 4;
/// A line that is at least so long is hardly said by chance. Where a text has such lines, only they count: what everyone says
/// ("Noted.") must not vanish from other texts.
const TELLING_LINE_BYTES: usize = 24;
/// A text of short lines alone counts by its lines if they are at least so many, and together at least so long.
const SHORT_LINES: usize = 3;
const SHORT_LINES_BYTES: usize = 48;
/// Share of a forgotten text's lines that makes a stretch of lines that text.
const SHARE_PERCENT: usize = 60;
/// Other lines in a row that do not end a stretch, however short it is.
const MOST_OTHERS: usize = 3;

/// The records of one collection as they were at the last look.
#[derive(Default)]
pub(crate) struct Cache(Mutex<Option<(Stamp, Arc<Book>)>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    epoch: u64,
    collection: i64,
    count: i64,
    newest: i64,
}

pub(crate) struct Book {
    key: [u8; 32],
    texts: HashSet<Vec<u8>>,
    /// Number of each record.
    ids: Vec<i64>,
    /// Number of lines of each record.
    sizes: Vec<usize>,
    /// Records by line.
    lines: HashMap<u64, Vec<usize>>,
}

impl Book {
    /// What was forgotten in a collection, as of this transaction.
    pub(crate) fn load(db: &Connection, collection: i64) -> Attempt<Self> {
        let mut book = Self {
            key: key(db)?,
            texts: HashSet::new(),
            ids: Vec::new(),
            sizes: Vec::new(),
            lines: HashMap::new(),
        };
        let mut statement = db.prepare_cached(
            "SELECT hash, lines, id FROM forgotten WHERE collection = ?1 ORDER BY id",
        )?;
        let mut rows = statement.query([collection])?;
        while let Some(columns) = rows.next()? {
            book.texts
                .insert(columns.get_ref(0)?.as_blob().unwrap_or_default().to_vec());
            let (lines, _) = columns
                .get_ref(1)?
                .as_blob()
                .unwrap_or_default()
                .as_chunks();
            for line in lines {
                book.lines
                    .entry(u64::from_le_bytes(*line))
                    .or_default()
                    .push(book.sizes.len());
            }
            book.sizes.push(lines.len());
            book.ids.push(columns.get(2)?);
        }
        Ok(book)
    }

    /// Whether this very text was forgotten.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        !self.texts.is_empty() && self.texts.contains(&text_hash(&self.key, text))
    }

    /// Whether a text holds one that was forgotten.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.has_text(text) || !stretches(self, text).is_empty()
    }
}

/// The key by which single texts are asked for, where anything was forgotten at all.
pub(crate) fn key_if_any(db: &Connection, collection: i64) -> Attempt<Option<[u8; 32]>> {
    let any = db
        .prepare_cached("SELECT 1 FROM forgotten WHERE collection = ?1 LIMIT 1")?
        .exists([collection])?;
    Ok(if any { Some(key(db)?) } else { None })
}

/// Whether this very text was forgotten; one look into an index.
pub(crate) fn has_text(
    db: &Connection,
    collection: i64,
    key: &[u8; 32],
    text: &str,
) -> Attempt<bool> {
    Ok(db
        .prepare_cached("SELECT 1 FROM forgotten WHERE collection = ?1 AND hash = ?2")?
        .exists(params![collection, text_hash(key, text)])?)
}

/// Removes every copy that a repair, a clean-up or a run kept of a forgotten text, whatever its id. Gives their number.
pub(crate) fn remove_copies(db: &Connection, collection: i64) -> Attempt<usize> {
    let book = Book::load(db, collection)?;
    let mut removed = 0;
    for table in ["damaged_drawers", "removed_duplicates", "kept_drawers"] {
        let mut found = Vec::new();
        {
            let mut statement = db.prepare_cached(&format!(
                "SELECT id, text FROM {table} WHERE collection = ?1 AND text IS NOT NULL"
            ))?;
            let mut rows = statement.query([collection])?;
            while let Some(columns) = rows.next()? {
                if columns
                    .get_ref(1)?
                    .as_str()
                    .is_ok_and(|text| book.is_in(text))
                {
                    found.push(columns.get::<_, i64>(0)?);
                }
            }
        }
        for id in found {
            removed += db.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [id])?;
        }
    }
    Ok(removed)
}

/// Notes the texts of drawers that are about to be forgotten, in the transaction that removes them. Their sources count
/// as changed: a run that read one of them before looks again.
pub(crate) fn remember(db: &Connection, collection: i64, rows: &[u64]) -> Attempt<()> {
    for row in rows {
        db.prepare_cached(
            "UPDATE sources SET revision = revision + 1
             WHERE id = (SELECT origin FROM drawers WHERE row = ?1 AND origin <> 0)",
        )?
        .execute([*row as i64])?;
        let mut statement = db.prepare_cached("SELECT text FROM drawers WHERE row = ?1")?;
        let mut found = statement.query([*row as i64])?;
        let Some(columns) = found.next()? else {
            continue;
        };
        if let Ok(text) = columns.get_ref(0)?.as_str() {
            remember_text(db, collection, text)?;
        }
    }
    Ok(())
}

/// Notes a text that must not come back.
pub(crate) fn remember_text(db: &Connection, collection: i64, text: &str) -> Attempt<()> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let key = key(db)?;
    let mut lines: Vec<u64> = telling_lines(text)
        .into_iter()
        .filter_map(|line| line_hash(&key, line))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let bytes: Vec<u8> = lines.iter().flat_map(|line| line.to_le_bytes()).collect();
    db.prepare_cached(
        "INSERT INTO forgotten (collection, hash, lines, forgotten_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (collection, hash) DO NOTHING",
    )?
    .execute(params![collection, text_hash(&key, text), bytes, now_ms()])?;
    Ok(())
}

pub(super) fn any(collection: &SqliteCollection) -> Result<bool> {
    collection.read("looking for forgotten texts", |db, row| {
        let mut statement = db
            .sql
            .prepare_cached("SELECT 1 FROM forgotten WHERE collection = ?1 LIMIT 1")?;
        Ok(statement.exists([row.id])?)
    })
}

pub(super) fn allow_again(collection: &SqliteCollection, text: &str) -> Result<()> {
    collection.store.write("allowing a forgotten text", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        let book = book(collection, db, row.id)?;
        for (at, _) in stretches(&book, text) {
            let id = book.ids.get(at).copied().unwrap_or_default();
            db.sql
                .execute("DELETE FROM forgotten WHERE id = ?1", [id])?;
        }
        db.sql.execute(
            "DELETE FROM forgotten WHERE collection = ?1 AND hash = ?2",
            params![row.id, text_hash(&book.key, text)],
        )?;
        Ok(())
    })
}

pub(super) fn lines(collection: &SqliteCollection, text: &str) -> Result<Vec<(u32, u32)>> {
    let book = collection.read("looking for forgotten texts", |db, row| {
        book(collection, db, row.id)
    })?;
    if book.texts.is_empty() {
        return Ok(Vec::new());
    }
    let count = text.lines().count().max(1) as u32;
    if book.texts.contains(&text_hash(&book.key, text)) {
        return Ok(vec![(1, count)]);
    }
    let mut found: Vec<(u32, u32)> = stretches(&book, text)
        .into_iter()
        .map(|(_, stretch)| stretch)
        .collect();
    found.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (start, end) in found {
        match merged.last_mut() {
            Some(last) if start <= last.1 + 1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    Ok(merged)
}

/// Stretches of lines that are a forgotten text, with the record's place in the book. Some other lines may have been put
/// between its lines; they are not part of a stretch.
fn stretches(book: &Book, text: &str) -> Vec<(usize, (u32, u32))> {
    let mut open: HashMap<usize, Open> = HashMap::new();
    let mut found = Vec::new();
    let mut close = |at: usize, seen: Open| {
        let size = book.sizes.get(at).copied().unwrap_or(usize::MAX);
        if seen.hashes.len() * 100 >= size * SHARE_PERCENT {
            found.extend(seen.stretches.into_iter().map(|stretch| (at, stretch)));
        }
    };
    for (at, line) in text.lines().enumerate() {
        let number = at as u32 + 1;
        let Some(hash) = line_hash(&book.key, line) else {
            continue;
        };
        let records = book.lines.get(&hash).map(Vec::as_slice).unwrap_or_default();
        let mut ended = Vec::new();
        for (record, seen) in &mut open {
            if !records.contains(record) {
                seen.others += 1;
                if seen.others > seen.hashes.len().max(MOST_OTHERS) {
                    ended.push(*record);
                }
            }
        }
        for record in ended {
            if let Some(seen) = open.remove(&record) {
                close(record, seen);
            }
        }
        for record in records {
            open.entry(*record).or_default().take(number, hash);
        }
    }
    for (record, seen) in open {
        close(record, seen);
    }
    found
}

/// Lines of one record that were seen near each other.
#[derive(Default)]
struct Open {
    stretches: Vec<(u32, u32)>,
    hashes: HashSet<u64>,
    /// Other lines since the last one.
    others: usize,
}

impl Open {
    fn take(&mut self, line: u32, hash: u64) {
        match self.stretches.last_mut().filter(|_| self.others == 0) {
            Some((_, end)) => *end = line,
            None => self.stretches.push((line, line)),
        }
        self.others = 0;
        self.hashes.insert(hash);
    }
}

fn book(collection: &SqliteCollection, db: &Db, id: i64) -> Attempt<Arc<Book>> {
    let (count, newest): (i64, i64) = db
        .sql
        .prepare_cached(
            "SELECT count(*), coalesce(max(id), 0) FROM forgotten WHERE collection = ?1",
        )?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let stamp = Stamp {
        epoch: db.epoch,
        collection: id,
        count,
        newest,
    };
    let cache = &collection.store.forgotten.0;
    let cached = cache.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((_, book)) = cached.filter(|(cached, _)| *cached == stamp) {
        return Ok(book);
    }
    let book = Book::load(&db.sql, id)?;
    let book = Arc::new(book);
    *cache.lock().unwrap_or_else(PoisonError::into_inner) = Some((stamp, Arc::clone(&book)));
    Ok(book)
}

fn key(db: &Connection) -> Attempt<[u8; 32]> {
    let bytes: Vec<u8> = db
        .prepare_cached("SELECT forget_key FROM palace WHERE id = 1")?
        .query_row([], |row| row.get(0))?;
    Ok(<[u8; 32]>::try_from(bytes.as_slice()).unwrap_or_default())
}

/// Of the text without the white space around it.
fn text_hash(key: &[u8; 32], text: &str) -> Vec<u8> {
    let hash = blake3::keyed_hash(key, text.trim().as_bytes());
    hash.as_bytes().iter().take(16).copied().collect()
}

/// The lines by which a text is known again. A line that ends with a colon only announces what follows: a speaker, a tool.
fn telling_lines(text: &str) -> Vec<&str> {
    let said: HashSet<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.len() >= LINE_BYTES && !line.ends_with(':'))
        .collect();
    let long = said.iter().filter(|line| line.len() >= TELLING_LINE_BYTES);
    let long: Vec<&str> = long.copied().collect();
    let bytes: usize = said.iter().map(|line| line.len()).sum();
    if !long.is_empty() {
        long
    } else if said.len() >= SHORT_LINES && bytes >= SHORT_LINES_BYTES {
        said.into_iter().collect()
    } else {
        Vec::new()
    }
}

fn line_hash(key: &[u8; 32], line: &str) -> Option<u64> {
    let line = line.trim();
    if line.len() < LINE_BYTES {
        return None;
    }
    let hash = blake3::keyed_hash(key, line.as_bytes());
    hash.as_bytes()
        .first_chunk()
        .map(|bytes| u64::from_le_bytes(*bytes))
}

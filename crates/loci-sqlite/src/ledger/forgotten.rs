//! What must not come back: keyed hashes of forgotten texts and of their lines. Nothing can be read
//! out of them, and without the palace's key nothing can be guessed.
//!
//! A source may be cut differently when it is mined again, so whole texts are not enough. Lines of
//! a forgotten text are known again by two rules. [`matching`]: by its order, its place and its
//! neighbours, whatever the length of its lines. [`stretches`]: in any source, where most of its
//! long lines stand near each other.

mod line;
mod matching;
mod record;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Machine, MetaValue, Metadata, Result, TextPlace};
use rusqlite::{Connection, params};

use self::line::{Line, has_content, lines_of, source_hash};
use self::matching::Extent;
use self::record::{Place, Record, insert, numbers, place_in, with_neighbours};
use super::marks;
use crate::collection::SqliteCollection;
use crate::fault::Attempt;
use crate::store::Head;
use crate::store::connection::Db;

/// A text without long lines is known in any source if it has at least so many lines, and together
/// they are at least so long.
const SHORT_LINES: usize = 3;
const SHORT_LINES_BYTES: usize = 48;
/// Share of a forgotten text's lines that makes a stretch of lines that text.
const SHARE_PERCENT: usize = 60;
/// Other lines in a row that do not end a stretch, however short it is.
const MOST_OTHERS: usize = 3;
/// Other lines after which a line that was met before begins a stretch of its own.
const REPEATED_AFTER: usize = 2;

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

/// What was forgotten in a collection.
pub(crate) struct Book {
    key: [u8; 32],
    texts: HashSet<Vec<u8>>,
    records: Vec<Record>,
    /// Records by line, for lines that are known in any source.
    lines: HashMap<u64, Vec<usize>>,
    /// Records by the hash of their source.
    sources: HashMap<u64, Vec<usize>>,
    /// Records by their first line with content: a text without it does not hold them whole.
    openings: HashMap<u64, Vec<usize>>,
}

impl Book {
    /// What was forgotten in a collection, as of this transaction.
    pub(crate) fn load(db: &Connection, collection: i64) -> Attempt<Self> {
        let mut book = Self {
            key: key(db)?,
            texts: HashSet::new(),
            records: Vec::new(),
            lines: HashMap::new(),
            sources: HashMap::new(),
            openings: HashMap::new(),
        };
        let mut statement = db.prepare_cached(
            "SELECT hash, lines, id, sequence, source, exchange, before, after
             FROM forgotten WHERE collection = ?1 ORDER BY id",
        )?;
        let mut rows = statement.query([collection])?;
        while let Some(columns) = rows.next()? {
            let hash = columns.get_ref(0)?.as_blob().unwrap_or_default();
            let lines = numbers(columns.get_ref(1)?.as_blob().unwrap_or_default());
            let record = Record::read(columns, 2, lines.len())?;
            book.texts.insert(hash.to_vec());
            book.add(record, &lines);
        }
        Ok(book)
    }

    fn add(&mut self, record: Record, lines: &[u64]) {
        let at = self.records.len();
        for line in lines {
            self.lines.entry(*line).or_default().push(at);
        }
        if record.place.source != 0 {
            let source = record.place.source;
            self.sources.entry(source).or_default().push(at);
        }
        if let Some(opening) = record.sequence.iter().find(|hash| has_content(**hash)) {
            self.openings.entry(*opening).or_default().push(at);
        }
        self.records.push(record);
    }

    /// Whether this very text was forgotten.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        !self.texts.is_empty() && self.texts.contains(&text_hash(&self.key, text))
    }

    /// Whether a kept copy of a drawer holds a text that was forgotten. Copies serve the undo of a
    /// run alone, so a smaller share of the same source is enough than in a drawer.
    pub(crate) fn is_in(&self, text: &str, origin: Place) -> bool {
        if self.has_text(text) {
            return true;
        }
        let lines = lines_of(&self.key, text);
        let present: HashSet<u64> = lines.iter().map(|line| line.hash).collect();
        let shares = |at: &usize| {
            self.records.get(*at).is_some_and(|record| {
                let of_another = record.place.exchange != origin.exchange;
                let content: BTreeSet<_> = record
                    .sequence
                    .iter()
                    .filter(|hash| has_content(**hash))
                    .collect();
                let shared = content.iter().filter(|hash| present.contains(hash)).count();
                !of_another && shared > 0 && (shared > 1 || shared * 2 >= content.len())
            })
        };
        let same_source = self.sources.get(&origin.source);
        same_source.is_some_and(|records| records.iter().any(shares))
            || !stretches(self, &lines).is_empty()
    }

    /// Lines of a text that were forgotten, by index, and the records that they belong to.
    fn find(&self, lines: &[Line], place: TextPlace<'_>) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let (mut found, mut records) = (BTreeSet::new(), BTreeSet::new());
        let known = match place {
            TextPlace::Unknown => None,
            TextPlace::Whole { source } => Some((source, Extent::Whole)),
            TextPlace::Part { source, first } => Some((source, Extent::Part { first })),
            TextPlace::Exchange { source, number } => Some((source, Extent::Exchange(number))),
        };
        if let Some((source, extent)) = known {
            let source = source_hash(&self.key, source);
            let candidates = self.candidates(lines, source);
            if !candidates.is_empty() {
                let placed = matching::find(lines, source, extent, &candidates);
                found.extend(placed.lines);
                records.extend(placed.records);
            }
        }
        for (at, (start, end)) in stretches(self, lines) {
            let anchors: Vec<usize> = lines
                .iter()
                .enumerate()
                .filter(|(_, line)| (start..=end).contains(&line.number))
                .map(|(index, _)| index)
                .collect();
            if let Some(record) = self.records.get(at) {
                found.extend(matching::adjoining(lines, &anchors, record));
            }
            found.extend(anchors);
            records.insert(at);
        }
        let of_records: HashSet<u64> = records
            .iter()
            .filter_map(|at| self.records.get(*at))
            .flat_map(|record| record.sequence.iter().copied())
            .collect();
        found.extend(matching::enclosed(lines, &found, &of_records));
        (found, records)
    }

    fn candidates(&self, lines: &[Line], source: u64) -> Vec<(usize, &Record)> {
        let opened = lines
            .iter()
            .filter_map(|line| self.openings.get(&line.hash));
        let of_source = self.sources.get(&source).into_iter();
        let all: BTreeSet<usize> = opened.chain(of_source).flatten().copied().collect();
        all.into_iter()
            .filter_map(|at| self.records.get(at).map(|record| (at, record)))
            .filter(|(_, record)| !record.sequence.is_empty())
            .collect()
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

/// Removes every copy that a repair, a clean-up or a run kept of a forgotten text, whatever its id.
/// Gives their number.
pub(crate) fn remove_copies(db: &Connection, collection: i64) -> Attempt<usize> {
    let book = Book::load(db, collection)?;
    let mut removed = 0;
    for (table, origin) in [
        ("damaged_drawers", "0"),
        ("removed_duplicates", "0"),
        ("kept_drawers", "origin"),
    ] {
        let mut found = Vec::new();
        {
            let mut statement = db.prepare_cached(&format!(
                "SELECT id, text, metadata, {origin} FROM {table}
                 WHERE collection = ?1 AND text IS NOT NULL"
            ))?;
            let mut rows = statement.query([collection])?;
            while let Some(columns) = rows.next()? {
                let Ok(text) = columns.get_ref(1)?.as_str() else {
                    continue;
                };
                let metadata = metadata_of(columns.get_ref(2)?.as_str().ok());
                let place = place_in(db, &book.key, columns.get(3)?, &metadata)?;
                if book.is_in(text, place) {
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

fn metadata_of(json: Option<&str>) -> Metadata {
    json.and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default()
}

/// Notes the texts of drawers that are about to be forgotten, in the transaction that removes them.
/// Their sources count as changed: a run that read one of them before looks again. Gives the number
/// of earlier states that were kept for an undo and are removed.
pub(crate) fn remember(db: &Connection, collection: i64, rows: &[u64]) -> Attempt<usize> {
    let key = key(db)?;
    let mut origins = BTreeSet::new();
    let mut earlier = 0;
    for row in rows {
        db.prepare_cached(
            "UPDATE sources SET revision = revision + 1
             WHERE id = (SELECT origin FROM drawers WHERE row = ?1 AND origin <> 0)",
        )?
        .execute([*row as i64])?;
        let mut statement =
            db.prepare_cached("SELECT text, metadata, origin FROM drawers WHERE row = ?1")?;
        let mut found = statement.query([*row as i64])?;
        let Some(columns) = found.next()? else {
            continue;
        };
        let origin: i64 = columns.get(2)?;
        if origin != 0 {
            origins.insert(origin);
        }
        let metadata = metadata_of(columns.get_ref(1)?.as_str().ok());
        earlier += remove_earlier_states(db, *row, origin, &metadata)?;
        if let Ok(text) = columns.get_ref(0)?.as_str() {
            let place = place_in(db, &key, origin, &metadata)?;
            let place = with_neighbours(db, &key, *row, place)?;
            write(db, &key, collection, text, place)?;
        }
    }
    for origin in origins {
        marks::clean(db, origin, rows)?;
    }
    Ok(earlier)
}

/// Removes what runs keep for their undo of the place of a drawer: what stood in the same exchange
/// or on the same lines of the same source before. Those of the drawer itself go with it.
fn remove_earlier_states(
    db: &Connection,
    row: u64,
    origin: i64,
    metadata: &Metadata,
) -> Attempt<usize> {
    let number = |key: &str| match metadata.get(key) {
        Some(MetaValue::Int(number)) => Some(*number),
        Some(_) | None => None,
    };
    let exchange = number("exchange");
    let (Some(start), Some(end)) = (number("start_line"), number("end_line")) else {
        return Ok(0);
    };
    let removed = db
        .prepare_cached(
            "DELETE FROM kept_drawers WHERE text IS NOT NULL AND origin <> 0 AND row <> ?5
           AND origin IN (SELECT s.id FROM sources s, sources o
                          WHERE o.id = ?1 AND s.collection = o.collection AND s.name = o.name)
           AND CASE WHEN NOT json_valid(metadata) THEN 0
                    WHEN ?2 IS NOT NULL THEN json_extract(metadata, '$.exchange') = ?2
                    ELSE json_extract(metadata, '$.start_line') <= ?4
                         AND json_extract(metadata, '$.end_line') >= ?3 END",
        )?
        .execute(params![origin, exchange, start, end, row as i64])?;
    Ok(removed)
}

/// Notes a text that must not come back. `origin` is the number of its source in the ledger, 0 if
/// it has none.
pub(crate) fn remember_copy(
    db: &Connection,
    collection: i64,
    text: &str,
    metadata: &Metadata,
    origin: i64,
) -> Attempt<()> {
    let key = key(db)?;
    let place = place_in(db, &key, origin, metadata)?;
    write(db, &key, collection, text, place)
}

fn write(
    db: &Connection,
    key: &[u8; 32],
    collection: i64,
    text: &str,
    place: Place,
) -> Attempt<()> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let lines = lines_of(key, text);
    let mut telling = telling_lines(&lines, text);
    telling.sort_unstable();
    telling.dedup();
    insert(db, key, collection, text, &telling, place)
}

/// Where a copy stood, for [`Book::is_in`].
pub(crate) fn place_of_copy(
    db: &Connection,
    origin: i64,
    metadata: Option<&Metadata>,
) -> Attempt<Place> {
    let nothing = Metadata::default();
    place_in(db, &key(db)?, origin, metadata.unwrap_or(&nothing))
}

/// A source has another name: what was forgotten in it is known under that name.
/// What was forgotten of a source is known by its new name. Where another machine has a source of the
/// old name, it is known by both.
pub(super) fn rename(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    from: &str,
    to: &str,
) -> Attempt<()> {
    if key_if_any(db, collection)?.is_none() {
        return Ok(());
    }
    let key = key(db)?;
    let hash = |name| source_hash(&key, name).to_le_bytes().to_vec();
    // New numbers: a process that has cached the records notices.
    db.prepare_cached(
        "INSERT INTO forgotten
             (collection, hash, lines, forgotten_at, sequence, source, exchange, before, after)
         SELECT collection, hash, lines, forgotten_at, sequence, ?3, exchange, before, after
         FROM forgotten WHERE collection = ?1 AND source = ?2
         ON CONFLICT (collection, hash, source, exchange, before, after) DO NOTHING",
    )?
    .execute(params![collection, hash(from), hash(to)])?;
    db.prepare_cached(
        "DELETE FROM forgotten WHERE collection = ?1 AND source = ?2 AND NOT EXISTS
             (SELECT 1 FROM sources WHERE collection = ?1 AND name = ?3 AND machine NOT IN (?4, ''))",
    )?
    .execute(params![collection, hash(from), from, machine.id])?;
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

pub(super) fn allow_again(
    collection: &SqliteCollection,
    text: &str,
    place: TextPlace<'_>,
) -> Result<()> {
    collection.store.write("allowing a forgotten text", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        let book = book(collection, db, row.id)?;
        let (_, records) = book.find(&lines_of(&book.key, text), place);
        for record in records.iter().filter_map(|at| book.records.get(*at)) {
            db.sql
                .execute("DELETE FROM forgotten WHERE id = ?1", [record.id])?;
        }
        db.sql.execute(
            "DELETE FROM forgotten WHERE collection = ?1 AND hash = ?2",
            params![row.id, text_hash(&book.key, text)],
        )?;
        Ok(())
    })
}

pub(super) fn lines(
    collection: &SqliteCollection,
    text: &str,
    place: TextPlace<'_>,
) -> Result<Vec<(u32, u32)>> {
    let book = collection.read("looking for forgotten texts", |db, row| {
        book(collection, db, row.id)
    })?;
    if book.texts.is_empty() {
        return Ok(Vec::new());
    }
    let count = text.lines().count().max(1) as u32;
    if book.has_text(text) {
        return Ok(vec![(1, count)]);
    }
    let lines = lines_of(&book.key, text);
    let (found, _) = book.find(&lines, place);
    let mut merged: Vec<(u32, u32)> = Vec::new();
    let mut last = None;
    for at in found {
        let Some(line) = lines.get(at) else {
            continue;
        };
        // Only blank lines lie between two lines with neighbouring indices.
        match merged.last_mut().filter(|_| last == at.checked_sub(1)) {
            Some((_, end)) => *end = line.number,
            None => merged.push((line.number, line.number)),
        }
        last = Some(at);
    }
    Ok(merged)
}

/// Stretches of lines that are a forgotten text, with the record's place in the book. Some other lines may have been put
/// between its lines; they are not part of a stretch.
fn stretches(book: &Book, lines: &[Line]) -> Vec<(usize, (u32, u32))> {
    let mut open: HashMap<usize, Open> = HashMap::new();
    let mut found = Vec::new();
    let mut close = |at: usize, seen: Open| {
        let size = book
            .records
            .get(at)
            .map_or(usize::MAX, |record| record.telling);
        if seen.hashes.len() * 100 >= size.saturating_mul(SHARE_PERCENT) {
            found.extend(seen.stretches.into_iter().map(|stretch| (at, stretch)));
        }
    };
    for line in lines {
        let number = line.number;
        let Some(hash) = line.plain else {
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
            // A line that was met already, and comes again behind other lines, is not part of what was
            // met: another text ends with the same words. It may begin a second copy.
            let repeated = open
                .get(record)
                .is_some_and(|seen| seen.others >= REPEATED_AFTER && seen.hashes.contains(&hash));
            if repeated && let Some(seen) = open.remove(record) {
                close(*record, seen);
            }
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

/// The lines by which a text is known in any source: its long ones, or all with content if it has
/// enough of them.
fn telling_lines(lines: &[Line], text: &str) -> Vec<u64> {
    let plain = |line: &Line| line.plain.filter(|_| has_content(line.hash));
    let long: Vec<u64> = lines
        .iter()
        .filter(|line| line.is_telling)
        .filter_map(plain)
        .collect();
    if !long.is_empty() {
        return long;
    }
    let short: BTreeSet<u64> = lines.iter().filter_map(plain).collect();
    let bytes: usize = text.lines().map(|line| line.trim().len()).sum();
    if short.len() >= SHORT_LINES && bytes >= SHORT_LINES_BYTES {
        short.into_iter().collect()
    } else {
        Vec::new()
    }
}

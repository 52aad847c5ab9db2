//! The table of forgotten texts, which must not be stored again. [`loci_core::ledger::forgotten`]
//! decides which lines of a text match. The table holds keyed hashes only, never text.

mod record;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::ledger::forgotten::{TextPosition, record_of, source_hash, text_hash};
use loci_core::{Machine, MetaValue, Metadata, Result, SourceRecord, TextPlace};
use rusqlite::{Connection, params};

use self::record::{insert, numbers, place_in, read, with_neighbours};
use super::marks;
use crate::collection::SqliteCollection;
use crate::fault::Attempt;
use crate::store::Head;
use crate::store::connection::Db;
pub(crate) use loci_core::ledger::forgotten::ForgottenTexts;

/// The records of one collection as they were last read.
#[derive(Default)]
pub(crate) struct Cache(Mutex<Option<(Stamp, Arc<ForgottenTexts>)>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    epoch: u64,
    collection: i64,
    count: i64,
    newest: i64,
}

/// The forgotten texts of a collection, as of this transaction.
pub(crate) fn load(db: &Connection, collection: i64) -> Attempt<ForgottenTexts> {
    let mut texts = ForgottenTexts::new(key(db)?);
    let mut statement = db.prepare_cached(
        "SELECT hash, lines, id, sequence, source, exchange, before, after
         FROM forgotten WHERE collection = ?1 ORDER BY id",
    )?;
    let mut rows = statement.query([collection])?;
    while let Some(columns) = rows.next()? {
        let hash = columns.get_ref(0)?.as_blob().unwrap_or_default();
        let lines = numbers(columns.get_ref(1)?.as_blob().unwrap_or_default());
        let record = read(columns, 2, lines.len())?;
        texts.add(hash.to_vec(), &lines, record);
    }
    Ok(texts)
}

/// The key for looking up single texts, or `None` if nothing was forgotten.
pub(crate) fn key_if_any(db: &Connection, collection: i64) -> Attempt<Option<[u8; 32]>> {
    let any = db
        .prepare_cached("SELECT 1 FROM forgotten WHERE collection = ?1 LIMIT 1")?
        .exists([collection])?;
    Ok(if any { Some(key(db)?) } else { None })
}

/// Whether exactly this text was forgotten. One index lookup.
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

/// Removes every copy of a forgotten text that a repair, a clean-up or a run kept, under any id.
/// Returns their number.
pub(crate) fn remove_copies(db: &Connection, collection: i64) -> Attempt<usize> {
    let texts = load(db, collection)?;
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
                let place = place_in(db, texts.key(), columns.get(3)?, &metadata)?;
                if texts.is_in(text, place) {
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

/// Records the texts of drawers that are about to be forgotten, in the transaction that removes
/// them. Their sources count as changed, so a run that has already read one of them reads it again.
/// Returns the number of earlier states that were kept for an undo and are removed.
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
        distrust_steps(db, origin)?;
    }
    Ok(earlier)
}

/// Removes earlier states that runs keep for their undo at the place of a drawer: the same
/// exchange, or the same lines of the same source. The states of the drawer itself are removed with
/// it.
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

/// Makes a source be read again after an undo of an earlier run. The forgetting may have removed text
/// that the undo would have restored. If nobody forgot that text, the file can still have it.
fn distrust_steps(db: &Connection, source: i64) -> Attempt<()> {
    let steps: Vec<(i64, String)> = db
        .prepare_cached(
            "SELECT id, before FROM run_sources WHERE before <> '' AND source IN
               (SELECT s.id FROM sources s, sources o
                WHERE o.id = ?1 AND s.collection = o.collection AND s.name = o.name)",
        )?
        .query_map([source], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (step, before) in steps {
        let Ok(record) = serde_json::from_str::<SourceRecord>(&before) else {
            continue;
        };
        if let Ok(json) = serde_json::to_string(&record.distrusted()) {
            db.prepare_cached("UPDATE run_sources SET before = ?2 WHERE id = ?1")?
                .execute(params![step, json])?;
        }
    }
    Ok(())
}

/// Records a text that must not be stored again. `origin` is the number of its source in the
/// ledger, or 0.
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
    place: TextPosition,
) -> Attempt<()> {
    match record_of(key, text, place) {
        Some(record) => insert(db, collection, &record),
        None => Ok(()),
    }
}

/// The place of a copy, for [`ForgottenTexts::is_in`].
pub(crate) fn place_of_copy(
    db: &Connection,
    origin: i64,
    metadata: Option<&Metadata>,
) -> Attempt<TextPosition> {
    let nothing = Metadata::default();
    place_in(db, &key(db)?, origin, metadata.unwrap_or(&nothing))
}

/// Makes the forgotten texts of a source known under its new name. If another machine has a source
/// with the old name, they are known under both.
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
    // The new numbers tell a process with cached records that they have changed.
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
        let texts = texts(collection, db, row.id)?;
        for record in texts.records_in(text, place) {
            db.sql
                .execute("DELETE FROM forgotten WHERE id = ?1", [record])?;
        }
        db.sql.execute(
            "DELETE FROM forgotten WHERE collection = ?1 AND hash = ?2",
            params![row.id, text_hash(texts.key(), text)],
        )?;
        // Committed when this returns: the text may be stored again. Nothing is restored by it; the
        // caller writes the text afterwards.
        Ok(())
    })
}

pub(super) fn lines(
    collection: &SqliteCollection,
    text: &str,
    place: TextPlace<'_>,
) -> Result<Vec<(u32, u32)>> {
    let texts = collection.read("looking for forgotten texts", |db, row| {
        texts(collection, db, row.id)
    })?;
    Ok(texts.lines_in(text, place))
}

fn texts(collection: &SqliteCollection, db: &Db, id: i64) -> Attempt<Arc<ForgottenTexts>> {
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
    if let Some((_, texts)) = cached.filter(|(cached, _)| *cached == stamp) {
        return Ok(texts);
    }
    let texts = load(&db.sql, id)?;
    let texts = Arc::new(texts);
    *cache.lock().unwrap_or_else(PoisonError::into_inner) = Some((stamp, Arc::clone(&texts)));
    Ok(texts)
}

fn key(db: &Connection) -> Attempt<[u8; 32]> {
    let bytes: Vec<u8> = db
        .prepare_cached("SELECT forget_key FROM palace WHERE id = 1")?
        .query_row([], |row| row.get(0))?;
    Ok(<[u8; 32]>::try_from(bytes.as_slice()).unwrap_or_default())
}

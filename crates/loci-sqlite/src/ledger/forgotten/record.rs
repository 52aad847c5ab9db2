//! Rows of the table `forgotten`: how they are written and read, and how the place of a drawer is
//! determined. They hold keyed hashes only, never text.

use loci_core::Metadata;
use loci_core::ledger::forgotten::{self, NEIGHBOURS, NewRecord, Record, TextPosition, place_of};
use rusqlite::{Connection, Row, params};

use crate::fault::Attempt;
use crate::store::now_ms;

/// Reads `id`, `sequence`, `source`, `exchange`, `before`, `after`, starting at column `at`.
pub(super) fn read(row: &Row<'_>, at: usize, telling: usize) -> rusqlite::Result<Record> {
    let bytes = |at| -> rusqlite::Result<Vec<u8>> {
        Ok(row.get_ref(at)?.as_blob().unwrap_or_default().to_vec())
    };
    let number = |at| -> rusqlite::Result<u64> {
        let bytes = bytes(at)?;
        Ok(<[u8; 8]>::try_from(bytes.as_slice()).map_or(0, u64::from_le_bytes))
    };
    Ok(Record {
        id: row.get(at)?,
        telling,
        sequence: numbers(&bytes(at + 1)?),
        place: TextPosition {
            source: number(at + 2)?,
            exchange: row.get(at + 3)?,
            before: number(at + 4)?,
            after: number(at + 5)?,
        },
    })
}

/// Numbers of eight bytes each, little-endian.
pub(super) fn numbers(bytes: &[u8]) -> Vec<u64> {
    let (chunks, _) = bytes.as_chunks();
    chunks
        .iter()
        .map(|chunk| u64::from_le_bytes(*chunk))
        .collect()
}

/// Writes the record of a text. A text that was forgotten at several places has a record for each.
pub(super) fn insert(db: &Connection, collection: i64, record: &NewRecord) -> Attempt<()> {
    let bytes = |numbers: &[u64]| -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    };
    let one = |number: u64| {
        if number == 0 {
            Vec::new()
        } else {
            bytes(&[number])
        }
    };
    let place = record.place;
    db.prepare_cached(
        "INSERT INTO forgotten (collection, hash, lines, forgotten_at, sequence, source, exchange, before, after)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (collection, hash, source, exchange, before, after) DO NOTHING",
    )?
    .execute(params![
        collection,
        record.hash,
        bytes(&record.lines),
        now_ms(),
        bytes(&record.sequence),
        one(place.source),
        place.exchange,
        one(place.before),
        one(place.after)
    ])?;
    Ok(())
}

/// The place of a text that was mined from the source with this number in the ledger.
pub(super) fn place_in(
    db: &Connection,
    key: &[u8; 32],
    origin: i64,
    metadata: &Metadata,
) -> Attempt<TextPosition> {
    let mut statement = db.prepare_cached("SELECT name FROM sources WHERE id = ?1 AND id <> 0")?;
    let mut rows = statement.query([origin])?;
    Ok(match rows.next()? {
        Some(columns) => {
            let name = columns.get_ref(0)?.as_str().unwrap_or_default();
            place_of(key, Some(name), metadata)
        }
        None => TextPosition::default(),
    })
}

/// Adds the lines before and after a drawer of a file, from its neighbours.
pub(super) fn with_neighbours(
    db: &Connection,
    key: &[u8; 32],
    row: u64,
    place: TextPosition,
) -> Attempt<TextPosition> {
    if !forgotten::has_neighbours(place) {
        return Ok(place);
    }
    let before = neighbours(
        db,
        row,
        "SELECT d.text FROM passages p, passages o, drawers d
         WHERE p.row = ?1 AND o.source = p.source AND o.source <> 0 AND d.row = o.row
           AND (o.line, o.row) < (p.line, p.row) ORDER BY o.line DESC, o.row DESC LIMIT ?2",
    )?;
    let after = neighbours(
        db,
        row,
        "SELECT d.text FROM passages p, passages o, drawers d
         WHERE p.row = ?1 AND o.source = p.source AND o.source <> 0 AND d.row = o.row
           AND (o.line, o.row) > (p.line, p.row) ORDER BY o.line, o.row LIMIT ?2",
    )?;
    Ok(forgotten::with_neighbours(key, place, &before, &after))
}

fn neighbours(db: &Connection, row: u64, sql: &str) -> Attempt<Vec<String>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![row as i64, NEIGHBOURS as i64])?;
    let mut texts = Vec::new();
    while let Some(columns) = rows.next()? {
        texts.push(columns.get_ref(0)?.as_str().unwrap_or_default().to_owned());
    }
    Ok(texts)
}

//! One forgotten text: its lines in order, and where it stood.

use rusqlite::{Connection, Row, params};

use super::line::{BEGINNING, Line, has_content, lines_of, source_hash};
use super::{line, text_hash};
use crate::fault::Attempt;
use crate::store::now_ms;
use loci_core::{MetaValue, Metadata};

/// Neighbours that are searched for a line with content.
const NEIGHBOURS: usize = 4;

/// What a record holds beside the hash of the whole text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(super) id: i64,
    /// Number of its lines that are known in any source.
    pub(super) telling: usize,
    /// All its lines in order; empty in records of palaces before format 5.
    pub(super) sequence: Vec<u64>,
    pub(super) place: Place,
}

/// Where a forgotten text stood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Hash of the name of its source, 0 if it had none.
    pub(super) source: u64,
    /// Number of its exchange, 0 if it stood in no conversation.
    pub(super) exchange: u32,
    /// The nearest line with content before it in its source, or [`BEGINNING`]; 0 if not known.
    pub(super) before: u64,
    /// The nearest line with content behind it; 0 if not known. The end of a source is no such
    /// line, since sources grow.
    pub(super) after: u64,
}

impl Record {
    /// Reads `id`, `sequence`, `source`, `exchange`, `before`, `after` from column `at` on.
    pub(super) fn read(row: &Row<'_>, at: usize, telling: usize) -> rusqlite::Result<Self> {
        let bytes = |at| -> rusqlite::Result<Vec<u8>> {
            Ok(row.get_ref(at)?.as_blob().unwrap_or_default().to_vec())
        };
        let number = |at| -> rusqlite::Result<u64> {
            let bytes = bytes(at)?;
            Ok(<[u8; 8]>::try_from(bytes.as_slice()).map_or(0, u64::from_le_bytes))
        };
        Ok(Self {
            id: row.get(at)?,
            telling,
            sequence: numbers(&bytes(at + 1)?),
            place: Place {
                source: number(at + 2)?,
                exchange: row.get(at + 3)?,
                before: number(at + 4)?,
                after: number(at + 5)?,
            },
        })
    }

    /// Number of its lines with content.
    pub(super) fn content(&self) -> usize {
        self.sequence
            .iter()
            .filter(|hash| has_content(**hash))
            .count()
    }
}

/// Numbers of eight bytes each, little-endian.
pub(super) fn numbers(bytes: &[u8]) -> Vec<u64> {
    let (chunks, _) = bytes.as_chunks();
    chunks
        .iter()
        .map(|chunk| u64::from_le_bytes(*chunk))
        .collect()
}

/// Writes the record of a text. A text that was forgotten at several places has a record of each.
pub(super) fn insert(
    db: &Connection,
    key: &[u8; 32],
    collection: i64,
    text: &str,
    telling: &[u64],
    place: Place,
) -> Attempt<()> {
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
    let sequence: Vec<u64> = lines_of(key, text).iter().map(|line| line.hash).collect();
    db.prepare_cached(
        "INSERT INTO forgotten (collection, hash, lines, forgotten_at, sequence, source, exchange, before, after)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (collection, hash, source, exchange, before, after) DO NOTHING",
    )?
    .execute(params![
        collection,
        text_hash(key, text),
        bytes(telling),
        now_ms(),
        bytes(&sequence),
        one(place.source),
        place.exchange,
        one(place.before),
        one(place.after)
    ])?;
    Ok(())
}

/// Where a text stands that was mined from the source with this number in the ledger.
pub(super) fn place_in(
    db: &Connection,
    key: &[u8; 32],
    origin: i64,
    metadata: &Metadata,
) -> Attempt<Place> {
    let mut statement = db.prepare_cached("SELECT name FROM sources WHERE id = ?1 AND id <> 0")?;
    let mut rows = statement.query([origin])?;
    let Some(columns) = rows.next()? else {
        return Ok(Place::default());
    };
    let exchange = match metadata.get("exchange") {
        Some(MetaValue::Int(number)) => u32::try_from(*number).unwrap_or_default(),
        Some(_) | None => 0,
    };
    Ok(Place {
        source: source_hash(key, columns.get_ref(0)?.as_str().unwrap_or_default()),
        exchange,
        before: 0,
        after: 0,
    })
}

/// Adds the lines before and behind a drawer of a file, from its neighbours.
pub(super) fn with_neighbours(
    db: &Connection,
    key: &[u8; 32],
    row: u64,
    place: Place,
) -> Attempt<Place> {
    if place.source == 0 || place.exchange > 0 {
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
    let content = |lines: Vec<line::Line>, last: bool| {
        let mut hashes = lines
            .into_iter()
            .map(|line: Line| line.hash)
            .filter(|hash| has_content(*hash));
        if last {
            hashes.next_back()
        } else {
            hashes.next()
        }
    };
    let nearest = |texts: &[String], last| {
        texts
            .iter()
            .find_map(|text| content(lines_of(key, text), last))
    };
    // Fewer neighbours than asked for, and none with content: the source begins here.
    let beginning = if before.len() < NEIGHBOURS {
        BEGINNING
    } else {
        0
    };
    Ok(Place {
        before: nearest(&before, true).unwrap_or(beginning),
        after: nearest(&after, false).unwrap_or(0),
        ..place
    })
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

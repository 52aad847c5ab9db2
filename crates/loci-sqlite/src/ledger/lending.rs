//! Reuses text that moved from one section of a large source to another. A section may take over
//! drawers from the head, from later sections and from leftovers. Earlier sections are already
//! filed and lend nothing.
//!
//! Both queries run for every new piece, and a source may have thousands of sections, so their
//! plans are fixed.

use loci_core::ledger::matching::PieceKey;
use loci_core::{LEFTOVERS, Metadata, SourceRecord};
use rusqlite::{Connection, Row, params};

use crate::fault::Attempt;

/// A drawer that a row of the ledger holds.
pub(super) struct Held {
    pub(super) row: u64,
    pub(super) id: String,
    pub(super) metadata: Option<Metadata>,
    pub(super) origin: i64,
}

impl Held {
    /// Reads the columns row, id, metadata, origin.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get::<_, i64>(0)? as u64,
            id: row.get(1)?,
            metadata: row
                .get_ref(2)?
                .as_str()
                .ok()
                .and_then(|json| serde_json::from_str(json).ok()),
            origin: row.get(3)?,
        })
    }
}

/// Whether the source has other rows at all.
pub(super) fn is_possible(
    db: &Connection,
    collection: i64,
    record: &SourceRecord,
) -> Attempt<bool> {
    let mut statement = db.prepare_cached(
        "SELECT 1 FROM sources WHERE collection = ?1 AND name = ?2 AND section <> ?3
             AND machine IN (?4, '') LIMIT 1",
    )?;
    Ok(statement.exists(params![
        collection,
        record.name,
        record.section,
        record.machine.id
    ])?)
}

/// A drawer with this text.
pub(super) fn by_text(
    db: &Connection,
    collection: i64,
    record: &SourceRecord,
    hash: &[u8],
) -> Attempt<Option<Held>> {
    let mut statement = db.prepare_cached(
        "SELECT d.row, d.id, d.metadata, d.origin
         FROM drawers d INDEXED BY drawers_mined CROSS JOIN sources s ON s.id = d.origin
         WHERE d.collection = ?1 AND d.wing = ?2 AND d.source_file = ?3 AND d.content_hash = ?4 AND d.source_file <> ''
           AND s.collection = ?1 AND s.name = ?3 AND (s.section > ?5 OR (s.section = 0 AND ?5 > 0))
           AND s.machine IN (?6, '')
         ORDER BY d.row LIMIT 1",
    )?;
    let mut rows = statement.query(params![
        collection,
        record.wing,
        record.name,
        hash,
        record.section,
        record.machine.id
    ])?;
    Ok(match rows.next()? {
        Some(columns) => Some(Held::read(columns)?),
        None => None,
    })
}

/// A drawer of the head or of the leftovers at this line and part. Finds text that grew while its
/// file became a large one.
pub(super) fn by_place(
    db: &Connection,
    collection: i64,
    record: &SourceRecord,
    place: &PieceKey,
) -> Attempt<Option<Held>> {
    let mut statement = db.prepare_cached(
        "SELECT d.row, d.id, d.metadata, d.origin
         FROM sources s INDEXED BY sources_name CROSS JOIN drawers d INDEXED BY drawers_origin ON d.origin = s.id
         WHERE s.collection = ?1 AND s.name = ?2 AND s.section IN (0, ?3) AND s.section <> ?4 AND d.origin <> 0
           AND d.start_line IN (?5, ?6) AND s.machine IN (?7, '')
         ORDER BY d.row LIMIT 1",
    )?;
    let mut rows = statement.query(params![
        collection,
        record.name,
        LEFTOVERS,
        record.section,
        place.line.to_string(),
        format!("{}.{}", place.line, place.part),
        record.machine.id
    ])?;
    Ok(match rows.next()? {
        Some(columns) => Some(Held::read(columns)?),
        None => None,
    })
}

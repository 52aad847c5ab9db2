//! Rows of the ledger that come from another palace, by an import or a salvage.
//!
//! The drawers come first: each creates the row of its source as an empty one, with revision 0. The
//! complete rows follow, the head of a source (section 0) last. So a head with a revision means
//! that the source is complete, and nothing of it is taken over again. A kill in between leaves
//! rows without a hash: the next mine reads their sources, and the next import fills them.

use loci_core::{
    Adopted, CountedSource, LEFTOVERS, Machine, Origin, Result, SourceHash, SourceRecord,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::sources::{self, COLUMNS};
use crate::collection::SqliteCollection;
use crate::collection::writer::Writer;
use crate::fault::Attempt;
use crate::store::Head;

/// The row that an imported drawer belongs to. It is created if it is missing. `None` if this
/// palace filed the source itself, because its own drawers count then.
pub(crate) fn imported_origin(
    db: &Connection,
    collection: i64,
    origin: &Origin,
) -> Attempt<Option<i64>> {
    let machine = Machine {
        id: origin.machine.clone(),
        host: String::new(),
    };
    if revision_of(db, collection, &machine, &origin.name, 0)?
        .is_some_and(|(_, revision)| revision > 0)
    {
        return Ok(None);
    }
    let record = SourceRecord {
        name: origin.name.clone(),
        section: origin.section,
        machine,
        ..SourceRecord::default()
    };
    match revision_of(
        db,
        collection,
        &record.machine,
        &origin.name,
        origin.section,
    )? {
        Some((id, _)) => Ok(Some(id)),
        None => sources::ensure(db, collection, &record).map(Some),
    }
}

fn revision_of(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    name: &str,
    section: u32,
) -> Attempt<Option<(i64, i64)>> {
    let mut statement = db.prepare_cached(
        "SELECT id, revision FROM sources WHERE collection = ?1 AND name = ?2 AND section = ?3
             AND machine IN (?4, '') ORDER BY machine DESC LIMIT 1",
    )?;
    Ok(statement
        .query_row(params![collection, name, section, machine.id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?)
}

/// The rows of up to `limit` sources after this name, heads last, with the number of their drawers.
pub(super) fn after(
    collection: &SqliteCollection,
    name: Option<&str>,
    limit: usize,
) -> Result<Vec<CountedSource>> {
    collection.read("reading the ledger", |db, row| {
        let mut statement = db.sql.prepare_cached(&format!(
            "SELECT {COLUMNS}, (SELECT count(*) FROM drawers d WHERE d.origin = sources.id AND d.origin <> 0)
             FROM sources
             WHERE collection = ?1 AND name > ?2 AND section <> {LEFTOVERS} AND name <=
                 (SELECT max(name) FROM (SELECT DISTINCT name FROM sources WHERE collection = ?1 AND name > ?2
                                         ORDER BY name LIMIT ?3))
             ORDER BY name, section"
        ))?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = statement.query_map(params![row.id, name.unwrap_or_default(), limit], |row| {
            Ok(CountedSource {
                record: sources::read(row)?.1,
                drawers: row.get::<_, i64>(18)? as u64,
            })
        })?;
        let mut found: Vec<CountedSource> = found.collect::<rusqlite::Result<_>>()?;
        found.sort_by(|a, b| {
            let is_head = |source: &CountedSource| source.record.section == 0;
            let (left, right) = (&a.record, &b.record);
            (&left.name, &left.machine.id, is_head(a), left.section).cmp(&(
                &right.name,
                &right.machine.id,
                is_head(b),
                right.section,
            ))
        });
        Ok(found)
    })
}

pub(super) fn adopt(
    collection: &SqliteCollection,
    counted: &[CountedSource],
) -> Result<Vec<Adopted>> {
    for source in counted {
        source.record.validate()?;
    }
    collection.store.write("taking over sources", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        let mut writer = Writer::new(&db.sql, head.seq, row);
        let mut adopted = Vec::with_capacity(counted.len());
        for source in counted {
            adopted.push(adopt_one(&db.sql, &mut writer, source)?);
        }
        writer.finish(None)?;
        // Committed when this returns: these rows, after their drawers. A crash before that leaves
        // empty rows, which the next mine or import completes.
        Ok(adopted)
    })
}

fn adopt_one(db: &Connection, writer: &mut Writer<'_>, source: &CountedSource) -> Attempt<Adopted> {
    let (collection, record) = (writer.collection(), &source.record);
    let is_filed = |section| -> Attempt<bool> {
        let found = revision_of(db, collection, &record.machine, &record.name, section)?;
        Ok(found.is_some_and(|(_, revision)| revision > 0))
    };
    if is_filed(0)? || is_filed(record.section)? {
        return Ok(Adopted::Known);
    }
    let id = sources::ensure(db, collection, record)?;
    let drawers: i64 = db
        .prepare_cached("SELECT count(*) FROM drawers WHERE origin = ?1 AND origin <> 0")?
        .query_row([id], |row| row.get(0))?;
    let whole = drawers as u64 == source.drawers
        && record.hash != SourceHash::default()
        && (record.section != 0 || sections_are_whole(db, collection, record)?);
    let revision = writer.draw();
    sources::put(db, id, record, revision)?;
    if whole {
        return Ok(Adopted::Whole);
    }
    sources::distrust(db, id)?;
    Ok(Adopted::Incomplete)
}

/// Whether all sections of a source are up to date. The head alone decides whether a mine reads the
/// file at all.
fn sections_are_whole(db: &Connection, collection: i64, head: &SourceRecord) -> Attempt<bool> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT 1 FROM sources WHERE collection = ?1 AND name = ?2 AND machine IN (?3, '')
             AND section NOT IN (0, {LEFTOVERS}) AND hash IN (x'', zeroblob(16)) LIMIT 1"
    ))?;
    Ok(!statement.exists(params![collection, head.name, head.machine.id])?)
}

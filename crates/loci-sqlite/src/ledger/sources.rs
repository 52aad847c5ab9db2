//! Rows of the table `sources`: read, written, and updated if a source is unchanged.
//!
//! Functions that take a connection run in the caller's transaction, together with the drawers of
//! the source.

use loci_core::{LEFTOVERS, Machine, Result, SourceHash, SourceRecord, Stat};
use rusqlite::{Connection, Row, params};

use crate::collection::SqliteCollection;
use crate::fault::Attempt;

pub(super) const COLUMNS: &str = "id, name, section, kind, root, wing, room, size, modified_ns, changed_ns, read_ns, hash, recipe,
    mark, complete, revision, machine, host";

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<(i64, SourceRecord)> {
    let hash: Vec<u8> = row.get(11)?;
    Ok((
        row.get(0)?,
        SourceRecord {
            name: row.get(1)?,
            section: row.get(2)?,
            machine: Machine {
                id: row.get(16)?,
                host: row.get(17)?,
            },
            kind: row.get(3)?,
            root: row.get(4)?,
            wing: row.get(5)?,
            room: row.get(6)?,
            stat: Stat {
                size: row.get::<_, i64>(7)? as u64,
                modified_ns: row.get(8)?,
                changed_ns: row.get(9)?,
                read_ns: row.get(10)?,
            },
            // A hash of another length is not a hash, so the source is read again.
            hash: SourceHash::try_from(hash.as_slice()).unwrap_or_default(),
            recipe: row.get(12)?,
            mark: row.get(13)?,
            complete: row.get::<_, i64>(14)? != 0,
            revision: row.get::<_, i64>(15)? as u64,
        },
    ))
}

pub(super) fn each(
    collection: &SqliteCollection,
    each: &mut dyn FnMut(SourceRecord) -> Result<()>,
) -> Result<()> {
    collection.read("reading the ledger", |db, row| {
        let mut statement = db.sql.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM sources WHERE collection = ?1 AND section <> {LEFTOVERS}
             ORDER BY name, section, machine"
        ))?;
        let mut rows = statement.query([row.id])?;
        while let Some(columns) = rows.next()? {
            each(read(columns)?.1)?;
        }
        Ok(())
    })
}

pub(super) fn of_name(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    name: &str,
) -> Attempt<Vec<(i64, SourceRecord)>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM sources WHERE collection = ?1 AND name = ?2 AND machine IN (?3, '') ORDER BY section"
    ))?;
    let found = statement.query_map(params![collection, name, machine.id], read)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// The row of this machine, else one of no known machine.
pub(super) fn find(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    name: &str,
    section: u32,
) -> Attempt<Option<(i64, SourceRecord)>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM sources WHERE collection = ?1 AND name = ?2 AND section = ?3
             AND machine IN (?4, '') ORDER BY machine DESC LIMIT 1"
    ))?;
    let mut rows = statement.query(params![collection, name, section, machine.id])?;
    Ok(match rows.next()? {
        Some(columns) => Some(read(columns)?),
        None => None,
    })
}

pub(super) fn by_id(db: &Connection, id: i64) -> Attempt<Option<SourceRecord>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM sources WHERE id = ?1"))?;
    let mut rows = statement.query([id])?;
    Ok(match rows.next()? {
        Some(columns) => Some(read(columns)?.1),
        None => None,
    })
}

pub(super) fn under(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    path: &str,
) -> Attempt<Vec<SourceRecord>> {
    let folder = path.trim_end_matches(std::path::MAIN_SEPARATOR);
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM sources WHERE collection = ?1 AND name = ?2 AND section = 0 AND machine IN (?5, '')
         UNION ALL
         SELECT {COLUMNS} FROM sources WHERE collection = ?1 AND name >= ?3 AND name < ?4 AND section = 0
             AND machine IN (?5, '')"
    ))?;
    // The separator, and the character after it.
    let separator = std::path::MAIN_SEPARATOR;
    let behind = char::from_u32(u32::from(separator) + 1).unwrap_or(char::MAX);
    let found = statement.query_map(
        params![
            collection,
            path,
            format!("{folder}{separator}"),
            format!("{folder}{behind}"),
            machine.id
        ],
        |row| Ok(read(row)?.1),
    )?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn with_hash(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    hash: &SourceHash,
) -> Attempt<Vec<SourceRecord>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM sources WHERE collection = ?1 AND hash = ?2 AND section = 0
             AND machine IN (?3, '') ORDER BY name LIMIT 100"
    ))?;
    let found = statement.query_map(params![collection, hash.as_slice(), machine.id], |row| {
        Ok(read(row)?.1)
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn count_drawers(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    name: &str,
) -> Attempt<u64> {
    let mut statement = db.prepare_cached(
        "SELECT count(*) FROM drawers WHERE origin <> 0 AND origin IN
             (SELECT id FROM sources WHERE collection = ?1 AND name = ?2 AND machine IN (?3, ''))",
    )?;
    let count: i64 =
        statement.query_row(params![collection, name, machine.id], |row| row.get(0))?;
    Ok(count as u64)
}

/// Whether two rows belong to different machines that are both known. A drawer without a source has
/// the row 0.
pub(super) fn is_of_another_machine(db: &Connection, row: i64, own: i64) -> Attempt<bool> {
    let mut statement = db.prepare_cached(
        "SELECT 1 FROM sources a, sources b
         WHERE a.id = ?1 AND b.id = ?2 AND a.machine NOT IN ('', b.machine)",
    )?;
    Ok(statement.exists([row, own])?)
}

pub(super) fn has_drawers(db: &Connection, id: i64) -> Attempt<bool> {
    let mut statement =
        db.prepare_cached("SELECT 1 FROM drawers WHERE origin = ?1 AND origin <> 0 LIMIT 1")?;
    Ok(statement.exists([id])?)
}

pub(super) fn text_hashes(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    name: &str,
) -> Attempt<Vec<SourceHash>> {
    let mut statement = db.prepare_cached(
        "SELECT content_hash FROM drawers WHERE origin <> 0 AND origin IN
             (SELECT id FROM sources WHERE collection = ?1 AND name = ?2 AND machine IN (?3, ''))",
    )?;
    let mut rows = statement.query(params![collection, name, machine.id])?;
    let mut hashes = Vec::new();
    while let Some(columns) = rows.next()? {
        hashes.extend(SourceHash::try_from(
            columns.get_ref(0)?.as_blob().unwrap_or_default(),
        ));
    }
    Ok(hashes)
}

/// The number of a row. Creates the row if it is missing; [`put`] fills it.
pub(super) fn ensure(db: &Connection, collection: i64, record: &SourceRecord) -> Attempt<i64> {
    if let Some((id, _)) = find(
        db,
        collection,
        &record.machine,
        &record.name,
        record.section,
    )? {
        return Ok(id);
    }
    db.prepare_cached(
        "INSERT INTO sources (collection, name, section, kind, root, wing, room, size, modified_ns, changed_ns, read_ns,
                              hash, recipe, mark, complete, revision, machine, host)
         VALUES (?1, ?2, ?3, '', '', '', '', 0, 0, 0, 0, x'', '', '', 0, 0, ?4, ?5)",
    )?
    .execute(params![
        collection,
        record.name,
        record.section,
        record.machine.id,
        record.machine.host
    ])?;
    Ok(db.last_insert_rowid())
}

/// Writes a whole row with this revision.
pub(super) fn put(db: &Connection, id: i64, record: &SourceRecord, revision: u64) -> Attempt<()> {
    db.prepare_cached(
        "UPDATE sources SET name = ?2, section = ?3, kind = ?4, root = ?5, wing = ?6, room = ?7, size = ?8,
             modified_ns = ?9, changed_ns = ?10, read_ns = ?11, hash = ?12, recipe = ?13, mark = ?14, complete = ?15,
             revision = ?16, machine = ?17, host = ?18
         WHERE id = ?1",
    )?
    .execute(params![
        id,
        record.name,
        record.section,
        record.kind,
        record.root,
        record.wing,
        record.room,
        record.stat.size as i64,
        record.stat.modified_ns,
        record.stat.changed_ns,
        record.stat.read_ns,
        record.hash.as_slice(),
        record.recipe,
        record.mark,
        i64::from(record.complete),
        revision as i64,
        record.machine.id,
        record.machine.host
    ])?;
    Ok(())
}

/// Makes other machines read their sources of this name again. They filed no drawer for text that
/// this machine already had, and this machine has just removed or changed it.
pub(super) fn distrust_others(
    db: &Connection,
    collection: i64,
    machine: &Machine,
    name: &str,
    revision: u64,
) -> Attempt<()> {
    db.prepare_cached(
        "UPDATE sources SET hash = zeroblob(16), complete = 0, revision = ?4
         WHERE collection = ?1 AND name = ?2 AND machine NOT IN (?3, '')",
    )?
    .execute(params![collection, name, machine.id, revision as i64])?;
    Ok(())
}

/// Makes the next run read the source of a row again.
pub(super) fn distrust(db: &Connection, id: i64) -> Attempt<()> {
    db.prepare_cached("UPDATE sources SET hash = zeroblob(16), complete = 0 WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

pub(super) fn remove(db: &Connection, id: i64) -> Attempt<()> {
    db.prepare_cached("DELETE FROM sources WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

/// Updates size and times of unchanged sources. A row that was filed in the meantime stays as it
/// is.
pub(super) fn touch(collection: &SqliteCollection, records: &[SourceRecord]) -> Result<()> {
    collection.store.write("noting unchanged sources", |db| {
        let head = crate::store::Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        let mut statement = db.sql.prepare_cached(
            "UPDATE sources SET size = ?4, modified_ns = ?5, changed_ns = ?6, read_ns = ?7
             WHERE collection = ?1 AND name = ?2 AND section = 0 AND revision = ?3
               AND machine IN (?8, '')",
        )?;
        for record in records {
            statement.execute(params![
                row.id,
                record.name,
                record.revision as i64,
                record.stat.size as i64,
                record.stat.modified_ns,
                record.stat.changed_ns,
                record.stat.read_ns,
                record.machine.id
            ])?;
        }
        // A crash before this commit costs time only: the next run reads the files and compares
        // their hashes.
        Ok(())
    })
}

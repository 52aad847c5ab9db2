//! Histories of drawers: read for an export, and written with the records of an import or a
//! salvage, in the same transaction.

use loci_core::{Error, History, Origin, Outcome};
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteCollection;
use super::record::content_hash;
use crate::fault::Attempt;
use crate::ledger;

/// The histories of drawers, by id. Unknown ids have empty ones.
pub(crate) fn read(
    collection: &SqliteCollection,
    ids: &[String],
) -> loci_core::Result<Vec<History>> {
    collection.read("reading histories", |db, row| {
        let mut statement = db.sql.prepare_cached(
            "SELECT d.created_at, d.updated_at, coalesce(u.access_count, 0), s.name, s.section,
                    coalesce(s.machine, '')
             FROM drawers d LEFT JOIN usage u ON u.row = d.row
             LEFT JOIN sources s ON s.id = d.origin AND s.collection = d.collection
             WHERE d.collection = ?1 AND d.id = ?2",
        )?;
        let mut histories = Vec::with_capacity(ids.len());
        for id in ids {
            let found = statement
                .query_row(params![row.id, id], |columns| {
                    let name: Option<String> = columns.get(3)?;
                    let section: Option<u32> = columns.get(4)?;
                    let machine: String = columns.get(5)?;
                    Ok(History {
                        created_at: columns.get(0)?,
                        updated_at: columns.get(1)?,
                        accesses: columns.get::<_, i64>(2)?.max(0) as u64,
                        origin: name.zip(section).map(|(name, section)| Origin {
                            name,
                            section,
                            machine,
                        }),
                    })
                })
                .optional()?;
            histories.push(found.unwrap_or_default());
        }
        Ok(histories)
    })
}

/// Refuses histories that do not fit their records, before a transaction begins.
pub(crate) fn validate(records: usize, histories: &[History]) -> loci_core::Result<()> {
    if histories.len() != records {
        return Err(Error::invalid(
            "histories",
            format!("{} for {records} record(s)", histories.len()),
        ));
    }
    histories.iter().try_for_each(History::validate)
}

/// The row of the ledger that an imported drawer belongs to.
pub(crate) fn origin_row(
    db: &Connection,
    collection: i64,
    history: Option<&History>,
) -> Attempt<Option<i64>> {
    match history.and_then(|history| history.origin.as_ref()) {
        Some(origin) => ledger::imported_origin(db, collection, origin),
        None => Ok(None),
    }
}

/// One record of an import, after it was written.
pub(crate) struct Written<'a> {
    pub(crate) collection: i64,
    pub(crate) id: &'a str,
    pub(crate) text: Option<&'a str>,
    pub(crate) outcome: &'a Outcome,
    /// Its row, if it was added.
    pub(crate) row: u64,
    pub(crate) origin: Option<i64>,
}

impl Written<'_> {
    /// Writes the history, which the record itself does not hold. A drawer that already existed
    /// keeps its own history. It joins the source only if it belongs to none and has the same text.
    pub(crate) fn settle(&self, db: &Connection, history: &History) -> Attempt<()> {
        let holder = match self.outcome {
            Outcome::Added => return self.settle_new(db, history),
            Outcome::DuplicateOf(holder) => holder,
            Outcome::Exists | Outcome::Unchanged => self.id,
            Outcome::Updated | Outcome::Unknown => return Ok(()),
        };
        if let (Some(origin), Some(text)) = (self.origin, self.text) {
            db.prepare_cached(
                "UPDATE drawers SET origin = ?3
                 WHERE collection = ?1 AND id = ?2 AND origin = 0 AND content_hash = ?4",
            )?
            .execute(params![self.collection, holder, origin, content_hash(text)])?;
        }
        Ok(())
    }

    fn settle_new(&self, db: &Connection, history: &History) -> Attempt<()> {
        if let Some(updated_at) = history.updated_at {
            db.prepare_cached("UPDATE drawers SET updated_at = ?2 WHERE row = ?1")?
                .execute(params![self.row as i64, updated_at])?;
        }
        if history.accesses > 0 {
            db.prepare_cached(
                "INSERT INTO usage (row, access_count) VALUES (?1, ?2)
                 ON CONFLICT (row) DO UPDATE SET access_count = ?2",
            )?
            .execute(params![self.row as i64, history.accesses as i64])?;
        }
        Ok(())
    }
}

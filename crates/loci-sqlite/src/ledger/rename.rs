//! A source that was renamed. Its drawers stay and get the new name, in one transaction for all
//! sections of the source.

use loci_core::{MetadataPatch, Outcome, Result, SourceRecord};
use rusqlite::{Connection, params};

use super::runs::{begin_step, end_step, keep};
use super::{forgotten, sources};
use crate::collection::SqliteCollection;
use crate::collection::write::Mode;
use crate::collection::writer::{Change, Writer};
use crate::fault::Attempt;
use crate::store::Head;

/// The largest number of drawers that a rename moves in one transaction. A larger source is filed
/// again.
const LIMIT: u64 = 50_000;

pub(super) fn rename(
    collection: &SqliteCollection,
    run: u64,
    from: &str,
    to: &SourceRecord,
) -> Result<bool> {
    collection.store.write("renaming a source", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        let sections = sources::of_name(&db.sql, row.id, &to.machine, from)?;
        if sections.is_empty()
            || !sources::of_name(&db.sql, row.id, &to.machine, &to.name)?.is_empty()
            || sources::count_drawers(&db.sql, row.id, &to.machine, from)? > LIMIT
        {
            return Ok(false);
        }
        forgotten::rename(&db.sql, row.id, &to.machine, from, &to.name)?;
        let mut writer = Writer::new(&db.sql, head.seq, row);
        for (source, record) in sections {
            let first = writer.seq() + 1;
            let step = begin_step(&db.sql, run, source, first, Some(&record))?;
            for (row, id) in drawers(&db.sql, source)? {
                let back = MetadataPatch([("source_file".to_owned(), Some(from.into()))].into());
                keep(&db.sql, step, row, Some(&back), false)?;
                if let Outcome::DuplicateOf(holder) =
                    move_drawer(&mut writer, source, &id, &to.name)?
                {
                    // The new name already has the same text. That drawer stays.
                    keep(&db.sql, step, row, None, true)?;
                    writer.remove(row)?;
                    take_over(&db.sql, writer.collection(), &holder, source)?;
                }
            }
            let revision = writer.draw();
            let renamed = SourceRecord {
                name: to.name.clone(),
                machine: to.machine.clone(),
                root: to.root.clone(),
                stat: if record.section == 0 {
                    to.stat
                } else {
                    record.stat
                },
                ..record
            };
            sources::put(&db.sql, source, &renamed, revision)?;
            end_step(&db.sql, step, revision)?;
        }
        let revision = writer.draw();
        sources::distrust_others(&db.sql, writer.collection(), &to.machine, from, revision)?;
        writer.finish(None)?;
        // Committed when this returns: all sections and drawers under the new name. A crash before
        // that leaves all of them under the old one.
        Ok(true)
    })
}

/// Makes a drawer one of this source, unless it belongs to another machine.
fn take_over(db: &Connection, collection: i64, holder: &str, source: i64) -> Attempt<()> {
    let origin: i64 = db
        .prepare_cached("SELECT origin FROM drawers WHERE collection = ?1 AND id = ?2")?
        .query_row(params![collection, holder], |row| row.get(0))?;
    if !sources::is_of_another_machine(db, origin, source)? {
        db.prepare_cached("UPDATE drawers SET origin = ?3 WHERE collection = ?1 AND id = ?2")?
            .execute(params![collection, holder, source])?;
    }
    Ok(())
}

fn drawers(db: &Connection, source: i64) -> Attempt<Vec<(u64, String)>> {
    let mut statement =
        db.prepare_cached("SELECT row, id FROM drawers WHERE origin = ?1 AND origin <> 0")?;
    let found = statement.query_map([source], |row| {
        Ok((row.get::<_, i64>(0)? as u64, row.get(1)?))
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn move_drawer(writer: &mut Writer<'_>, source: i64, id: &str, name: &str) -> Attempt<Outcome> {
    let patch = MetadataPatch([("source_file".to_owned(), Some(name.into()))].into());
    let change = Change {
        id,
        text: None,
        prepared: None,
        patch: Some(&patch),
        vector: None,
        other: None,
        has_embedder: false,
        origin: Some(source),
        created_at: None,
    };
    writer.record(&change, Mode::Upsert)
}

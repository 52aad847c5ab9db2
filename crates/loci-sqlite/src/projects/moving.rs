//! Moves drawers to another wing after their project has got a wing of its own. Each transaction
//! moves a slice, so other writers never wait long.

use loci_core::{MetadataPatch, MinedGroup, Moved, Outcome, Result};
use rusqlite::{Connection, OptionalExtension, params};

use crate::collection::SqliteCollection;
use crate::collection::write::Mode;
use crate::collection::writer::{Change, Writer};
use crate::fault::Attempt;
use crate::store::Head;

/// Number of drawers moved in one transaction.
const SLICE: usize = 500;

pub(super) fn groups(collection: &SqliteCollection, wing: &str) -> Result<Vec<MinedGroup>> {
    collection.read("listing what was mined into a wing", |db, row| {
        let mut statement = db.sql.prepare_cached(&format!(
            "SELECT source_file, {HELD_IN} AS held_in, count(*) FROM drawers
             WHERE collection = ?1 AND wing = ?2 AND source_file <> '' GROUP BY 1, 2 ORDER BY 1, 2"
        ))?;
        let found = statement.query_map(params![row.id, wing], |row| {
            Ok(MinedGroup {
                source: row.get(0)?,
                folder: row.get(1)?,
                drawers: row.get::<_, i64>(2)? as u64,
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    })
}

/// The folder of a conversation, from the metadata of a drawer.
const HELD_IN: &str = "CASE WHEN json_valid(metadata) AND json_type(metadata, '$.folder') = 'text'
    THEN json_extract(metadata, '$.folder') END";

pub(super) fn move_group(
    collection: &SqliteCollection,
    group: &MinedGroup,
    from: &str,
    to: &str,
) -> Result<Moved> {
    let mut moved = Moved::default();
    let mut after = 0;
    loop {
        let (slice, last) = collection
            .store
            .write("moving drawers to another wing", |db| {
                let head = Head::read(&db.sql)?;
                let row = collection.require(&db.sql, &head)?;
                let mut writer = Writer::new(&db.sql, head.seq, row);
                let rows = next_rows(&db.sql, writer.collection(), group, from, after)?;
                let mut slice = Moved::default();
                for found in &rows {
                    match move_action(&db.sql, &collection.name, found, to)? {
                        MoveAction::Moves if move_drawer(&db.sql, &mut writer, found, to)? => {
                            slice.moved += 1;
                        }
                        MoveAction::IsRemoved { duplicate_of } => {
                            remove_duplicate(&db.sql, &mut writer, found, duplicate_of)?;
                            slice.removed += 1;
                        }
                        MoveAction::Moves | MoveAction::Stays => slice.left += 1,
                    }
                }
                if rows.len() < SLICE {
                    move_sources(&db.sql, &mut writer, group, from, to)?;
                }
                writer.finish(None)?;
                let last = rows.last().filter(|_| rows.len() == SLICE);
                // Committed when this returns: these drawers are in the other wing, whole. The rest
                // is in the old wing. The row of the source follows with the last drawer, so a
                // second call continues after a crash.
                Ok((slice, last.map(|found| found.row)))
            })?;
        collection
            .store
            .wrote(&collection.name, slice.moved + slice.removed);
        moved.moved += slice.moved;
        moved.removed += slice.removed;
        moved.left += slice.left;
        match last {
            Some(row) => after = row,
            None => return Ok(moved),
        }
        collection.store.make_room();
    }
}

/// What [`move_group`] would do, as of one transaction.
pub(super) fn plan_move(
    collection: &SqliteCollection,
    group: &MinedGroup,
    from: &str,
    to: &str,
) -> Result<Moved> {
    collection.read("planning to move drawers", |db, row| {
        let mut planned = Moved::default();
        let mut after = 0;
        loop {
            let rows = next_rows(&db.sql, row.id, group, from, after)?;
            for found in &rows {
                match move_action(&db.sql, &collection.name, found, to)? {
                    MoveAction::Moves => planned.moved += 1,
                    MoveAction::IsRemoved { .. } => planned.removed += 1,
                    MoveAction::Stays => planned.left += 1,
                }
            }
            match rows.last().filter(|_| rows.len() == SLICE) {
                Some(last) => after = last.row,
                None => return Ok(planned),
            }
        }
    })
}

struct FoundRow {
    row: i64,
    id: String,
    updated_at: i64,
}

/// What happens to a drawer that should move to another wing.
enum MoveAction {
    Moves,
    /// The other wing has the same text from the same place in this row, and removing the drawer
    /// loses nothing.
    IsRemoved {
        duplicate_of: i64,
    },
    /// The other wing has it too, but the id of this drawer must stay valid, or its metadata hold
    /// more.
    Stays,
}

fn move_action(
    db: &Connection,
    collection: &str,
    found: &FoundRow,
    to: &str,
) -> Attempt<MoveAction> {
    let mut duplicates = db.prepare_cached(
        "SELECT t.row, EXISTS (SELECT 1 FROM json_each(d.metadata) own
                               WHERE own.key NOT IN (SELECT key FROM json_each(t.metadata)))
         FROM drawers d JOIN drawers t ON t.collection = d.collection AND t.wing = ?2 AND t.source_file = d.source_file
             AND t.content_hash = d.content_hash AND t.start_line = d.start_line AND t.source_file <> ''
         WHERE d.row = ?1 AND t.row <> d.row AND json_valid(d.metadata) AND json_valid(t.metadata) LIMIT 1",
    )?;
    let duplicate = duplicates
        .query_row(params![found.row, to], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?))
        })
        .optional()?;
    let Some((duplicate_of, says_more)) = duplicate else {
        return Ok(MoveAction::Moves);
    };
    // Facts and links refer to drawers by id, and a link is removed with its drawer. So a drawer
    // that one of them names is more than a copy.
    let is_named: bool = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM facts WHERE source_collection = ?1 AND source_id = ?2)
                 OR EXISTS (SELECT 1 FROM links WHERE from_kind = 'drawer' AND from_place = ?1 AND from_name = ?2)
                 OR EXISTS (SELECT 1 FROM links WHERE to_kind = 'drawer' AND to_place = ?1 AND to_name = ?2)",
        )?
        .query_row(params![collection, found.id], |row| row.get(0))?;
    Ok(if says_more || is_named {
        MoveAction::Stays
    } else {
        MoveAction::IsRemoved { duplicate_of }
    })
}

/// Removes a drawer that the other wing has as well. Its source and its access counts go to the
/// other drawer, so that the ledger does not miss a piece.
fn remove_duplicate(
    db: &Connection,
    writer: &mut Writer<'_>,
    found: &FoundRow,
    duplicate_of: i64,
) -> Attempt<()> {
    db.prepare_cached(
        "UPDATE drawers SET origin = (SELECT origin FROM drawers WHERE row = ?1) WHERE row = ?2 AND origin = 0",
    )?
    .execute(params![found.row, duplicate_of])?;
    db.prepare_cached(
        "INSERT INTO usage (row, access_count, use_count, last_used_at)
         SELECT ?2, access_count, use_count, last_used_at FROM usage WHERE row = ?1
         ON CONFLICT (row) DO UPDATE SET access_count = access_count + excluded.access_count,
             use_count = use_count + excluded.use_count,
             last_used_at = max(coalesce(last_used_at, 0), coalesce(excluded.last_used_at, 0))",
    )?
    .execute(params![found.row, duplicate_of])?;
    writer.remove(found.row as u64)?;
    Ok(())
}

fn next_rows(
    db: &Connection,
    collection: i64,
    group: &MinedGroup,
    from: &str,
    after: i64,
) -> Attempt<Vec<FoundRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT row, id, updated_at FROM drawers
         WHERE collection = ?1 AND wing = ?2 AND source_file <> '' AND source_file = ?3 AND {HELD_IN} IS ?4 AND row > ?5
         ORDER BY row LIMIT ?6"
    ))?;
    let found = statement.query_map(
        params![
            collection,
            from,
            group.source,
            group.folder,
            after,
            SLICE as i64
        ],
        |row| {
            Ok(FoundRow {
                row: row.get(0)?,
                id: row.get(1)?,
                updated_at: row.get(2)?,
            })
        },
    )?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Moves one drawer. Returns false if the other wing has the same drawer and it cannot be read.
fn move_drawer(
    db: &Connection,
    writer: &mut Writer<'_>,
    found: &FoundRow,
    to: &str,
) -> Attempt<bool> {
    let patch = MetadataPatch([("wing".to_owned(), Some(to.into()))].into());
    let change = Change {
        id: &found.id,
        text: None,
        prepared: None,
        patch: Some(&patch),
        vector: None,
        other: None,
        has_embedder: false,
        origin: None,
        created_at: None,
    };
    if let Outcome::DuplicateOf(_) = writer.record(&change, Mode::Upsert)? {
        return Ok(false);
    }
    // The content of the drawer is the same, so its date of change is kept.
    db.prepare_cached("UPDATE drawers SET updated_at = ?2 WHERE row = ?1")?
        .execute(params![found.row, found.updated_at])?;
    Ok(true)
}

/// Sources whose drawers have moved, by their numbers. ?1 is the collection, ?2 the file, ?3 the
/// wing they are in.
const MOVED: &str = "SELECT id FROM sources WHERE collection = ?1 AND name IN
    (SELECT s.name FROM drawers d JOIN sources s ON s.id = d.origin
     WHERE d.collection = ?1 AND d.wing = ?3 AND d.source_file <> '' AND d.source_file = ?2)";

/// Moves the rows of the ledger whose drawers have moved. The new revision makes a run that is
/// reading the source start again.
fn move_sources(
    db: &Connection,
    writer: &mut Writer<'_>,
    group: &MinedGroup,
    from: &str,
    to: &str,
) -> Attempt<()> {
    let revision = writer.draw();
    let collection = writer.collection();
    db.prepare_cached(&format!(
        "UPDATE sources SET wing = ?3, revision = ?5 WHERE wing = ?4 AND id IN ({MOVED})"
    ))?
    .execute(params![collection, group.source, to, from, revision as i64])?;
    // Updates what runs kept of the sources, so that an undo restores drawers to the new wing and
    // not to another project's wing.
    db.prepare_cached(&format!(
        "UPDATE run_sources SET before = json_set(before, '$.wing', ?3)
         WHERE source IN ({MOVED}) AND json_valid(before) AND json_extract(before, '$.wing') = ?4"
    ))?
    .execute(params![collection, group.source, to, from])?;
    for column in ["metadata", "patch"] {
        db.prepare_cached(&format!(
            "UPDATE kept_drawers SET {column} = json_set({column}, '$.wing', ?3)
             WHERE step IN (SELECT id FROM run_sources WHERE source IN ({MOVED})) AND {HELD_IN} IS ?5
               AND json_valid({column}) AND json_extract({column}, '$.wing') = ?4"
        ))?
        .execute(params![collection, group.source, to, from, group.folder])?;
    }
    Ok(())
}

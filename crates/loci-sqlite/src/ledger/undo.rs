//! undo: takes back what a run did, step by step, the last one first. A kill between two steps leaves a run that is half
//! undone and says so; undoing it again goes on.

use std::collections::HashMap;

use loci_core::{
    Error, Kinship, LEFTOVERS, Metadata, MetadataPatch, Outcome, Result, SourceRecord, Undone,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::forgotten::{self, Book};
use super::runs::{self, KEPT_RUNS};
use super::sources;
use crate::collection::SqliteCollection;
use crate::collection::write::{Mode, embed_texts};
use crate::collection::writer::{Change, Writer};
use crate::fault::Attempt;
use crate::projects::wing_of_returning;
use crate::store::Head;

/// One recorded step of a run.
struct Step {
    id: i64,
    source: i64,
    rows: (i64, i64),
    before: Option<SourceRecord>,
}

/// A drawer as it was.
struct Kept {
    removed: bool,
    row: i64,
    id: String,
    text: Option<String>,
    metadata: Option<Metadata>,
    back: Option<MetadataPatch>,
    origin: i64,
    created_at: i64,
    usage: (i64, i64),
}

pub(super) fn undo(collection: &SqliteCollection, run: u64) -> Result<Undone> {
    let mut undone = Undone::default();
    collection.store.write("beginning an undo", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        if runs::require(&db.sql, row.id, run)? == "undone" {
            return Err(Error::invalid(format!("run {run}"), "is undone already").into());
        }
        refuse_if_impossible(&db.sql, run)?;
        undone.sources = db.sql.query_row(
            "SELECT count(DISTINCT source) FROM run_sources WHERE run = ?1",
            [run as i64],
            |row| Ok(row.get::<_, i64>(0)? as u64),
        )?;
        set_state(&db.sql, run, "undoing")
    })?;
    while let Some(step) = undo_last_step(collection, run)? {
        undone.removed += step.removed;
        undone.restored += step.restored;
        undone.left += step.left;
    }
    collection
        .store
        .write("ending an undo", |db| set_state(&db.sql, run, "undone"))?;
    collection
        .store
        .wrote(&collection.name, undone.removed + undone.restored);
    Ok(undone)
}

fn set_state(db: &Connection, run: u64, state: &str) -> Attempt<()> {
    db.execute(
        "UPDATE runs SET state = ?2 WHERE id = ?1",
        params![run as i64, state],
    )?;
    Ok(())
}

/// A source that a later run changed cannot go back behind that run, and what old runs kept is gone.
fn refuse_if_impossible(db: &Connection, run: u64) -> Attempt<()> {
    let later: Option<(String, i64)> = db
        .query_row(
            "SELECT coalesce(s.name, json_extract(nullif(later.before, ''), '$.name'), '?'), later.run FROM run_sources later
             LEFT JOIN sources s ON s.id = later.source
             WHERE later.run > ?1 AND later.source IN (SELECT source FROM run_sources WHERE run = ?1)
             ORDER BY later.run DESC LIMIT 1",
            [run as i64],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    if let Some((name, later)) = later {
        return Err(Error::Conflict {
            what: format!("run {later} changed `{name}` after run {run}; undo run {later} first"),
        }
        .into());
    }
    refuse_if_taken(db, run)?;
    let too_old: bool = db.query_row(
        "SELECT NOT EXISTS (SELECT 1 FROM run_sources WHERE run = ?1)
            AND (SELECT count(DISTINCT run) FROM run_sources WHERE run > ?1) >= ?2",
        params![run as i64, KEPT_RUNS],
        |row| row.get(0),
    )?;
    if too_old {
        let why = format!(
            "is too long ago: what its undo needs is kept for the last {KEPT_RUNS} runs that changed something"
        );
        return Err(Error::invalid(format!("run {run}"), why).into());
    }
    Ok(())
}

/// A source that went or was renamed cannot come back while another one has its name.
fn refuse_if_taken(db: &Connection, run: u64) -> Attempt<()> {
    let mut statement = db
        .prepare_cached("SELECT source, before FROM run_sources WHERE run = ?1 AND before <> ''")?;
    let mut rows = statement.query([run as i64])?;
    while let Some(columns) = rows.next()? {
        let before: String = columns.get(1)?;
        let Ok(before) = serde_json::from_str::<SourceRecord>(&before) else {
            continue;
        };
        let source: i64 = columns.get(0)?;
        let taken: bool = db
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM sources WHERE name = ?2 AND section = ?3 AND id <> ?1 AND machine = ?5
                     AND collection = (SELECT collection FROM runs WHERE id = ?4))",
            )?
            .query_row(
                params![
                    source,
                    before.name,
                    before.section,
                    run as i64,
                    before.machine.id
                ],
                |row| row.get(0),
            )?;
        if taken {
            return Err(Error::Conflict {
                what: format!(
                    "`{}` was mined again after run {run}; undo that run first (`loci runs` lists them)",
                    before.name
                ),
            }
            .into());
        }
    }
    Ok(())
}

/// Undoes the last step that is left; nothing when there is none.
fn undo_last_step(collection: &SqliteCollection, run: u64) -> Result<Option<Undone>> {
    let texts = match &collection.embedder {
        Some(_) => collection.read("looking at an undo", |db, _| {
            let Some(step) = last_step(&db.sql, run)? else {
                return Ok(Vec::new());
            };
            let kept = kept_by(&db.sql, step.id)?;
            Ok(kept.into_iter().filter_map(|kept| kept.text).collect())
        })?,
        None => Vec::new(),
    };
    let mut vectors: HashMap<String, Vec<f32>> = HashMap::new();
    if let Some(embedder) = &collection.embedder {
        for slice in texts.chunks(256) {
            let borrowed: Vec<&str> = slice.iter().map(String::as_str).collect();
            let made = embed_texts(embedder.as_ref(), &borrowed)?;
            vectors.extend(slice.iter().cloned().zip(made));
        }
    }
    collection.store.write("undoing a run", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        let Some(mut step) = last_step(&db.sql, run)? else {
            return Ok(None);
        };
        // Another process may have mined since the undo began.
        refuse_if_impossible(&db.sql, run)?;
        let forgotten = forgotten::load(&db.sql, row.id)?;
        let identity = collection.embedder.as_ref().map(|given| given.identity());
        let kinship = collection.kinship(&row);
        let mut desk = Desk {
            forgotten: &forgotten,
            db: &db.sql,
            writer: Writer::new(&db.sql, head.seq, row),
            vectors: &vectors,
            own: kinship == Kinship::Same,
            apart: identity.as_ref().filter(|_| kinship == Kinship::Compatible),
            done: Undone::default(),
        };
        desk.remove_added(&step)?;
        for mut kept in kept_by(&db.sql, step.id)? {
            desk.place(&mut kept, &mut step)?;
            desk.bring_back(&kept)?;
        }
        let revision = desk.writer.draw();
        if let Some(now) = sources::by_id(&db.sql, step.source)? {
            let collection = desk.writer.collection();
            sources::distrust_others(&db.sql, collection, &now.machine, &now.name, revision)?;
        }
        match &step.before {
            Some(record) => put_back(&desk, step.source, record, revision)?,
            // What is left belongs to nobody's run; the next mine decides about it.
            None if sources::has_drawers(&db.sql, step.source)? => {
                sources::distrust(&db.sql, step.source)?;
            }
            None => sources::remove(&db.sql, step.source)?,
        }
        for sql in [
            "DELETE FROM kept_drawers WHERE step = ?1",
            "DELETE FROM run_sources WHERE id = ?1",
        ] {
            db.sql.execute(sql, [step.id])?;
        }
        let used = identity
            .as_ref()
            .filter(|_| kinship == Kinship::Same && !vectors.is_empty());
        let done = desk.done;
        desk.writer.finish(used)?;
        Ok(Some(done))
    })
}

fn last_step(db: &Connection, run: u64) -> Attempt<Option<Step>> {
    let mut statement = db.prepare_cached(
        "SELECT id, source, first_row, last_row, before FROM run_sources WHERE run = ?1 ORDER BY id DESC LIMIT 1",
    )?;
    let mut rows = statement.query([run as i64])?;
    let Some(columns) = rows.next()? else {
        return Ok(None);
    };
    let before: String = columns.get(4)?;
    Ok(Some(Step {
        id: columns.get(0)?,
        source: columns.get(1)?,
        rows: (columns.get(2)?, columns.get(3)?),
        before: serde_json::from_str(&before).ok(),
    }))
}

/// The last one kept comes first: it is undone first.
fn kept_by(db: &Connection, step: i64) -> Attempt<Vec<Kept>> {
    let mut statement = db.prepare_cached(
        "SELECT removed, row, drawer_id, text, metadata, origin, created_at, access_count, use_count, patch
         FROM kept_drawers WHERE step = ?1 ORDER BY id DESC",
    )?;
    let found = statement.query_map([step], |columns| {
        let metadata: String = columns.get(4)?;
        let patch: String = columns.get(9)?;
        Ok(Kept {
            back: serde_json::from_str(&patch).ok(),
            removed: columns.get(0)?,
            row: columns.get(1)?,
            id: columns.get(2)?,
            text: columns.get(3)?,
            metadata: serde_json::from_str(&metadata).ok(),
            origin: columns.get(5)?,
            created_at: columns.get(6)?,
            usage: (columns.get(7)?, columns.get(8)?),
        })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// The ledger says again what it said. A row that went has its old number again: its drawers name it.
fn put_back(desk: &Desk<'_>, source: i64, record: &SourceRecord, revision: u64) -> Attempt<()> {
    let db = desk.db;
    let now = sources::by_id(db, source)?;
    if let Some(renamed) = now.as_ref().filter(|now| now.name != record.name) {
        let collection = desk.writer.collection();
        let (from, to) = (&renamed.name, &record.name);
        forgotten::rename(db, collection, &record.machine, from, to)?;
    }
    if now.is_none() {
        db.execute(
            "INSERT INTO sources (id, collection, name, section, kind, root, wing, room, size, modified_ns, changed_ns,
                                  read_ns, hash, recipe, mark, complete, revision, machine, host)
             VALUES (?1, ?2, ?3, ?4, '', '', '', '', 0, 0, 0, 0, x'', '', '', 0, 0, ?5, ?6)",
            params![
                source,
                desk.writer.collection(),
                record.name,
                record.section,
                record.machine.id,
                record.machine.host
            ],
        )?;
    }
    sources::put(db, source, record, revision)?;
    if let Some((leftovers, _)) = sources::find(
        db,
        desk.writer.collection(),
        &record.machine,
        &record.name,
        LEFTOVERS,
    )? && !sources::has_drawers(db, leftovers)?
    {
        sources::remove(db, leftovers)?;
    }
    Ok(())
}

/// One transaction of an undo.
struct Desk<'a> {
    /// What must not come back.
    forgotten: &'a Book,
    db: &'a Connection,
    writer: Writer<'a>,
    vectors: &'a HashMap<String, Vec<f32>>,
    /// Whether the embedder's vectors are the collection's own.
    own: bool,
    apart: Option<&'a loci_core::EmbedderIdentity>,
    done: Undone,
}

impl Desk<'_> {
    /// Drawers of the step. One that somebody changed since is theirs.
    fn remove_added(&mut self, step: &Step) -> Attempt<()> {
        let mut statement = self.db.prepare_cached(
            "SELECT row, origin FROM drawers WHERE row BETWEEN ?1 AND ?2 AND collection = ?3",
        )?;
        let added: Vec<(i64, i64)> = statement
            .query_map(
                params![step.rows.0, step.rows.1, self.writer.collection()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?
            .collect::<rusqlite::Result<_>>()?;
        for (row, origin) in added {
            if origin == 0 {
                self.done.left += 1;
            } else if self.writer.remove(row as u64)? {
                self.done.removed += 1;
            }
        }
        Ok(())
    }

    /// A drawer that went comes back to the wing of its project, also if its source is gone and a split of the wing, which
    /// moves what is there, did not see it.
    fn place(&self, kept: &mut Kept, step: &mut Step) -> Attempt<()> {
        let Some(metadata) = kept.metadata.as_mut().filter(|_| kept.removed) else {
            return Ok(());
        };
        let (Some(wing), Some(source)) =
            (metadata.get_str("wing"), metadata.get_str("source_file"))
        else {
            return Ok(());
        };
        let now = sources::by_id(self.db, kept.origin)?;
        if now.is_some_and(|now| now.wing == wing) {
            return Ok(());
        }
        let collection = self.writer.collection();
        let folder = metadata.get_str("folder");
        let Some(to) = wing_of_returning(self.db, collection, wing, source, folder)? else {
            return Ok(());
        };
        if let Some(before) = step.before.as_mut().filter(|before| before.wing == wing) {
            before.wing.clone_from(&to);
        }
        metadata.0.insert("wing".to_owned(), to.as_str().into());
        Ok(())
    }

    fn bring_back(&mut self, kept: &Kept) -> Attempt<()> {
        if let Some(text) = &kept.text {
            let place = forgotten::place_of_copy(self.db, kept.origin, kept.metadata.as_ref())?;
            if self.forgotten.is_in(text, place) {
                self.done.left += 1;
                return Ok(());
            }
        }
        let outcome = match (kept.removed, &kept.metadata, &kept.back) {
            (true, Some(metadata), _) => self.insert(kept, metadata)?,
            (false, _, Some(back)) => self.change(kept, back)?,
            _ => Outcome::Unknown,
        };
        match outcome {
            Outcome::Added | Outcome::Updated | Outcome::Unchanged => self.done.restored += 1,
            Outcome::Exists | Outcome::Unknown | Outcome::DuplicateOf(_) => self.done.left += 1,
        }
        Ok(())
    }

    fn insert(&mut self, kept: &Kept, metadata: &Metadata) -> Attempt<Outcome> {
        let patch = MetadataPatch::from(metadata.clone());
        let outcome = self.write(kept, &patch, Mode::Add)?;
        if outcome != Outcome::Added {
            return Ok(outcome);
        }
        let row = self.writer.seq() as i64;
        if kept.usage != (0, 0) {
            self.db
                .prepare_cached(
                    "INSERT INTO usage (row, access_count, use_count) VALUES (?1, ?2, ?3)
                     ON CONFLICT (row) DO NOTHING",
                )?
                .execute(params![row, kept.usage.0, kept.usage.1])?;
        }
        self.follow(kept.row, row)?;
        Ok(outcome)
    }

    /// A drawer that came back has a new row number: earlier steps that knew the old one shall know it.
    fn follow(&self, old: i64, new: i64) -> Attempt<()> {
        self.db
            .prepare_cached("UPDATE kept_drawers SET row = ?2 WHERE row = ?1")?
            .execute(params![old, new])?;
        self.db
            .prepare_cached(
                "INSERT INTO run_sources (run, source, first_row, last_row, before)
                 SELECT run, source, ?2, ?2, before FROM run_sources
                 WHERE ?1 BETWEEN first_row AND last_row ORDER BY id LIMIT 1",
            )?
            .execute(params![old, new])?;
        Ok(())
    }

    /// Only what the run changed goes back: keys that somebody added since stay.
    fn change(&mut self, kept: &Kept, back: &MetadataPatch) -> Attempt<Outcome> {
        let origin: Option<i64> = self
            .db
            .prepare_cached("SELECT origin FROM drawers WHERE row = ?1 AND id = ?2")?
            .query_row(params![kept.row, kept.id], |row| row.get(0))
            .optional()?;
        if origin.is_none_or(|origin| origin == 0) {
            return Ok(Outcome::Unknown);
        }
        let outcome = self.write(kept, back, Mode::Upsert)?;
        self.db
            .prepare_cached("UPDATE drawers SET origin = ?2 WHERE row = ?1")?
            .execute(params![kept.row, kept.origin])?;
        Ok(outcome)
    }

    fn write(&mut self, kept: &Kept, patch: &MetadataPatch, mode: Mode) -> Attempt<Outcome> {
        let made = kept
            .text
            .as_ref()
            .and_then(|text| self.vectors.get(text))
            .map(Vec::as_slice);
        let change = Change {
            id: &kept.id,
            text: kept.text.as_deref(),
            prepared: None,
            patch: Some(patch),
            vector: made.filter(|_| self.own),
            other: self.apart.zip(made),
            has_embedder: false,
            origin: Some(kept.origin),
            created_at: Some(kept.created_at),
        };
        self.writer.record(&change, mode)
    }
}

//! undo: reverses a run step by step, the last step first. Short steps share a transaction. A kill
//! between two transactions leaves a run that is partly undone and marked so; undoing it again
//! continues.

mod row_ranges;

use std::collections::HashMap;

use loci_core::ledger::undoing::{
    DrawerUndo, KeptDrawer, SourceAfter, UndoConflicts, drawer_undo, refuse_undone, removes_added,
    source_after,
};
use loci_core::{
    Compatibility, LEFTOVERS, Metadata, MetadataPatch, Outcome, Result, RunState, SourceRecord,
    Undone,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use self::row_ranges::RowRanges;
use super::forgotten::{self, ForgottenTexts};
use super::runs;
use super::sources;
use crate::collection::SqliteCollection;
use crate::collection::write::{Mode, embed_texts};
use crate::collection::writer::{Change, Writer};
use crate::fault::Attempt;
use crate::projects::wing_of_returning;
use crate::store::Head;

/// A transaction of an undo ends with the step that reaches this many drawers. A commit for every
/// small file costs more than its drawers, but other writers wait for the transaction, so it stays
/// short.
const SLICE: u64 = 64;

/// One recorded step of a run.
struct RunStep {
    id: i64,
    source: i64,
    rows: (i64, i64),
    before: Option<SourceRecord>,
}

/// The old state of a drawer.
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
        refuse_undone(run, &runs::require(&db.sql, row.id, run)?)?;
        refuse_if_impossible(&db.sql, run)?;
        undone.sources = db.sql.query_row(
            "SELECT count(DISTINCT source) FROM run_sources WHERE run = ?1",
            [run as i64],
            |row| Ok(row.get::<_, i64>(0)? as u64),
        )?;
        // Committed when this returns, before any step is undone. A crash later leaves the state
        // `undoing`, which the list of runs shows, and a second undo continues.
        set_state(&db.sql, run, &RunState::Undoing)
    })?;
    let mut checked = None;
    loop {
        let (slice, more) = undo_last_steps(collection, run, &mut checked)?;
        undone.add(&slice);
        if !more {
            break;
        }
    }
    collection.store.write("ending an undo", |db| {
        // Written last, when no step is left. A crash before it leaves the state `undoing`; a
        // second undo finds no steps and sets it.
        set_state(&db.sql, run, &RunState::Undone)
    })?;
    collection
        .store
        .wrote(&collection.name, undone.removed + undone.restored);
    Ok(undone)
}

fn set_state(db: &Connection, run: u64, state: &RunState) -> Attempt<()> {
    db.execute(
        "UPDATE runs SET state = ?2 WHERE id = ?1",
        params![run as i64, state.as_str()],
    )?;
    Ok(())
}

fn refuse_if_impossible(db: &Connection, run: u64) -> Attempt<()> {
    let later: Option<(i64, String)> = db
        .query_row(
            "SELECT later.run, coalesce(s.name, json_extract(nullif(later.before, ''), '$.name'), '?') FROM run_sources later
             LEFT JOIN sources s ON s.id = later.source
             WHERE later.run > ?1 AND later.source IN (SELECT source FROM run_sources WHERE run = ?1)
             ORDER BY later.run DESC LIMIT 1",
            [run as i64],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let (has_steps, newer_runs): (bool, i64) = db.query_row(
        "SELECT EXISTS (SELECT 1 FROM run_sources WHERE run = ?1),
                (SELECT count(DISTINCT run) FROM run_sources WHERE run > ?1)",
        [run as i64],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let obstacles = UndoConflicts {
        later: later.map(|(run, name)| (run as u64, name)),
        taken: taken_name(db, run)?,
        has_steps,
        newer_runs: newer_runs as usize,
    };
    Ok(obstacles.refuse(run)?)
}

/// The name of a source that the run removed or renamed, if another source has that name.
fn taken_name(db: &Connection, run: u64) -> Attempt<Option<String>> {
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
            return Ok(Some(before.name));
        }
    }
    Ok(None)
}

/// The state of the palace in which the undo of a run was last found possible.
#[derive(Debug, Clone, Copy)]
struct Checked {
    /// SQLite changes it when another connection commits.
    data_version: i64,
    /// Rows that the connection had changed. A new connection begins at 0, and its `data_version`
    /// cannot be compared with that of another one.
    changes: u64,
    /// The palace's sequence number. Other threads of this process write on the same connection,
    /// and every change of a source draws a number.
    seq: u64,
}

impl Checked {
    fn read(db: &Connection, seq: u64) -> Attempt<Self> {
        Ok(Self {
            data_version: db.pragma_query_value(None, "data_version", |row| row.get(0))?,
            changes: db.total_changes(),
            seq,
        })
    }

    /// Whether nobody has written since `earlier`.
    fn still_is(&self, earlier: &Self) -> bool {
        self.data_version == earlier.data_version
            && self.seq == earlier.seq
            && self.changes >= earlier.changes
            && earlier.changes > 0
    }
}

/// Undoes the last steps that are left, in one transaction. Returns whether there are more.
fn undo_last_steps(
    collection: &SqliteCollection,
    run: u64,
    checked: &mut Option<Checked>,
) -> Result<(Undone, bool)> {
    let vectors = vectors_of_last_steps(collection, run)?;
    let (done, more, state) = collection.store.write("undoing a run", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        // The check reads every step of the run. It stays valid while only this undo writes;
        // another process may have mined since the last transaction.
        let now = Checked::read(&db.sql, head.seq)?;
        if !checked.is_some_and(|checked| now.still_is(&checked)) {
            refuse_if_impossible(&db.sql, run)?;
        }
        let identity = collection.embedder.as_ref().map(|given| given.identity());
        let compatibility = collection.compatibility(&row);
        let mut tx = UndoTx {
            forgotten: None,
            ranges: None,
            db: &db.sql,
            writer: Writer::new(&db.sql, head.seq, row),
            vectors: &vectors,
            own: compatibility == Compatibility::Same,
            apart: identity
                .as_ref()
                .filter(|_| compatibility == Compatibility::Compatible),
            done: Undone::default(),
        };
        let mut more = true;
        let mut slice = 0;
        while slice < SLICE {
            let additions = last_additions(&db.sql, run, SLICE - slice)?;
            if !additions.is_empty() {
                slice += additions.iter().map(|step| step.size(&[])).sum::<u64>();
                tx.undo_additions(&additions)?;
                continue;
            }
            let Some(step) = last_step(&db.sql, run)? else {
                more = false;
                break;
            };
            let kept = kept_by(&db.sql, step.id)?;
            let embedded = |kept: &Kept| {
                let text = kept.text.as_ref();
                text.is_none_or(|text| vectors.contains_key(text))
            };
            // The texts of this step are not embedded yet. They are embedded before the next
            // transaction.
            if slice > 0 && identity.is_some() && !kept.iter().all(embedded) {
                break;
            }
            slice += step.size(&kept);
            tx.undo(step, kept)?;
        }
        let used = identity
            .as_ref()
            .filter(|_| compatibility == Compatibility::Same && !vectors.is_empty());
        let done = tx.done;
        let (seq, _) = tx.writer.finish(used)?;
        // Committed when this returns: whole steps, each with its drawers, its source and the
        // removal of its record. A crash before that leaves the steps recorded, and a second undo
        // does them.
        Ok((done, more, Checked::read(&db.sql, seq)?))
    })?;
    *checked = Some(state);
    Ok((done, more))
}

/// Vectors of the texts that the last steps restore, made outside of a write transaction.
fn vectors_of_last_steps(
    collection: &SqliteCollection,
    run: u64,
) -> Result<HashMap<String, Vec<f32>>> {
    let mut vectors = HashMap::new();
    let Some(embedder) = &collection.embedder else {
        return Ok(vectors);
    };
    let texts: Vec<String> = collection.read("looking at an undo", |db, _| {
        let mut statement = db.sql.prepare_cached(STEPS_SQL)?;
        let mut rows = statement.query([run as i64])?;
        let (mut texts, mut slice) = (Vec::new(), 0);
        while slice < SLICE
            && let Some(columns) = rows.next()?
        {
            let step = RunStep::read(columns)?;
            let kept = kept_by(&db.sql, step.id)?;
            slice += step.size(&kept);
            texts.extend(kept.into_iter().filter_map(|kept| kept.text));
        }
        Ok(texts)
    })?;
    for slice in texts.chunks(256) {
        let borrowed: Vec<&str> = slice.iter().map(String::as_str).collect();
        let made = embed_texts(embedder.as_ref(), &borrowed)?;
        vectors.extend(slice.iter().cloned().zip(made));
    }
    Ok(vectors)
}

/// The steps of a run that are left, the last one first.
const STEPS_SQL: &str = "SELECT id, source, first_row, last_row, before FROM run_sources
     WHERE run = ?1 ORDER BY id DESC";

impl RunStep {
    fn read(columns: &Row<'_>) -> rusqlite::Result<Self> {
        let before: String = columns.get(4)?;
        Ok(Self {
            id: columns.get(0)?,
            source: columns.get(1)?,
            rows: (columns.get(2)?, columns.get(3)?),
            before: serde_json::from_str(&before).ok(),
        })
    }

    /// The largest number of drawers that its undo changes; never 0.
    fn size(&self, kept: &[Kept]) -> u64 {
        let (first, last) = self.rows;
        let added = u64::try_from(last.saturating_sub(first)).unwrap_or_default();
        added.saturating_add(1).saturating_add(kept.len() as u64)
    }
}

fn last_step(db: &Connection, run: u64) -> Attempt<Option<RunStep>> {
    let mut statement = db.prepare_cached(STEPS_SQL)?;
    let mut rows = statement.query([run as i64])?;
    Ok(match rows.next()? {
        Some(columns) => Some(RunStep::read(columns)?),
        None => None,
    })
}

/// The last steps that only added drawers, each of another source, up to the one that reaches
/// `limit` drawers. Empty if the last step has something to restore.
fn last_additions(db: &Connection, run: u64, limit: u64) -> Attempt<Vec<RunStep>> {
    let mut statement = db.prepare_cached(STEPS_SQL)?;
    let mut rows = statement.query([run as i64])?;
    let mut keeps = db.prepare_cached("SELECT 1 FROM kept_drawers WHERE step = ?1 LIMIT 1")?;
    let mut steps: Vec<RunStep> = Vec::new();
    let mut size = 0;
    while size < limit
        && let Some(columns) = rows.next()?
    {
        let step = RunStep::read(columns)?;
        let again = steps.iter().any(|later| later.source == step.source);
        if again || keeps.exists([step.id])? {
            break;
        }
        size += step.size(&[]);
        steps.push(step);
    }
    Ok(steps)
}

/// The drawer that was kept last comes first, because it is undone first.
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

/// Restores a row of the ledger. A removed row gets its old number again, because its drawers refer
/// to it.
fn put_back(tx: &UndoTx<'_>, source: i64, record: &SourceRecord, revision: u64) -> Attempt<()> {
    let db = tx.db;
    let now = sources::by_id(db, source)?;
    if let Some(renamed) = now.as_ref().filter(|now| now.name != record.name) {
        let collection = tx.writer.collection();
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
                tx.writer.collection(),
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
        tx.writer.collection(),
        &record.machine,
        &record.name,
        LEFTOVERS,
    )? && !sources::has_drawers(db, leftovers)?
    {
        sources::remove(db, leftovers)?;
    }
    Ok(())
}

/// The origin of the drawer that has the number and the id of a kept one.
fn origin_of(db: &Connection, kept: &Kept) -> Attempt<Option<u64>> {
    let origin: Option<i64> = db
        .prepare_cached("SELECT origin FROM drawers WHERE row = ?1 AND id = ?2")?
        .query_row(params![kept.row, kept.id], |row| row.get(0))
        .optional()?;
    Ok(origin.map(|origin| origin as u64))
}

/// One transaction of an undo.
struct UndoTx<'a> {
    /// Records of forgotten texts; loaded for the first drawer that is restored.
    forgotten: Option<ForgottenTexts>,
    /// Loaded for the first removed drawer that is restored.
    ranges: Option<RowRanges>,
    db: &'a Connection,
    writer: Writer<'a>,
    vectors: &'a HashMap<String, Vec<f32>>,
    /// Whether the embedder's vectors are the collection's own.
    own: bool,
    apart: Option<&'a loci_core::EmbedderIdentity>,
    done: Undone,
}

impl UndoTx<'_> {
    /// Undoes one step and removes its record.
    fn undo(&mut self, mut step: RunStep, kept: Vec<Kept>) -> Attempt<()> {
        let added = self.added_by(&step)?;
        self.remove(&added)?;
        for mut kept in kept {
            self.place(&mut kept, &mut step)?;
            self.bring_back(&kept)?;
        }
        self.finish(&step)
    }

    /// Undoes steps that only added drawers. The drawers of all steps are removed in ascending
    /// order, because FTS5 flushes its pending postings whenever a row is smaller than the one
    /// before.
    fn undo_additions(&mut self, steps: &[RunStep]) -> Attempt<()> {
        let mut added = Vec::new();
        for step in steps {
            added.extend(self.added_by(step)?);
        }
        added.sort_unstable();
        self.remove(&added)?;
        steps.iter().try_for_each(|step| self.finish(step))
    }

    /// Restores the source of a step and removes the record of the step. Both are in one
    /// transaction, so no step is ever undone twice.
    fn finish(&mut self, step: &RunStep) -> Attempt<()> {
        let revision = self.writer.draw();
        if let Some(now) = sources::by_id(self.db, step.source)? {
            let collection = self.writer.collection();
            sources::distrust_others(self.db, collection, &now.machine, &now.name, revision)?;
        }
        let has_drawers = || sources::has_drawers(self.db, step.source);
        match source_after(step.before.as_ref(), has_drawers)? {
            SourceAfter::PutBack(record) => put_back(self, step.source, record, revision)?,
            SourceAfter::Distrust => sources::distrust(self.db, step.source)?,
            SourceAfter::Remove => sources::remove(self.db, step.source)?,
        }
        for sql in [
            "DELETE FROM kept_drawers WHERE step = ?1",
            "DELETE FROM run_sources WHERE id = ?1",
        ] {
            self.db.prepare_cached(sql)?.execute([step.id])?;
        }
        if let Some(ranges) = &mut self.ranges {
            ranges.removed.insert(step.id);
        }
        Ok(())
    }

    /// Rows that a step added and that still exist, each with the number of its source.
    fn added_by(&self, step: &RunStep) -> Attempt<Vec<(i64, i64)>> {
        let mut statement = self.db.prepare_cached(
            "SELECT row, origin FROM drawers WHERE row BETWEEN ?1 AND ?2 AND collection = ?3",
        )?;
        let (first, last) = step.rows;
        let added = statement.query_map(params![first, last, self.writer.collection()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok(added.collect::<rusqlite::Result<_>>()?)
    }

    /// Removes drawers of the run.
    fn remove(&mut self, added: &[(i64, i64)]) -> Attempt<()> {
        for (row, origin) in added {
            if !removes_added(*origin as u64) {
                self.done.left += 1;
            } else if self.writer.remove(*row as u64)? {
                self.done.removed += 1;
            }
        }
        Ok(())
    }

    /// Restores a removed drawer to the wing of its project. The split of a wing moves only drawers
    /// that exist, so the kept drawer may still name the old wing, even if its source is gone.
    fn place(&self, kept: &mut Kept, step: &mut RunStep) -> Attempt<()> {
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
        let what = match (kept.removed, &kept.metadata, &kept.back) {
            (true, Some(_), _) => KeptDrawer::Removed,
            (false, _, Some(_)) => KeptDrawer::Changed,
            _ => KeptDrawer::Unreadable,
        };
        let (db, collection) = (self.db, self.writer.collection());
        let is_forgotten = || {
            let Some(text) = &kept.text else {
                return Ok(false);
            };
            let place = forgotten::place_of_copy(db, kept.origin, kept.metadata.as_ref())?;
            let texts = match self.forgotten.take() {
                Some(loaded) => loaded,
                None => forgotten::load(db, collection)?,
            };
            let is_forgotten = texts.is_in(text, place);
            self.forgotten = Some(texts);
            Ok(is_forgotten)
        };
        let origin_now = || origin_of(db, kept);
        let outcome = match drawer_undo(what, is_forgotten, origin_now)? {
            DrawerUndo::Insert => self.insert(kept)?,
            DrawerUndo::Change => self.change(kept)?,
            DrawerUndo::None => Outcome::Unknown,
        };
        self.done.count_returned(&outcome);
        Ok(())
    }

    fn insert(&mut self, kept: &Kept) -> Attempt<Outcome> {
        let patch = MetadataPatch::from(kept.metadata.clone().unwrap_or_default());
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

    /// A restored drawer has a new row number. Earlier steps that refer to the old one are updated.
    fn follow(&mut self, old: i64, new: i64) -> Attempt<()> {
        self.db
            .prepare_cached("UPDATE kept_drawers SET row = ?2 WHERE row = ?1")?
            .execute(params![old, new])?;
        let mut ranges = match self.ranges.take() {
            Some(loaded) => loaded,
            None => RowRanges::load(self.db)?,
        };
        if let Some(step) = ranges.first_step_of(old) {
            self.db
                .prepare_cached(
                    "INSERT INTO run_sources (run, source, first_row, last_row, before)
                     SELECT run, source, ?2, ?2, before FROM run_sources WHERE id = ?1",
                )?
                .execute(params![step, new])?;
            ranges.add(new, self.db.last_insert_rowid());
        }
        self.ranges = Some(ranges);
        Ok(())
    }

    fn change(&mut self, kept: &Kept) -> Attempt<Outcome> {
        let back = kept.back.clone().unwrap_or_default();
        let outcome = self.write(kept, &back, Mode::Upsert)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_holds_until_somebody_else_writes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let open = || Connection::open(&path).unwrap();
        let ours = open();
        ours.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
            .unwrap();
        ours.execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (1)")
            .unwrap();
        let read = |db: &Connection, seq| Checked::read(db, seq).unwrap();
        let checked = read(&ours, 7);
        assert!(read(&ours, 7).still_is(&checked));
        ours.execute("INSERT INTO t VALUES (2)", []).unwrap();
        assert!(read(&ours, 7).still_is(&checked), "our own write");
        assert!(
            !read(&ours, 8).still_is(&checked),
            "another thread drew a number"
        );
        assert!(!read(&open(), 7).still_is(&checked), "another connection");
        open().execute("INSERT INTO t VALUES (3)", []).unwrap();
        assert!(
            !read(&ours, 7).still_is(&checked),
            "another connection wrote"
        );
    }
}

//! forget: remove drawers so that their text is in no file of the palace any more.
//!
//! `secure_delete` is not enough: page slack, postings, the write-ahead log and set-aside copies
//! hold text too. The delete and the note that a purge is due commit together, so a kill at any
//! later line leaves a palace that finishes the purge.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use loci_core::{Error, ErrorKind, Metadata, PalaceRef, Result, Selection};
use rusqlite::{Connection, params};

use crate::SqliteBackend;
use crate::collection::meta::CollectionRow;
use crate::collection::remove::in_slices;
use crate::fault::Attempt;
use crate::index::build::{self, When};
use crate::index::registry;
use crate::ledger::forgotten;
use crate::relations::{self, Forgotten};
use crate::store::connection::Db;
use crate::store::lock::FileLock;
use crate::store::place::Place;
use crate::store::{Head, Store};

/// How long the purge waits for readers of an older state.
const READER_WAIT: Duration = Duration::from_secs(5);

/// What `forget` did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetOutcome {
    /// Drawers removed.
    pub forgotten: usize,
    /// Facts removed that were taken from them.
    pub facts: usize,
    /// Links removed that ended at them.
    pub links: usize,
    /// True when a reader kept old pages alive; the next process completes the purge.
    pub purge_pending: bool,
    /// Set-aside files of the palace that were removed because they could hold the text too.
    pub removed_files: Vec<String>,
}

impl SqliteBackend {
    /// Removes the selected drawers of a collection, and every trace of their text: also the facts that were taken from them
    /// and the links that end at them. An id whose drawer is gone already still has its facts removed.
    pub fn forget(
        &self,
        palace: &PalaceRef,
        collection: &str,
        selection: &Selection,
    ) -> Result<ForgetOutcome> {
        if selection.is_all() {
            return Err(Error::invalid("forget", "needs ids or a filter"));
        }
        let store = self.store(palace, false)?;
        let find = |db: &Connection, head: &Head| CollectionRow::require(db, head, collection);
        let related = Cell::new(Forgotten::default());
        let removed = in_slices(
            &store,
            "forgetting drawers",
            find,
            selection,
            |db, number, rows| {
                forgotten::remember(&db.sql, number, rows)?;
                related.set(related.get() + forget_relations(&db.sql, collection, rows)?);
                Ok(())
            },
            note_purge,
        )?;
        let (copies, of_gone) = forget_copies(&store, collection, selection)?;
        let related = related.get() + of_gone;
        let pending = store.read("looking for a pending purge", |db| {
            Ok(Head::read(&db.sql)?.purge_pending)
        })?;
        let purged = if pending > 0 {
            purge_if_possible(&store)?
        } else {
            Purged::default()
        };
        Ok(ForgetOutcome {
            forgotten: removed.deleted + copies,
            facts: related.facts,
            links: related.links,
            purge_pending: pending > 0 && !purged.complete,
            removed_files: purged.removed_files,
        })
    }
}

/// What a purge did.
#[derive(Debug, Default)]
pub(crate) struct Purged {
    /// Nothing of the forgotten text is left.
    pub(crate) complete: bool,
    pub(crate) removed_files: Vec<String>,
}

/// [`purge`], but a full disk or a busy palace only puts it off: the drawers are gone already.
fn purge_if_possible(store: &Store) -> Result<Purged> {
    match purge(store) {
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Busy) => {
            tracing::warn!(%error, "the purge stays pending");
            Ok(Purged::default())
        }
        result => result,
    }
}

/// Facts and links of drawers that are about to go.
fn forget_relations(db: &Connection, collection: &str, rows: &[u64]) -> Attempt<Forgotten> {
    let mut statement = db.prepare_cached("SELECT id FROM drawers WHERE row = ?1")?;
    let mut total = Forgotten::default();
    for row in rows {
        // The id of a damaged drawer may be no text any more.
        let id = statement.query_row([*row as i64], |columns| {
            Ok(columns.get::<_, String>(0).ok())
        })?;
        if let Some(id) = id {
            total = total + relations::forget(db, collection, &id)?;
        }
    }
    Ok(total)
}

/// Ids of which no drawer is left in the collection.
fn without_drawer(db: &Connection, collection: i64, ids: Vec<String>) -> Attempt<Vec<String>> {
    let mut statement =
        db.prepare_cached("SELECT 1 FROM drawers WHERE collection = ?1 AND id = ?2")?;
    let mut gone = Vec::new();
    for id in ids {
        if !statement.exists(params![collection, id])? {
            gone.push(id);
        }
    }
    Ok(gone)
}

/// Selected drawers that a repair or a clean-up took out of the collection but kept; and facts and links of drawers that are
/// gone: those copies, and ids that are named without any other condition.
fn forget_copies(
    store: &Store,
    collection: &str,
    selection: &Selection,
) -> Result<(usize, Forgotten)> {
    store.write("forgetting copies", |db| {
        let head = Head::read(&db.sql)?;
        let row = CollectionRow::require(&db.sql, &head, collection)?;
        let mut removed = 0;
        let mut gone = if selection.filter.is_none()
            && selection.document.is_none()
            && selection.period.is_none()
        {
            selection.ids.clone().unwrap_or_default()
        } else {
            Vec::new()
        };
        for (table, origin) in [
            ("damaged_drawers", "0"),
            ("removed_duplicates", "0"),
            ("kept_drawers", "origin"),
        ] {
            for copy in selected_copies(db, table, origin, row.id, selection)? {
                gone.push(copy.id);
                if let Some(text) = copy.text {
                    forgotten::remember_copy(&db.sql, row.id, &text, &copy.metadata, copy.origin)?;
                }
                removed += db
                    .sql
                    .execute(&format!("DELETE FROM {table} WHERE id = ?1"), [copy.number])?;
            }
        }
        removed += forgotten::remove_copies(&db.sql, row.id)?;
        let mut related = Forgotten::default();
        for id in without_drawer(&db.sql, row.id, gone)? {
            related = related + relations::forget(&db.sql, collection, &id)?;
        }
        if removed + related.facts + related.links > 0 {
            let seq = head.seq.max(1) as i64;
            db.sql.execute(
                "UPDATE palace SET purge_pending = max(purge_pending, ?1) WHERE id = 1",
                [seq],
            )?;
        }
        Ok((removed, related))
    })
}

/// A drawer that a repair, a clean-up or a run kept outside of the collection.
struct Copy {
    number: i64,
    id: String,
    text: Option<String>,
    metadata: Metadata,
    /// Number of its source in the ledger, 0 if it has none.
    origin: i64,
}

fn selected_copies(
    db: &Db,
    table: &str,
    origin: &str,
    collection: i64,
    selection: &Selection,
) -> Attempt<Vec<Copy>> {
    let sql = format!(
        "SELECT id, drawer_id, metadata, text, {origin} FROM {table} WHERE collection = ?1"
    );
    let mut statement = db.sql.prepare(&sql)?;
    let mut rows = statement.query([collection])?;
    let mut selected = Vec::new();
    while let Some(columns) = rows.next()? {
        let text_of = |at| {
            columns
                .get_ref(at)
                .ok()
                .and_then(|value| value.as_str().ok())
        };
        let (id, text) = (text_of(1).unwrap_or_default(), text_of(3));
        let metadata: Metadata = text_of(2)
            .and_then(|json| serde_json::from_str(json).ok())
            .unwrap_or_default();
        let by_id = selection
            .ids
            .as_ref()
            .is_none_or(|ids| ids.iter().any(|wanted| wanted == id));
        let by_filter = selection
            .filter
            .as_ref()
            .is_none_or(|filter| filter.matches(&metadata, text));
        let by_text = selection
            .document
            .as_ref()
            .is_none_or(|filter| filter.matches(text));
        // A copy without a date of its own cannot be told to lie in a period: it stays.
        let by_date = selection.period.is_none_or(|period| {
            metadata
                .authored_at()
                .is_some_and(|moment| period.contains(moment))
        });
        if by_id && by_filter && by_text && by_date {
            selected.push(Copy {
                number: columns.get(0)?,
                id: id.to_owned(),
                text: text.map(str::to_owned),
                origin: columns.get(4)?,
                metadata,
            });
        }
    }
    Ok(selected)
}

/// In the transaction that removes the drawers: a kill after it leaves a palace that knows.
fn note_purge(db: &Db, rows: &[u64], seq: u64) -> Attempt<()> {
    for row in rows {
        // Copies that an earlier clean-up or repair kept of the same text.
        db.sql
            .prepare_cached("DELETE FROM removed_duplicates WHERE kept_row = ?1 OR row = ?1")?
            .execute([*row as i64])?;
        for sql in [
            "DELETE FROM damaged_drawers WHERE row = ?1",
            "DELETE FROM kept_drawers WHERE row = ?1",
        ] {
            db.sql.prepare_cached(sql)?.execute([*row as i64])?;
        }
    }
    if !rows.is_empty() {
        db.sql.execute(
            "UPDATE palace SET purge_pending = ?1 WHERE id = 1",
            [seq as i64],
        )?;
    }
    Ok(())
}

/// Rewrites every file that may hold forgotten text. Not complete when a reader still needs old
/// pages.
pub(crate) fn purge(store: &Store) -> Result<Purged> {
    build::join(store);
    let removed_files = remove_set_aside(store)?;
    let with_snapshot: Vec<String> = store.read("listing snapshots", |db| {
        let head = Head::read(&db.sql)?;
        let mut names = Vec::new();
        for row in CollectionRow::all(&db.sql, &head)? {
            if registry::find(&db.sql, &head, row.id)?.is_some() {
                names.push(row.name);
            }
        }
        Ok(names)
    })?;
    for name in with_snapshot {
        build::build(store, &name, When::Must)?;
    }
    let pending = store.read("looking for a pending purge", |db| {
        Ok(Head::read(&db.sql)?.purge_pending)
    })?;
    if !rewrite(store)? {
        return Ok(Purged {
            complete: false,
            removed_files,
        });
    }
    // Whatever was forgotten after we looked needs another round.
    let complete = store.write("noting the purge", |db| {
        let noted = "UPDATE palace SET purge_pending = 0 WHERE id = 1 AND purge_pending = ?1";
        Ok(db.sql.execute(noted, [pending as i64])? > 0)
    })?;
    Ok(Purged {
        complete,
        removed_files,
    })
}

/// Postings merged, file rebuilt, log emptied. True when the log really is empty.
fn rewrite(store: &Store) -> Result<bool> {
    let doing = "purging forgotten text";
    let fail = |error: rusqlite::Error| {
        crate::fault::Fault::Sql(error).into_error(&store.place.database, doing)
    };
    store.write(doing, |db| {
        db.sql
            .execute("INSERT INTO postings (postings) VALUES ('optimize')", [])?;
        Ok(())
    })?;
    // Idle connections of this process hold no pages, but closing them lets the log shrink.
    store.release();
    let db = store.connect(doing)?;
    db.sql.execute_batch("VACUUM").map_err(fail)?;
    db.sql.busy_timeout(READER_WAIT).map_err(fail)?;
    let busy: i64 = db
        .sql
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(fail)?;
    Ok(busy == 0)
}

/// Deletes what repairs, restores and killed processes left behind in the palace directory; gives
/// the names.
fn remove_set_aside(store: &Store) -> Result<Vec<String>> {
    let place = &store.place;
    {
        // What a killed restore left; a running one holds the lock.
        let _lock = FileLock::exclusive(&place.lock())?;
        super::restore::finish_interrupted(place)?;
    }
    if let Some(_lock) = FileLock::try_exclusive(&place.restore_lock())? {
        super::restore::remove_staging(place)?;
    }
    let _index = FileLock::exclusive(&place.index_lock())?;
    let mut names = Vec::new();
    for path in set_aside_files(place) {
        remove(&path)?;
        let name = path.strip_prefix(&place.directory).unwrap_or(&path);
        names.push(name.display().to_string());
    }
    Ok(names)
}

/// Files that were set aside instead of being deleted: replaced palaces, copies made before a
/// repair, derived files that failed their check.
pub(crate) fn set_aside_files(place: &Place) -> Vec<PathBuf> {
    let mut files = loci_index::drift_files(&place.index_directory());
    let ours = [
        "palace.sqlite3.replaced-",
        "palace.sqlite3.before-repair-",
        "palace.sqlite3.damaged-log-",
        "palace.sqlite3.kept-log-",
        "verify-",
    ];
    for entry in fs::read_dir(&place.directory)
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if ours.iter().any(|prefix| name.starts_with(prefix)) || name.contains(".drift-") {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}

fn remove(path: &std::path::Path) -> Result<()> {
    let result = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove", path, error))
        }
        _ => Ok(()),
    }
}

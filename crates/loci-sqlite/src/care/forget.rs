//! forget: remove drawers so that their text is in no file of the palace any more.
//!
//! `secure_delete` is not enough: page slack, postings, the write-ahead log and set-aside copies
//! hold text too. The delete and the note that a purge is due commit together, so a kill at any
//! later line leaves a palace that finishes the purge.

use std::fs;
use std::time::Duration;

use loci_core::{Error, ErrorKind, PalaceRef, Result, Selection};
use rusqlite::Connection;

use crate::SqliteBackend;
use crate::collection::meta::CollectionRow;
use crate::collection::remove::in_slices;
use crate::fault::Attempt;
use crate::index::build::{self, When};
use crate::index::registry;
use crate::store::connection::Db;
use crate::store::lock::FileLock;
use crate::store::{Head, Store};

/// How long the purge waits for readers of an older state.
const READER_WAIT: Duration = Duration::from_secs(5);

/// What `forget` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgetOutcome {
    /// Drawers removed.
    pub forgotten: usize,
    /// True when a reader kept old pages alive; the next process completes the purge.
    pub purge_pending: bool,
}

impl SqliteBackend {
    /// Removes the selected drawers of a collection, and every trace of their text.
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
        let removed = in_slices(&store, "forgetting drawers", find, selection, note_purge)?;
        let pending = store.read("looking for a pending purge", |db| {
            Ok(Head::read(&db.sql)?.purge_pending)
        })?;
        let purge_pending = pending > 0 && !purge_if_possible(&store)?;
        Ok(ForgetOutcome {
            forgotten: removed.deleted,
            purge_pending,
        })
    }
}

/// [`purge`], but a full disk or a busy palace only puts it off: the drawers are gone already.
fn purge_if_possible(store: &Store) -> Result<bool> {
    match purge(store) {
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Busy) => {
            tracing::warn!(%error, "the purge stays pending");
            Ok(false)
        }
        result => result,
    }
}

/// In the transaction that removes the drawers: a kill after it leaves a palace that knows.
fn note_purge(db: &Db, rows: &[u64], seq: u64) -> Attempt<()> {
    for row in rows {
        // Copies that an earlier clean-up or repair kept of the same text.
        db.sql
            .prepare_cached("DELETE FROM removed_duplicates WHERE kept_row = ?1 OR row = ?1")?
            .execute([*row as i64])?;
        db.sql
            .prepare_cached("DELETE FROM damaged_drawers WHERE row = ?1")?
            .execute([*row as i64])?;
    }
    if !rows.is_empty() {
        db.sql.execute(
            "UPDATE palace SET purge_pending = ?1 WHERE id = 1",
            [seq as i64],
        )?;
    }
    Ok(())
}

/// Rewrites every file that may hold forgotten text. True when nothing is left; false when a
/// reader still needs old pages.
pub(crate) fn purge(store: &Store) -> Result<bool> {
    build::join(store);
    remove_set_aside(store)?;
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
        return Ok(false);
    }
    // Whatever was forgotten after we looked needs another round.
    store.write("noting the purge", |db| {
        let noted = "UPDATE palace SET purge_pending = 0 WHERE id = 1 AND purge_pending = ?1";
        Ok(db.sql.execute(noted, [pending as i64])? > 0)
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

/// Deletes what repairs, restores and killed processes left behind in the palace directory.
fn remove_set_aside(store: &Store) -> Result<()> {
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
    for path in loci_index::drift_files(&place.index_directory()) {
        remove(&path)?;
    }
    let Ok(entries) = fs::read_dir(&place.directory) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = [
            "palace.sqlite3.replaced-",
            "palace.sqlite3.before-repair-",
            "verify-",
        ];
        if ours.iter().any(|prefix| name.starts_with(prefix)) || name.contains(".drift-") {
            remove(&entry.path())?;
        }
    }
    Ok(())
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

//! The second half of `forget`: rewrites or removes every file that may hold forgotten text.
//!
//! `secure_delete` is not enough, because unused parts of pages, postings, the write-ahead log and
//! kept copies hold text too. [`super::copies`] lists these places. The transaction that removes
//! the drawers also records that a purge is pending, and the purge clears that record at its end.
//! So a kill at any line leaves a palace that is purged again.

use std::fs::TryLockError;
use std::path::Path;
use std::time::Duration;

use loci_core::{ErrorKind, MaintenanceStatus, Result};
use loci_files::own;

use super::copies::{self, Treatment};
use super::pending;
use super::working_copy;
use crate::collection::meta::CollectionRow;
use crate::index::build::{self, When};
use crate::index::registry;
use crate::store::connection::with_patience;
use crate::store::lock::FileLock;
use crate::store::{Head, Store};
use loci_core::PurgePending;

/// How long a purge waits for readers of an older state.
const READER_WAIT: Duration = Duration::from_secs(5);

/// Whether a purge waits for other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PurgeWait {
    /// For `forget`: waits for locks and readers.
    Waits,
    /// For a process that closes the palace after other work: leaves what is locked to the next
    /// process.
    None,
}

/// The result of a purge.
#[derive(Debug, Default)]
pub(crate) struct Purged {
    /// Why forgotten text may be left, or `None` if none is.
    pub(crate) pending: Option<PurgePending>,
    pub(crate) removed_files: Vec<String>,
}

/// Rewrites or removes every file that may hold forgotten text. A full disk, a busy palace or
/// missing permissions only delay the purge, because the drawers are already removed.
pub(crate) fn purge(store: &Store, patience: PurgeWait) -> Result<Purged> {
    let mut purged = Purged::default();
    let done = match patience {
        PurgeWait::Waits => run(store, patience, &mut purged),
        PurgeWait::None => with_patience(Duration::ZERO, || run(store, patience, &mut purged)),
    };
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Busy) => {
            tracing::warn!(%error, "the purge is still pending");
            purged.pending = Some(PurgePending::of(&error));
            Ok(purged)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(purged),
    }
}

fn run(store: &Store, patience: PurgeWait, purged: &mut Purged) -> Result<()> {
    build::join(store);
    let pending = store.read("looking for a pending purge", |db| {
        Ok(Head::read(&db.sql)?.purge_pending)
    })?;
    let held = remove_copies(store, patience, &mut purged.removed_files)?;
    if patience == PurgeWait::None && held.is_some() {
        // The rewrite opens the palace again, which would wait for the same process.
        purged.pending = held;
        return Ok(());
    }
    let mut left = None;
    // Index files are rebuilt from what is left. A crash after this line leaves the purge pending,
    // and the next one starts from the beginning; every step can be repeated.
    if !rebuild_indexes(store, patience)? {
        left = Some(PurgePending::Busy);
    }
    left = rewrite(store, patience)?.or(left);
    // The postings held forgotten words until the rewrite. A working copy that was started before
    // it may hold them too, and may have become a kept file in the meantime.
    if patience == PurgeWait::Waits {
        working_copy::wait_for_others(&store.place, READER_WAIT)?;
    }
    left = left.or(remove_copies(store, patience, &mut purged.removed_files)?);
    if left.is_none() {
        // No file holds the text, and only this commit says so. A crash before it repeats the
        // purge. If the number has changed, more was forgotten in the meantime and another round is
        // needed. If it is 0, another process has completed the purge.
        let noted = store.write("noting the purge", |db| {
            let noted = "UPDATE palace SET purge_pending = 0 WHERE id = 1 AND purge_pending = ?1";
            db.sql.execute(noted, [pending as i64])?;
            Ok(Head::read(&db.sql)?.purge_pending == 0)
        })?;
        left = (!noted).then_some(PurgePending::Busy);
    }
    purged.pending = left;
    Ok(())
}

/// Removes the listed copies in the palace directory. Returns the first reason why one stays.
fn remove_copies(
    store: &Store,
    patience: PurgeWait,
    removed: &mut Vec<String>,
) -> Result<Option<PurgePending>> {
    let place = &store.place;
    let Some(lock) = take(&place.lock(), patience)? else {
        return Ok(Some(PurgePending::Busy));
    };
    // A restore that was killed between its renames is completed or discarded first.
    super::restore::finish_interrupted(place)?;
    drop(lock);
    // This does not wait, because a restore holds the lock for as long as it copies.
    let restore = FileLock::try_exclusive(&place.restore_lock())?;
    let Some(_index) = take(&place.index_lock(), patience)? else {
        return Ok(Some(PurgePending::Busy));
    };
    let mut left = restore.is_none().then_some(PurgePending::RestoreRunning);
    build::remove_strays(store)?;
    removed.extend(working_copy::remove_abandoned(place)?);
    for (path, copy) in copies::found(place) {
        let is_removed = match copy.treatment {
            Treatment::Removed => true,
            Treatment::RemovedAfterRestore => restore.is_some(),
            Treatment::RemovedUnlessInUse => {
                let used = is_in_use(&path);
                if used {
                    left = left.or_else(|| {
                        let name = copies::relative(place, &path);
                        Some(PurgePending::CopyInUse { name })
                    });
                }
                !used
            }
            Treatment::Rewritten | Treatment::Rebuilt | Treatment::NoText | Treatment::NotOurs => {
                false
            }
        };
        if !is_removed {
            continue;
        }
        // Nothing refers to a copy, so they can go in any order. A crash after this line leaves
        // fewer copies, and the purge pending.
        // The drawers are gone from the database, so this copy is the last place of their text. A crash
        // before this line leaves the purge pending, and the next process continues.
        match working_copy::remove(&path) {
            Ok(()) if copy.treatment == Treatment::RemovedAfterRestore => {}
            Ok(()) => removed.push(copies::relative(place, &path)),
            Err(error) => {
                tracing::warn!(%error, "a copy of forgotten text was not removed");
                left = left.or_else(|| Some(PurgePending::of(&error)));
            }
        }
    }
    Ok(left)
}

/// Whether a live process holds a lock on the copy that it made. A copy without a lock was left by
/// a kill.
fn is_in_use(path: &Path) -> bool {
    own::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn take(lock: &Path, patience: PurgeWait) -> Result<Option<FileLock>> {
    match patience {
        PurgeWait::Waits => FileLock::exclusive(lock).map(Some),
        PurgeWait::None => FileLock::try_exclusive(lock),
    }
}

/// Builds every registered index from what is left. Returns false if another process is building
/// one.
fn rebuild_indexes(store: &Store, patience: PurgeWait) -> Result<bool> {
    let names: Vec<String> = store.read("listing snapshots", |db| {
        let head = Head::read(&db.sql)?;
        let mut names = Vec::new();
        for row in CollectionRow::all(&db.sql, &head)? {
            if registry::find(&db.sql, &head, row.id)?.is_some() {
                names.push(row.name);
            }
        }
        Ok(names)
    })?;
    let when = match patience {
        PurgeWait::Waits => When::Must,
        PurgeWait::None => When::Now,
    };
    let mut all = true;
    for name in names {
        let built = build::build(store, &name, when)?;
        all &= built.status != MaintenanceStatus::AlreadyRunning;
    }
    Ok(all)
}

/// Merges the postings, rebuilds the file and empties the log.
fn rewrite(store: &Store, patience: PurgeWait) -> Result<Option<PurgePending>> {
    let doing = "purging forgotten text";
    // Merging first removes the deleted words from the postings, so that the rebuilt file does not
    // contain them.
    store.write(doing, |db| {
        db.sql
            .execute("INSERT INTO postings (postings) VALUES ('optimize')", [])?;
        Ok(())
    })?;
    // Idle connections of this process hold no pages, but the log can shrink only when they are
    // closed.
    store.release();
    let wait = match patience {
        PurgeWait::Waits => READER_WAIT,
        PurgeWait::None => Duration::ZERO,
    };
    // VACUUM commits the new file into the log, and the checkpoint copies it over the database and
    // truncates the log. Both files hold forgotten text until the checkpoint has ended, so the
    // order is fixed. A crash in between leaves a valid palace with the purge pending.
    let busy = store.alone(doing, |db| {
        db.with_temporary_files(&store.place.directory, || {
            Ok(db.sql.execute_batch("VACUUM")?)
        })?;
        db.sql.busy_timeout(wait)?;
        let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
        Ok(db.sql.query_row(truncate, [], |row| row.get::<_, i64>(0))?)
    })?;
    Ok((busy != 0).then(|| pending::readers(&store.place)))
}

//! The second half of `forget`: every file that may hold forgotten text is rewritten or removed.
//!
//! `secure_delete` is not enough: page slack, postings, the write-ahead log and kept copies hold
//! text too. [`super::copies`] lists them. The palace notes that a purge is due in the transaction
//! that removes the drawers, and clears that note at the end, so a kill at any line leaves a
//! palace that purges again.

use std::fs::{self, TryLockError};
use std::path::Path;
use std::time::Duration;

use loci_core::{Error, ErrorKind, MaintenanceStatus, Result};
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

/// How long the purge waits for readers of an older state.
const READER_WAIT: Duration = Duration::from_secs(5);

/// Whether a purge waits for other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// `forget` waits for locks and readers.
    Waits,
    /// A process that ends after other work does not: what is locked is left to the next one.
    None,
}

/// What a purge did.
#[derive(Debug, Default)]
pub(crate) struct Purged {
    /// Why forgotten text may be left; nothing when none is.
    pub(crate) pending: Option<PurgePending>,
    pub(crate) removed_files: Vec<String>,
}

/// Rewrites or removes every file that may hold forgotten text. A full disk, a busy palace or
/// missing rights only put it off: the drawers are gone already.
pub(crate) fn purge(store: &Store, patience: Patience) -> Result<Purged> {
    let mut purged = Purged::default();
    let done = match patience {
        Patience::Waits => run(store, patience, &mut purged),
        Patience::None => with_patience(Duration::ZERO, || run(store, patience, &mut purged)),
    };
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Busy) => {
            tracing::warn!(%error, "the purge stays pending");
            purged.pending = Some(PurgePending::of(&error));
            Ok(purged)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(purged),
    }
}

fn run(store: &Store, patience: Patience, purged: &mut Purged) -> Result<()> {
    build::join(store);
    let pending = store.read("looking for a pending purge", |db| {
        Ok(Head::read(&db.sql)?.purge_pending)
    })?;
    let held = remove_copies(store, patience, &mut purged.removed_files)?;
    if patience == Patience::None && held.is_some() {
        // Opening the palace again, which a rewrite needs, would wait for the same process.
        purged.pending = held;
        return Ok(());
    }
    let mut left = None;
    if !rebuild_indexes(store, patience)? {
        left = Some(PurgePending::Busy);
    }
    left = rewrite(store, patience)?.or(left);
    // The postings held forgotten words until the rewrite. A working copy that was begun before may
    // hold them too, and may have become a kept file meanwhile.
    if patience == Patience::Waits {
        working_copy::wait_for_others(&store.place, READER_WAIT)?;
    }
    left = left.or(remove_copies(store, patience, &mut purged.removed_files)?);
    if left.is_none() {
        // Durable: no file holds the text. A crash before this commit repeats the purge. Another
        // number means that more was forgotten since we looked, which needs another round; none
        // means that another process has done the same.
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

/// Walks the list of copies in the palace directory. Gives the first reason why one stays.
fn remove_copies(
    store: &Store,
    patience: Patience,
    removed: &mut Vec<String>,
) -> Result<Option<PurgePending>> {
    let place = &store.place;
    let Some(lock) = take(&place.lock(), patience)? else {
        return Ok(Some(PurgePending::Busy));
    };
    // What a killed restore left between its renames becomes the palace or goes.
    super::restore::finish_interrupted(place)?;
    drop(lock);
    // Only tried: a restore holds it for as long as it copies.
    let restore = FileLock::try_exclusive(&place.restore_lock())?;
    let Some(_index) = take(&place.index_lock(), patience)? else {
        return Ok(Some(PurgePending::Busy));
    };
    let mut left = restore.is_none().then_some(PurgePending::RestoreRunning);
    build::remove_strays(store)?;
    removed.extend(working_copy::remove_abandoned(place)?);
    for (path, copy) in copies::found(place) {
        let goes = match copy.treatment {
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
        if !goes {
            continue;
        }
        // Nothing refers to a copy: a crash after this line leaves fewer copies, and the purge due.
        match remove(&path) {
            Ok(()) if copy.treatment == Treatment::RemovedAfterRestore => {}
            Ok(()) => removed.push(copies::relative(place, &path)),
            Err(error) => {
                tracing::warn!(%error, "a copy of forgotten text stays");
                left = left.or_else(|| Some(PurgePending::of(&error)));
            }
        }
    }
    Ok(left)
}

/// Whether a live process holds a lock on a copy that it made. A copy without a lock was left by a
/// kill.
fn is_in_use(path: &Path) -> bool {
    own::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn take(lock: &Path, patience: Patience) -> Result<Option<FileLock>> {
    match patience {
        Patience::Waits => FileLock::exclusive(lock).map(Some),
        Patience::None => FileLock::try_exclusive(lock),
    }
}

/// Builds every registered index from what is left. False when another process is at one.
fn rebuild_indexes(store: &Store, patience: Patience) -> Result<bool> {
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
        Patience::Waits => When::Must,
        Patience::None => When::Now,
    };
    let mut all = true;
    for name in names {
        let built = build::build(store, &name, when)?;
        all &= built.status != MaintenanceStatus::AlreadyRunning;
    }
    Ok(all)
}

/// Postings merged, file rebuilt, log emptied.
fn rewrite(store: &Store, patience: Patience) -> Result<Option<PurgePending>> {
    let doing = "purging forgotten text";
    store.write(doing, |db| {
        db.sql
            .execute("INSERT INTO postings (postings) VALUES ('optimize')", [])?;
        Ok(())
    })?;
    // Idle connections of this process hold no pages, but closing them lets the log shrink.
    store.release();
    let wait = match patience {
        Patience::Waits => READER_WAIT,
        Patience::None => Duration::ZERO,
    };
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

fn remove(path: &Path) -> Result<()> {
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

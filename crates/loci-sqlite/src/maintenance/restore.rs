//! restore: puts a backup in the place of a palace.
//!
//! The new database is complete and synced as `palace.sqlite3.restoring-TIME` before the old one is
//! renamed to `palace.sqlite3.replaced-TIME`. A kill between the renames leaves no
//! `palace.sqlite3`; the next process that opens the palace completes the swap under the same lock
//! and with the same names. Other processes notice the new file at their next call.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use loci_core::{Advice, Error, PalaceRef, Restored, Result};
use loci_files::{foreign, own};
use rusqlite::{Connection, OpenFlags};

use super::{backup_check, free_path, working_copy};
use crate::SqliteBackend;
use crate::collection::meta::CollectionRow;
use crate::fault::Attempt;
use crate::index::build::{self, When};
use crate::store::connection::keep_temporary_in_memory;
use crate::store::lock::FileLock;
use crate::store::palace_files::{PalaceFiles, sync_directory};
use crate::store::{Head, Store, new_generation, read_only, schema};

/// Replaces the state of `palace` by the backup. With `replace`, an existing palace is renamed
/// within its directory; without it, an existing palace is a conflict.
pub(crate) fn restore(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    backup: &Path,
    replace: bool,
) -> Result<Restored> {
    backend.ensure_open()?;
    let place = PalaceFiles::of(palace)?;
    backup_check::refuse_unusable(backup)?;
    if place.mark()?.is_some() && !replace {
        return Err(palace_exists(&place));
    }
    read_only::refuse(&place)?;
    place.ensure_directory()?;
    let restoring = FileLock::exclusive(&place.restore_lock())?;
    working_copy::tidy(&place);
    let Staged {
        temporary,
        drawers,
        is_current,
    } = stage(backup, &place)?;
    // Our own connections must be closed before the file that they lock is renamed.
    if let Some(store) = backend.forget_store(palace) {
        build::join(&store);
        store.close();
    }
    // No process opens or closes the database from here until the new one is in place.
    let lock = FileLock::exclusive(&place.lock())?;
    // Checked again under the lock: a restore may have been killed, or a palace created, since the
    // first check.
    finish_interrupted(&place)?;
    if place.mark()?.is_some() && !replace {
        remove_database(&temporary)?;
        return Err(palace_exists(&place));
    }
    let set_aside = put_in_place(&place, &temporary)?;
    // The renames are durable and the palace is the backup. A crash from here on leaves it without
    // index files, which the next process that needs them builds.
    drop(lock);
    drop(restoring);
    // The first process that uses a palace of an older format migrates it.
    if is_current && let Err(error) = build_indexes(&place, backend) {
        tracing::warn!(%error, "the restored palace has no index yet; answers stay exact");
    }
    Ok(Restored { drawers, set_aside })
}

/// Builds the index of every collection that needs one. A backup holds none, so the first search
/// would read every vector, and its process would build the index before it ends.
fn build_indexes(place: &PalaceFiles, backend: &SqliteBackend) -> Result<()> {
    let store = Store::open(
        &place.directory,
        false,
        backend.durability(),
        backend.machine(),
    )?;
    let names: Vec<String> = store.read("listing collections", |db| {
        let head = Head::read(&db.sql)?;
        let rows = CollectionRow::all(&db.sql, &head)?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    })?;
    let built = names
        .iter()
        .try_for_each(|name| build::build(&store, name, When::Due { patience: 1 }).map(|_| ()));
    store.close();
    built
}

/// Puts a complete and synced database in the place of the palace's. Returns the path of the old
/// one. The caller holds the palace lock, and this process has no connection to either file.
pub(super) fn put_in_place(place: &PalaceFiles, temporary: &Path) -> Result<Option<PathBuf>> {
    // Both names get the same time, and neither may be taken. After a kill, the time in one name
    // gives the other.
    let aside = free_path(&place.directory, REPLACED);
    let staged = place
        .directory
        .join(format!("{RESTORING}{}", suffix_of(&aside, REPLACED)));
    // This name marks the file as complete. A kill after this rename leaves the old palace in
    // place, and the next opener that takes the lock removes the staged file.
    fs::rename(temporary, &staged)
        .map_err(|source| Error::io("cannot rename", temporary, source))?;
    // The staged name must be durable before the old database loses its name. Otherwise a power cut
    // could leave a palace with neither.
    sync_directory(&place.directory)?;
    let replaced = place.mark()?.is_some();
    swap(place, &staged)?;
    Ok(replaced.then_some(aside))
}

fn palace_exists(place: &PalaceFiles) -> Error {
    Error::Conflict {
        what: format!("there is a palace at `{}`", place.directory.display()),
    }
    .advise(Advice::ReplacePalace)
}

/// A copy of a backup that is ready to be put in place.
struct Staged {
    temporary: PathBuf,
    drawers: u64,
    /// Whether it has the format of this build.
    is_current: bool,
}

/// Copies the backup beside the palace and gives it a new generation, so that no index of another
/// history is ever used with it.
#[expect(clippy::disallowed_methods, reason = "the staged file is new")]
fn stage(backup: &Path, place: &PalaceFiles) -> Result<Staged> {
    remove_staging(place)?;
    let temporary = place
        .directory
        .join(format!("{STAGING}-{:016x}.tmp", fastrand::u64(..)));
    let fail = |source| Error::io("cannot write", &temporary, source);
    let mut source =
        foreign::open(backup).map_err(|source| Error::io("cannot read", backup, source))?;
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    let mut copy = own::create_with(&temporary, &options).map_err(fail)?;
    std::io::copy(&mut source, &mut copy).map_err(fail)?;
    copy.sync_all().map_err(fail)?;
    drop(copy);
    let renew = || -> Attempt<(i64, bool)> {
        let db = Connection::open_with_flags(&temporary, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        db.pragma_update(None, "trusted_schema", false)?;
        // The backup may have been replaced since it was checked. Nobody else writes to this copy.
        backup_check::refuse_foreign_schema(&db, backup)?;
        keep_temporary_in_memory(&db)?;
        db.execute(
            "UPDATE palace SET generation = ?1 WHERE id = 1",
            [new_generation()],
        )?;
        db.execute_batch("DELETE FROM snapshots; DELETE FROM index_failures;")?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        let drawers = db.query_row(
            "SELECT coalesce(sum(drawers), 0) FROM collections",
            [],
            |row| row.get(0),
        )?;
        let is_current = schema::format(&db)? == schema::FORMAT;
        db.close().map_err(|(_, error)| error)?;
        Ok((drawers, is_current))
    };
    let (drawers, is_current) = renew().map_err(|fault| {
        let error = fault.into_error(&temporary, "preparing the restored palace");
        // Nothing refers to the copy yet. If the removal fails, the next restore removes it.
        let _ = remove_database(&temporary);
        error
    })?;
    // The connection is closed, so the changes above are in the file itself. It is synced before
    // the first rename, so that no rename exposes an incomplete database. A crash here leaves the
    // staging file, which the next restore or forget removes.
    own::open(&temporary)
        .and_then(|file| file.sync_all())
        .map_err(fail)?;
    Ok(Staged {
        temporary,
        drawers: drawers as u64,
        is_current,
    })
}

pub(super) const STAGING: &str = "palace.sqlite3.staging";
const RESTORING: &str = "palace.sqlite3.restoring";
const REPLACED: &str = "palace.sqlite3.replaced";

/// The part of a file name after the stem, such as `-20260131-235959`.
fn suffix_of(path: &Path, stem: &str) -> String {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    name.strip_prefix(stem).unwrap_or_default().to_owned()
}

/// Renames the old database and its log, then renames the new one to its final name. Any of the
/// steps may already be done, because an interrupted swap runs again from its start.
fn swap(place: &PalaceFiles, staged: &Path) -> Result<()> {
    let rename = |from: &Path, to: &Path| match fs::rename(from, to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("cannot rename", from, error))
        }
        _ => Ok(()),
    };
    let aside = place
        .directory
        .join(format!("{REPLACED}{}", suffix_of(staged, RESTORING)));
    // The database goes first. Without it, a later opener finds an interrupted swap and completes
    // it. If the log went first, a kill would leave the old database without its newest commits.
    rename(&place.database, &aside)?;
    // A file system may write two renames in any order. The log must not lose its name before the
    // database has lost its own, or a power cut leaves the old database without its newest commits.
    sync_directory(&place.directory)?;
    for (companion, suffix) in place.companions().iter().zip(["-wal", "-shm"]) {
        let mut name = aside.clone().into_os_string();
        name.push(suffix);
        rename(companion, &PathBuf::from(name))?;
    }
    // The old files keep their new names before the new database appears, so that it never stands
    // beside the old log. SQLite would apply that log to it.
    sync_directory(&place.directory)?;
    // A crash before this rename leaves no `palace.sqlite3`, and the next opener completes the swap.
    // After it the palace is the new one.
    rename(staged, &place.database)?;
    // The caller reports success only when the new name is durable.
    sync_directory(&place.directory)
}

/// Completes a swap that a kill interrupted. If the database is there, the swap had not begun: the
/// staged file is removed, and the old palace is whole. The caller holds the palace lock.
pub(crate) fn finish_interrupted(place: &PalaceFiles) -> Result<()> {
    for staged in staged_files(place) {
        if place.mark()?.is_none() {
            swap(place, &staged)?;
        } else {
            remove_database(&staged)?;
        }
    }
    Ok(())
}

/// Whether a restore was killed between its renames, or is running.
pub(crate) fn is_interrupted(place: &PalaceFiles) -> bool {
    !staged_files(place).is_empty()
}

/// Complete databases that a restore was about to put in place.
fn staged_files(place: &PalaceFiles) -> Vec<PathBuf> {
    let is_staged = |name: &str| {
        let suffix = name
            .strip_prefix(RESTORING)
            .filter(|suffix| suffix.starts_with('-'));
        suffix.is_some_and(|suffix| !suffix.ends_with("-wal") && !suffix.ends_with("-shm"))
    };
    let entries = fs::read_dir(&place.directory)
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| is_staged(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}

/// Removes what a killed restore or replacing repair was still writing. The caller holds the
/// restore lock, so nobody else is writing it.
pub(crate) fn remove_staging(place: &PalaceFiles) -> Result<()> {
    let Ok(entries) = fs::read_dir(&place.directory) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(STAGING) {
            continue;
        }
        let path = entry.path();
        // A restore stages a file, a replacing repair a directory.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            fs::remove_dir_all(&path)
                .map_err(|source| Error::io("cannot remove", &path, source))?;
        } else {
            remove_database(&path)?;
        }
    }
    Ok(())
}

/// Removes a staged database and its companions. No process opens them, so their order does not
/// matter. A crash in between may leave a companion, which the next `forget` removes.
fn remove_database(path: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("cannot remove", PathBuf::from(name), error));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use loci_core::{Backend, Batch, CollectionOptions};

    use super::*;
    use crate::index::registry;

    #[test]
    fn a_restored_palace_has_its_index_before_anybody_searches() {
        let directory = tempfile::tempdir().unwrap();
        let palace = PalaceRef::local(directory.path().join("palace"));
        let backup = directory.path().join("backup");
        let backend = SqliteBackend::default();
        let collection = backend
            .get_collection(&palace, "drawers", true, &CollectionOptions::default())
            .unwrap();
        for batch in 0..5 {
            let ids = (0..500).map(|number| format!("{batch}-{number}"));
            let vectors = (0..500).map(|number| vec![1.0, number as f32]);
            let batch = Batch::new(ids).embeddings(vectors);
            collection.add(&batch).unwrap();
        }
        backend.backup(&palace, &backup).unwrap();
        backend.restore(&palace, &backup, true).unwrap();
        let store = backend.store(&palace, false).unwrap();
        let names = store
            .read("looking", |db| registry::names(&db.sql))
            .unwrap();
        assert_eq!(names.len(), 1);
        let files = store.place.index_directory();
        assert!(files.join(&names[0]).is_file());
        let report = backend.verify(&palace, true).unwrap();
        assert!(report.ok(), "{:?}", report.findings);
    }
}

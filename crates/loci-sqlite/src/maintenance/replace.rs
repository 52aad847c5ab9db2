//! repair with replace: salvages a damaged palace and puts the result in its place.
//!
//! The new database is written in `palace.sqlite3.staging-….tmp/` inside the palace, a directory
//! that only this call uses. When it is complete and synced, it follows the steps of a restore: it
//! is renamed to `palace.sqlite3.restoring-TIME`, the old database and its log are renamed to
//! `palace.sqlite3.replaced-TIME`, and the new database is renamed to its final name. The palace
//! lock is held from the first read of the damaged files to the last rename, so no write can be
//! committed to a database that is about to be replaced.

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, PalaceRef, Result, SalvageReport};
use rusqlite::{Connection, OpenFlags};

use super::restore::{self, STAGING};
use super::salvage;
use crate::SqliteBackend;
use crate::fault::Attempt;
use crate::store::lock::FileLock;
use crate::store::palace_files::{DATABASE, PalaceFiles};

/// Salvages the palace and replaces it. Returns the path of the old database.
pub(super) fn salvage_and_replace(
    backend: &SqliteBackend,
    palace: &PalaceRef,
) -> Result<(SalvageReport, Option<PathBuf>)> {
    let place = PalaceFiles::of(palace)?;
    // The locks are taken in the same order as by a restore, so that the two never wait for each
    // other in a circle.
    let _restore = FileLock::exclusive(&place.restore_lock())?;
    restore::remove_staging(&place)?;
    let _raw = salvage::let_go(backend, palace, &place)?;
    let _lock = FileLock::exclusive(&place.lock())?;
    restore::finish_interrupted(&place)?;
    let staging = place
        .directory
        .join(format!("{STAGING}-{:016x}.tmp", fastrand::u64(..)));
    // A kill from here to the first rename leaves the damaged palace as it was, and the staging
    // directory, which the next replace, restore or forget removes.
    let mut report = salvage::salvage_into(backend, &place, staging.clone())?;
    let database = staging.join(DATABASE);
    // The new database is one synced file before any rename, so no rename can expose an incomplete
    // one.
    seal(&database)?;
    let aside = restore::put_in_place(&place, &database)?;
    // The new palace is in place and synced. The staging directory holds only its index and its
    // locks, so a crash before this line costs disk space until the next replace, restore or
    // forget.
    fs::remove_dir_all(&staging).map_err(|source| Error::io("cannot remove", &staging, source))?;
    report.palace.clone_from(&place.directory);
    Ok((report, aside))
}

/// Makes the new database one synced file. Its index files stay behind, so they are unregistered,
/// and its log is moved into it.
#[expect(clippy::disallowed_methods, reason = "the staged file is ours alone")]
fn seal(database: &Path) -> Result<()> {
    let close = || -> Attempt<()> {
        let db = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        db.execute_batch("DELETE FROM snapshots; DELETE FROM index_failures;")?;
        // The last connection moves the log into the database and removes the log.
        db.close().map_err(|(_, error)| error)?;
        Ok(())
    };
    close().map_err(|fault| fault.into_error(database, "preparing the salvaged palace"))?;
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    if fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0) {
        return Err(Error::Internal {
            doing: "preparing the salvaged palace".into(),
            detail: format!("its log `{}` is not empty", PathBuf::from(log).display()),
        });
    }
    // The log is empty, so this sync makes the whole database durable.
    loci_files::own::open(database)
        .and_then(|file| file.sync_all())
        .map_err(|source| Error::io("cannot sync", database, source))
}

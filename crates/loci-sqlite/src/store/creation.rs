//! Creates the database of a new palace: complete under a temporary name, then renamed.
//!
//! SQLite treats an empty file as a new database and removes the log beside it, by name. If the
//! directory was moved in the meantime, that is the log of another palace. So SQLite never opens an
//! empty `palace.sqlite3`.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;

use loci_core::{Error, MachineSource, Result};
use loci_files::own;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::renameat;

use super::connection::add_terms_function;
use super::opening::bring_up;
use super::palace_files::{DATABASE, PalaceFiles, sync_directory};
use super::schema;
use crate::fault::Attempt;

/// Prefix of a database that is being created.
const CREATING: &str = "palace.sqlite3.creating-";

/// Creates the database. The caller holds the palace lock, and there is no database, or only an
/// empty file that an older version left. A kill leaves a file that the next creation removes.
pub(super) fn create_database(place: &PalaceFiles) -> Result<()> {
    let fail = |source| Error::io("cannot create", &place.database, source);
    remove_unfinished(place);
    let directory = own::open(&place.directory).map_err(fail)?;
    let name = format!("{CREATING}{:016x}", fastrand::u64(..));
    let path = place.directory.join(&name);
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let file = own::create_with(&path, &options).map_err(fail)?;
    fill(&path).map_err(|fault| fault.into_error(&path, "creating the palace"))?;
    // The content must be on the disk before the file gets its name. Otherwise a power cut could
    // leave `palace.sqlite3` empty or incomplete.
    file.sync_all().map_err(fail)?;
    // The database is complete and durable under its temporary name. A crash before this rename
    // leaves no palace; after it the palace is whole. The rename is relative to the directory that
    // was opened above, even if that was moved.
    renameat(&directory, name.as_str(), &directory, DATABASE)
        .map_err(|error| fail(error.into()))?;
    // The name is durable before the first write is acknowledged.
    sync_directory(&place.directory)
}

#[expect(clippy::disallowed_methods, reason = "a new file")]
fn fill(path: &std::path::Path) -> Attempt<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = Connection::open_with_flags(path, flags)?;
    // A crash leaves a file that nobody opens, so no journal is needed.
    sql.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    sql.pragma_update(None, "page_size", schema::PAGE_SIZE)?;
    // As on every connection: pages keep nothing of what a migration replaced.
    sql.pragma_update(None, "secure_delete", true)?;
    add_terms_function(&sql)?;
    sql.execute_batch("BEGIN IMMEDIATE")?;
    bring_up(&sql, &MachineSource::default())?;
    // This commits to a file without the palace's name. A crash here leaves no palace.
    sql.execute_batch("COMMIT")?;
    sql.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Removes the files of creations that were killed. The caller holds the palace lock, so no other
/// process is creating one.
fn remove_unfinished(place: &PalaceFiles) {
    let entries = fs::read_dir(&place.directory).into_iter().flatten();
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(CREATING) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

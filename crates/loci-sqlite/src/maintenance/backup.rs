//! backup: writes a consistent copy of a palace in use, as one file.
//!
//! The copy grows under a temporary name beside the target and gets its name when it is complete
//! and synced. Nothing in the palace changes.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use loci_core::{Error, PalaceRef, Result};
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::working_copy;
use crate::SqliteBackend;
use crate::fault::Fault;
use crate::store::Store;
use crate::store::palace_files::sync_directory;

/// Writes a copy of the current state of the palace to `target`, which must not exist. Readers and
/// writers continue in the meantime. Returns the size in bytes.
pub(crate) fn backup(backend: &SqliteBackend, palace: &PalaceRef, target: &Path) -> Result<u64> {
    let store = backend.store(palace, false)?;
    working_copy::tidy(&store.place);
    loci_files::output::refuse_inside_a_palace(target)?;
    let directory = loci_files::output::folder_of_new(target)?;
    let temporary = directory.join(format!(".loci-backup-{:016x}.tmp", fastrand::u64(..)));
    let copied = copy_to(&store, &temporary).and_then(|()| {
        // The copy is complete and synced. A crash before this line leaves only the temporary file.
        loci_files::output::without_replacing(&temporary, target)
            .map_err(|source| Error::io("cannot create", target, source))?;
        // The backup is reported only when its name is durable.
        sync_directory(&directory)
    });
    // After an error, nothing refers to the temporary file. A crash before this line leaves it.
    let _ = fs::remove_file(&temporary);
    copied?;
    fs::metadata(target)
        .map(|metadata| metadata.len())
        .map_err(|source| Error::io("cannot read the metadata of", target, source))
}

/// Copies the palace with `VACUUM INTO` to a new private file, and syncs it. SQLite's incremental
/// copy would start over at every commit of another process; this reads one state.
pub(crate) fn copy_to(store: &Store, target: &Path) -> Result<()> {
    let doing = "copying the palace";
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    loci_files::own::create_with(target, &options)
        .map_err(|source| Error::io("cannot create", target, source))?;
    // SQLite takes a file name as bytes, which need not be UTF-8.
    let name = ValueRef::Text(target.as_os_str().as_bytes());
    let db = store.connect(doing)?;
    let vacuumed = db
        .sql
        .execute("VACUUM INTO ?1", [ToSqlOutput::Borrowed(name)]);
    if vacuumed.is_err() {
        // If the disk is full, SQLite cannot remove its own journal.
        let mut journal = target.as_os_str().to_owned();
        journal.push("-journal");
        let _ = fs::remove_file(journal);
    }
    vacuumed.map_err(|error| Fault::Sql(error).into_error(&store.place.database, doing))?;
    // SQLite does not sync the target of `VACUUM INTO`. The callers rename or link the file, so its
    // content must be durable first.
    loci_files::own::open(target)
        .and_then(|file| file.sync_all())
        .map_err(|source| Error::io("cannot sync", target, source))
}

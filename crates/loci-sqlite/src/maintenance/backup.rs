//! backup: a consistent copy of a palace in use, as one file.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use loci_core::{Error, PalaceRef, Result};
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::working_copy;
use crate::SqliteBackend;
use crate::fault::Fault;
use crate::store::Store;
use crate::store::palace_files::sync_directory;

/// Writes a copy of the palace as of one moment to `target`, which must not exist. Readers and
/// writers go on meanwhile. Gives the size in bytes.
pub(crate) fn backup(backend: &SqliteBackend, palace: &PalaceRef, target: &Path) -> Result<u64> {
    let store = backend.store(palace, false)?;
    working_copy::tidy(&store.place);
    loci_files::output::refuse_inside_a_palace(target)?;
    if fs::symlink_metadata(target).is_ok() {
        return Err(Error::Conflict {
            what: format!("`{}` already exists", target.display()),
        });
    }
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    if !directory.is_dir() {
        let source = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Error::io("cannot create", target, source));
    }
    let temporary = directory.join(format!(".loci-backup-{:016x}.tmp", fastrand::u64(..)));
    let copied = copy_to(&store, &temporary).and_then(|()| {
        // A hard link fails where a file appeared meanwhile; a rename would replace it.
        fs::hard_link(&temporary, target)
            .or_else(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => Err(error),
                _ => fs::rename(&temporary, target),
            })
            .map_err(|source| Error::io("cannot create", target, source))?;
        sync_directory(&directory)
    });
    let _ = fs::remove_file(&temporary);
    copied?;
    fs::metadata(target)
        .map(|metadata| metadata.len())
        .map_err(|source| Error::io("cannot look at", target, source))
}

/// `VACUUM INTO` a new private file, synced. SQLite's incremental copy would start over at every
/// foreign commit; this reads one state.
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
        // Where the disk is full SQLite cannot take its own journal back.
        let mut journal = target.as_os_str().to_owned();
        journal.push("-journal");
        let _ = fs::remove_file(journal);
    }
    vacuumed.map_err(|error| Fault::Sql(error).into_error(&store.place.database, doing))?;
    loci_files::own::open(target)
        .and_then(|file| file.sync_all())
        .map_err(|source| Error::io("cannot sync", target, source))
}

//! backup: a consistent copy of a palace in use, as one file.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use loci_core::{Error, PalaceRef, Result};

use super::working_copy;
use crate::SqliteBackend;
use crate::fault::Fault;
use crate::store::Store;
use crate::store::place::sync_directory;

impl SqliteBackend {
    /// Writes a copy of the palace as of one moment to `target`, which must not exist. Readers and
    /// writers go on meanwhile. Gives the size in bytes.
    pub fn backup(&self, palace: &PalaceRef, target: &Path) -> Result<u64> {
        let store = self.store(palace, false)?;
        working_copy::tidy(&store.place);
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
}

/// `VACUUM INTO` a new private file, synced. SQLite's incremental copy would start over at every
/// foreign commit; this reads one state.
pub(crate) fn copy_to(store: &Store, target: &Path) -> Result<()> {
    let doing = "copying the palace";
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    loci_files::own::open_with(target, &options)
        .map_err(|source| Error::io("cannot create", target, source))?;
    let Some(name) = target.to_str() else {
        return Err(Error::invalid(
            "path",
            format!("`{}` is not valid UTF-8", target.display()),
        ));
    };
    let db = store.connect(doing)?;
    let vacuumed = db.sql.execute("VACUUM INTO ?1", [name]);
    if vacuumed.is_err() {
        // Where the disk is full SQLite cannot take its own journal back.
        let _ = fs::remove_file(format!("{name}-journal"));
    }
    vacuumed.map_err(|error| Fault::Sql(error).into_error(&store.place.database, doing))?;
    loci_files::own::open(target)
        .and_then(|file| file.sync_all())
        .map_err(|source| Error::io("cannot sync", target, source))
}

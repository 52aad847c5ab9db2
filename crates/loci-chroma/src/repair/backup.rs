//! The database as it was, kept beside it.
//!
//! A backup consists of the file and of the journal or log beside it: without them a half-written transaction could not be undone.

use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use super::aside::free_name;
use crate::snapshot::{COMPANIONS, beside};

/// Copies the database and its companions, durably.
pub(super) fn make(database: &Path, stamp: &str) -> Result<PathBuf> {
    let backup = free_name(database, &format!(".backup-{stamp}"))?;
    for (from, to) in pairs(database, &backup) {
        copy_durably(&from, &to)?;
    }
    sync_parent(database)?;
    Ok(backup)
}

/// Gives the database a second name, and its companions another: one rename over the first name then replaces it, so that there is a
/// database at every moment.
pub(super) fn second_name(database: &Path, stamp: &str) -> Result<PathBuf> {
    let backup = free_name(database, &format!(".backup-{stamp}"))?;
    if std::fs::hard_link(database, &backup).is_err() {
        copy_durably(database, &backup)?;
    }
    // A journal must not lie beside the new database: SQLite would undo the new one with it.
    for (from, to) in pairs(database, &backup).into_iter().skip(1) {
        rename(&from, &to)?;
    }
    sync_parent(database)?;
    Ok(backup)
}

/// Renames a new database to where the old one was. It keeps the owner, the group and the mode of the
/// old one.
pub(super) fn put_in_place(made: &Path, database: &Path) -> Result<()> {
    let keep = || -> std::io::Result<()> {
        let old = std::fs::metadata(database)?;
        let new = loci_files::own::open(made)?;
        loci_files::owner::keep_owner(&new, &old)?;
        new.set_permissions(old.permissions())
    };
    keep().map_err(|source| Error::io("cannot replace", database, source))?;
    // Nothing is replaced before this line. A crash here leaves the old database, which is complete,
    // under its name and under its backup name.
    rename(made, database)?;
    sync_parent(database)
}

/// The backup becomes the database again.
pub(super) fn restore(backup: &Path, database: &Path) -> Result<()> {
    for companion in COMPANIONS {
        let stale = beside(database, companion);
        if stale.exists() {
            std::fs::remove_file(&stale)
                .map_err(|source| Error::io("cannot remove", stale, source))?;
        }
    }
    for (from, to) in pairs(backup, database) {
        rename(&from, &to)?;
    }
    sync_parent(database)
}

/// Removes a backup that nothing was changed after.
pub(super) fn remove(backup: &Path) -> Result<()> {
    for (file, _) in pairs(backup, backup) {
        std::fs::remove_file(&file).map_err(|source| Error::io("cannot remove", file, source))?;
    }
    Ok(())
}

/// The files that belong to the database `from`, each with its name beside `to`.
fn pairs(from: &Path, to: &Path) -> Vec<(PathBuf, PathBuf)> {
    let companions = COMPANIONS
        .iter()
        .map(|companion| (beside(from, companion), beside(to, companion)))
        .filter(|(from, _)| from.is_file());
    std::iter::once((from.to_owned(), to.to_owned()))
        .chain(companions)
        .collect()
}

fn copy_durably(from: &Path, to: &Path) -> Result<()> {
    let copy = || -> std::io::Result<()> {
        let mut source = loci_files::foreign::open(from)?;
        let mut target = loci_files::own::create_new(to)?;
        std::io::copy(&mut source, &mut target)?;
        target.set_permissions(source.metadata()?.permissions())?;
        target.sync_all()
    };
    copy().map_err(|source| {
        // Half a copy must not be taken for a backup.
        let _ = std::fs::remove_file(to);
        Error::io("cannot back up", from, source)
    })
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|source| Error::io("cannot rename", from, source))
}

/// Names in a directory are durable when the directory is; systems that cannot open one need no such call.
pub(super) fn sync_parent(path: &Path) -> Result<()> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    if cfg!(unix) {
        loci_files::sync_directory(parent)
            .map_err(|source| Error::io("cannot make durable", parent, source))?;
    }
    Ok(())
}

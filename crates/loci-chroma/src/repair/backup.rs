//! A backup of the database in the same directory.
//!
//! A backup consists of the file and of the journal or log beside it. Without them, SQLite could
//! not roll back a half-written transaction.

use std::path::{Path, PathBuf};

use loci_core::{Error, Result};
use loci_salvage::snapshot::{COMPANIONS, beside};

use super::renames::free_name;

/// Copies the database and its companion files, and syncs them.
pub(super) fn make(database: &Path, stamp: &str) -> Result<PathBuf> {
    let backup = free_name(database, &format!(".backup-{stamp}"))?;
    for (from, to) in pairs(database, &backup) {
        copy_durably(&from, &to)?;
    }
    // The contents are synced above; this makes the names durable. No row may be changed before.
    sync_parent(database)?;
    Ok(backup)
}

/// Gives the database a second name and moves its companion files to match it. A single rename over
/// the first name can then replace the database, so a database exists at every moment.
pub(super) fn second_name(database: &Path, stamp: &str) -> Result<PathBuf> {
    let backup = free_name(database, &format!(".backup-{stamp}"))?;
    if std::fs::hard_link(database, &backup).is_err() {
        copy_durably(database, &backup)?;
    }
    // A journal must not stay beside the new database: SQLite would roll the new one back with it.
    // A crash after these renames leaves the old database under both names, and its journal beside
    // the backup.
    for (from, to) in pairs(database, &backup).into_iter().skip(1) {
        rename(&from, &to)?;
    }
    // The backup must be durable before `put_in_place` replaces the first name.
    sync_parent(database)?;
    Ok(backup)
}

/// Renames a new database over the old one, and keeps the owner, group and mode of the old one.
pub(super) fn put_in_place(made: &Path, database: &Path) -> Result<()> {
    let keep = || -> std::io::Result<()> {
        let old = std::fs::metadata(database)?;
        let new = loci_files::own::open(made)?;
        loci_files::owner::keep_owner(&new, &old)?;
        new.set_permissions(old.permissions())
    };
    keep().map_err(|source| Error::io("cannot replace", database, source))?;
    // The new database is committed and closed, and the backup is durable. A crash before this
    // rename leaves the old database under its name and under its backup name. A crash after it
    // leaves the new database and the backup.
    rename(made, database)?;
    sync_parent(database)
}

/// Moves the backup back to the name of the database.
pub(super) fn restore(backup: &Path, database: &Path) -> Result<()> {
    for step in restore_steps(backup, database) {
        match step {
            Step::Remove(stale) => std::fs::remove_file(&stale)
                .map_err(|source| Error::io("cannot remove", stale, source))?,
            Step::Rename(from, to) => rename(&from, &to)?,
            Step::Sync => sync_parent(database)?,
        }
    }
    Ok(())
}

/// A step of [`restore`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    /// Makes the steps so far durable.
    Sync,
}

/// The steps of [`restore`]. A power failure may keep later renames and lose earlier ones, unless
/// there is a sync between them. A journal must never be beside a database that it does not belong
/// to: SQLite would apply it.
pub(super) fn restore_steps(backup: &Path, database: &Path) -> Vec<Step> {
    // The journal or log of the repaired database goes first. The backup is complete and durable
    // until the renames.
    let mut steps: Vec<Step> = COMPANIONS
        .iter()
        .map(|companion| beside(database, companion))
        .filter(|stale| stale.exists())
        .map(Step::Remove)
        .collect();
    steps.push(Step::Sync);
    // The database comes next, then its companion files. A crash in between leaves them beside the
    // name of the backup.
    for (from, to) in pairs(backup, database) {
        steps.extend([Step::Rename(from, to), Step::Sync]);
    }
    steps
}

/// Removes a backup that is not needed.
pub(super) fn remove(backup: &Path) -> Result<()> {
    for (file, _) in pairs(backup, backup) {
        std::fs::remove_file(&file).map_err(|source| Error::io("cannot remove", file, source))?;
    }
    Ok(())
}

/// The files of the database at `from`, each with its name beside `to`.
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
        // An incomplete copy must not be mistaken for a backup.
        let _ = std::fs::remove_file(to);
        Error::io("cannot back up", from, source)
    })
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|source| Error::io("cannot rename", from, source))
}

/// Syncs the directory of `path`, which makes names in it durable. Systems that cannot open a
/// directory do not need this.
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

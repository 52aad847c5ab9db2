//! Tells a palace that has lost its database from a directory that never had one.
//!
//! In both, `palace.sqlite3` is missing or empty. A new database must not be started over a lost
//! one: the user would not notice the loss.
//!
//! A creation has this order: `palace.lock` is created, empty; the database is written and synced
//! under a temporary name and gets its own; SQLite opens it and creates the log; the lock gets its
//! record, which is synced. A kill before the rename leaves no database and a lock without a
//! record, so the next process starts again. A kill after the rename leaves a database, and the
//! next process that opens it writes the record. So a record proves that there was a database, and
//! so does every file that only a process with an open palace creates. `palace.toml`,
//! `restore.lock` and staged files prove nothing: they may be older than the first database.

use std::fs;

use loci_core::{Advice, Error, Result};

use super::log_files::LogFiles;
use super::palace_files::{DATABASE, PalaceFiles};
use crate::maintenance::restore;

/// Copies of the database that a repair or a restore kept. They also prove that there was one.
const KEPT_COPIES: [&str; 2] = ["palace.sqlite3.before-repair-", "palace.sqlite3.replaced-"];

/// Other files that only a process with an open palace creates.
const OF_AN_OPEN_PALACE: [&str; 6] = [
    "palace.sqlite3-wal",
    "palace.sqlite3-shm",
    "palace.sqlite3.damaged-log-",
    "palace.sqlite3.kept-log-",
    "index.lock",
    "palace.run-",
];

/// Whether the database file is missing or empty.
pub(crate) fn is_empty(place: &PalaceFiles) -> bool {
    fs::metadata(&place.database).map_or(true, |metadata| metadata.len() == 0)
}

/// Whether the database is missing or empty although there was one.
pub(crate) fn is_lost(place: &PalaceFiles) -> bool {
    is_empty(place) && !restore::is_interrupted(place) && Traces::of(place).proof.is_some()
}

/// Refuses a palace that has lost its database. The caller has seen that the database is missing or
/// empty. A restore that was killed passes, because it is completed under the lock.
pub(crate) fn refuse(place: &PalaceFiles) -> Result<()> {
    if restore::is_interrupted(place) {
        return Ok(());
    }
    let traces = Traces::of(place);
    let Some(proof) = traces.proof else {
        return Ok(());
    };
    let state = if fs::symlink_metadata(&place.database).is_ok() {
        "is empty (0 bytes)"
    } else {
        "is missing"
    };
    let error = Error::Corrupt {
        what: "the database".into(),
        path: place.database.clone(),
        detail: format!("the file {state}, but there was a palace: {proof}"),
    };
    let [log, _] = place.companions();
    if fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0) {
        // The log still holds commits, so a repair can save them.
        return Err(error);
    }
    Err(error.advise(Advice::RestoreLost {
        directory: place.directory.clone(),
        copies: traces.copies,
    }))
}

/// Refuses a salvage that could not find anything, before it changes anything.
pub(crate) fn refuse_without_log(place: &PalaceFiles) -> Result<()> {
    let [log, _] = place.companions();
    let logged = fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0);
    if is_empty(place) && !logged {
        refuse(place)?;
    }
    Ok(())
}

/// What an earlier palace left in the directory.
struct Traces {
    /// The first proof, in words.
    proof: Option<String>,
    /// Names of kept copies of the database, sorted.
    copies: Vec<String>,
}

impl Traces {
    fn of(place: &PalaceFiles) -> Self {
        let mut names: Vec<String> = names_in(&place.directory);
        names.sort();
        let is_copy = |name: &String| {
            KEPT_COPIES.iter().any(|start| name.starts_with(start))
                && !name.ends_with("-wal")
                && !name.ends_with("-shm")
        };
        let copies: Vec<String> = names.iter().filter(|name| is_copy(name)).cloned().collect();
        let left = names.iter().find(|name| {
            KEPT_COPIES
                .iter()
                .chain(&OF_AN_OPEN_PALACE)
                .any(|start| name.starts_with(start))
        });
        let indexed = || {
            let mut names = names_in(&place.index_directory()).into_iter();
            names.find(|name| name.contains(".snapshot"))
        };
        let proof = if LogFiles::is_recorded_at(&place.lock()) {
            Some(format!("`palace.lock` names the log of `{DATABASE}`"))
        } else if let Some(name) = left {
            Some(format!("`{name}` belongs to it"))
        } else {
            indexed().map(|name| format!("`index/{name}` belongs to it"))
        };
        Self { proof, copies }
    }
}

fn names_in(directory: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

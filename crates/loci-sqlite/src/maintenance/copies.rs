//! The list of places that may hold a copy of stored text, and what `forget` does about each.
//!
//! [`super::purge`] goes through it. Code that writes another copy of stored text adds a row here:
//! a test fails if a palace contains a file that no row covers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::palace_files::PalaceFiles;

/// Where a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyPlace {
    /// In the palace directory; patterns are relative to it.
    Palace,
    /// In `$XDG_CACHE_HOME/loci`.
    Cache,
    /// In `$XDG_STATE_HOME/loci`.
    State,
    /// In the system's directory for temporary files.
    Temporary,
}

/// What `forget` does about a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// SQLite's own files: the postings are merged, the database is rebuilt, the log is emptied.
    Rewritten,
    /// Built again from the database; files that are not registered are removed.
    Rebuilt,
    /// Deleted.
    Removed,
    /// Deleted, unless a restore is running.
    RemovedAfterRestore,
    /// Deleted, unless a process uses it.
    RemovedUnlessInUse,
    /// It never holds text of a drawer.
    NoText,
    /// It is not a copy of this palace.
    NotOurs,
}

/// One row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextCopy {
    /// Where it is.
    pub place: CopyPlace,
    /// Name of the file or directory; `*` stands for any characters.
    pub pattern: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What `forget` does about it.
    pub treatment: Treatment,
}

const fn row(
    place: CopyPlace,
    pattern: &'static str,
    what: &'static str,
    treatment: Treatment,
) -> TextCopy {
    TextCopy {
        place,
        pattern,
        what,
        treatment,
    }
}

use CopyPlace::{Cache, Palace, State, Temporary};
use Treatment::{
    NoText, NotOurs, Rebuilt, Removed, RemovedAfterRestore, RemovedUnlessInUse, Rewritten,
};

/// Every place that may hold a copy of stored text. The first row that matches applies.
pub const TEXT_COPIES: &[TextCopy] = &[
    row(Palace, "palace.sqlite3", "the database", Rewritten),
    row(Palace, "palace.sqlite3-wal", "the log", Rewritten),
    row(Palace, "palace.sqlite3-shm", "the index of the log", NoText),
    row(
        Palace,
        "palace.sqlite3-journal",
        "the journal while a palace is created",
        Rewritten,
    ),
    row(
        Palace,
        "*.drift-*",
        "an index that failed its check",
        Removed,
    ),
    row(
        Palace,
        "index/*.drift-*",
        "an index file that failed its check",
        Removed,
    ),
    row(Palace, "index/flat-*.snapshot", "an index file", Rebuilt),
    row(
        Palace,
        "index/flat-*.snapshot.tmp",
        "an index file that is being built",
        Rebuilt,
    ),
    row(
        Palace,
        "palace.sqlite3.replaced-*",
        "the palace before a restore",
        Removed,
    ),
    row(
        Palace,
        "palace.sqlite3.before-repair-*",
        "the palace before a repair",
        Removed,
    ),
    row(
        Palace,
        "palace.sqlite3.damaged-log-*",
        "a log with damaged frames",
        Removed,
    ),
    row(
        Palace,
        "palace.sqlite3.kept-log-*",
        "a damaged log after a repair",
        Removed,
    ),
    row(
        Palace,
        "palace.sqlite3.staging*",
        "a backup that is being restored",
        RemovedAfterRestore,
    ),
    row(
        Palace,
        "palace.sqlite3.restoring*",
        "a backup that is being restored",
        RemovedAfterRestore,
    ),
    row(
        Palace,
        "palace.sqlite3.creating-*",
        "a new palace that is being created, still without text",
        NoText,
    ),
    row(Palace, "copy-*", "a working copy", RemovedUnlessInUse),
    row(
        Palace,
        "verify-*",
        "a working copy of an older version",
        RemovedUnlessInUse,
    ),
    row(
        Palace,
        ".loci-backup-*",
        "a backup into this directory that was killed",
        RemovedUnlessInUse,
    ),
    row(
        Palace,
        ".loci-export-*",
        "an export into this directory that was killed",
        RemovedUnlessInUse,
    ),
    // SQLite unlinks these files when it opens them, so none is ever seen. They are in the palace
    // because of `Db::with_temporary_files`; everywhere else SQLite's temporary data is in memory.
    row(Palace, "etilqs_*", "a temporary file of SQLite", Removed),
    row(Palace, "index", "the directory of index files", NoText),
    row(Palace, "palace.lock", "a lock", NoText),
    row(Palace, "palace.run-*.lock", "the lock of a run", NoText),
    row(Palace, "restore.lock", "a lock", NoText),
    row(Palace, "index.lock", "a lock", NoText),
    row(Palace, "palace.toml", "settings", NoText),
    row(
        Palace,
        "palace.backup*",
        "the record of the last backup: where and when, and sizes",
        NoText,
    ),
    // A mirror is derived from the directory of another program, which still has the text.
    row(
        Cache,
        "mirrors/*",
        "a mirror of a ChromaDB directory",
        NotOurs,
    ),
    // `loci_palace::forget` removes these before the drawers.
    row(Cache, "files/*", "what a search in files has read", Removed),
    // The reader cannot write the palace, so it cannot forget either. Its copy is removed when the
    // reader ends, and replaced when the palace has changed.
    row(
        Cache,
        "readers/copy-reader-*",
        "a private copy of a palace that its reader cannot write",
        NotOurs,
    ),
    row(
        State,
        "hooks/log.jsonl",
        "what was added to prompts: beginnings of prompts, ids",
        Removed,
    ),
    row(
        State,
        "hooks/*",
        "notes of hooks: ids, hashes, counts",
        NoText,
    ),
    row(
        State,
        "last-search.*",
        "places of the last hits: ids, paths, lines",
        NoText,
    ),
    row(
        State,
        "wiring/*",
        "configuration files of other programs",
        NoText,
    ),
    row(
        Temporary,
        "copy-reader-*",
        "the same, where the cache cannot be written",
        NotOurs,
    ),
    row(
        Temporary,
        "etilqs_*",
        "a temporary file of SQLite; Loci makes none here",
        NoText,
    ),
];

impl TextCopy {
    /// The row that covers a file of a palace, named relative to the palace directory.
    pub fn of_palace_file(name: &str) -> Option<&'static Self> {
        TEXT_COPIES
            .iter()
            .find(|copy| copy.place == Palace && matches(copy.pattern, name))
    }
}

/// Files and directories of a palace that a row covers, sorted, each with its row.
pub(super) fn found(place: &PalaceFiles) -> Vec<(PathBuf, &'static TextCopy)> {
    let mut found = Vec::new();
    for directory in [place.directory.clone(), place.index_directory()] {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries {
            let path = entry.path();
            if let Some(copy) = TextCopy::of_palace_file(&relative(place, &path)) {
                found.push((path, copy));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// Name of a file relative to the palace directory.
pub(super) fn relative(place: &PalaceFiles, path: &Path) -> String {
    let path = path.strip_prefix(&place.directory).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

/// Files that were kept instead of deleted, for `status`.
pub(crate) fn kept_files(place: &PalaceFiles) -> Vec<PathBuf> {
    found(place)
        .into_iter()
        .filter(|(_, copy)| matches!(copy.treatment, Removed | RemovedUnlessInUse))
        .map(|(path, _)| path)
        .collect()
}

/// Whether a name matches a pattern; `*` stands for any characters except `/`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|left| {
            let ends = left
                .char_indices()
                .map(|(at, _)| at)
                .chain([left.len()])
                .take_while(|at| !left.get(..*at).unwrap_or_default().contains('/'));
            let mut ends = ends;
            ends.any(|at| matches(rest, left.get(at..).unwrap_or_default()))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_the_names_it_describes_and_no_others() {
        assert!(matches("palace.sqlite3", "palace.sqlite3"));
        assert!(!matches("palace.sqlite3", "palace.sqlite3-wal"));
        assert!(matches(
            "index/*.drift-*",
            "index/flat-1.snapshot.drift-2026"
        ));
        assert!(!matches("*.drift-*", "index/flat-1.snapshot.drift-2026"));
        assert!(matches("*.drift-*", "index.drift-20260101-000000"));
        assert!(!matches("verify-*", "my-verify-1"));
        assert!(TextCopy::of_palace_file("notes.txt").is_none());
    }

    #[test]
    fn every_row_is_found_by_its_own_pattern() {
        for copy in TEXT_COPIES.iter().filter(|copy| copy.place == Palace) {
            let name = copy.pattern.replace('*', "x");
            assert_eq!(TextCopy::of_palace_file(&name), Some(copy), "{name}");
        }
    }
}

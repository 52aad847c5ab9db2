//! Repairs a ChromaDB directory in place, so that ChromaDB finds everything that its files still
//! hold.
//!
//! Only `chroma.sqlite3` is written, after a backup and in one transaction. Every readable vector
//! goes into the queue, from which ChromaDB rebuilds its index. Segment directories are renamed,
//! never changed. The result is read back and compared with what was recovered. If it holds less,
//! the backup is restored.

mod backup;
mod copy;
mod database;
mod fresh;
mod lines;
mod models;
mod pending;
mod plan;
mod queue;
mod records;
mod removed;
mod renames;
mod report;
mod restore;
mod rows;
mod sequence;
mod spool;
mod steps;
mod tables;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
mod verify;
mod watermarks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::clock::file_stamp;
use loci_core::finding::{Finding, FindingCode};
use loci_core::{Error, Result};

pub use lines::write_candidates;
pub use models::Models;
pub(crate) use plan::{Choice, Plan, Work, is_damaged};
pub(crate) use renames::quarantine_segment;
pub use report::{Change, CollectionRepair, RenamedDirectory, RepairReport};

use crate::directory::{require_directory, require_readable_indexes};
use loci_files::openers_of;
use loci_foreign::chroma::Diagnosis;
use loci_foreign::chroma::TABLES;
use loci_foreign::chroma::{DATABASE, Directory};
use loci_salvage::{Access, Snapshot};

/// How often to check for other processes that have the database open. A program that is just
/// closing it, or is starting another program, must not stop the repair.
const LOOKS: usize = 4;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// How to repair.
#[derive(Debug, Clone, Default)]
pub struct RepairOptions {
    /// Report the changes without making them.
    pub dry_run: bool,
    /// Copy the directory to this path first, and repair the copy.
    pub output: Option<PathBuf>,
    /// The models of the collections. If a collection has one, its records without a vector are
    /// embedded again from their text. Otherwise they are moved into a file.
    pub models: Models,
}

/// Repairs the ChromaDB directory at `path`.
pub fn repair(path: &Path, options: &RepairOptions) -> Result<RepairReport> {
    require_directory(path)?;
    let database = path.join(DATABASE);
    if options.dry_run {
        return repair_in(path, true, &options.models);
    }
    refuse_while_open(&database)?;
    let Some(output) = &options.output else {
        return repair_in(path, false, &options.models);
    };
    // Otherwise the copy would stop half way.
    require_readable_indexes(path)?;
    let copy = copy::NewCopy::of(path, output)?;
    let repaired = copy
        .fill()
        .and_then(|()| repair_in(output, false, &options.models));
    let mut report = match repaired {
        Ok(report) => report,
        Err(error) => {
            // A copy that is incomplete or not repaired is of no use. The source was only read.
            copy.remove();
            return Err(error);
        }
    };
    // The source directory serves as the backup. It was only read.
    if let Some(backup) = report.backup.take() {
        backup::remove(&backup)?;
    }
    Ok(report)
}

fn repair_in(path: &Path, dry_run: bool, models: &Models) -> Result<RepairReport> {
    let prepared = Prepared::of(path, Choice::Damaged(models))?;
    let mut report = prepared.report(dry_run)?;
    if report.changed && !dry_run {
        prepared.write(&mut report)?;
    }
    Ok(report)
}

/// Refuses if another process has the database open. A running ChromaDB would write its own copy of
/// the index over the repaired one.
pub(crate) fn refuse_while_open(database: &Path) -> Result<()> {
    // SQLite keeps the journal beside the real file, and the backup must be there too.
    if database.is_symlink() {
        return Err(Error::invalid(
            format!("database `{}`", database.display()),
            "is a symbolic link; replace it with the file itself and its journal, if there is one",
        ));
    }
    let mut openers = openers_of(database);
    for _ in 1..LOOKS {
        if openers.is_empty() {
            return Ok(());
        }
        std::thread::sleep(BETWEEN_LOOKS);
        openers = openers_of(database);
    }
    if openers.is_empty() {
        return Ok(());
    }
    let openers: Vec<String> = openers.iter().map(ToString::to_string).collect();
    Err(Error::Conflict {
        what: format!(
            "`{}` is open in {}; stop that first",
            database.display(),
            openers.join(", ")
        ),
    })
}

/// A diagnosed directory and the work that it needs. Nothing has been written at this point.
#[derive(Debug)]
pub(crate) struct Prepared {
    directory: Directory,
    pub(crate) work: Work,
    findings: Vec<Finding>,
}

impl Prepared {
    pub(crate) fn of(path: &Path, choice: Choice<'_>) -> Result<Self> {
        let diagnosis = Diagnosis::of(path)?;
        diagnosis.require_readable()?;
        let findings: Vec<Finding> = diagnosis.all().cloned().collect();
        if findings
            .iter()
            .any(|finding| finding.code == FindingCode::TablesMissing)
        {
            return Err(Error::Corrupt {
                what: "the database".into(),
                path: path.join(DATABASE),
                detail: "the tables that hold the records are missing; restore a backup".into(),
            });
        }
        let work = Work::prepare(&diagnosis.directory, diagnosis.surveys, choice)?;
        Ok(Self {
            directory: diagnosis.directory,
            work,
            findings,
        })
    }

    /// Whether SQLite cannot read the database.
    pub(crate) fn is_salvaged(&self) -> bool {
        matches!(self.directory.snapshot().access(), Access::Salvaged(_))
    }

    /// The changes that a repair makes.
    pub(crate) fn report(&self, dry_run: bool) -> Result<RepairReport> {
        let mut report = self.work.report(self.findings.clone(), dry_run);
        report.changes = steps::count(self.directory.snapshot().connection(), &self.work)?;
        if self.is_salvaged() {
            report.changes.insert(0, fresh::change());
        }
        report.changed = !report.changes.is_empty();
        report.candidates = self.directory.candidates()?.len() as u64;
        if dry_run && report.changed {
            report.changes = self.self_test()?;
        }
        Ok(report)
    }

    /// Applies all changes to a private copy of the database.
    fn self_test(&self) -> Result<Vec<Change>> {
        let database = self.work.path.join(DATABASE);
        if self.is_salvaged() {
            let private = tempfile::tempdir()
                .map_err(|source| Error::io("cannot write to", std::env::temp_dir(), source))?;
            return fresh::write(&self.directory, &self.work, &private.path().join(DATABASE));
        }
        let copy = Snapshot::copy(&database, TABLES)?;
        let connection = copy.connection();
        let failed = |error| database::failed(&database, "testing the repair on a copy of", &error);
        database::prepare(connection).map_err(failed)?;
        let transaction = connection.unchecked_transaction().map_err(failed)?;
        steps::apply(&transaction, &self.work)
    }

    /// Makes the backup, commits the transaction, renames the segments and verifies the result.
    pub(crate) fn write(self, report: &mut RepairReport) -> Result<()> {
        let stamp = file_stamp();
        let (work, backup) = self.commit(report, &stamp)?;
        let finished = rename_segments(&work, report, &stamp).and_then(|()| verify::verify(&work));
        if let Err(error) = finished {
            return Err(undo(error, report, &backup, &work.path.join(DATABASE)));
        }
        report.backup = Some(backup);
        Ok(())
    }

    /// Writes the vectors into the queue and renames nothing. The caller quarantines the segments.
    pub(crate) fn write_back(self, report: &mut RepairReport) -> Result<()> {
        let (work, backup) = self.commit(report, &file_stamp())?;
        if let Err(error) = verify::verify(&work) {
            let database = work.path.join(DATABASE);
            return Err(match backup::restore(&backup, &database) {
                Ok(()) => error,
                Err(undoing) => not_undone(&error, &undoing, &backup, &database),
            });
        }
        report.backup = Some(backup);
        Ok(())
    }

    /// Takes the first step and returns the backup. Afterwards all vectors are durable in the
    /// database, and no directory has been renamed.
    pub(crate) fn commit(self, report: &mut RepairReport, stamp: &str) -> Result<(Work, PathBuf)> {
        let database = self.work.path.join(DATABASE);
        if !self.directory.snapshot().is_unchanged() {
            return Err(database::changed(&database));
        }
        // Both files are durable before the transaction deletes a row. A crash from here on leaves
        // the records in the tables, in the files, or in both.
        report.moved_file = lines::write_moved(&self.directory, &self.work, &database, stamp)?;
        if !self.work.only_vectors {
            let candidates = self.directory.candidates()?;
            report.candidates_file = lines::write_beside(candidates, &database, stamp)?;
        }
        self.commit_database(report, &database, stamp)
            .map_err(|failure| match failure {
                CommitFailure::Unchanged(error) => {
                    report.remove_files();
                    error
                }
                // The records may be in these files alone.
                CommitFailure::Uncertain(error) => error,
            })
    }

    /// Makes the backup and commits the transaction.
    fn commit_database(
        self,
        report: &mut RepairReport,
        database: &Path,
        stamp: &str,
    ) -> std::result::Result<(Work, PathBuf), CommitFailure> {
        if self.is_salvaged() {
            let path = renames::free_name(database, &format!(".mending-{stamp}"))?;
            let made = fresh::write(&self.directory, &self.work, &path)?;
            drop(self.directory);
            report.changes = made;
            // The new database is committed and closed under a temporary name. The old one gets its
            // backup name first, so that a crash between these two steps leaves the old database
            // under both names.
            let backup = backup::second_name(database, stamp)?;
            // It renames and then syncs. After a failure the new database may be in place.
            backup::put_in_place(&path, database).map_err(CommitFailure::Uncertain)?;
            return Ok((self.work, backup));
        }
        let expected = database::fingerprint(self.directory.snapshot().connection())?;
        // Some systems refuse to write a file that is open for reading, so the reader is closed
        // first.
        drop(self.directory);
        // The backup is durable before the transaction starts.
        let backup = backup::make(database, stamp)?;
        match transact(database, &expected, &self.work) {
            Ok(changes) => {
                report.changes = changes;
                Ok((self.work, backup))
            }
            Err(CommitFailure::Unchanged(error)) => {
                // The transaction was rolled back, so the backup is redundant. The first error is
                // the one to report.
                if let Err(error) = backup::remove(&backup) {
                    tracing::warn!(%error, "an unneeded backup is left");
                }
                Err(CommitFailure::Unchanged(error))
            }
            Err(uncertain) => Err(uncertain),
        }
    }
}

/// Undoes a repair after a rename or the verification failed with `error`, and gives the error to
/// report.
fn undo(error: Error, report: &mut RepairReport, backup: &Path, database: &Path) -> Error {
    // Every step is undone in reverse order. The segments come first: a crash after this line leaves
    // the state after the commit, which a second run finishes. The JSON Lines files are removed
    // last, when their rows are in the database again.
    let undone =
        renames::put_back(&report.set_aside).and_then(|()| backup::restore(backup, database));
    match undone {
        Ok(()) => {
            report.remove_files();
            error
        }
        Err(undoing) => not_undone(&error, &undoing, backup, database),
    }
}

/// The error of a repair that failed with `error` and could not be undone.
fn not_undone(error: &Error, undoing: &Error, backup: &Path, database: &Path) -> Error {
    Error::Corrupt {
        what: "the repaired database".into(),
        path: database.to_owned(),
        detail: format!(
            "{error}; undoing the repair failed too: {undoing}; the database from before the repair is `{}`",
            backup.display()
        ),
    }
}

/// Why a repair was not committed.
#[derive(Debug)]
enum CommitFailure {
    /// The database is as it was.
    Unchanged(Error),
    /// The commit failed, and it may have reached the disk. Backup and files must stay.
    Uncertain(Error),
}

impl From<Error> for CommitFailure {
    fn from(error: Error) -> Self {
        Self::Unchanged(error)
    }
}

/// Repairs the database in one exclusive transaction.
fn transact(
    database: &Path,
    expected: &[String],
    work: &Work,
) -> std::result::Result<Vec<Change>, CommitFailure> {
    let mut connection = database::open(database)?;
    let transaction = database::exclusive(&mut connection, database)?;
    if database::fingerprint(&transaction)? != expected {
        return Err(database::changed(database).into());
    }
    let changes = steps::apply(&transaction, work)?;
    // The backup and the JSON Lines files are durable, and SQLite syncs the database on commit. A
    // crash before the commit leaves the old rows. A crash after it leaves every vector in the
    // queue and the old segments in place. A second run then finishes the repair.
    transaction.commit().map_err(|error| {
        CommitFailure::Uncertain(database::failed(database, "committing", &error))
    })?;
    // The repair is committed, whatever closing says.
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "cannot close {}", database.display());
    }
    Ok(changes)
}

/// Takes the second step: quarantines the segments whose vectors are in the queue.
pub(crate) fn rename_segments(work: &Work, report: &mut RepairReport, stamp: &str) -> Result<()> {
    for name in work.plans.iter().filter_map(Plan::directory_to_rename) {
        let from = work.path.join(name);
        if from.is_dir() {
            // The queue holds the vectors of this segment durably. A crash between two renames
            // leaves some segments in place; a second run renames them.
            report.set_aside.push(quarantine_segment(&from, stamp)?);
        }
    }
    Ok(())
}

//! Renames index directories that are stale or damaged, so that ChromaDB does not load them.
//!
//! ChromaDB keeps flushed vectors only in the index, and does not rebuild an index that is missing.
//! So the vectors go into the queue first, from which ChromaDB rebuilds the index. A plain rename
//! happens only on request, and the report says how many vectors it makes unreachable.

mod candidates;

use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::clock::file_stamp;
use loci_core::finding::counted;
use loci_core::{Advice, Error, ErrorKind, Result, serialize_optional_path, serialize_path};
use loci_foreign::chroma::{DATABASE, Directory, Origin, STALE, labelled_ids};
use loci_salvage::Access;
use serde::Serialize;

use crate::directory::{require_directory, require_readable_indexes};
use crate::repair::{Choice, Prepared, quarantine_segment, refuse_while_open};
use candidates::Candidate;

/// How to quarantine.
#[derive(Debug, Clone)]
pub struct QuarantineOptions {
    /// A directory is stale if its vectors are older than the database by at least this much.
    pub stale: Duration,
    /// Also quarantine damaged directories, whatever their age.
    pub check: bool,
    /// Report the changes without making them.
    pub dry_run: bool,
    /// Rename without saving the vectors first, even if the database is damaged.
    pub rename_only: bool,
}

impl Default for QuarantineOptions {
    fn default() -> Self {
        Self {
            stale: STALE,
            check: false,
            dry_run: false,
            rename_only: false,
        }
    }
}

/// The result of a quarantine, or its plan in a dry run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct QuarantineReport {
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// The quarantined directories.
    pub directories: Vec<Quarantined>,
    /// The backup of the database from before vectors were written into its queue.
    #[serde(serialize_with = "serialize_optional_path")]
    pub backup: Option<PathBuf>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// What the user can do about vectors that ChromaDB cannot reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// One quarantined directory.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Quarantined {
    /// The old path.
    #[serde(serialize_with = "serialize_path")]
    pub from: PathBuf,
    /// The new path; absent in a dry run and if the rename failed.
    #[serde(serialize_with = "serialize_optional_path")]
    pub to: Option<PathBuf>,
    /// How much older its vectors are than the database, in seconds.
    pub gap_seconds: u64,
    /// Whether it is damaged; false if that was not checked.
    pub damaged: bool,
    /// The collection that uses it.
    pub collection: Option<String>,
    /// Vectors that were written into the queue.
    pub vectors_saved: u64,
    /// Vectors that are only in this directory and that ChromaDB cannot reach.
    pub vectors_unreachable: u64,
    /// Why it could not be renamed.
    pub problem: Option<String>,
}

/// Quarantines stale index directories of the ChromaDB directory at `path`. Refuses if that is not
/// a ChromaDB directory, if this user may not read one of its index files, or if the database is
/// too damaged to take the vectors.
pub fn quarantine(path: &Path, options: &QuarantineOptions) -> Result<QuarantineReport> {
    let mut report = QuarantineReport {
        dry_run: options.dry_run,
        ..QuarantineReport::default()
    };
    require_directory(path)?;
    require_readable_indexes(path)?;
    // Read all times before anything is written: a write makes the database newer.
    let mut chosen = candidates::of(path, options.stale);
    if options.check {
        match candidates::judge(path, &mut chosen) {
            Err(error) if options.rename_only && error.kind() == ErrorKind::Corrupt => {
                let warning = format!("the index could not be checked: {error}");
                report.warnings.push(warning);
            }
            judged => judged.map_err(|error| diagnose(error, path))?,
        }
    }
    chosen.retain(|candidate| candidate.stale || candidate.damaged);
    if chosen.is_empty() {
        return Ok(report);
    }
    if !options.dry_run {
        refuse_while_open(&path.join(DATABASE))?;
    }
    report.directories = chosen.iter().map(Candidate::report).collect();
    if options.rename_only {
        count_unreachable(path, &mut report)?;
    } else {
        save_vectors(path, &mut report)?;
    }
    if !options.dry_run {
        // The vectors are durable in the queue, unless the caller asked for a plain rename. A crash
        // before this line leaves all directories in place, and a second run renames them.
        rename_all(&mut report);
    }
    Ok(report)
}

/// Counts the vectors of live records that are only in these directories.
fn count_unreachable(path: &Path, report: &mut QuarantineReport) -> Result<()> {
    let mut advice = Advice::DiagnoseAndImport {
        path: path.to_owned(),
    };
    match Directory::open(path) {
        Ok(directory) if is_salvaged(&directory) => count_labels(report),
        Ok(directory) => {
            count_live(&directory, report);
            advice = Advice::KeepChromaVectors;
        }
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            report.warnings.push(format!(
                "cannot count the vectors that become unreachable: {error}"
            ));
            count_labels(report);
        }
        Err(error) => return Err(error),
    }
    let total: u64 = report
        .directories
        .iter()
        .map(|directory| directory.vectors_unreachable)
        .sum();
    if total > 0 {
        report.warnings.push(format!(
            "{} only in these directories and become unreachable for ChromaDB",
            counted(total, "vector lies", "vectors lie")
        ));
        report.advice = Some(advice);
    }
    Ok(())
}

fn count_live(directory: &Directory, report: &mut QuarantineReport) {
    for (index, row) in directory.collections().iter().enumerate() {
        let Some(entry) = entry_of(report, row.vector_segment.as_deref()) else {
            continue;
        };
        entry.collection = Some(row.name.clone());
        match directory.survey(index) {
            Ok(survey) => entry.vectors_unreachable = survey.counts.in_segment,
            Err(error) => report.warnings.push(error.to_string()),
        }
    }
}

/// Writes the readable vectors into the queue. Refuses if the database cannot take them: a rename
/// would then put all vectors out of reach.
fn save_vectors(path: &Path, report: &mut QuarantineReport) -> Result<()> {
    let names: Vec<String> = report
        .directories
        .iter()
        .filter_map(|directory| Some(directory.from.file_name()?.to_str()?.to_owned()))
        .collect();
    let prepared =
        Prepared::of(path, Choice::Segments(&names)).map_err(|error| diagnose(error, path))?;
    if prepared.is_salvaged() {
        let error = Error::Corrupt {
            what: "the database".into(),
            path: path.join(DATABASE),
            detail: "SQLite cannot read it, so no vectors can be saved; nothing was renamed".into(),
        };
        return Err(diagnose(error, path));
    }
    for plan in &prepared.work.plans {
        let unreadable = plan.outcome.needs_embedding.len();
        if let Some(entry) = entry_of(report, plan.directory_to_rename()) {
            entry.collection = Some(plan.row.name.clone());
            entry.vectors_saved = plan
                .live
                .iter()
                .filter(|live| matches!(live.origin, Origin::Segment { .. }))
                .count() as u64;
            if unreadable > 0 {
                let name = plan.row.name.clone();
                report.warnings.push(format!(
                    "{unreadable} records of `{name}` have no vector in any file"
                ));
            }
        }
    }
    let mut changes = prepared.report(report.dry_run)?;
    if changes.changed && !report.dry_run {
        prepared.write_back(&mut changes)?;
        report.backup = changes.backup;
    }
    Ok(())
}

/// An error about damage, with advice about this directory instead of about a palace of Loci.
fn diagnose(error: Error, path: &Path) -> Error {
    if error.kind() == ErrorKind::Corrupt {
        let path = path.to_owned();
        error.advise(Advice::DiagnoseAndImport { path })
    } else {
        error
    }
}

fn is_salvaged(directory: &Directory) -> bool {
    matches!(directory.snapshot().access(), Access::Salvaged(_))
}

/// Counts every vector that has an id, because the database cannot tell which records are live.
fn count_labels(report: &mut QuarantineReport) {
    for directory in &mut report.directories {
        let pickle = directory.from.join("index_metadata.pickle");
        if let Ok(bytes) = loci_files::foreign::read(&pickle) {
            directory.vectors_unreachable = labelled_ids(&bytes);
        }
    }
}

fn entry_of<'a>(
    report: &'a mut QuarantineReport,
    segment: Option<&str>,
) -> Option<&'a mut Quarantined> {
    let segment = segment?;
    report.directories.iter_mut().find(|directory| {
        directory
            .from
            .file_name()
            .is_some_and(|name| name == segment)
    })
}

fn rename_all(report: &mut QuarantineReport) {
    let stamp = file_stamp();
    for directory in &mut report.directories {
        // Nothing is deleted. A failed rename is reported for its directory and does not stop the
        // others.
        match quarantine_segment(&directory.from, &stamp) {
            Ok(moved) => {
                tracing::info!(
                    from = %moved.from.display(),
                    to = %moved.to.display(),
                    gap_seconds = directory.gap_seconds,
                    "index directory quarantined"
                );
                directory.to = Some(moved.to);
            }
            Err(error) => directory.problem = Some(error.to_string()),
        }
    }
}

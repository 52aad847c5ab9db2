//! Diagnoses a whole directory: every collection, and what concerns all of them.

mod tables;

use std::path::Path;
use std::time::{Duration, SystemTime};

use loci_core::Result;
use loci_core::finding::{Finding, Fix, Severity, counted};
use loci_files::openers_of;
use loci_salvage::Access;

use crate::chroma::directory::{DATABASE, DRIFT, Directory, INDEX_DATA};
use crate::chroma::survey::Survey;

/// MemPalace calls index files stale if they are older than the database by this much.
pub const STALE: Duration = Duration::from_secs(3600);
/// How often a directory that changes during the read is read again.
const ATTEMPTS: usize = 3;
/// The file that MemPalace leaves after it has converted sequence ids.
const SHIM_MARKER: &str = ".blob_seq_ids_migrated";

/// The findings about a directory.
#[derive(Debug)]
pub struct Diagnosis {
    /// The diagnosed directory.
    pub directory: Directory,
    /// Findings about the directory as a whole.
    pub findings: Vec<Finding>,
    /// The survey of each collection, in the order of [`Directory::collections`].
    pub surveys: Vec<Survey>,
}

impl Diagnosis {
    /// Diagnoses the directory at `path` from its files alone.
    pub fn of(path: &Path) -> Result<Self> {
        let mut directory = Directory::open(path)?;
        for attempt in 1.. {
            let surveys: Vec<Survey> = (0..directory.collections().len())
                .map(|collection| directory.survey(collection))
                .collect::<Result<_>>()?;
            let mut findings = whole(&directory, &surveys)?;
            let settled =
                directory.snapshot().is_unchanged() && surveys.iter().all(Survey::is_unchanged);
            if settled || attempt >= ATTEMPTS {
                if !settled {
                    findings.push(
                        Finding::new(
                            "changing",
                            Severity::Note,
                            "another program is writing to the directory; files from different moments were compared",
                        )
                        .then("the other findings may be wrong; stop that program and run the diagnosis again"),
                    );
                }
                return Ok(Self {
                    directory,
                    findings,
                    surveys,
                });
            }
            directory = Directory::open_copy(path)?;
        }
        // The loop above always returns.
        Err(loci_core::Error::Internal {
            doing: "diagnosing".into(),
            detail: "no attempt was made".into(),
        })
    }

    /// Whether the files are unchanged.
    pub fn is_unchanged(&self) -> bool {
        self.directory.snapshot().is_unchanged() && self.surveys.iter().all(Survey::is_unchanged)
    }

    /// All findings, first those about the directory, then those of each collection.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .chain(self.surveys.iter().flat_map(|survey| &survey.findings))
    }

    /// Refuses if this user may not read an index file. See [`Survey::require_readable`].
    pub fn require_readable(&self) -> Result<()> {
        self.surveys.iter().try_for_each(Survey::require_readable)
    }

    /// Whether there are no problems.
    pub fn is_healthy(&self) -> bool {
        self.all().all(|finding| finding.severity == Severity::Note)
    }
}

fn whole(directory: &Directory, surveys: &[Survey]) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    database(directory, &mut found);
    tables::check(directory, surveys, &mut found)?;
    directories(directory, &mut found);
    times(directory, &mut found);
    let openers = openers_of(&directory.path().join(DATABASE));
    if !openers.is_empty() {
        found.push(
            Finding::new(
                "open_elsewhere",
                Severity::Note,
                "another program has the database open; this diagnosis does not disturb it",
            )
            .list("programs", openers.iter().map(ToString::to_string))
            .then(
                "two programs that write to this directory damage its index, even without a crash",
            ),
        );
    }
    if directory.path().join(SHIM_MARKER).exists() {
        found.push(
            Finding::new(
                "shim_marker",
                Severity::Note,
                "MemPalace has converted sequence ids here; that does not mean they are correct",
            )
            .file(SHIM_MARKER),
        );
    }
    Ok(found)
}

fn database(directory: &Directory, found: &mut Vec<Finding>) {
    let snapshot = directory.snapshot();
    let repair = Fix::repair(directory.path());
    match snapshot.access() {
        Access::Salvaged(rebuilt) => {
            found.push(
                Finding::new(
                    "sqlite_damaged",
                    Severity::Error,
                    "SQLite cannot read the database; its rows were read page by page",
                )
                .file(DATABASE)
                .list("sqlite", snapshot.damage().iter().cloned())
                .list("pages", rebuilt.damages.iter().cloned())
                .with("rows_read", rebuilt.rows.values().sum::<u64>())
                .with("rows_without_a_table", rebuilt.left)
                .then("ChromaDB refuses to open it (\"database disk image is malformed\"), or single calls hang")
                .fix(repair.clone()),
            );
        }
        Access::Copied { companions } if !companions.is_empty() => found.push(
            Finding::new(
                "journal_present",
                Severity::Note,
                "there is a journal beside the database; a program was killed during a transaction, or is running one",
            )
            .file(DATABASE)
            .list("files", companions.iter().map(|end| format!("{DATABASE}{end}")))
            .then("SQLite rolls the unfinished transaction back when it next opens the database; this diagnosis did so on a private copy"),
        ),
        Access::Copied { .. } | Access::InPlace => {}
    }
    if !snapshot.index_damage().is_empty() {
        found.push(
            Finding::new(
                "fulltext_damaged",
                Severity::Warning,
                "the full-text index does not agree with the texts",
            )
            .file(DATABASE)
            .list("sqlite", snapshot.index_damage().iter().cloned())
            .then("$contains misses records or finds wrong ones")
            .fix(repair),
        );
    }
    if directory.version().blob_ids_pending() {
        found.push(
            Finding::new(
                "migration_pending",
                Severity::Note,
                format!(
                    "written by ChromaDB {}; a newer one migrates it when it opens it",
                    directory.version().releases()
                ),
            )
            .then("sequence ids must not be converted before that: it poisons them"),
        );
    }
}

fn directories(directory: &Directory, found: &mut Vec<Finding>) {
    let (drifted, orphans): (Vec<String>, Vec<String>) = directory
        .quarantined(None)
        .into_iter()
        .partition(|name| name.contains(DRIFT));
    if !drifted.is_empty() {
        found.push(
            Finding::new(
                "set_aside",
                Severity::Note,
                "the directory has quarantined index files",
            )
            .list("directories", drifted)
            .then("ChromaDB ignores them; they may hold vectors that are nowhere else"),
        );
    }
    if !orphans.is_empty() {
        found.push(
            Finding::new(
                "orphan_directory",
                Severity::Note,
                "the directory has index files that no collection uses",
            )
            .list("directories", orphans)
            .then("ChromaDB ignores them"),
        );
    }
}

/// The heuristic of MemPalace, reported as a note.
fn times(directory: &Directory, found: &mut Vec<Finding>) {
    let modified = |path: &Path| -> Option<SystemTime> { path.metadata().ok()?.modified().ok() };
    let Some(newest) = modified(&directory.path().join(DATABASE)) else {
        return;
    };
    for row in directory.collections() {
        let Some(name) = &row.vector_segment else {
            continue;
        };
        let gap = modified(&directory.path().join(name).join(INDEX_DATA))
            .and_then(|index| newest.duration_since(index).ok());
        if let Some(gap) = gap.filter(|gap| *gap >= STALE) {
            found.push(
                Finding::new(
                    "times_apart",
                    Severity::Note,
                    format!(
                        "the index files are {} older than the database; that alone means nothing",
                        span(gap)
                    ),
                )
                .of(&row.name)
                .file(format!("{name}/{INDEX_DATA}"))
                .with("seconds", gap.as_secs())
                .then("none; the index may lag behind the queue while there are few writes"),
            );
        }
    }
}

/// A duration in a suitable unit.
fn span(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    match (minutes / (24 * 60), minutes / 60) {
        (0, 0) => counted(minutes, "minute", "minutes"),
        (0, hours) => counted(hours, "hour", "hours"),
        (days, _) => counted(days, "day", "days"),
    }
}

//! Finds directories that hold an index, with their age and whether they are damaged.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use loci_core::Result;
use loci_foreign::chroma::{DATABASE, DRIFT, Directory, INDEX_DATA};

use super::Quarantined;
use crate::repair::is_damaged;

/// A directory of index files.
pub(super) struct Candidate {
    path: PathBuf,
    gap: Duration,
    pub(super) stale: bool,
    pub(super) damaged: bool,
}

impl Candidate {
    pub(super) fn report(&self) -> Quarantined {
        Quarantined {
            from: self.path.clone(),
            gap_seconds: self.gap.as_secs(),
            damaged: self.damaged,
            ..Quarantined::default()
        }
    }
}

/// Every index directory beside the database, sorted by name. Empty if there is no database.
pub(super) fn of(path: &Path, stale: Duration) -> Vec<Candidate> {
    let (Some(database), Ok(entries)) = (modified(&path.join(DATABASE)), std::fs::read_dir(path))
    else {
        return Vec::new();
    };
    let mut candidates: Vec<Candidate> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_segment_name))
        .filter_map(|entry| {
            let path = entry.path();
            let index = modified(&path.join(INDEX_DATA))?;
            let older = database.duration_since(index).ok();
            Some(Candidate {
                path,
                gap: older.unwrap_or_default(),
                stale: older.is_some_and(|older| older >= stale),
                damaged: false,
            })
        })
        .collect();
    candidates.sort_by(|one, other| one.path.cmp(&other.path));
    candidates
}

fn is_segment_name(name: &str) -> bool {
    name.contains('-') && !name.starts_with('.') && !name.contains(DRIFT)
}

/// When a file was last written; `None` if it is not a file.
fn modified(path: &Path) -> Option<SystemTime> {
    let info = path.metadata().ok()?;
    info.is_file().then(|| info.modified().ok()).flatten()
}

/// Marks the directories whose index does not serve what the files hold.
pub(super) fn judge(path: &Path, candidates: &mut [Candidate]) -> Result<()> {
    let directory = Directory::open(path)?;
    for (index, row) in directory.collections().iter().enumerate() {
        let found = candidates.iter_mut().find(|candidate| {
            candidate.path.file_name().and_then(|name| name.to_str())
                == row.vector_segment.as_deref()
        });
        let Some(candidate) = found.filter(|_| row.vector_segment.is_some()) else {
            continue;
        };
        candidate.damaged = is_damaged(path, row, &directory.survey(index)?);
    }
    Ok(())
}

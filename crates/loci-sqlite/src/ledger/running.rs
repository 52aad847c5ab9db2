//! Shows which recorded runs are still running.
//!
//! The process of a run holds a lock (`flock`) on `palace.run-N.lock` until the end of the run is
//! committed. The kernel releases it when the process ends, so no process number is needed: those
//! are used again, and mean nothing in another container or on another machine. A run without a
//! lock file was killed, or comes from a backup, or belongs to an older version.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use loci_core::{Error, Result};

use crate::store::lock::FileLock;
use crate::store::palace_files::PalaceFiles;

const PREFIX: &str = "palace.run-";
const SUFFIX: &str = ".lock";

/// The locks of the runs of this process.
#[derive(Debug, Default)]
pub(crate) struct RunningRuns(Mutex<HashMap<u64, FileLock>>);

impl RunningRuns {
    /// Holds the lock of a run until it is released, or until the process ends.
    pub(super) fn keep(&self, run: u64, lock: FileLock) {
        self.locks().insert(run, lock);
    }

    /// Whether this process runs it.
    pub(super) fn has(&self, run: u64) -> bool {
        self.locks().contains_key(&run)
    }

    /// Removes the lock file of a run that has ended, then releases its lock. A file that cannot be
    /// removed is removed by a later run.
    pub(super) fn release(&self, place: &PalaceFiles, run: u64) {
        if let Some(lock) = self.locks().remove(&run) {
            let _ = std::fs::remove_file(path_of(place, run));
            drop(lock);
        }
    }

    fn locks(&self) -> std::sync::MutexGuard<'_, HashMap<u64, FileLock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the lock of a new run. Nobody else knows its number yet.
pub(super) fn hold(place: &PalaceFiles, run: u64) -> Result<FileLock> {
    FileLock::exclusive_within(&path_of(place, run), Duration::from_secs(1))
}

/// Whether a process holds the lock of a run.
pub(super) fn is_held(place: &PalaceFiles, run: u64) -> bool {
    let taken = FileLock::shared_within(&path_of(place, run), Duration::ZERO);
    matches!(taken, Err(Error::Locked { .. } | Error::Busy { .. }))
}

/// Removes the lock files of runs that were killed. A file that another process holds stays.
pub(super) fn remove_abandoned(place: &PalaceFiles) {
    let entries = std::fs::read_dir(&place.directory).into_iter().flatten();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let run = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_suffix(SUFFIX));
        if run.is_some()
            && let Ok(Some(_held)) = FileLock::shared_within(&entry.path(), Duration::ZERO)
        {
            // Nothing is lost: the run has no lock file then, which means the same. A process that
            // is just taking this lock notices that the file is gone, and creates it again.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn path_of(place: &PalaceFiles, run: u64) -> PathBuf {
    place.directory.join(format!("{PREFIX}{run}{SUFFIX}"))
}

//! Directories that must not outlive the process, such as a private copy of another user's palace.
//!
//! Their owner removes them when it is dropped. A program that a signal ends drops nothing: so a
//! front end that handles signals calls [`remove_all`] before it ends. What a kill leaves is
//! removed by the next process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static DIRECTORIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static BEFORE_FIRST: OnceLock<fn()> = OnceLock::new();

fn directories() -> MutexGuard<'static, Vec<PathBuf>> {
    DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `prepare` before the first directory is registered: the place to begin to handle signals.
/// Only the first call counts.
pub fn before_first(prepare: fn()) {
    let _ = BEFORE_FIRST.set(prepare);
}

/// Removes all registered directories. For a process that ends right after.
pub fn remove_all() {
    for directory in directories().drain(..) {
        // The next process finds it, if this fails.
        let _ = fs::remove_dir_all(directory);
    }
}

/// A registered directory. Dropping it ends the registration and leaves the directory.
#[derive(Debug)]
pub struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    /// Registers a directory before anything is put into it.
    pub fn register(directory: &Path) -> Self {
        static PREPARED: OnceLock<()> = OnceLock::new();
        PREPARED.get_or_init(|| {
            if let Some(prepare) = BEFORE_FIRST.get() {
                prepare();
            }
        });
        directories().push(directory.to_path_buf());
        Self {
            directory: directory.to_path_buf(),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        directories().retain(|directory| *directory != self.directory);
    }
}

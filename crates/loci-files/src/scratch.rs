//! Directories that must not outlive the process, such as a private copy of another user's palace.
//!
//! Their owner removes them when it is dropped. A signal that ends the program runs no destructors,
//! so a front end that handles signals calls [`remove_all`] before it ends. After a kill, the next
//! process removes the directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static DIRECTORIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static BEFORE_FIRST: OnceLock<fn()> = OnceLock::new();

fn directories() -> MutexGuard<'static, Vec<PathBuf>> {
    DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `prepare` before the first directory is registered, for example to install signal handlers.
/// Only the first call has an effect.
pub fn before_first(prepare: fn()) {
    let _ = BEFORE_FIRST.set(prepare);
}

/// Removes all registered directories. For a process that is about to end.
pub fn remove_all() {
    for directory in directories().drain(..) {
        // If this fails, the next process removes it.
        let _ = fs::remove_dir_all(directory);
    }
}

/// A registered directory. Dropping it ends the registration and keeps the directory.
#[derive(Debug)]
pub struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    /// Registers a directory. Call this before anything is written to it.
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

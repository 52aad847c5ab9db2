//! Ensures that one process at a time saves a transcript. The lock belongs to the kernel and is
//! released when its process ends in any way. A process that finds the lock taken leaves a marker
//! and ends. The process that holds the lock checks for the marker after it released the lock.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::state_dir::{StateDir, key_of};

/// How long a process waits for a short lock, and how often it tries.
const SHORT_LOCK_WAIT: Duration = Duration::from_millis(200);
const STEP: Duration = Duration::from_millis(5);

/// A lock that is held until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct LockGuard {
    _file: File,
}

/// The right to save one transcript.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    state_dir: StateDir,
    key: String,
}

impl Turn {
    pub(super) fn of(state_dir: &StateDir, transcript: &Path) -> Self {
        Self {
            state_dir: state_dir.clone(),
            key: key_of(transcript.as_os_str().as_encoded_bytes()),
        }
    }

    /// The key in the names of the transcript's files.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Takes the lock; `None` if another process has it.
    pub(super) fn take(&self) -> std::io::Result<Option<LockGuard>> {
        try_lock(self.state_dir.open(&format!("save-{}.lock", self.key))?)
    }

    /// Records that there is more to save. It must be called before [`Turn::take`], so that the
    /// process that has the lock finds the marker.
    pub(super) fn mark(&self) -> std::io::Result<()> {
        self.state_dir.ensure()?;
        self.state_dir.open(&self.mark_name()).map(drop)
    }

    pub(super) fn is_marked(&self) -> bool {
        self.mark_path().exists()
    }

    /// Removes the marker. Returns `false` if there is none.
    pub(super) fn unmark(&self) -> bool {
        // The caller holds the lock and reads the transcript after this line. A message that is
        // written later comes with a new marker. A crash here loses the marker, not the message: the
        // next hook of the session saves it.
        std::fs::remove_file(self.mark_path()).is_ok()
    }

    fn mark_name(&self) -> String {
        format!("save-{}.more", self.key)
    }

    fn mark_path(&self) -> PathBuf {
        self.state_dir.path(&self.mark_name())
    }
}

/// Takes the short lock for changes of small files. `None` if other processes do not release it in
/// time.
pub(super) fn short_lock(state_dir: &StateDir) -> Option<LockGuard> {
    let until = Instant::now() + SHORT_LOCK_WAIT;
    state_dir.ensure().ok()?;
    loop {
        if let Some(held) = try_lock(state_dir.open("moment.lock").ok()?).ok()? {
            return Some(held);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(STEP);
    }
}

fn try_lock(file: File) -> std::io::Result<Option<LockGuard>> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(LockGuard { _file: file })),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

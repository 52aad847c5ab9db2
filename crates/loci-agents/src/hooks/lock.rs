//! One saver per transcript. The lock is the kernel's: it goes with the process that holds it,
//! however that ends. Who comes later leaves a mark and goes; who holds the lock looks for the mark
//! after it let go.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::shelf::{Shelf, key_of};

/// How long somebody waits for a moment's work of others, and how often they look.
const MOMENT: Duration = Duration::from_millis(200);
const STEP: Duration = Duration::from_millis(5);

/// Held until it is dropped, or until the process ends.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

/// The turn to save one transcript.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    shelf: Shelf,
    key: String,
}

impl Turn {
    pub(super) fn of(shelf: &Shelf, transcript: &Path) -> Self {
        Self {
            shelf: shelf.clone(),
            key: key_of(transcript.as_os_str().as_encoded_bytes()),
        }
    }

    /// The name of the transcript's files.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Takes the turn; nothing if somebody has it.
    pub(super) fn take(&self) -> std::io::Result<Option<Held>> {
        try_lock(self.shelf.open(&format!("save-{}.lock", self.key))?)
    }

    /// Says that there is more to save. Comes before [`Turn::take`]: whoever has the turn then
    /// finds the mark.
    pub(super) fn mark(&self) -> std::io::Result<()> {
        self.shelf.ensure()?;
        self.shelf.open(&self.mark_name()).map(drop)
    }

    pub(super) fn is_marked(&self) -> bool {
        self.mark_path().exists()
    }

    /// Takes the mark away; false if there is none.
    pub(super) fn unmark(&self) -> bool {
        std::fs::remove_file(self.mark_path()).is_ok()
    }

    fn mark_name(&self) -> String {
        format!("save-{}.more", self.key)
    }

    fn mark_path(&self) -> PathBuf {
        self.shelf.path(&self.mark_name())
    }
}

/// A moment in which nobody else changes small files. Nothing if others do not let go.
pub(super) fn moment(shelf: &Shelf) -> Option<Held> {
    let until = Instant::now() + MOMENT;
    shelf.ensure().ok()?;
    loop {
        if let Some(held) = try_lock(shelf.open("moment.lock").ok()?).ok()? {
            return Some(held);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(STEP);
    }
}

fn try_lock(file: File) -> std::io::Result<Option<Held>> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Held { _file: file })),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

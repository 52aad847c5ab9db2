//! The journal of connecting: the changes of each file, with the bytes from before. It is written
//! before any file is changed.

use std::fs;
use std::path::{Path, PathBuf};

use loci_palace::{Error, Result};
use serde::{Deserialize, Serialize};

use super::change::Traces;
use loci_files::FileLock;

use super::files;
use super::splice::Edit;
use crate::home::Home;

/// One configuration file that was changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) agent: String,
    /// The file, as the agent names it.
    pub(super) path: PathBuf,
    /// The hash of the bytes that disconnecting restores; `None` if there was no file.
    pub(super) before: Option<String>,
    /// The hashes of what connecting wrote. While the file has one of them, it is restored byte for
    /// byte.
    pub(super) after: Vec<String>,
    /// Directories that were created for it, the outermost first.
    pub(super) directories: Vec<PathBuf>,
    /// What else is needed to undo the change in a file that was changed since.
    pub(super) traces: Traces,
    /// The inserted and removed text.
    pub(super) edits: Vec<Edit>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    version: u32,
    files: Vec<Record>,
}

/// The journal and its backups, locked by one process.
#[derive(Debug)]
pub(super) struct Journal {
    directory: PathBuf,
    pub(super) records: Vec<Record>,
    _lock: Option<FileLock>,
}

const VERSION: u32 = 1;

impl Journal {
    /// Waits for the lock, then reads the journal.
    pub(super) fn open(home: &Home) -> Result<Self> {
        let directory = home.state.join("wiring");
        files::keep_directory(&directory.join("backups"))?;
        let lock = files::lock(&directory.join("lock"))?;
        let records = read(&directory)?;
        Ok(Self {
            directory,
            records,
            _lock: Some(lock),
        })
    }

    /// Reads the journal without waiting, and creates nothing.
    pub(super) fn look(home: &Home) -> Result<Self> {
        let directory = home.state.join("wiring");
        let records = read(&directory)?;
        Ok(Self {
            directory,
            records,
            _lock: None,
        })
    }

    pub(super) fn record(&self, path: &Path) -> Option<&Record> {
        self.records.iter().find(|record| record.path == path)
    }

    /// Adds a record, or replaces the one of the same file.
    pub(super) fn note(&mut self, record: Record) {
        self.drop(&record.path);
        self.records.push(record);
    }

    /// Drops the record of a file that is restored.
    pub(super) fn drop(&mut self, path: &Path) {
        self.records.retain(|record| record.path != path);
    }

    /// Stores a backup and returns its hash.
    pub(super) fn back_up(&self, bytes: &[u8]) -> Result<String> {
        let hash = files::hash(bytes);
        let path = self.backup(&hash);
        if files::read(&path)?.as_deref() != Some(bytes) {
            files::keep(&path, bytes)?;
        }
        Ok(hash)
    }

    /// Returns a backup, if its bytes still match the hash.
    pub(super) fn kept(&self, hash: &str) -> Result<Option<Vec<u8>>> {
        let bytes = files::read(&self.backup(hash))?;
        Ok(bytes.filter(|bytes| files::hash(bytes) == hash))
    }

    /// Writes the journal.
    pub(super) fn save(&self) -> Result<()> {
        let contents = Contents {
            version: VERSION,
            files: self.records.clone(),
        };
        let json = serde_json::to_vec_pretty(&contents).map_err(|error| Error::Internal {
            doing: "writing the journal of connected agents".into(),
            detail: error.to_string(),
        })?;
        files::keep(&self.directory.join("journal.json"), &json)
    }

    /// Removes backups that no record names.
    pub(super) fn tidy(&self) {
        let Ok(entries) = fs::read_dir(self.directory.join("backups")) else {
            return;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let needed = self.records.iter().any(|record| {
                record
                    .before
                    .as_ref()
                    .is_some_and(|hash| self.backup(hash) == path)
            });
            if !needed {
                // The saved journal does not name this backup. If a crash keeps it, the next call
                // removes it.
                let _ = fs::remove_file(path);
            }
        }
    }

    fn backup(&self, hash: &str) -> PathBuf {
        self.directory.join("backups").join(hash)
    }
}

fn read(directory: &Path) -> Result<Vec<Record>> {
    let path = directory.join("journal.json");
    let Some(bytes) = files::read(&path)? else {
        return Ok(Vec::new());
    };
    let damaged = |detail: String| Error::Corrupt {
        what: "the journal of connected agents".to_owned(),
        path: path.clone(),
        detail: format!("{detail}; move the file away to continue without it"),
    };
    let contents: Contents =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if contents.version != VERSION {
        return Err(damaged(format!("version {}", contents.version)));
    }
    Ok(contents.files)
}

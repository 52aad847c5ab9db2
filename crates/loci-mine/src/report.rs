//! The result of a run, and its progress.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use loci_core::{Counts, Warning};
use schemars::JsonSchema;
use serde::Serialize;

use crate::wings::DistinctWing;

/// How many failures are named. Further ones are only counted.
const NAMED: usize = 1_000;
/// How many missing files are named.
const NAMED_GONE: usize = 20;

/// A file that could not be read or filed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// The path of the file.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// The number of files by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Files {
    /// Read because they were new or changed.
    pub read: u64,
    /// Not read, or read and found unchanged.
    pub unchanged: u64,
    /// Known under another name before.
    pub renamed: u64,
    /// Left out, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Not read, because of an error.
    pub failed: u64,
    /// Missing since an earlier run. Their drawers stay until `sync`.
    pub gone: u64,
}

/// The messages of conversations that were read. `read` is always the sum of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Messages {
    /// All of them.
    pub read: u64,
    /// In drawers.
    pub filed: u64,
    /// Left out, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// The number of the run, by which it can be undone. `None` if it changed nothing.
    pub run: Option<u64>,
    /// The files.
    pub files: Files,
    /// The drawers.
    pub drawers: Counts,
    /// The messages of conversations.
    pub messages: Messages,
    /// Secrets that were masked, by kind.
    pub masked: BTreeMap<String, u64>,
    /// The lines that were left out because they were forgotten.
    pub forgotten_lines: u64,
    /// The lines of files that were left out because they have nothing to read, such as encoded
    /// images.
    pub noise_lines: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// The failures, each named.
    pub failures: Vec<Failure>,
    /// Some of the missing files.
    pub gone: Vec<String>,
    /// Whether the run was asked to stop early.
    pub stopped: bool,
    /// Whether the run stopped at a limit.
    pub limited: bool,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Projects that got another wing because their name is the wing of another project.
    pub wings: Vec<DistinctWing>,
    /// Other warnings.
    pub warnings: Vec<Warning>,
}

impl Report {
    pub(crate) fn fail(&mut self, path: &str, why: impl Into<String>) {
        self.files.failed += 1;
        if self.failures.len() < NAMED {
            let why: String = why.into();
            // The path is already named beside the reason.
            let short = why.strip_prefix(&format!("cannot read `{path}`: "));
            self.failures.push(Failure {
                path: path.to_owned(),
                why: short.unwrap_or(&why).to_owned(),
            });
        }
    }

    pub(crate) fn skip(&mut self, reason: &str) {
        *self.files.skipped.entry(reason.to_owned()).or_default() += 1;
    }

    pub(crate) fn lost(&mut self, name: &str) {
        self.files.gone += 1;
        if self.gone.len() < NAMED_GONE {
            self.gone.push(name.to_owned());
        }
    }

    /// Whether anything was changed in the palace.
    pub fn changed_anything(&self) -> bool {
        self.drawers.new + self.drawers.updated + self.drawers.removed + self.files.renamed > 0
    }

    /// Adds the results of another thread.
    pub(crate) fn merge(&mut self, other: Self) {
        self.files.read += other.files.read;
        self.files.unchanged += other.files.unchanged;
        self.files.renamed += other.files.renamed;
        self.files.failed += other.files.failed;
        self.files.gone += other.files.gone;
        add(&mut self.files.skipped, other.files.skipped);
        self.drawers += other.drawers;
        self.messages.read += other.messages.read;
        self.messages.filed += other.messages.filed;
        add(&mut self.messages.skipped, other.messages.skipped);
        add(&mut self.masked, other.masked);
        self.forgotten_lines += other.forgotten_lines;
        self.noise_lines += other.noise_lines;
        self.bytes += other.bytes;
        for failure in other.failures {
            if self.failures.len() < NAMED {
                self.failures.push(failure);
            }
        }
        self.gone.extend(other.gone);
        self.gone.truncate(NAMED_GONE);
        self.stopped |= other.stopped;
        self.limited |= other.limited;
        self.wings.extend(other.wings);
        self.warnings.extend(other.warnings);
    }
}

fn add(into: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>) {
    for (reason, count) in from {
        *into.entry(reason).or_default() += count;
    }
}

/// The progress of a run, read by the display.
#[derive(Debug, Default)]
pub struct Meter {
    /// Files met.
    pub seen: AtomicU64,
    /// Files read.
    pub read: AtomicU64,
    /// Drawers written.
    pub drawers: AtomicU64,
    /// Bytes read.
    pub bytes: AtomicU64,
    current: Mutex<String>,
}

impl Meter {
    /// The item that is being read.
    pub fn current(&self) -> String {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn reading(&self, name: &str) {
        self.read.fetch_add(1, Ordering::Relaxed);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clear();
        current.push_str(name);
    }
}

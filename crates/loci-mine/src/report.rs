//! What a run did, told once at its end, and how far it is, told meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use loci_core::{Counts, Warning};
use schemars::JsonSchema;
use serde::Serialize;

use crate::wings::DistinctWing;

/// Failures that are named; more are only counted.
const NAMED: usize = 1_000;
/// Files that are gone and named.
const NAMED_GONE: usize = 20;

/// A file that could not be read or filed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// Which.
    pub path: String,
    /// Why.
    pub why: String,
}

/// Files by what happened to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Files {
    /// Read because they were new or changed.
    pub read: u64,
    /// Not read, or read and found as they were.
    pub unchanged: u64,
    /// Known under another name before.
    pub renamed: u64,
    /// Left out, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Not read although they should have been.
    pub failed: u64,
    /// Gone since an earlier run; their drawers stay until `sync`.
    pub gone: u64,
}

/// Messages of conversations that were read. `messages` is always the sum of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Messages {
    /// All of them.
    pub read: u64,
    /// In drawers.
    pub filed: u64,
    /// Left out, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// Its number, by which it can be undone; nothing if it changed nothing.
    pub run: Option<u64>,
    /// Files.
    pub files: Files,
    /// Drawers.
    pub drawers: Counts,
    /// Messages of conversations.
    pub messages: Messages,
    /// Secrets that were masked, by kind.
    pub masked: BTreeMap<String, u64>,
    /// Lines left out because they were forgotten.
    pub forgotten_lines: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// The failures, each named.
    pub failures: Vec<Failure>,
    /// Some of the files that are gone.
    pub gone: Vec<String>,
    /// It ended early because it was told to.
    pub stopped: bool,
    /// It ended early because of a limit.
    pub limited: bool,
    /// Nothing was written.
    pub dry_run: bool,
    /// Projects that got a wing of their own because another project has the wing of their name.
    pub wings: Vec<DistinctWing>,
    /// What else there is to say.
    pub warnings: Vec<Warning>,
}

impl Report {
    pub(crate) fn fail(&mut self, path: &str, why: impl Into<String>) {
        self.files.failed += 1;
        if self.failures.len() < NAMED {
            let why: String = why.into();
            // The path is named beside it.
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

    /// Adds what one of several threads did.
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

/// How far a run is; read by whoever shows it.
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
    /// What is being read.
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

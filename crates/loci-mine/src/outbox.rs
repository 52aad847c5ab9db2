//! Collects the results of one thread of a run and files small sources together, in one
//! transaction.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loci_core::{
    Counts, Error, ErrorKind, Filed, Ledger, Machine, Projects, Result, SourceChange, SourceHash,
    SourceRecord,
};

use crate::intake::hash_of;
use crate::known::Known;
use crate::miner::Options;
use crate::report::{Meter, Report};
use crate::run::Run;
use crate::source::Item;
use crate::wings::Wings;

/// The most pieces and bytes of small sources that are filed in one transaction.
const BATCH_PIECES: usize = 256;
const BATCH_BYTES: usize = 512 << 10;

/// The state shared by all threads of a run.
pub(crate) struct Shared<'a> {
    pub(crate) ledger: &'a dyn Ledger,
    pub(crate) machine: &'a Machine,
    pub(crate) run: &'a Run<'a>,
    pub(crate) options: &'a Options,
    pub(crate) recipe: String,
    pub(crate) known: Known,
    pub(crate) has_forgotten: bool,
    /// Whether unchanged sources are read too.
    pub(crate) reads_all: bool,
    /// The number of filed items.
    pub(crate) filed: AtomicU64,
    pub(crate) meter: &'a Meter,
    pub(crate) stop: &'a AtomicBool,
    /// The first error that ends the run, because the palace cannot be written to.
    pub(crate) fatal: Mutex<Option<Error>>,
    pub(crate) halted: AtomicBool,
    /// `None` if the backend does not record projects.
    pub(crate) projects: Option<&'a dyn Projects>,
    pub(crate) wings: Wings,
}

impl Shared<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.halted.load(Ordering::Relaxed)
    }

    pub(crate) fn is_at_limit(&self) -> bool {
        self.options
            .limit
            .is_some_and(|limit| self.filed.load(Ordering::Relaxed) >= limit)
    }

    /// Ends the run with this error.
    pub(crate) fn halt(&self, error: Error) {
        self.halted.store(true, Ordering::Relaxed);
        let mut fatal = self
            .fatal
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        fatal.get_or_insert(error);
    }
}

/// The results of one thread.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) report: Report,
    /// Changes, each with its item.
    batch: Vec<(Item, SourceChange)>,
    pieces: usize,
    bytes: usize,
    /// Items that another process filed first. They are read again.
    pub(crate) again: Vec<Item>,
    /// Sources with unchanged content and a new stat.
    touched: Vec<SourceRecord>,
}

impl Outbox {
    pub(crate) fn is_full(&self) -> bool {
        self.pieces >= BATCH_PIECES || self.bytes >= BATCH_BYTES || self.touched.len() >= 1_000
    }

    /// Files the collected changes.
    pub(crate) fn flush(&mut self, shared: &Shared<'_>) {
        let touched = std::mem::take(&mut self.touched);
        if !touched.is_empty()
            && !shared.options.dry_run
            && let Err(error) = shared.ledger.touch(&touched)
        {
            shared.halt(error);
        }
        let batch = std::mem::take(&mut self.batch);
        self.pieces = 0;
        self.bytes = 0;
        if batch.is_empty() || shared.halted.load(Ordering::Relaxed) {
            return;
        }
        let (items, changes): (Vec<Item>, Vec<SourceChange>) = batch.into_iter().unzip();
        match file(shared, &changes) {
            Ok(filed) => {
                for (item, filed) in items.into_iter().zip(filed) {
                    self.took(shared, item, filed);
                }
            }
            Err(error) if is_of_source(&error) && changes.len() > 1 => {
                for (item, change) in items.into_iter().zip(changes) {
                    match file(shared, std::slice::from_ref(&change)) {
                        Ok(filed) => {
                            for filed in filed {
                                self.took(shared, item.clone(), filed);
                            }
                        }
                        Err(error) => self.refused(shared, &item, error),
                    }
                }
            }
            // The error is about the only source of the batch, or about the palace. The latter ends
            // the run.
            Err(error) => {
                if let Some(item) = items.first() {
                    self.refused(shared, item, error);
                }
            }
        }
    }

    fn took(&mut self, shared: &Shared<'_>, item: Item, filed: Filed) {
        match filed {
            Filed::Done(counts) => {
                self.count(shared, counts);
            }
            Filed::Stale => {
                if !self.again.iter().any(|again| again.name == item.name) {
                    self.report.files.read = self.report.files.read.saturating_sub(1);
                    self.again.push(item);
                }
            }
        }
    }

    pub(crate) fn count(&mut self, shared: &Shared<'_>, counts: Counts) {
        self.report.drawers += counts;
        shared
            .meter
            .drawers
            .fetch_add(counts.new + counts.updated, Ordering::Relaxed);
    }

    fn refused(&mut self, shared: &Shared<'_>, item: &Item, error: Error) {
        if is_of_source(&error) {
            // The item was read but not filed.
            self.report.files.read = self.report.files.read.saturating_sub(1);
            self.report.fail(&item.name, error.to_string());
        } else {
            shared.halt(error);
        }
    }

    /// Adds a change to the batch.
    pub(crate) fn push(&mut self, item: Item, change: SourceChange) {
        let pieces = change.pieces.as_deref().unwrap_or_default();
        self.pieces += pieces.len().max(1);
        self.bytes += pieces.iter().map(|piece| piece.text.len()).sum::<usize>();
        self.batch.push((item, change));
    }

    /// Records a new stat of an unchanged source.
    pub(crate) fn touch(&mut self, record: SourceRecord) {
        self.touched.push(record);
    }
}

/// Files the changes now. A dry run only computes the counts.
pub(crate) fn file(shared: &Shared<'_>, changes: &[SourceChange]) -> Result<Vec<Filed>> {
    if shared.options.dry_run {
        return changes
            .iter()
            .map(|change| preview(shared, change).map(Filed::Done))
            .collect();
    }
    shared.ledger.file(shared.run.ensure()?, changes)
}

/// Computes what filing would do, without writing.
fn preview(shared: &Shared<'_>, change: &SourceChange) -> Result<Counts> {
    let mut held: HashMap<SourceHash, u64> = HashMap::new();
    let whole = change.record.section == 0;
    if shared.known.contains(&change.record.name) {
        for hash in shared
            .ledger
            .hashes_of(shared.machine, &change.record.name)?
        {
            *held.entry(hash).or_default() += 1;
        }
    }
    let mut counts = Counts::default();
    for piece in change.pieces.iter().flatten() {
        match held.get_mut(&hash_of(piece.text.as_bytes())) {
            Some(left) if *left > 0 => {
                *left -= u64::from(whole);
                counts.kept += 1;
            }
            _ => counts.new += 1,
        }
    }
    if whole && (change.pieces.is_some() || change.removed) {
        counts.removed = held.values().sum();
    }
    Ok(counts)
}

/// Whether an error is about the source and not about the palace.
fn is_of_source(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidInput | ErrorKind::Conflict | ErrorKind::Corrupt
    )
}

//! One run over one source: lists items, drops unchanged ones, reads and splits in several threads,
//! and files the result.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use loci_core::{Error, Ledger, Machine, Projects, Result};

use crate::intake::Intake;
use crate::known::Known;
use crate::outbox::{Outbox, Shared};
use crate::place::Chosen;
use crate::report::{Meter, Report};
use crate::run::Run;
use crate::source::{Description, Item, Listed, Read, Since, Source};
use crate::wings::Wings;

/// How many items are listed ahead of the reading threads.
const AHEAD: usize = 256;
/// How often an item is read again because another process filed it first.
const ATTEMPTS: u32 = 12;
/// The pause before the second attempt. Later attempts wait longer.
const PAUSE: Duration = Duration::from_millis(50);

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Report what would be done and write nothing.
    pub dry_run: bool,
    /// File at most this many new or changed items.
    pub limit: Option<u64>,
    /// Allow forgotten text to come back.
    pub allow_again: bool,
    /// The requested wing and room. Existing drawers move there.
    pub chosen: Chosen,
    /// Read everything, whatever the ledger says.
    pub force: bool,
    /// The number of reading threads. The default is one per core, at most eight.
    pub threads: Option<usize>,
}

impl Options {
    pub(crate) fn moves(&self) -> bool {
        self.chosen.wing.is_some() || self.chosen.room.is_some()
    }
}

/// The inputs of a run.
pub struct MiningJob<'a> {
    /// Records sources and files drawers.
    pub ledger: &'a dyn Ledger,
    /// Records the wings of projects. Without it, a wing is the name of its project.
    pub projects: Option<&'a dyn Projects>,
    /// The source to mine.
    pub source: &'a dyn Source,
    /// The machine that mines. Sources of other machines are not touched.
    pub machine: &'a Machine,
    /// The recorded run.
    pub run: &'a Run<'a>,
    /// The options.
    pub options: &'a Options,
    /// Receives the progress.
    pub meter: &'a Meter,
    /// Set by the caller to stop the run. Each source is then either completed or left as it was.
    pub stop: &'a AtomicBool,
}

impl MiningJob<'_> {
    /// Mines the source. An error means that the palace could not be written to. A source that
    /// cannot be read is named in the report instead.
    pub fn mine(&self) -> Result<Report> {
        let Description { recipe, only, .. } = self.source.describe();
        let has_forgotten = self.ledger.has_forgotten()?;
        let reads_all = self.options.force || (self.options.allow_again && has_forgotten);
        let known = Known::read(self, reads_all, only.as_deref())?;
        let shared = Shared {
            ledger: self.ledger,
            machine: self.machine,
            run: self.run,
            options: self.options,
            recipe,
            known,
            has_forgotten,
            reads_all,
            filed: AtomicU64::new(0),
            meter: self.meter,
            stop: self.stop,
            fatal: Mutex::new(None),
            halted: AtomicBool::new(false),
            projects: self.projects,
            wings: Wings::default(),
        };
        let mut report = self.run_threads(&shared)?;
        if let Some(error) = shared
            .fatal
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
        {
            return Err(error);
        }
        report.stopped = self.stop.load(Ordering::Relaxed);
        report.dry_run = self.options.dry_run;
        report.run = self.run.id();
        report.warnings.extend(self.source.warnings());
        Ok(report)
    }

    fn run_threads(&self, shared: &Shared<'_>) -> Result<Report> {
        let threads = match (self.options.limit, self.options.threads) {
            // A single thread counts exactly.
            (Some(_), _) => 1,
            (None, Some(threads)) => threads,
            (None, None) => {
                std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8))
            }
        };
        let (sender, receiver) = mpsc::sync_channel::<Item>(AHEAD);
        // The receiver is dropped with the last thread. Sending then fails instead of blocking
        // forever.
        let receiver = Arc::new(Mutex::new(receiver));
        let mut report = Report::default();
        let listed = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.max(1))
                .map(|_| {
                    let receiver = Arc::clone(&receiver);
                    scope.spawn(move || self.work(shared, &receiver))
                })
                .collect();
            drop(receiver);
            let listed = self.list(shared, &sender, &mut report);
            drop(sender);
            for worker in workers {
                match worker.join() {
                    Ok(part) => report.merge(part),
                    Err(_) => shared.halt(Error::Internal {
                        doing: "mining".into(),
                        detail: "a thread ended early".into(),
                    }),
                }
            }
            listed
        });
        if let Err(error) = listed {
            shared.halt(error);
        } else if !shared.is_stopped() && !report.limited {
            self.look_for_gone(shared, &mut report)?;
        }
        Ok(report)
    }

    fn list(
        &self,
        shared: &Shared<'_>,
        sender: &mpsc::SyncSender<Item>,
        report: &mut Report,
    ) -> Result<()> {
        let since = Seen(&shared.known);
        self.source.items(&since, &mut |listed| {
            if shared.is_stopped() || shared.is_at_limit() {
                report.limited |= shared.is_at_limit();
                return ControlFlow::Break(());
            }
            shared.meter.seen.fetch_add(1, Ordering::Relaxed);
            match listed {
                Listed::Unchanged => report.files.unchanged += 1,
                Listed::Skipped { reason, .. } => report.skip(reason),
                Listed::Failed { name, why } => report.fail(&name, why),
                Listed::Changed(item) => {
                    shared.known.see(&item.name);
                    if sender.send(item).is_err() {
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        })
    }

    fn work(&self, shared: &Shared<'_>, receiver: &Mutex<mpsc::Receiver<Item>>) -> Report {
        let mut out = Outbox::default();
        loop {
            let next = receiver
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv();
            let Ok(item) = next else {
                break;
            };
            if shared.is_at_limit() {
                out.report.limited = true;
            }
            if shared.is_stopped() || shared.is_at_limit() {
                continue;
            }
            if !self.read(shared, &mut out, &item, false) {
                out.again.push(item);
            }
            if out.is_full() {
                out.flush(shared);
                self.read_again(shared, &mut out);
            }
        }
        out.flush(shared);
        self.read_again(shared, &mut out);
        out.report
    }

    fn read(&self, shared: &Shared<'_>, out: &mut Outbox, item: &Item, is_retry: bool) -> bool {
        shared.meter.reading(&item.name);
        let mut intake = Intake {
            shared,
            out,
            item,
            is_retry,
            stale: false,
            stat: item.stat,
            recipe: shared.recipe.clone(),
        };
        let result = self.source.read(item, &mut intake);
        let stale = intake.stale;
        match result {
            Ok(Read::Filed) => {
                out.report.files.read += 1;
                shared.filed.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Read::Moved) => {
                shared.filed.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Read::Unchanged) => out.report.files.unchanged += 1,
            Ok(Read::Skipped(reason)) => out.report.skip(&reason),
            Err(_) if stale => return false,
            Err(error) => match error.kind() {
                loci_core::ErrorKind::Busy | loci_core::ErrorKind::Internal => shared.halt(error),
                _ => out.report.fail(&item.name, error.to_string()),
            },
        }
        true
    }

    /// Reads items again that another process filed first. Usually it filed the same content, and
    /// nothing is left to do.
    fn read_again(&self, shared: &Shared<'_>, out: &mut Outbox) {
        for attempt in 0..ATTEMPTS {
            let again = std::mem::take(&mut out.again);
            if again.is_empty() || shared.is_stopped() {
                return;
            }
            if attempt > 0 {
                // The other process may be in the middle of a large source, so it gets time to
                // finish.
                std::thread::sleep(PAUSE * attempt);
            }
            for item in again {
                if !self.read(shared, out, &item, true) {
                    out.again.push(item);
                }
            }
            out.flush(shared);
        }
        for _ in std::mem::take(&mut out.again) {
            out.report.skip("another process is filing it");
        }
    }

    /// Counts sources of these roots whose item does not exist any more.
    fn look_for_gone(&self, shared: &Shared<'_>, report: &mut Report) -> Result<()> {
        let Description { roots, only, .. } = self.source.describe();
        if only.is_some() || !shared.known.any_unseen() {
            return Ok(());
        }
        self.ledger.each_source(&mut |record| {
            if record.section == 0
                && self.machine.owns(&record.machine)
                && record.kind == crate::tree::FILE
                && roots.iter().any(|root| is_under(&record.name, root))
                && !shared.known.was_seen(&record.name)
                && crate::tree::is_gone(&record.name)
            {
                report.lost(&record.name);
            }
            Ok(())
        })
    }
}

/// Whether a path is a root or lies below it.
pub(crate) fn is_under(name: &str, root: &str) -> bool {
    std::path::Path::new(name).starts_with(root)
}

struct Seen<'a>(&'a Known);

impl Since for Seen<'_> {
    fn is_unchanged(&self, name: &str, stat: &loci_core::Stat) -> bool {
        let unchanged = self.0.is_unchanged(name, stat);
        if unchanged {
            self.0.see(name);
        }
        unchanged
    }
}

//! The verb `watch`: mines files as they change.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_core::{Capability, Error, Ledger, Machine, Result, RunKind};
use loci_mine::watch::{WatchEvent, WatchTiming};
use loci_mine::{
    BRAKE_FILES, FILE, Gone, GoneReason, Meter, MiningJob, Options, Reading, Report, Run, SyncJob,
    SyncReport, Tree, is_gone, remove_source,
};

use crate::mine::{finish, names_of};
use crate::palace::Palace;

/// Delay before a watcher retries after a failure.
const RETRY: Duration = Duration::from_secs(2);

/// An event of a watcher.
#[derive(Debug)]
pub enum Event {
    /// The watches are set, and the tree has been mined.
    Ready(Box<Report>),
    /// Changed files have been mined.
    Mined(Box<Report>),
    /// Sources whose files are gone.
    Synced(SyncReport),
    /// The whole tree is scanned again, for this reason.
    Rescan(String),
    /// A round failed and is retried.
    Trouble(Error),
}

/// What to watch and how.
pub struct Request<'a> {
    /// Collection that is mined into.
    pub collection: &'a str,
    /// Folders and files.
    pub roots: &'a [PathBuf],
    /// How files are read.
    pub reading: &'a Reading,
    /// How it is mined.
    pub options: &'a Options,
    /// How soon changes are mined.
    pub timing: WatchTiming,
    /// Set it to stop the watcher.
    pub stop: &'a AtomicBool,
}

impl Palace {
    /// Mines files below some roots as they change, until it is stopped. It first mines the files
    /// that changed before the start. The drawers of deleted files are removed, unless most files
    /// of a root disappear at once.
    pub fn watch(&self, request: &Request<'_>, notify: &mut dyn FnMut(Event)) -> Result<()> {
        // Fails early, because waiting does not help.
        self.require(Capability::Mining)?;
        // Fails early if a root does not exist.
        Tree::new(request.roots, request.reading.clone())?;
        let roots: Vec<PathBuf> = names_of(request.roots)?
            .into_iter()
            .map(PathBuf::from)
            .collect();
        let mut ready = false;
        let mut seen = self.generation().ok();
        loci_mine::watch::watch(
            &roots,
            &request.reading.rules,
            &request.timing,
            request.stop,
            &mut |event| {
                let now = self.generation().ok();
                let replaced = now != seen;
                let mut changed = match event {
                    WatchEvent::Changed(paths) if !replaced => Some(paths),
                    WatchEvent::Changed(_) => {
                        notify(Event::Rescan("the palace was replaced".into()));
                        None
                    }
                    WatchEvent::Rescan { why } => {
                        if ready {
                            notify(Event::Rescan(why));
                        }
                        None
                    }
                };
                loop {
                    match self.catch_up(request, &roots, changed.as_ref(), notify) {
                        Ok(report) => {
                            let report = Box::new(report);
                            if !ready {
                                ready = true;
                                notify(Event::Ready(report));
                            } else if report.changed_anything() || report.files.failed > 0 {
                                notify(Event::Mined(report));
                            }
                            seen = self.generation().ok();
                            return ControlFlow::Continue(());
                        }
                        Err(error) => {
                            notify(Event::Trouble(error));
                            // After any failure, the next round scans everything.
                            changed = None;
                            if !wait(RETRY, request.stop) {
                                return ControlFlow::Break(());
                            }
                        }
                    }
                }
            },
        )
    }

    /// One round of a watcher.
    fn catch_up(
        &self,
        request: &Request<'_>,
        roots: &[PathBuf],
        changed: Option<&BTreeSet<PathBuf>>,
        notify: &mut dyn FnMut(Event),
    ) -> Result<Report> {
        let there: Vec<PathBuf> = roots.iter().filter(|root| root.exists()).cloned().collect();
        let (memory, warnings) = self.memory(request.collection, true)?;
        let ledger = self.ledger_of(&memory)?;
        let names = names_of(roots)?;
        let run = Run::new(ledger, RunKind::Watch, names.clone());
        let mut tree = Tree::new(&there, request.reading.clone())?;
        if let Some(paths) = changed {
            tree = tree.only(paths.iter().cloned().collect());
        }
        let meter = Meter::default();
        let machine = self.machine();
        let job = MiningJob {
            ledger,
            machine: &machine,
            projects: memory.collection.projects(),
            source: &tree,
            run: &run,
            options: request.options,
            meter: &meter,
            stop: request.stop,
        };
        let mined = job.mine();
        let swept = if mined.is_err() || request.stop.load(Ordering::Relaxed) {
            None
        } else if let Some(swept) = changed
            .map(|paths| sweep_few(ledger, &machine, &run, roots, paths))
            .transpose()?
            .flatten()
        {
            Some(swept)
        } else {
            let sweep = SyncJob {
                ledger,
                machine: &machine,
                roots: &names,
                rules: &request.reading.rules,
                ignored: false,
                conversations: false,
                even_most: false,
            };
            Some(sweep.sweep(Some(&run))?)
        };
        let mut report = finish(mined, &run, warnings)?;
        if let Some(swept) = swept {
            report.drawers.removed += swept.removed;
            if swept.removed > 0 || swept.brake.is_some() {
                notify(Event::Synced(swept));
            }
        }
        report.run = run.id();
        Ok(report)
    }

    fn generation(&self) -> Result<u64> {
        self.backend.generation(&self.reference)
    }
}

/// Removes the drawers of changed paths that are gone. Returns `None` if so many are gone that the
/// whole tree must be scanned.
fn sweep_few(
    ledger: &dyn Ledger,
    machine: &Machine,
    run: &Run<'_>,
    roots: &[PathBuf],
    changed: &BTreeSet<PathBuf>,
) -> Result<Option<SyncReport>> {
    // A root that is missing or empty may only be unmounted; a full sync decides.
    let suspicious = |root: &PathBuf| match std::fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !root.is_file(),
    };
    if roots.iter().any(suspicious) {
        return Ok(None);
    }
    let mut swept = SyncReport::default();
    for path in changed.iter().filter_map(|path| path.to_str()) {
        if !is_gone(path) {
            continue;
        }
        for record in ledger.sources_under(machine, path)? {
            if record.kind == FILE && is_gone(&record.name) {
                swept.gone.push(Gone {
                    drawers: ledger.drawers_of(machine, &record.name)?,
                    name: record.name,
                    why: GoneReason::Deleted,
                });
            }
        }
        if swept.gone.len() as u64 > BRAKE_FILES {
            return Ok(None);
        }
    }
    for gone in &swept.gone {
        swept.removed += remove_source(ledger, machine, run.ensure()?, &gone.name)?.removed;
    }
    swept.run = run.id();
    Ok(Some(swept))
}

/// Waits. Returns false if the watcher was stopped meanwhile.
fn wait(time: Duration, stop: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while Instant::now() < until {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    !stop.load(Ordering::Relaxed)
}

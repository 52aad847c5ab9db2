//! Mining into a palace: files and conversations in, runs recorded and undone, trees watched.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_core::{
    Capability, Error, Filter, KeyTest, Ledger, Machine, Result, RunKind, RunRecord, RunState,
    Undone, Warning,
};
use loci_mine::watch::{Pace, Stir};
use loci_mine::{
    BRAKE_FILES, Errand, FILE, Gone, Meter, Options, Reading, Report, Run, Source, Sweep, Swept,
    Tree, is_gone, remove_source,
};

use crate::palace::{Memory, Palace};

/// How long a watcher waits before it tries again what failed.
const RETRY: Duration = Duration::from_secs(2);

/// What a watcher tells.
#[derive(Debug)]
pub enum Told {
    /// Watches are set, and the tree is mined as it is.
    Ready(Box<Report>),
    /// Something changed, and this became of it.
    Mined(Box<Report>),
    /// Sources whose files are gone.
    Swept(Swept),
    /// The whole tree is looked at again, for this reason.
    Rescan(String),
    /// It did not work; it is tried again.
    Trouble(Error),
}

/// What to watch and how.
pub struct Watching<'a> {
    /// Collection that is mined into.
    pub collection: &'a str,
    /// Folders and files.
    pub roots: &'a [PathBuf],
    /// How files are read.
    pub reading: &'a Reading,
    /// How it is mined.
    pub options: &'a Options,
    /// How soon.
    pub pace: Pace,
    /// Set to end it.
    pub stop: &'a AtomicBool,
}

impl Palace {
    fn ledger_of<'a>(&self, memory: &'a Memory) -> Result<&'a dyn Ledger> {
        memory
            .collection
            .ledger()
            .ok_or_else(|| self.backend.lacks(Capability::Mining))
    }

    /// Reads what is new in a source, such as a [`Tree`], into a collection, which is made when missing. An error means
    /// that the palace could not be written to; files that could not be read are named in the report.
    pub fn mine(
        &self,
        collection: &str,
        source: &dyn Source,
        options: &Options,
        meter: &Meter,
        stop: &AtomicBool,
    ) -> Result<Report> {
        let (memory, warnings) = self.memory(collection, true)?;
        let ledger = self.ledger_of(&memory)?;
        let run = Run::new(ledger, RunKind::Mine, source.describe().roots);
        let machine = self.machine();
        let errand = Errand {
            ledger,
            machine: &machine,
            projects: memory.collection.projects(),
            source,
            run: &run,
            options,
            meter,
            stop,
        };
        finish(errand.mine(), &run, warnings)
    }

    /// Finds sources below `roots` whose files are gone; with `apply`, removes them and their drawers.
    pub fn sync(
        &self,
        collection: &str,
        roots: &[PathBuf],
        reading: &Reading,
        choice: SyncChoice,
    ) -> Result<Swept> {
        let (memory, _) = self.memory(collection, false)?;
        let ledger = self.ledger_of(&memory)?;
        let roots = names_of(roots)?;
        let run = Run::new(ledger, RunKind::Sync, roots.clone());
        let machine = self.machine();
        let sweep = Sweep {
            ledger,
            machine: &machine,
            roots: &roots,
            rules: &reading.rules,
            ignored: true,
            conversations: choice.conversations,
            even_most: choice.even_most,
        };
        let result = sweep.sweep(choice.apply.then_some(&run));
        let state = if result.is_ok() {
            RunState::Done
        } else {
            RunState::Failed
        };
        run.end(&state, &result.as_ref().ok())?;
        result
    }

    /// The last runs of a collection, newest first.
    pub fn runs(&self, collection: &str, limit: usize) -> Result<Vec<RunRecord>> {
        let (memory, _) = self.reading(collection)?;
        self.ledger_of(&memory)?.runs(limit)
    }

    /// Takes back what a run did. What it read is read again by the next run.
    pub fn undo(&self, collection: &str, run: u64) -> Result<Undone> {
        let (memory, _) = self.memory(collection, false)?;
        self.ledger_of(&memory)?.undo(run)
    }

    /// Mines what changes below some roots until told to stop. Catches up first with what changed before. Files that are
    /// deleted go, unless most of them do at once.
    pub fn watch(&self, watching: &Watching<'_>, tell: &mut dyn FnMut(Told)) -> Result<()> {
        // A palace that cannot be mined into will not be by waiting.
        self.require(Capability::Mining)?;
        // Roots must exist before anything is promised.
        Tree::new(watching.roots, watching.reading.clone())?;
        let roots: Vec<PathBuf> = names_of(watching.roots)?
            .into_iter()
            .map(PathBuf::from)
            .collect();
        let mut ready = false;
        let mut seen = self.generation().ok();
        loci_mine::watch::watch(
            &roots,
            &watching.reading.rules,
            &watching.pace,
            watching.stop,
            &mut |stir| {
                let now = self.generation().ok();
                let replaced = now != seen;
                let mut changed = match stir {
                    Stir::Changed(paths) if !replaced => Some(paths),
                    Stir::Changed(_) => {
                        tell(Told::Rescan("the palace was replaced".into()));
                        None
                    }
                    Stir::Rescan { why } => {
                        if ready {
                            tell(Told::Rescan(why));
                        }
                        None
                    }
                };
                loop {
                    match self.catch_up(watching, &roots, changed.as_ref(), tell) {
                        Ok(report) => {
                            let report = Box::new(report);
                            if !ready {
                                ready = true;
                                tell(Told::Ready(report));
                            } else if report.changed_anything() || report.files.failed > 0 {
                                tell(Told::Mined(report));
                            }
                            seen = self.generation().ok();
                            return ControlFlow::Continue(());
                        }
                        Err(error) => {
                            tell(Told::Trouble(error));
                            // Whatever failed, the next look is at everything.
                            changed = None;
                            if !wait(RETRY, watching.stop) {
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
        watching: &Watching<'_>,
        roots: &[PathBuf],
        changed: Option<&BTreeSet<PathBuf>>,
        tell: &mut dyn FnMut(Told),
    ) -> Result<Report> {
        let there: Vec<PathBuf> = roots.iter().filter(|root| root.exists()).cloned().collect();
        let (memory, warnings) = self.memory(watching.collection, true)?;
        let ledger = self.ledger_of(&memory)?;
        let names = names_of(roots)?;
        let run = Run::new(ledger, RunKind::Watch, names.clone());
        let mut tree = Tree::new(&there, watching.reading.clone())?;
        if let Some(paths) = changed {
            tree = tree.only(paths.iter().cloned().collect());
        }
        let meter = Meter::default();
        let machine = self.machine();
        let errand = Errand {
            ledger,
            machine: &machine,
            projects: memory.collection.projects(),
            source: &tree,
            run: &run,
            options: watching.options,
            meter: &meter,
            stop: watching.stop,
        };
        let mined = errand.mine();
        let swept = if mined.is_err() || watching.stop.load(Ordering::Relaxed) {
            None
        } else if let Some(swept) = changed
            .map(|paths| sweep_few(ledger, &machine, &run, roots, paths))
            .transpose()?
            .flatten()
        {
            Some(swept)
        } else {
            let sweep = Sweep {
                ledger,
                machine: &machine,
                roots: &names,
                rules: &watching.reading.rules,
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
                tell(Told::Swept(swept));
            }
        }
        report.run = run.id();
        Ok(report)
    }

    fn generation(&self) -> Result<u64> {
        self.backend.generation(&self.reference)
    }
}

/// Removes what was mined from changed paths that are gone; nothing if those are so many that the whole must be looked at.
fn sweep_few(
    ledger: &dyn Ledger,
    machine: &Machine,
    run: &Run<'_>,
    roots: &[PathBuf],
    changed: &BTreeSet<PathBuf>,
) -> Result<Option<Swept>> {
    // A root that is missing or empty may only be unmounted: the brake decides.
    let suspicious = |root: &PathBuf| match std::fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !root.is_file(),
    };
    if roots.iter().any(suspicious) {
        return Ok(None);
    }
    let mut swept = Swept::default();
    for path in changed.iter().filter_map(|path| path.to_str()) {
        if !is_gone(path) {
            continue;
        }
        for record in ledger.sources_under(machine, path)? {
            if record.kind == FILE && is_gone(&record.name) {
                swept.gone.push(Gone {
                    drawers: ledger.drawers_of(machine, &record.name)?,
                    name: record.name,
                    why: "deleted",
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

/// What a sync does with what it finds.
#[derive(Debug, Clone, Copy, Default)]
pub struct SyncChoice {
    /// Remove it.
    pub apply: bool,
    /// Remove conversations too.
    pub conversations: bool,
    /// Remove even if most of a root is gone.
    pub even_most: bool,
}

/// Drawers that were mined from this file, or from a file below this folder.
pub fn mined_under(path: &str) -> Filter {
    let mut folder = path.to_owned();
    if !folder.ends_with(std::path::MAIN_SEPARATOR) {
        folder.push(std::path::MAIN_SEPARATOR);
    }
    let mut any = Vec::new();
    for key in ["source_file", "export_file"] {
        any.push(Filter::eq(key, path));
        any.push(Filter::Key {
            key: key.into(),
            test: KeyTest::StartsWith(folder.clone()),
        });
    }
    Filter::Or(any)
}

fn finish(mined: Result<Report>, run: &Run<'_>, warnings: Vec<Warning>) -> Result<Report> {
    match mined {
        Ok(mut report) => {
            report.warnings.extend(warnings);
            let state = if report.stopped {
                RunState::Stopped
            } else {
                RunState::Done
            };
            run.end(&state, &report)?;
            Ok(report)
        }
        Err(error) => {
            // The palace that refused the work may refuse this too; the first error is the one to tell.
            let said = serde_json::json!({ "error": error.to_string() });
            if let Err(error) = run.end(&RunState::Failed, &said) {
                tracing::debug!(%error, "the end of the run was not recorded");
            }
            Err(error)
        }
    }
}

/// Absolute names of paths, also of those that are not there.
fn names_of(paths: &[PathBuf]) -> Result<Vec<String>> {
    paths
        .iter()
        .map(|path| {
            let absolute = path
                .canonicalize()
                .or_else(|_| std::path::absolute(path))
                .map_err(|error| Error::io("cannot resolve", path, error))?;
            name_of(&absolute)
        })
        .collect()
}

fn name_of(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::invalid(
            format!("path `{}`", path.display()),
            "is not UTF-8; its files could not be named",
        )
    })
}

/// False when told to stop.
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

/// Folders and files in which agents keep their transcripts on this machine, as far as they are there.
pub fn agent_folders() -> Vec<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let Some(home) = variable("HOME").or_else(|| variable("USERPROFILE")) else {
        return Vec::new();
    };
    let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let data = variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
    let claude = variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude"));
    let codex = variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
    let cursor = "Cursor/User/globalStorage/state.vscdb";
    [
        claude.join("projects"),
        codex.join("sessions"),
        codex.join("archived_sessions"),
        home.join(".gemini/tmp"),
        data.join("opencode/storage"),
        config.join(cursor),
        home.join("Library/Application Support").join(cursor),
    ]
    .into_iter()
    .filter(|path| path.exists())
    .collect()
}

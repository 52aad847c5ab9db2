//! Finds sources whose file is gone. It removes them only on request, and never because a whole
//! tree is missing.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use loci_core::{Counts, Filed, Ledger, Machine, Result, SourceChange, SourceHash, SourceRecord};
use schemars::JsonSchema;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use crate::miner::is_under;
use crate::run::Run;
use crate::tree::{CONVERSATION, EXPORT, FILE, is_gone};
use crate::walk::{self, Rules, WalkEntry};

/// If more than this percentage of a root's files, and more than [`BRAKE_FILES`], are gone, a disk
/// is probably not mounted.
const BRAKE_PERCENT: u64 = 50;
/// Up to this many files are removed whatever their share.
pub const BRAKE_FILES: u64 = 10;

/// The reason that a source would be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoneReason {
    /// The file does not exist.
    Deleted,
    /// The file exists, but a rule leaves it out.
    Ignored,
}

impl GoneReason {
    /// The reason as shown to users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Ignored => "ignored",
        }
    }
}

/// A source whose file is gone or is left out by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gone {
    /// The name of the source.
    pub name: String,
    /// The reason for its removal.
    pub why: GoneReason,
    /// The number of drawers that would be removed.
    pub drawers: u64,
}

/// The result of a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SyncReport {
    /// The number of the run, if something was removed.
    pub run: Option<u64>,
    /// The number of sources below the roots.
    pub sources: u64,
    /// The sources whose file is gone.
    pub gone: Vec<Gone>,
    /// The number of conversations whose file is gone. They are kept, because agents delete their
    /// transcripts after some weeks.
    pub kept_conversations: u64,
    /// The number of removed drawers.
    pub removed: u64,
    /// The reason that nothing was removed, although it was requested.
    pub brake: Option<String>,
    /// The machines whose sources below the roots were not examined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_machines: Vec<OtherMachine>,
}

/// A machine whose sources are not examined, because only that machine knows whether its files
/// exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OtherMachine {
    /// The host name.
    pub host: String,
    /// The number of its sources below the roots.
    pub sources: u64,
}

/// The inputs of a sync.
pub struct SyncJob<'a> {
    /// The ledger that records the sources.
    pub ledger: &'a dyn Ledger,
    /// This machine. Sources of other machines are only counted.
    pub machine: &'a Machine,
    /// Absolute paths. Sources below them are examined.
    pub roots: &'a [String],
    /// The rules of mining.
    pub rules: &'a Rules,
    /// Treat existing files that the rules leave out as gone, too.
    pub ignored: bool,
    /// Remove conversations too.
    pub conversations: bool,
    /// Remove sources even if most of a root is gone.
    pub even_most: bool,
}

impl SyncJob<'_> {
    /// Finds sources that are gone. With a run, removes them.
    pub fn sweep(&self, run: Option<&Run<'_>>) -> Result<SyncReport> {
        let mut report = SyncReport::default();
        let met = self.walk()?;
        let mut others: BTreeMap<String, (String, u64)> = BTreeMap::new();
        let mut per_root = vec![(0_u64, 0_u64); self.roots.len()];
        self.ledger.each_source(&mut |record| {
            if record.section != 0 || record.kind == EXPORT {
                return Ok(());
            }
            let Some(at) = self
                .roots
                .iter()
                .position(|root| is_under(&record.name, root))
            else {
                return Ok(());
            };
            if !self.machine.owns(&record.machine) {
                let Machine { id, host } = record.machine;
                others.entry(id).or_insert((host, 0)).1 += 1;
                return Ok(());
            }
            report.sources += 1;
            let why = if is_gone(&record.name) {
                Some(GoneReason::Deleted)
            } else if self.ignored
                && record.kind == FILE
                && self.roots.contains(&record.root)
                && met.leaves_out(&record.name)
            {
                Some(GoneReason::Ignored)
            } else {
                None
            };
            if record.kind == CONVERSATION && !self.conversations {
                report.kept_conversations += u64::from(why.is_some());
                return Ok(());
            }
            if let Some((all, gone)) = per_root.get_mut(at) {
                *all += 1;
                *gone += u64::from(why.is_some());
            }
            let Some(why) = why else {
                return Ok(());
            };
            report.gone.push(Gone {
                name: record.name,
                why,
                drawers: 0,
            });
            Ok(())
        })?;
        report.other_machines = others
            .into_values()
            .map(|(host, sources)| OtherMachine { host, sources })
            .collect();
        for gone in &mut report.gone {
            gone.drawers = self.ledger.drawers_of(self.machine, &gone.name)?;
        }
        let Some(run) = run.filter(|_| !report.gone.is_empty()) else {
            return Ok(report);
        };
        report.brake = self.brake(&per_root);
        if report.brake.is_some() {
            return Ok(report);
        }
        for gone in &report.gone {
            // The file may have come back in the meantime.
            if gone.why == GoneReason::Deleted && !is_gone(&gone.name) {
                continue;
            }
            report.removed +=
                remove_source(self.ledger, self.machine, run.ensure()?, &gone.name)?.removed;
        }
        report.run = run.id();
        Ok(report)
    }

    /// Returns the files that a mine of the roots would meet. Missing roots are left to the brake.
    fn walk(&self) -> Result<WalkedFiles> {
        let roots: Vec<PathBuf> = self
            .roots
            .iter()
            .map(PathBuf::from)
            .filter(|root| root.exists())
            .collect();
        let mut met = WalkedFiles::default();
        if roots.is_empty() {
            return Ok(met);
        }
        let walked = walk::walk(&roots, self.rules, &mut |found| {
            if let WalkEntry::File(file) = found {
                met.files
                    .insert(xxh3_128(file.path.as_os_str().as_encoded_bytes()));
            }
            ControlFlow::Continue(())
        })?;
        met.complete = walked.complete;
        Ok(met)
    }

    /// Returns the reason to assume a missing disk instead of deleted files.
    fn brake(&self, per_root: &[(u64, u64)]) -> Option<String> {
        for (root, (all, gone)) in self.roots.iter().zip(per_root) {
            if *gone == 0 {
                continue;
            }
            let path = Path::new(root);
            let empty = path.is_dir()
                && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
            let missing = std::fs::symlink_metadata(path).is_err();
            if self.even_most {
                continue;
            }
            if missing || empty {
                let state = if missing { "missing" } else { "empty" };
                return Some(format!(
                    "`{root}` is {state}: nothing was removed, because it may only be unmounted"
                ));
            }
            if *gone > BRAKE_FILES && gone * 100 > all * BRAKE_PERCENT {
                return Some(format!(
                    "{gone} of the {all} sources below `{root}` are gone: nothing was removed, because that is most of them"
                ));
            }
        }
        None
    }
}

/// The files that a walk met, by a hash of their path.
#[derive(Default)]
struct WalkedFiles {
    files: HashSet<u128>,
    complete: bool,
}

impl WalkedFiles {
    /// Whether the file exists and was not met. Returns `false` if the walk was incomplete, because
    /// the answer is then unknown.
    fn leaves_out(&self, name: &str) -> bool {
        self.complete
            && !self.files.contains(&xxh3_128(name.as_bytes()))
            && Path::new(name).is_file()
    }
}

/// Removes a source and its drawers, in batches.
pub fn remove_source(
    ledger: &dyn Ledger,
    machine: &Machine,
    run: u64,
    name: &str,
) -> Result<Counts> {
    let mut counts = Counts::default();
    // The head row is removed last, and is marked incomplete first. After a crash, the next sync
    // finishes the removal, or the source is read again if its file came back.
    let mut rows = ledger.source(machine, name)?;
    if let Some(head) = rows.first().filter(|_| rows.len() > 1) {
        let change = SourceChange {
            record: SourceRecord {
                complete: false,
                hash: SourceHash::default(),
                ..head.clone()
            },
            ..SourceChange::default()
        };
        if ledger.file(run, std::slice::from_ref(&change))?.first() == Some(&Filed::Stale) {
            return Ok(counts);
        }
        rows = ledger.source(machine, name)?;
    }
    rows.reverse();
    for record in rows {
        loop {
            let change = SourceChange {
                record: record.clone(),
                removed: true,
                ..SourceChange::default()
            };
            let filed = ledger.file(run, std::slice::from_ref(&change))?;
            match filed.first() {
                Some(Filed::Done(done)) => {
                    counts += *done;
                    if done.removed < 2_000 {
                        break;
                    }
                }
                // Another process removed the source or filed it again, so nothing more is removed.
                Some(Filed::Stale) => return Ok(counts),
                None => break,
            }
        }
    }
    Ok(counts)
}

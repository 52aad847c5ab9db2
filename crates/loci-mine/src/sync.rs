//! sync: sources whose file is gone. Looks first; removes only when asked to, and never because a
//! whole tree is missing.

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
use crate::walk::{self, Met, Rules};

/// More than this share of a root's files, in percent, and more than [`BRAKE_FILES`]: that is no
/// clean-up but a disk that is not there.
const BRAKE_PERCENT: u64 = 50;
/// So few files are removed without a look at the whole.
pub const BRAKE_FILES: u64 = 10;

/// Why a source would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoneReason {
    /// Its file does not exist.
    Deleted,
    /// Its file exists, and a rule leaves it out now.
    Ignored,
}

impl GoneReason {
    /// The word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Ignored => "ignored",
        }
    }
}

/// A source whose file is gone or is not to be mined any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gone {
    /// Its name.
    pub name: String,
    /// Why it would go.
    pub why: GoneReason,
    /// Drawers that would go.
    pub drawers: u64,
}

/// What a sync found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Swept {
    /// Number of the run, if something was removed.
    pub run: Option<u64>,
    /// Sources below the roots.
    pub sources: u64,
    /// Those whose file is gone.
    pub gone: Vec<Gone>,
    /// Conversations whose file is gone. They stay: agents delete their transcripts after some
    /// weeks.
    pub kept_conversations: u64,
    /// Drawers removed.
    pub removed: u64,
    /// Why nothing was removed although it was asked for.
    pub brake: Option<String>,
    /// Machines whose sources below the roots were left alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_machines: Vec<OtherMachine>,
}

/// A machine whose sources are not looked at: only that machine knows whether its files are there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OtherMachine {
    /// Its host name.
    pub host: String,
    /// Its sources below the roots.
    pub sources: u64,
}

/// What to look at.
pub struct Sweep<'a> {
    /// Where the sources are recorded.
    pub ledger: &'a dyn Ledger,
    /// This machine. Sources of others are counted and left alone.
    pub machine: &'a Machine,
    /// Absolute paths; sources below them are looked at.
    pub roots: &'a [String],
    /// What a mine takes: a file that is ignored now counts as gone.
    pub rules: &'a Rules,
    /// Files that are there but left out by the rules now count as gone, too.
    pub ignored: bool,
    /// Remove conversations too.
    pub conversations: bool,
    /// Remove even if most of a root is gone.
    pub even_most: bool,
}

impl Sweep<'_> {
    /// Looks; with a run, removes.
    pub fn sweep(&self, run: Option<&Run<'_>>) -> Result<Swept> {
        let mut swept = Swept::default();
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
            swept.sources += 1;
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
                swept.kept_conversations += u64::from(why.is_some());
                return Ok(());
            }
            if let Some((all, gone)) = per_root.get_mut(at) {
                *all += 1;
                *gone += u64::from(why.is_some());
            }
            let Some(why) = why else {
                return Ok(());
            };
            swept.gone.push(Gone {
                name: record.name,
                why,
                drawers: 0,
            });
            Ok(())
        })?;
        swept.other_machines = others
            .into_values()
            .map(|(host, sources)| OtherMachine { host, sources })
            .collect();
        for gone in &mut swept.gone {
            gone.drawers = self.ledger.drawers_of(self.machine, &gone.name)?;
        }
        let Some(run) = run.filter(|_| !swept.gone.is_empty()) else {
            return Ok(swept);
        };
        swept.brake = self.brake(&per_root);
        if swept.brake.is_some() {
            return Ok(swept);
        }
        for gone in &swept.gone {
            // It may have come back since we looked.
            if gone.why == GoneReason::Deleted && !is_gone(&gone.name) {
                continue;
            }
            swept.removed +=
                remove_source(self.ledger, self.machine, run.ensure()?, &gone.name)?.removed;
        }
        swept.run = run.id();
        Ok(swept)
    }

    /// What a mine of the roots would meet now. Roots that are not there are left to the brake.
    fn walk(&self) -> Result<MetFiles> {
        let roots: Vec<PathBuf> = self
            .roots
            .iter()
            .map(PathBuf::from)
            .filter(|root| root.exists())
            .collect();
        let mut met = MetFiles::default();
        if roots.is_empty() {
            return Ok(met);
        }
        let walked = walk::walk(&roots, self.rules, &mut |found| {
            if let Met::File(file) = found {
                met.files
                    .insert(xxh3_128(file.path.as_os_str().as_encoded_bytes()));
            }
            ControlFlow::Continue(())
        })?;
        met.complete = walked.complete;
        Ok(met)
    }

    /// Why this looks like a disk that is not there rather than like files that were deleted.
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
                    "`{root}` is {state}: nothing was removed, for it may only be unmounted"
                ));
            }
            if *gone > BRAKE_FILES && gone * 100 > all * BRAKE_PERCENT {
                return Some(format!(
                    "{gone} of the {all} sources below `{root}` are gone: nothing was removed, for that is most of them"
                ));
            }
        }
        None
    }
}

/// Files that a walk met, by a hash of their path.
#[derive(Default)]
struct MetFiles {
    files: HashSet<u128>,
    complete: bool,
}

impl MetFiles {
    /// Whether the file is there and was not met. If something could not be looked at, nobody
    /// knows.
    fn leaves_out(&self, name: &str) -> bool {
        self.complete
            && !self.files.contains(&xxh3_128(name.as_bytes()))
            && Path::new(name).is_file()
    }
}

/// Removes a source and its drawers, some at a time.
pub fn remove_source(
    ledger: &dyn Ledger,
    machine: &Machine,
    run: u64,
    name: &str,
) -> Result<Counts> {
    let mut counts = Counts::default();
    // The head goes last, and counts as incomplete from the start: a removal that is killed is
    // finished, or the source is read again if its file came back.
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
                // Another process removed it, or filed it again: then it stays.
                Some(Filed::Stale) => return Ok(counts),
                None => break,
            }
        }
    }
    Ok(counts)
}

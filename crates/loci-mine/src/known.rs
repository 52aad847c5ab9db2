//! The ledger's state of all items, read once and looked up by a hash of the name. It is small
//! enough for a million items.

use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{Result, SourceRecord, Stat};
use xxhash_rust::xxh3::xxh3_128;

use crate::miner::MiningJob;
use crate::source::Since;

/// A change this soon after a read may not change the modification time, because file system clocks
/// are coarse.
const CLOCK_STEP_NS: i64 = 2_000_000_000;

struct Entry {
    key: u128,
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
    read_ns: i64,
    /// Whether the item is complete and was filed by this recipe.
    current: bool,
}

/// The state of the ledger when the run began.
pub(crate) struct Known {
    entries: Vec<Entry>,
    seen: Vec<AtomicU64>,
    /// Whether only some items were loaded.
    partial: bool,
}

impl Known {
    /// Reads all sources of the machine at once, or only those of the named items.
    pub(crate) fn read(
        job: &MiningJob<'_>,
        reads_all: bool,
        only: Option<&[String]>,
    ) -> Result<Self> {
        let MiningJob {
            ledger,
            machine,
            options,
            source,
            ..
        } = job;
        let at = |chosen: &Option<String>, there: &str| {
            chosen.as_ref().is_none_or(|chosen| chosen == there)
        };
        let mut entries = Vec::new();
        let mut take = |record: SourceRecord| {
            if record.section == 0 && machine.owns(&record.machine) {
                entries.push(Entry {
                    key: xxh3_128(record.name.as_bytes()),
                    size: record.stat.size,
                    modified_ns: record.stat.modified_ns,
                    changed_ns: record.stat.changed_ns,
                    read_ns: record.stat.read_ns,
                    current: record.complete
                        && !reads_all
                        && source.is_current(&record.kind, &record.recipe)
                        && at(&options.chosen.wing, &record.wing)
                        && at(&options.chosen.room, &record.room),
                });
            }
            Ok(())
        };
        match only {
            None => ledger.each_source(&mut take)?,
            Some(names) => {
                for name in names {
                    let rows = ledger.source(machine, name)?;
                    rows.into_iter().try_for_each(&mut take)?;
                }
            }
        }
        entries.sort_unstable_by_key(|entry| entry.key);
        let words = entries.len().div_ceil(64);
        Ok(Self {
            entries,
            partial: only.is_some(),
            seen: (0..words).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// Whether the whole ledger was empty, so that no rename is possible.
    pub(crate) fn knows_nothing(&self) -> bool {
        self.entries.is_empty() && !self.partial
    }

    fn find(&self, name: &str) -> Option<usize> {
        let key = xxh3_128(name.as_bytes());
        self.entries
            .binary_search_by_key(&key, |entry| entry.key)
            .ok()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Marks the item as met in this run.
    pub(crate) fn see(&self, name: &str) {
        if let Some(at) = self.find(name)
            && let Some(word) = self.seen.get(at / 64)
        {
            word.fetch_or(1 << (at % 64), Ordering::Relaxed);
        }
    }

    pub(crate) fn was_seen(&self, name: &str) -> bool {
        self.find(name).is_some_and(|at| {
            self.seen
                .get(at / 64)
                .is_some_and(|word| word.load(Ordering::Relaxed) >> (at % 64) & 1 == 1)
        })
    }

    /// Whether the ledger has an item that was not met.
    pub(crate) fn any_unseen(&self) -> bool {
        let seen: u64 = self
            .seen
            .iter()
            .map(|word| u64::from(word.load(Ordering::Relaxed).count_ones()))
            .sum();
        seen < self.entries.len() as u64
    }
}

impl Since for Known {
    fn is_unchanged(&self, name: &str, stat: &Stat) -> bool {
        let Some(entry) = self.find(name).and_then(|at| self.entries.get(at)) else {
            return false;
        };
        entry.current
            && entry.size == stat.size
            && entry.modified_ns == stat.modified_ns
            && entry.changed_ns == stat.changed_ns
            && is_settled(entry.modified_ns.max(entry.changed_ns), entry.read_ns)
    }
}

/// Whether a change after the read would change the modification time.
fn is_settled(changed_ns: i64, read_ns: i64) -> bool {
    changed_ns.saturating_add(CLOCK_STEP_NS) < read_ns
}

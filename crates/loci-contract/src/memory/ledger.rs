//! The ledger: rows of sources, runs and their steps. [`loci_core::ledger`] decides about matching,
//! recognising and patching, as in every backend.

mod adopting;
mod filing;
mod forgetting;
mod undo;

use std::collections::BTreeMap;

use loci_core::clock::now_ms;
use loci_core::ledger::forgotten::{ForgottenTexts, NewRecord, Record};
use loci_core::ledger::matching::text_hash;
use loci_core::ledger::undoing::KEPT_RUNS;
use loci_core::{
    Adopted, CountedSource, Filed, LEFTOVERS, Ledger, Machine, MetadataPatch, Result, RunKind,
    RunRecord, RunState, SourceChange, SourceHash, SourceRecord, TextPlace, Undone,
};

pub(super) use self::adopting::origin_row;
pub(super) use self::filing::Vectors;
pub(super) use self::forgetting::forget;
use super::collection::MemoryCollection;
use super::state::{Drawer, Palace, State};

/// Maximum number of drawers that one call removes.
const SLICE: usize = 2_000;

/// The ledger of one collection.
#[derive(Clone, Default)]
pub(super) struct Mined {
    /// By number, which drawers use as their origin. Numbers are never reused.
    pub(super) sources: BTreeMap<u64, SourceRecord>,
    last_source: u64,
    runs: BTreeMap<u64, RunRecord>,
    /// By number, in order of execution.
    steps: BTreeMap<u64, RunStep>,
    last_step: u64,
    /// By number.
    pub(super) forgotten: BTreeMap<i64, NewRecord>,
    last_forgotten: i64,
}

/// What a run changed in one source.
#[derive(Clone)]
struct RunStep {
    run: u64,
    source: u64,
    /// The first and the last record that it may have inserted.
    records: (u64, u64),
    before: Option<SourceRecord>,
    kept: Vec<Kept>,
}

/// A drawer before a step.
#[derive(Clone)]
struct Kept {
    record: u64,
    drawer: Drawer,
    /// Whether its text was removed or changed too.
    with_text: bool,
    /// The patch back to its old metadata; `None` if the drawer was removed.
    back: Option<MetadataPatch>,
}

impl Mined {
    /// Rows with this name that belong to this machine, ordered by section.
    fn of_name<'a>(
        &'a self,
        machine: &'a Machine,
        name: &'a str,
    ) -> impl Iterator<Item = (u64, &'a SourceRecord)> {
        let mut found: Vec<_> = self
            .sources
            .iter()
            .filter(|(_, row)| row.name == name && machine.owns(&row.machine))
            .map(|(number, row)| (*number, row))
            .collect();
        found.sort_by_key(|(_, row)| row.section);
        found.into_iter()
    }

    /// A row of this machine, or one of no known machine.
    fn find(&self, machine: &Machine, name: &str, section: u32) -> Option<u64> {
        let found = self.of_name(machine, name);
        found
            .filter(|(_, row)| row.section == section)
            .max_by_key(|(_, row)| !row.machine.id.is_empty())
            .map(|(number, _)| number)
    }

    /// The number of a row, which is created if it is missing.
    fn ensure(&mut self, record: &SourceRecord) -> u64 {
        if let Some(number) = self.find(&record.machine, &record.name, record.section) {
            return number;
        }
        self.last_source += 1;
        let empty = SourceRecord {
            name: record.name.clone(),
            section: record.section,
            machine: record.machine.clone(),
            ..SourceRecord::default()
        };
        self.sources.insert(self.last_source, empty);
        self.last_source
    }

    fn put(&mut self, number: u64, record: &SourceRecord, revision: u64) {
        let row = SourceRecord {
            revision,
            ..record.clone()
        };
        self.sources.insert(number, row);
    }

    /// Marks a row so that its source is read again.
    fn distrust(&mut self, number: u64) {
        if let Some(row) = self.sources.get_mut(&number) {
            row.hash = SourceHash::default();
            row.complete = false;
        }
    }

    /// Marks the rows with this name on other machines, so that their sources are read again.
    fn distrust_others(&mut self, machine: &Machine, name: &str, revision: u64) {
        let others = self
            .sources
            .values_mut()
            .filter(|row| row.name == name && !machine.owns(&row.machine));
        for row in others {
            row.hash = SourceHash::default();
            row.complete = false;
            row.revision = revision;
        }
    }

    fn begin_step(&mut self, run: u64, source: u64, first: u64) -> u64 {
        self.last_step += 1;
        let step = RunStep {
            run,
            source,
            records: (first, 0),
            before: self.sources.get(&source).cloned(),
            kept: Vec::new(),
        };
        self.steps.insert(self.last_step, step);
        self.last_step
    }

    /// The forgotten texts, ready for queries.
    fn forgotten_texts(&self, key: &[u8; 32]) -> ForgottenTexts {
        let mut forgotten_texts = ForgottenTexts::new(*key);
        for (number, record) in &self.forgotten {
            let stored = Record {
                id: *number,
                telling: record.lines.len(),
                sequence: record.sequence.clone(),
                place: record.place,
            };
            forgotten_texts.add(record.hash.clone(), &record.lines, stored);
        }
        forgotten_texts
    }

    /// Whether two rows belong to different known machines.
    fn is_of_another_machine(&self, row: u64, own: u64) -> bool {
        match (self.sources.get(&row), self.sources.get(&own)) {
            (Some(row), Some(own)) => !own.machine.owns(&row.machine),
            _ => false,
        }
    }
}

impl State {
    /// Drawers of a row, in insertion order.
    fn held_by(&self, source: u64) -> Vec<u64> {
        self.drawers
            .iter()
            .filter(|(_, drawer)| drawer.origin == source)
            .map(|(record, _)| *record)
            .collect()
    }

    fn drawers_of<'a>(
        &'a self,
        machine: &'a Machine,
        name: &'a str,
    ) -> impl Iterator<Item = &'a Drawer> {
        let rows: Vec<u64> = self.mined.of_name(machine, name).map(|row| row.0).collect();
        self.drawers
            .values()
            .filter(move |drawer| rows.contains(&drawer.origin))
    }
}

impl Palace {
    /// Takes the next sequence number.
    fn draw(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }
}

fn is_below(name: &str, path: &str) -> bool {
    let separator = std::path::MAIN_SEPARATOR;
    let folder = path.trim_end_matches(separator);
    let rest = name.strip_prefix(folder);
    name == path || rest.is_some_and(|rest| rest.starts_with(separator))
}

impl Ledger for MemoryCollection {
    fn each_source(&self, each: &mut dyn FnMut(SourceRecord) -> Result<()>) -> Result<()> {
        let mut rows: Vec<SourceRecord> =
            self.read(|state| Ok(state.mined.sources.values().cloned().collect()))?;
        rows.retain(|row| row.section != LEFTOVERS);
        rows.sort_by(|a, b| {
            (&a.name, a.section, &a.machine.id).cmp(&(&b.name, b.section, &b.machine.id))
        });
        rows.into_iter().try_for_each(each)
    }

    fn source(&self, machine: &Machine, name: &str) -> Result<Vec<SourceRecord>> {
        self.read(|state| {
            let rows = state.mined.of_name(machine, name);
            Ok(rows.map(|(_, row)| row.clone()).collect())
        })
    }

    fn sources_under(&self, machine: &Machine, path: &str) -> Result<Vec<SourceRecord>> {
        self.read(|state| {
            let rows = state.mined.sources.values();
            let mut found: Vec<SourceRecord> = rows
                .filter(|row| row.section == 0 && machine.owns(&row.machine))
                .filter(|row| is_below(&row.name, path))
                .cloned()
                .collect();
            found.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(found)
        })
    }

    fn sources_with_hash(&self, machine: &Machine, hash: &SourceHash) -> Result<Vec<SourceRecord>> {
        self.read(|state| {
            let rows = state.mined.sources.values();
            let mut found: Vec<SourceRecord> = rows
                .filter(|row| row.section == 0 && row.hash == *hash && machine.owns(&row.machine))
                .cloned()
                .collect();
            found.sort_by(|a, b| a.name.cmp(&b.name));
            found.truncate(100);
            Ok(found)
        })
    }

    fn sources_after(&self, name: Option<&str>, limit: usize) -> Result<Vec<CountedSource>> {
        self.read(|state| Ok(adopting::after(state, name.unwrap_or_default(), limit)))
    }

    fn adopt_sources(&self, sources: &[CountedSource]) -> Result<Vec<Adopted>> {
        for source in sources {
            source.record.validate()?;
        }
        self.change(|palace| {
            let adopt = |source| adopting::adopt(palace, &self.name, source);
            sources.iter().map(adopt).collect()
        })
    }

    fn drawers_of(&self, machine: &Machine, name: &str) -> Result<u64> {
        self.read(|state| Ok(state.drawers_of(machine, name).count() as u64))
    }

    fn hashes_of(&self, machine: &Machine, name: &str) -> Result<Vec<SourceHash>> {
        self.read(|state| {
            let drawers = state.drawers_of(machine, name);
            let texts = drawers.filter_map(|drawer| drawer.document.as_deref());
            Ok(texts.map(text_hash).collect())
        })
    }

    fn begin_run(&self, kind: &RunKind, roots: &[String]) -> Result<u64> {
        self.change(|palace| {
            palace.runs += 1;
            let run = RunRecord {
                id: palace.runs,
                kind: kind.clone(),
                state: RunState::Running,
                roots: roots.to_vec(),
                summary: serde_json::json!({}),
                started_at: now_ms(),
                finished_at: None,
                sources: 0,
            };
            let state = palace.collection_mut(&self.name)?;
            state.mined.runs.insert(run.id, run.clone());
            Ok(run.id)
        })
    }

    fn end_run(&self, run: u64, state: &RunState, summary: &serde_json::Value) -> Result<()> {
        self.change(|palace| {
            let mined = &mut palace.collection_mut(&self.name)?.mined;
            if let Some(run) = mined.runs.get_mut(&run) {
                run.state = state.clone();
                run.summary = summary.clone();
                run.finished_at = Some(now_ms());
            }
            let mut changed: Vec<u64> = mined.steps.values().map(|step| step.run).collect();
            changed.sort_unstable();
            changed.dedup();
            if let Some(oldest) = changed.iter().rev().nth(KEPT_RUNS - 1) {
                mined.steps.retain(|_, step| step.run >= *oldest);
            }
            Ok(())
        })
    }

    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>> {
        self.read(|state| {
            let newest = state.mined.runs.values().rev().take(limit);
            Ok(newest
                .map(|run| RunRecord {
                    sources: undo::sources_of(&state.mined, run.id),
                    ..run.clone()
                })
                .collect())
        })
    }

    fn undo(&self, run: u64) -> Result<Undone> {
        undo::undo(self, run)
    }

    fn file(&self, run: u64, changes: &[SourceChange]) -> Result<Vec<Filed>> {
        filing::file(self, run, changes)
    }

    fn touch(&self, records: &[SourceRecord]) -> Result<()> {
        self.change(|palace| {
            let mined = &mut palace.collection_mut(&self.name)?.mined;
            for record in records {
                let found = mined.find(&record.machine, &record.name, 0);
                let row = found.and_then(|number| mined.sources.get_mut(&number));
                if let Some(row) = row.filter(|row| row.revision == record.revision) {
                    row.stat = record.stat;
                }
            }
            Ok(())
        })
    }

    fn rename(&self, run: u64, from: &str, to: &SourceRecord) -> Result<bool> {
        self.change(|palace| filing::rename(palace, &self.name, run, from, to))
    }

    fn forgotten_lines(&self, text: &str, place: TextPlace<'_>) -> Result<Vec<(u32, u32)>> {
        let key = self.forget_key()?;
        self.read(|state| Ok(state.mined.forgotten_texts(&key).lines_in(text, place)))
    }

    fn allow_again(&self, text: &str, place: TextPlace<'_>) -> Result<()> {
        let key = self.forget_key()?;
        self.change(|palace| {
            let mined = &mut palace.collection_mut(&self.name)?.mined;
            for record in mined.forgotten_texts(&key).records_in(text, place) {
                mined.forgotten.remove(&record);
            }
            let whole = loci_core::ledger::forgotten::text_hash(&key, text);
            mined.forgotten.retain(|_, record| record.hash != whole);
            Ok(())
        })
    }

    fn has_forgotten(&self) -> Result<bool> {
        self.read(|state| Ok(!state.mined.forgotten.is_empty()))
    }
}

//! Reverts a run, last step first, in one change.

use std::collections::BTreeSet;

use loci_core::ledger::forgotten::place_of;
use loci_core::ledger::undoing::{
    DrawerUndo, KeptDrawer, SourceAfter, UndoConflicts, drawer_undo, refuse_undone, removes_added,
    source_after, unknown_run,
};
use loci_core::{Error, LEFTOVERS, Outcome, Result, RunState, SourceRecord, Undone};

use super::filing::{self, Vectors, patch_of};
use super::{Kept, Mined};
use crate::memory::collection::MemoryCollection;
use crate::memory::state::Palace;
use crate::memory::write::Mode;

/// Number of sources that a run changed.
pub(super) fn sources_of(mined: &Mined, run: u64) -> u64 {
    let steps = mined.steps.values().filter(|step| step.run == run);
    let sources: BTreeSet<u64> = steps.map(|step| step.source).collect();
    sources.len() as u64
}

pub(super) fn undo(collection: &MemoryCollection, run: u64) -> Result<Undone> {
    let texts: Vec<String> = collection.read(|state| {
        let steps = state.mined.steps.values().filter(|step| step.run == run);
        let kept = steps
            .flat_map(|step| &step.kept)
            .filter(|kept| kept.with_text);
        Ok(kept
            .filter_map(|kept| kept.drawer.document.clone())
            .collect())
    })?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = collection.vectors_of(&texts)?;
    collection.change(|palace| {
        let name = &collection.name;
        let mined = &palace.collection(name)?.mined;
        refuse_if_impossible(mined, run)?;
        let mut undone = Undone {
            sources: sources_of(mined, run),
            ..Undone::default()
        };
        loop {
            let mined = &mut palace.collection_mut(name)?.mined;
            let last = mined.steps.iter().rev().find(|(_, step)| step.run == run);
            let Some(number) = last.map(|(number, _)| *number) else {
                break;
            };
            let Some(step) = mined.steps.remove(&number) else {
                break;
            };
            for record in step.records.0..=step.records.1 {
                let drawer = palace.collection(name)?.drawers.get(&record);
                match drawer.map(|drawer| removes_added(drawer.origin)) {
                    Some(false) => undone.left += 1,
                    Some(true) => {
                        undone.removed += u64::from(filing::remove(palace, name, record)?);
                    }
                    None => {}
                }
            }
            for kept in step.kept.iter().rev() {
                let outcome = bring_back(palace, name, kept, &vectors)?;
                undone.count_returned(&outcome);
            }
            let revision = palace.draw();
            let key = palace.forget_key;
            let state = palace.collection_mut(name)?;
            let has_drawers = !state.held_by(step.source).is_empty();
            let mined = &mut state.mined;
            if let Some(now) = mined.sources.get(&step.source).cloned() {
                mined.distrust_others(&now.machine, &now.name, revision);
                if let Some(before) = step.before.as_ref().filter(|old| old.name != now.name) {
                    mined.rename_forgotten(&key, &before.machine, &now.name, &before.name);
                }
            }
            match source_after(step.before.as_ref(), || Ok::<_, Error>(has_drawers))? {
                SourceAfter::PutBack(before) => {
                    mined.put(step.source, before, revision);
                    let mut rows = mined.of_name(&before.machine, &before.name);
                    let leftovers = rows.find(|(_, row)| row.section == LEFTOVERS);
                    let leftovers = leftovers.map(|(number, _)| number);
                    drop(rows);
                    if let Some(number) = leftovers.filter(|at| state.held_by(*at).is_empty()) {
                        state.mined.sources.remove(&number);
                    }
                }
                SourceAfter::Distrust => mined.distrust(step.source),
                SourceAfter::Remove => {
                    mined.sources.remove(&step.source);
                }
            }
        }
        if let Some(run) = palace.collection_mut(name)?.mined.runs.get_mut(&run) {
            run.state = RunState::Undone;
        }
        Ok(undone)
    })
}

fn refuse_if_impossible(mined: &Mined, run: u64) -> Result<()> {
    let record = mined.runs.get(&run).ok_or_else(|| unknown_run(run))?;
    refuse_undone(run, &record.state)?;
    let own = || mined.steps.values().filter(|step| step.run == run);
    let sources: BTreeSet<u64> = own().map(|step| step.source).collect();
    let later = mined.steps.values().filter(|step| step.run > run);
    let last = later
        .clone()
        .filter(|step| sources.contains(&step.source))
        .max_by_key(|step| step.run);
    let name_of = |step: &super::RunStep| {
        let row = mined.sources.get(&step.source).or(step.before.as_ref());
        row.map_or_else(|| "?".to_owned(), |row| row.name.clone())
    };
    let is_taken = |source: u64, before: &SourceRecord| {
        mined.sources.iter().any(|(number, row)| {
            *number != source
                && (&row.name, row.section, &row.machine.id)
                    == (&before.name, before.section, &before.machine.id)
        })
    };
    let mut changed = own().filter_map(|step| Some((step.source, step.before.as_ref()?)));
    let taken = changed.find(|(source, before)| is_taken(*source, before));
    let newer: BTreeSet<u64> = later.map(|step| step.run).collect();
    UndoConflicts {
        later: last.map(|step| (step.run, name_of(step))),
        taken: taken.map(|(_, before)| before.name.clone()),
        has_steps: !sources.is_empty(),
        newer_runs: newer.len(),
    }
    .refuse(run)
}

fn bring_back(palace: &mut Palace, name: &str, kept: &Kept, vectors: &Vectors) -> Result<Outcome> {
    let key = palace.forget_key;
    let state = palace.collection(name)?;
    let old = &kept.drawer;
    let text = old.document.as_deref().filter(|_| kept.with_text);
    let is_forgotten = || {
        let source = state.mined.sources.get(&old.origin);
        let place = place_of(&key, source.map(|row| row.name.as_str()), &old.metadata);
        Ok::<_, Error>(
            text.is_some_and(|text| state.mined.forgotten_texts(&key).is_in(text, place)),
        )
    };
    let origin_now = || {
        let now = state.drawers.get(&kept.record);
        Ok(now.filter(|now| now.id == old.id).map(|now| now.origin))
    };
    let (what, patch) = match &kept.back {
        None => (KeptDrawer::Removed, patch_of(&old.metadata)),
        Some(back) => (KeptDrawer::Changed, back.clone()),
    };
    let mode = match drawer_undo(what, is_forgotten, origin_now)? {
        DrawerUndo::Insert => Mode::Add,
        DrawerUndo::Change => Mode::Upsert,
        DrawerUndo::None => return Ok(Outcome::Unknown),
    };
    let outcome = filing::record(palace, name, &old.id, text, patch, vectors, mode)?;
    let state = palace.collection_mut(name)?;
    let written = matches!(
        outcome,
        Outcome::Added | Outcome::Updated | Outcome::Unchanged
    );
    let Some(record) = state.record_of(&old.id).filter(|_| written) else {
        return Ok(outcome);
    };
    if let Some(drawer) = state.drawers.get_mut(&record) {
        drawer.origin = old.origin;
        if kept.back.is_none() {
            drawer.created_at = old.created_at;
        }
    }
    // A restored drawer has a new number, which earlier steps must use.
    if record != kept.record {
        let mut again = None;
        for step in state.mined.steps.values_mut() {
            for other in step
                .kept
                .iter_mut()
                .filter(|other| other.record == kept.record)
            {
                other.record = record;
            }
            if again.is_none() && (step.records.0..=step.records.1).contains(&kept.record) {
                again = Some(super::RunStep {
                    records: (record, record),
                    kept: Vec::new(),
                    ..step.clone()
                });
            }
        }
        if let Some(step) = again {
            state.mined.last_step += 1;
            state.mined.steps.insert(state.mined.last_step, step);
        }
    }
    Ok(outcome)
}

//! Takes back what a run did, the last step first, in one change.

use std::collections::BTreeSet;

use loci_core::ledger::forgotten::place_of;
use loci_core::{Error, LEFTOVERS, Outcome, Result, RunState, Undone};

use super::filing::{self, Vectors, patch_of};
use super::{KEPT_RUNS, Kept, Mined, no_run};
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
                match palace.collection(name)?.drawers.get(&record) {
                    Some(drawer) if drawer.origin == 0 => undone.left += 1,
                    Some(_) => undone.removed += u64::from(filing::remove(palace, name, record)?),
                    None => {}
                }
            }
            for kept in step.kept.iter().rev() {
                if bring_back(palace, name, kept, &vectors)? {
                    undone.restored += 1;
                } else {
                    undone.left += 1;
                }
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
            match &step.before {
                Some(before) => mined.put(step.source, before, revision),
                None if has_drawers => mined.distrust(step.source),
                None => {
                    mined.sources.remove(&step.source);
                }
            }
            let empty: Vec<u64> = state
                .mined
                .sources
                .iter()
                .filter(|(number, row)| {
                    row.section == LEFTOVERS && state.held_by(**number).is_empty()
                })
                .map(|(number, _)| *number)
                .collect();
            for number in empty {
                state.mined.sources.remove(&number);
            }
        }
        if let Some(run) = palace.collection_mut(name)?.mined.runs.get_mut(&run) {
            run.state = RunState::Undone;
        }
        Ok(undone)
    })
}

fn refuse_if_impossible(mined: &Mined, run: u64) -> Result<()> {
    let record = mined.runs.get(&run).ok_or_else(|| no_run(run))?;
    if record.state == RunState::Undone {
        return Err(Error::invalid(format!("run {run}"), "is undone already"));
    }
    let own = || mined.steps.values().filter(|step| step.run == run);
    let sources: BTreeSet<u64> = own().map(|step| step.source).collect();
    let mut later = mined.steps.values().rev().filter(|step| step.run > run);
    if let Some(later) = later.find(|step| sources.contains(&step.source)) {
        let later = later.run;
        return Err(Error::Conflict {
            what: format!("run {later} changed a source of run {run}; undo run {later} first"),
        });
    }
    for (source, before) in own().filter_map(|step| Some((step.source, step.before.as_ref()?))) {
        let mut rows = mined.sources.iter();
        if rows.any(|(number, row)| {
            *number != source
                && (&row.name, row.section, &row.machine.id)
                    == (&before.name, before.section, &before.machine.id)
        }) {
            return Err(Error::Conflict {
                what: format!("`{}` was mined again after run {run}", before.name),
            });
        }
    }
    let newer: BTreeSet<u64> = mined
        .steps
        .values()
        .map(|step| step.run)
        .filter(|other| *other > run)
        .collect();
    if sources.is_empty() && newer.len() >= KEPT_RUNS {
        return Err(Error::invalid(format!("run {run}"), "is too long ago"));
    }
    Ok(())
}

/// False for a drawer that was forgotten, changed or deleted since.
fn bring_back(palace: &mut Palace, name: &str, kept: &Kept, vectors: &Vectors) -> Result<bool> {
    let key = palace.forget_key;
    let state = palace.collection(name)?;
    let old = &kept.drawer;
    let text = old.document.as_deref().filter(|_| kept.with_text);
    if let Some(text) = text {
        let source = state.mined.sources.get(&old.origin);
        let place = place_of(&key, source.map(|row| row.name.as_str()), &old.metadata);
        if state.mined.book(&key).is_in(text, place) {
            return Ok(false);
        }
    }
    let (patch, mode) = match &kept.back {
        None => (patch_of(&old.metadata), Mode::Add),
        Some(back) => {
            let now = state
                .drawers
                .get(&kept.record)
                .filter(|now| now.id == old.id);
            if now.is_none_or(|now| now.origin == 0) {
                return Ok(false);
            }
            (back.clone(), Mode::Upsert)
        }
    };
    let outcome = filing::record(palace, name, &old.id, text, patch, vectors, mode)?;
    let state = palace.collection_mut(name)?;
    let written = matches!(
        outcome,
        Outcome::Added | Outcome::Updated | Outcome::Unchanged
    );
    let Some(record) = state.record_of(&old.id).filter(|_| written) else {
        return Ok(false);
    };
    if let Some(drawer) = state.drawers.get_mut(&record) {
        drawer.origin = old.origin;
        if kept.back.is_none() {
            drawer.created_at = old.created_at;
        }
    }
    // A drawer that came back has a new number, which earlier steps shall know.
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
                again = Some(super::Step {
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
    Ok(true)
}

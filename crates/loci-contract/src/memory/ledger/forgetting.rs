//! Removes drawers with all their saved states, and records their texts so that they do not come
//! back.

use std::collections::BTreeSet;

use loci_core::ledger::forgotten::{
    NEIGHBOURS, NewRecord, has_neighbours, place_of, record_of, source_hash, with_neighbours,
};
use loci_core::ledger::marks::cleaned;
use loci_core::{
    DrawerRef, Error, ForgetOutcome, LinkEnd, Machine, MetaValue, Metadata, Result, Selection,
};

use super::{Mined, filing};
use crate::memory::state::{Drawer, Palace, State};

impl Mined {
    fn note(&mut self, record: NewRecord) {
        let mut known = self.forgotten.values();
        if !known.any(|other| other.hash == record.hash && other.place == record.place) {
            self.last_forgotten += 1;
            self.forgotten.insert(self.last_forgotten, record);
        }
    }

    /// Records forgotten texts of a renamed source under its new name, and under both names if
    /// another machine has a source with the old name.
    pub(super) fn rename_forgotten(
        &mut self,
        key: &[u8; 32],
        machine: &Machine,
        from: &str,
        to: &str,
    ) {
        let (old, new) = (source_hash(key, from), source_hash(key, to));
        let of_source: Vec<NewRecord> = self
            .forgotten
            .values()
            .filter(|record| record.place.source == old)
            .cloned()
            .collect();
        let mut rows = self.sources.values();
        if !rows.any(|row| row.name == from && !machine.owns(&row.machine)) {
            self.forgotten
                .retain(|_, record| record.place.source != old);
        }
        for mut record in of_source {
            record.place.source = new;
            self.note(record);
        }
    }
}

pub(in crate::memory) fn forget(
    palace: &mut Palace,
    name: &str,
    selection: &Selection,
) -> Result<ForgetOutcome> {
    if selection.is_all() {
        return Err(Error::invalid("forget", "needs ids or a filter"));
    }
    let key = palace.forget_key;
    let mut outcome = ForgetOutcome::default();
    // Removing a drawer removes its links.
    let (facts, links) = (palace.facts.len(), palace.links.len());
    let state = palace.collection_mut(name)?;
    let records: Vec<u64> = state
        .drawers
        .iter()
        .filter(|(_, drawer)| drawer.is_in(selection))
        .map(|(record, _)| *record)
        .collect();
    let mut gone: Vec<String> = selection.ids.clone().unwrap_or_default();
    if selection.filter.is_some() || selection.document.is_some() || selection.period.is_some() {
        gone.clear();
    }
    let origins: BTreeSet<u64> = records
        .iter()
        .filter_map(|record| Some(state.drawers.get(record)?.origin))
        .collect();
    let kept_before = kept_ids(state);
    for record in &records {
        note(state, &key, *record);
    }
    note_kept(state, &key, &gone);
    clean_marks(state, &records);
    let mut removed: BTreeSet<String> = BTreeSet::new();
    for record in &records {
        let id = palace.collection(name)?.drawers[record].id.clone();
        removed.insert(id.clone());
        gone.push(id);
        outcome.forgotten += usize::from(filing::remove(palace, name, *record)?);
    }
    let state = palace.collection_mut(name)?;
    let forgotten_texts = state.mined.forgotten_texts(&key);
    for step in state.mined.steps.values_mut() {
        if origins.contains(&step.source)
            && let Some(before) = step.before.take()
        {
            step.before = Some(before.distrusted());
        }
        let sources = &state.mined.sources;
        step.kept.retain(|kept| {
            let source = sources
                .get(&kept.drawer.origin)
                .map(|row| row.name.as_str());
            let place = place_of(&key, source, &kept.drawer.metadata);
            let text = kept.drawer.document.as_deref();
            !gone.contains(&kept.drawer.id)
                && !text.is_some_and(|text| forgotten_texts.is_in(text, place))
        });
    }
    // A text that was only saved for an undo counts as a drawer.
    let still_kept = kept_ids(state);
    let only_kept = kept_before.difference(&still_kept);
    outcome.forgotten += only_kept.filter(|id| !removed.contains(*id)).count();
    let is_gone = |drawer: &DrawerRef| drawer.collection == name && gone.contains(&drawer.id);
    palace
        .facts
        .retain(|fact| !fact.source.as_ref().is_some_and(is_gone));
    let ends_there = |end: &LinkEnd| match end {
        LinkEnd::Drawer(drawer) => is_gone(drawer),
        LinkEnd::Room { .. } => false,
    };
    palace
        .links
        .retain(|link| !ends_there(&link.from) && !ends_there(&link.to));
    outcome.facts = facts - palace.facts.len();
    outcome.links = links - palace.links.len();
    Ok(outcome)
}

/// Ids of drawers that runs removed and saved for their undo.
fn kept_ids(state: &State) -> BTreeSet<String> {
    let steps = state.mined.steps.values();
    let kept = steps.flat_map(|step| &step.kept);
    kept.filter(|kept| kept.with_text)
        .map(|kept| kept.drawer.id.clone())
        .collect()
}

/// Records the texts of drawers that a run removed and saved for its undo.
fn note_kept(state: &mut State, key: &[u8; 32], ids: &[String]) {
    let steps = state.mined.steps.values();
    let kept: Vec<(u64, Drawer)> = steps
        .flat_map(|step| &step.kept)
        .filter(|kept| kept.with_text && ids.contains(&kept.drawer.id))
        .filter(|kept| !state.drawers.contains_key(&kept.record))
        .map(|kept| (kept.record, kept.drawer.clone()))
        .collect();
    for (record, drawer) in kept {
        note_text(state, key, record, &drawer);
    }
}

/// Records the text of a drawer with its location.
fn note_text(state: &mut State, key: &[u8; 32], record: u64, drawer: &Drawer) {
    let source = state.mined.sources.get(&drawer.origin);
    let mut place = place_of(key, source.map(|row| row.name.as_str()), &drawer.metadata);
    if has_neighbours(place) {
        let (before, after) = neighbours(state, record, drawer);
        place = with_neighbours(key, place, &before, &after);
    }
    if let Some(text) = &drawer.document
        && let Some(noted) = record_of(key, text, place)
    {
        state.mined.note(noted);
    }
}

/// Records the text of a drawer before it is removed, and removes its saved states.
fn note(state: &mut State, key: &[u8; 32], record: u64) {
    let Some(drawer) = state.drawers.get(&record).cloned() else {
        return;
    };
    let source = state
        .mined
        .sources
        .get(&drawer.origin)
        .map(|row| row.name.clone());
    note_text(state, key, record, &drawer);
    if let Some(row) = state.mined.sources.get_mut(&drawer.origin) {
        row.revision += 1;
    }
    let number = |metadata: &Metadata, name: &str| match metadata.get(name) {
        Some(MetaValue::Int(number)) => Some(*number),
        Some(_) | None => None,
    };
    let span =
        |metadata: &Metadata| number(metadata, "start_line").zip(number(metadata, "end_line"));
    let Some((start, end)) = span(&drawer.metadata) else {
        return;
    };
    let exchange = number(&drawer.metadata, "exchange");
    let sources = &state.mined.sources;
    for step in state.mined.steps.values_mut() {
        step.kept.retain(|kept| {
            let of_source =
                sources.get(&kept.drawer.origin).map(|row| &row.name) == source.as_ref();
            let metadata = &kept.drawer.metadata;
            let at_place = match exchange {
                Some(_) => number(metadata, "exchange") == exchange,
                None => span(metadata).is_some_and(|(from, to)| from <= end && to >= start),
            };
            !(kept.with_text && source.is_some() && of_source && at_place && kept.record != record)
        });
    }
}

/// Texts of the drawers of the same wing and file before and after a drawer, nearest first.
fn neighbours(state: &State, record: u64, drawer: &Drawer) -> (Vec<String>, Vec<String>) {
    let line = |drawer: &Drawer| match drawer.metadata.get("start_line") {
        Some(MetaValue::Int(line)) => *line,
        Some(_) | None => 0,
    };
    let place = |drawer: &Drawer| {
        let part = |key| drawer.metadata.get_str(key).map(str::to_owned);
        (part("wing"), part("source_file"))
    };
    let mut others: Vec<(i64, u64, String)> = state
        .drawers
        .iter()
        .filter(|(other, held)| **other != record && place(held) == place(drawer))
        .map(|(other, held)| {
            (
                line(held),
                *other,
                held.document.clone().unwrap_or_default(),
            )
        })
        .collect();
    others.sort();
    let at = (line(drawer), record);
    let texts = |of: &mut dyn Iterator<Item = &(i64, u64, String)>| -> Vec<String> {
        of.take(NEIGHBOURS)
            .map(|(_, _, text)| text.clone())
            .collect()
    };
    let before = texts(
        &mut others
            .iter()
            .rev()
            .filter(|(line, other, _)| (*line, *other) < at),
    );
    let after = texts(
        &mut others
            .iter()
            .filter(|(line, other, _)| (*line, *other) > at),
    );
    (before, after)
}

/// Removes words of forgotten drawers from the marks of their sources.
fn clean_marks(state: &mut State, records: &[u64]) {
    let origins: Vec<u64> = records
        .iter()
        .filter_map(|record| state.drawers.get(record))
        .map(|drawer| drawer.origin)
        .filter(|origin| *origin != 0)
        .collect();
    for origin in origins {
        let Some(row) = state.mined.sources.get(&origin).cloned() else {
            continue;
        };
        let mut drawers = state.drawers.iter();
        let stays =
            drawers.find(|(record, drawer)| drawer.origin == origin && !records.contains(record));
        let keys = stays
            .map(|(_, drawer)| drawer.metadata.clone())
            .unwrap_or_default();
        let mut cleaned_rows = Vec::new();
        for (number, other) in &mut state.mined.sources {
            if other.name == row.name && (other.section == 0 || other.section >= row.section) {
                if let Some(mark) = cleaned(&other.mark, &keys) {
                    other.mark = mark;
                }
                cleaned_rows.push(*number);
            }
        }
        for step in state.mined.steps.values_mut() {
            if let Some(before) = step
                .before
                .as_mut()
                .filter(|_| cleaned_rows.contains(&step.source))
                && let Some(mark) = cleaned(&before.mark, &keys)
            {
                before.mark = mark;
            }
        }
    }
}

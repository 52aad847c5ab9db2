//! Turns the pieces of a source into drawers, on a copy of the palace that is kept if all succeeds.

use std::collections::HashMap;

use loci_core::ledger::matching::{PieceKey, inverse, match_pieces, patch_to, text_hash};
use loci_core::ledger::undoing::unknown_run;
use loci_core::{
    Batch, Counts, EmbedderIdentity, Error, Filed, LEFTOVERS, Metadata, MetadataPatch, Outcome,
    Piece, Result, RunState, SourceChange, SourceRecord,
};

use super::{Kept, SLICE};
use crate::memory::collection::MemoryCollection;
use crate::memory::state::{Drawer, Palace, State};
use crate::memory::write::{self, Embedded, Mode};

/// Vectors by text, and the embedder that made them.
pub(in crate::memory) type Vectors = Option<(EmbedderIdentity, HashMap<String, Vec<f32>>)>;

pub(super) fn file(
    collection: &MemoryCollection,
    run: u64,
    changes: &[SourceChange],
) -> Result<Vec<Filed>> {
    for change in changes {
        change.validate()?;
    }
    let pieces = changes
        .iter()
        .flat_map(|change| change.pieces.iter().flatten());
    let texts: Vec<&str> = pieces.map(|piece| piece.text.as_str()).collect();
    let vectors = collection.vectors_of(&texts)?;
    let key = collection.forget_key()?;
    collection.change(|palace| {
        let mined = &palace.collection(&collection.name)?.mined;
        if mined
            .runs
            .get(&run)
            .is_none_or(|run| run.state != RunState::Running)
        {
            return Err(Error::Busy {
                what: format!("mining: run {run} is not under way in this palace"),
                waited: std::time::Duration::ZERO,
            });
        }
        let mut filing = Filing {
            palace,
            name: &collection.name,
            run,
            step: 0,
            vectors: &vectors,
            key,
        };
        changes.iter().map(|change| filing.file(change)).collect()
    })
}

struct Filing<'a> {
    palace: &'a mut Palace,
    name: &'a str,
    run: u64,
    step: u64,
    vectors: &'a Vectors,
    key: [u8; 32],
}

impl Filing<'_> {
    fn state(&mut self) -> Result<&mut State> {
        self.palace.collection_mut(self.name)
    }

    fn file(&mut self, change: &SourceChange) -> Result<Filed> {
        let (run, first) = (self.run, self.palace.records + 1);
        let SourceRecord {
            machine,
            name,
            section,
            ..
        } = &change.record;
        let state = self.state()?;
        let found = state.mined.find(machine, name, *section);
        let row = found.and_then(|number| state.mined.sources.get(&number));
        let revision = row.map_or(0, |row| row.revision);
        if change.removed && found.is_none() {
            return Ok(Filed::Done(Counts::default()));
        }
        if revision != change.record.revision && *section != LEFTOVERS {
            return Ok(Filed::Stale);
        }
        let source = state.mined.ensure(&change.record);
        let step = state.mined.begin_step(run, source, first);
        if found.is_none()
            && let Some(begun) = state.mined.steps.get_mut(&step)
        {
            begun.before = None;
        }
        self.step = step;
        let mut counts = Counts::default();
        let mut gone = false;
        if change.removed {
            let held = self.state()?.held_by(source);
            gone = held.len() <= SLICE;
            for record in held.into_iter().take(SLICE) {
                self.remove(record, &mut counts)?;
            }
        } else if let Some(pieces) = &change.pieces {
            self.file_pieces(source, change, pieces, &mut counts)?;
        }
        let revision = self.palace.draw();
        let (step, last) = (self.step, self.palace.records);
        let mined = &mut self.state()?.mined;
        if gone {
            mined.sources.remove(&source);
        } else if change.removed {
            mined.distrust(source);
        } else {
            mined.put(source, &change.record, revision);
        }
        if counts.removed + counts.updated > 0 {
            mined.distrust_others(machine, name, revision);
        }
        if let Some(step) = mined.steps.get_mut(&step) {
            step.records.1 = last;
        }
        Ok(Filed::Done(counts))
    }

    fn file_pieces(
        &mut self,
        source: u64,
        change: &SourceChange,
        pieces: &[Piece],
        counts: &mut Counts,
    ) -> Result<()> {
        let state = self.state()?;
        let held = state.held_by(source);
        let held_keys: Vec<PieceKey> = held.iter().map(|record| key_of(state, *record)).collect();
        let keys: Vec<PieceKey> = pieces.iter().map(PieceKey::of_piece).collect();
        let matched = match_pieces(&held_keys, &keys, change.grows);
        for (at, record) in held.iter().enumerate() {
            if matched.contains(&Some(at)) {
                continue;
            }
            if change.defers {
                let leftovers = SourceRecord {
                    section: LEFTOVERS,
                    ..change.record.clone()
                };
                let row = self.state()?.mined.ensure(&leftovers);
                self.set_origin(*record, row)?;
            } else {
                self.remove(*record, counts)?;
            }
        }
        for ((piece, key), matched) in pieces.iter().zip(&keys).zip(matched) {
            let own = matched.map(|at| held[at]);
            let found = match own {
                Some(record) => Some(record),
                None => self.take_from_another_section(source, change, key)?,
            };
            match found {
                Some(record) => self.refresh(source, change, record, piece, counts)?,
                None => self.insert(source, piece, counts)?,
            }
        }
        Ok(())
    }

    /// A drawer of another section of the source that matches this piece.
    fn take_from_another_section(
        &mut self,
        source: u64,
        change: &SourceChange,
        key: &PieceKey,
    ) -> Result<Option<u64>> {
        let SourceRecord {
            machine,
            name,
            section,
            wing,
            ..
        } = &change.record;
        let state = self.state()?;
        let rows = |wanted: &dyn Fn(u32) -> bool| -> Vec<u64> {
            let rows = state.mined.of_name(machine, name);
            let others = rows.filter(|(number, row)| *number != source && wanted(row.section));
            others.map(|(number, _)| number).collect()
        };
        let lenders = rows(&|other| other > *section || (other == 0 && *section > 0));
        let is_text = |drawer: &Drawer| {
            lenders.contains(&drawer.origin)
                && drawer.metadata.get_str("wing").unwrap_or_default() == wing
                && drawer.metadata.get_str("source_file") == Some(name)
                && drawer
                    .document
                    .as_deref()
                    .map(text_hash)
                    .map(Vec::from)
                    .as_ref()
                    == Some(&key.hash)
        };
        let growing = if change.grows {
            rows(&|other| (other == 0 || other == LEFTOVERS) && other != *section)
        } else {
            Vec::new()
        };
        let lines = [key.line.to_string(), format!("{}.{}", key.line, key.part)];
        let is_place = |drawer: &Drawer| {
            growing.contains(&drawer.origin) && lines.contains(&drawer.line_key())
        };
        let find = |is: &dyn Fn(&Drawer) -> bool| {
            let mut drawers = state.drawers.iter();
            drawers
                .find(|(_, drawer)| is(drawer))
                .map(|(record, drawer)| (*record, drawer.origin))
        };
        let found = find(&is_text).or_else(|| find(&is_place));
        // The section that gave up a drawer does not match its hash any more.
        if let Some((_, lender)) = found {
            state.mined.distrust(lender);
        }
        Ok(found.map(|(record, _)| record))
    }

    fn insert(&mut self, source: u64, piece: &Piece, counts: &mut Counts) -> Result<()> {
        let key = self.key;
        if self
            .state()?
            .mined
            .forgotten_texts(&key)
            .has_text(&piece.text)
        {
            return Ok(());
        }
        let id = loci_core::clock::new_id();
        let patch = MetadataPatch::from(piece.metadata.clone());
        match self.write(&id, Some(&piece.text), patch, Mode::Add)? {
            Outcome::DuplicateOf(holder) => {
                self.adopt(&holder, source)?;
                counts.kept += 1;
            }
            _ => {
                self.own(&id, source)?;
                counts.new += 1;
            }
        }
        Ok(())
    }

    fn refresh(
        &mut self,
        source: u64,
        change: &SourceChange,
        record: u64,
        piece: &Piece,
        counts: &mut Counts,
    ) -> Result<()> {
        let drawer = self.state()?.drawers[&record].clone();
        let patch = patch_to(&drawer.metadata, piece, change);
        let same_text = drawer.document.as_deref() == Some(&piece.text);
        if same_text && patch.0.is_empty() {
            if drawer.origin != source {
                self.set_origin(record, source)?;
            }
            counts.kept += 1;
            return Ok(());
        }
        let back = inverse(&patch, &drawer.metadata);
        let text = (!same_text).then_some(piece.text.as_str());
        self.keep(record, Some(back), !same_text)?;
        match self.write(&drawer.id, text, patch, Mode::Upsert)? {
            Outcome::DuplicateOf(holder) => {
                self.unkeep()?;
                self.remove(record, counts)?;
                self.adopt(&holder, source)?;
                counts.kept += 1;
            }
            Outcome::Unchanged => counts.kept += 1,
            _ => {
                self.own(&drawer.id, source)?;
                counts.updated += 1;
            }
        }
        Ok(())
    }

    /// Assigns a drawer that was added by hand to this source, unless it belongs to another
    /// machine.
    fn adopt(&mut self, holder: &str, source: u64) -> Result<()> {
        let state = self.state()?;
        if let Some(record) = state.record_of(holder) {
            let origin = state.drawers[&record].origin;
            if !state.mined.is_of_another_machine(origin, source) {
                self.set_origin(record, source)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, record: u64, counts: &mut Counts) -> Result<()> {
        self.keep(record, None, true)?;
        remove(self.palace, self.name, record)?;
        counts.removed += 1;
        Ok(())
    }

    fn own(&mut self, id: &str, source: u64) -> Result<()> {
        let state = self.state()?;
        if let Some(record) = state.record_of(id)
            && let Some(drawer) = state.drawers.get_mut(&record)
        {
            drawer.origin = source;
        }
        Ok(())
    }

    fn set_origin(&mut self, record: u64, source: u64) -> Result<()> {
        self.keep(record, Some(MetadataPatch::default()), false)?;
        if let Some(drawer) = self.state()?.drawers.get_mut(&record) {
            drawer.origin = source;
        }
        Ok(())
    }

    fn keep(&mut self, record: u64, back: Option<MetadataPatch>, with_text: bool) -> Result<()> {
        let step = self.step;
        keep(self.state()?, step, record, back, with_text);
        Ok(())
    }

    fn unkeep(&mut self) -> Result<()> {
        let step = self.step;
        if let Some(step) = self.state()?.mined.steps.get_mut(&step) {
            step.kept.pop();
        }
        Ok(())
    }

    fn write(
        &mut self,
        id: &str,
        text: Option<&str>,
        patch: MetadataPatch,
        mode: Mode,
    ) -> Result<Outcome> {
        record(self.palace, self.name, id, text, patch, self.vectors, mode)
    }
}

/// Writes one record, with its vector if there is one.
pub(super) fn record(
    palace: &mut Palace,
    name: &str,
    id: &str,
    text: Option<&str>,
    patch: MetadataPatch,
    vectors: &Vectors,
    mode: Mode,
) -> Result<Outcome> {
    let mut batch = Batch::new([id]).metadatas([patch]);
    if let Some(text) = text {
        batch = batch.documents([text]);
    }
    let embedded = vectors.as_ref().map(|(identity, vectors)| Embedded {
        identity: identity.clone(),
        vectors: vec![text.and_then(|text| vectors.get(text).cloned())],
    });
    let written = write::write(palace, name, &batch, embedded.as_ref(), mode)?;
    Ok(written
        .outcomes
        .into_iter()
        .next()
        .unwrap_or(Outcome::Unknown))
}

pub(super) fn remove(palace: &mut Palace, name: &str, record: u64) -> Result<bool> {
    let Some(drawer) = palace.collection(name)?.drawers.get(&record) else {
        return Ok(false);
    };
    let selection = loci_core::Selection::ids([drawer.id.clone()]);
    Ok(write::delete(palace, name, &selection)?.deleted > 0)
}

fn keep(state: &mut State, step: u64, record: u64, back: Option<MetadataPatch>, with_text: bool) {
    if let (Some(step), Some(drawer)) =
        (state.mined.steps.get_mut(&step), state.drawers.get(&record))
    {
        step.kept.push(Kept {
            record,
            drawer: drawer.clone(),
            with_text,
            back,
        });
    }
}

fn key_of(state: &State, record: u64) -> PieceKey {
    let drawer = &state.drawers[&record];
    let hash = drawer.document.as_deref().map(text_hash);
    PieceKey::of_drawer(hash.map(Vec::from).unwrap_or_default(), &drawer.metadata)
}

pub(super) fn rename(
    palace: &mut Palace,
    name: &str,
    run: u64,
    from: &str,
    to: &SourceRecord,
) -> Result<bool> {
    let key = palace.forget_key;
    let state = palace.collection_mut(name)?;
    if !state.mined.runs.contains_key(&run) {
        return Err(unknown_run(run));
    }
    let rows: Vec<(u64, SourceRecord)> = state
        .mined
        .of_name(&to.machine, from)
        .map(|(number, row)| (number, row.clone()))
        .collect();
    let taken = state.mined.of_name(&to.machine, &to.name).next().is_some();
    if rows.is_empty() || taken {
        return Ok(false);
    }
    state
        .mined
        .rename_forgotten(&key, &to.machine, from, &to.name);
    for (source, row) in rows {
        let first = palace.records + 1;
        let state = palace.collection_mut(name)?;
        let step = state.mined.begin_step(run, source, first);
        for record in state.held_by(source) {
            let state = palace.collection_mut(name)?;
            let back = MetadataPatch([("source_file".to_owned(), Some(from.into()))].into());
            keep(state, step, record, Some(back), false);
            let id = state.drawers[&record].id.clone();
            let patch =
                MetadataPatch([("source_file".to_owned(), Some(to.name.as_str().into()))].into());
            let outcome = self::record(palace, name, &id, None, patch, &None, Mode::Upsert)?;
            if let Outcome::DuplicateOf(holder) = outcome {
                keep(palace.collection_mut(name)?, step, record, None, true);
                remove(palace, name, record)?;
                let state = palace.collection_mut(name)?;
                if let Some(held) = state.record_of(&holder)
                    && !state
                        .mined
                        .is_of_another_machine(state.drawers[&held].origin, source)
                    && let Some(drawer) = state.drawers.get_mut(&held)
                {
                    drawer.origin = source;
                }
            }
        }
        let revision = palace.draw();
        let last = palace.records;
        let mined = &mut palace.collection_mut(name)?.mined;
        let renamed = SourceRecord {
            name: to.name.clone(),
            machine: to.machine.clone(),
            root: to.root.clone(),
            stat: if row.section == 0 { to.stat } else { row.stat },
            ..row
        };
        mined.put(source, &renamed, revision);
        mined.distrust_others(&to.machine, from, revision);
        if let Some(step) = mined.steps.get_mut(&step) {
            step.records.1 = last;
        }
    }
    Ok(true)
}

/// The metadata of a saved drawer, as a patch.
pub(super) fn patch_of(metadata: &Metadata) -> MetadataPatch {
    MetadataPatch::from(metadata.clone())
}

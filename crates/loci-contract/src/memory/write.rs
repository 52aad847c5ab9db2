//! Adds, changes and deletes records, one after the other, on a copy of the palace.

use std::collections::BTreeSet;

use loci_core::{
    Batch, DeleteResult, EmbedderIdentity, Error, Outcome, Result, Selection, Warning, WriteResult,
    validate_metadata,
};

use super::no_collection;
use super::state::{Drawer, Palace, State};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Add,
    Upsert,
    Update,
}

/// Vectors for the texts of a batch that came without one, and the embedder that made them.
pub(super) struct Embedded {
    pub(super) identity: EmbedderIdentity,
    pub(super) vectors: Vec<Option<Vec<f32>>>,
}

/// The result of one record of a batch.
struct Applied {
    outcome: Outcome,
    dropped_vector: bool,
    used_embedder: bool,
}

impl From<Outcome> for Applied {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            dropped_vector: false,
            used_embedder: false,
        }
    }
}

pub(super) fn write(
    palace: &mut Palace,
    name: &str,
    batch: &Batch,
    embedded: Option<&Embedded>,
    mode: Mode,
) -> Result<WriteResult> {
    let mut state = palace
        .collections
        .remove(name)
        .ok_or_else(|| no_collection(name))?;
    if let Some(dimension) = batch.dimension() {
        state.check_dimension(name, dimension)?;
    }
    let mut result = WriteResult::default();
    let mut dropped = Vec::new();
    let now = loci_core::clock::now_ms();
    for (at, id) in batch.ids.iter().enumerate() {
        let applied = apply(palace, &mut state, batch, at, embedded, mode, now)?;
        if applied.dropped_vector {
            dropped.push(id.clone());
        }
        if let Some(embedded) = embedded.filter(|_| applied.used_embedder) {
            state.check_embedder(name, &embedded.identity)?;
            state.check_dimension(name, embedded.identity.dimension)?;
            state.embedder = Some(embedded.identity.clone());
            state.dimension = Some(embedded.identity.dimension);
        }
        result.outcomes.push(applied.outcome);
    }
    if let Some(first) = dropped.first() {
        result.warnings.push(Warning::VectorDropped {
            drawers: dropped.len(),
            first: first.clone(),
        });
    }
    result.seq = state.seq;
    palace.collections.insert(name.into(), state);
    Ok(result)
}

fn apply(
    palace: &mut Palace,
    state: &mut State,
    batch: &Batch,
    at: usize,
    embedded: Option<&Embedded>,
    mode: Mode,
    now: i64,
) -> Result<Applied> {
    let id = &batch.ids[at];
    let record = state.record_of(id);
    let old = record
        .and_then(|record| state.drawers.get(&record))
        .cloned();
    match (&old, mode) {
        (Some(_), Mode::Add) => return Ok(Outcome::Exists.into()),
        (None, Mode::Update) => return Ok(Outcome::Unknown.into()),
        _ => {}
    }
    let mut drawer = old.clone().unwrap_or_else(|| Drawer {
        id: id.clone(),
        document: None,
        metadata: loci_core::Metadata::default(),
        embedding: None,
        seq: 0,
        created_at: now,
        updated_at: now,
        origin: 0,
        accesses: 0,
    });
    if let Some(patch) = batch.metadata(at) {
        drawer.metadata = drawer.metadata.merged(patch);
        validate_metadata(id, &drawer.metadata)?;
    }
    let new_text = batch
        .document(at)
        .filter(|text| drawer.document.as_deref() != Some(*text));
    let mut used_embedder = false;
    if let Some(vector) = batch.embedding(at) {
        drawer.embedding = Some(vector.to_vec());
    } else if new_text.is_some() {
        drawer.embedding = embedded.and_then(|embedded| embedded.vectors[at].clone());
        used_embedder = drawer.embedding.is_some();
    }
    if let Some(text) = new_text {
        drawer.document = Some(text.into());
        // The text was changed by hand, so the drawer no longer belongs to its source.
        drawer.origin = 0;
    }
    if old.as_ref() == Some(&drawer) {
        return Ok(Outcome::Unchanged.into());
    }
    if let Some(holder) = state.duplicate_of(&drawer) {
        if mode == Mode::Update {
            return Err(Error::Conflict {
                what: format!("`{id}` would become a duplicate of `{holder}`"),
            });
        }
        return Ok(Outcome::DuplicateOf(holder).into());
    }
    if let Some(vector) = &drawer.embedding {
        state.dimension.get_or_insert(vector.len());
    }
    palace.seq += 1;
    state.seq = palace.seq;
    drawer.seq = palace.seq;
    drawer.updated_at = now;
    let dropped_vector =
        drawer.embedding.is_none() && old.as_ref().is_some_and(|old| old.embedding.is_some());
    let record = record.unwrap_or_else(|| {
        palace.records += 1;
        palace.records
    });
    state.drawers.insert(record, drawer);
    Ok(Applied {
        outcome: if old.is_some() {
            Outcome::Updated
        } else {
            Outcome::Added
        },
        dropped_vector,
        used_embedder,
    })
}

pub(super) fn delete(
    palace: &mut Palace,
    name: &str,
    selection: &Selection,
) -> Result<DeleteResult> {
    let state = palace
        .collections
        .get_mut(name)
        .ok_or_else(|| no_collection(name))?;
    let records: Vec<u64> = state
        .drawers
        .iter()
        .filter(|(_, drawer)| drawer.is_in(selection))
        .map(|(record, _)| *record)
        .collect();
    let mut ids = BTreeSet::new();
    for record in &records {
        palace.seq += 1;
        state.seq = palace.seq;
        ids.extend(state.drawers.remove(record).map(|drawer| drawer.id));
        state.tombstones.insert(palace.seq, *record);
    }
    let result = DeleteResult {
        deleted: records.len(),
        seq: state.seq,
    };
    palace.unlink(|drawer| drawer.collection == name && ids.contains(&drawer.id));
    Ok(result)
}

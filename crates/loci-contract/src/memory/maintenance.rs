//! Maintenance of palaces in memory. There is no derived data, so there can be no inconsistency.
//! New vectors of a re-embedding are kept apart from the old ones until all exist.

use std::collections::BTreeMap;

use loci_core::{
    Batch, CollectionOptions, Embedder, EmbedderIdentity, Error, PalaceState, RepairReport, Result,
    Selection, SelfTest, SelfTestStep, VerifyReport,
};

use super::ledger;
use super::state::{Palace, State};
use super::write::{self, Mode};

/// Texts per call of the embedder.
const SLICE: usize = 64;
/// The collection of a self-test. No collection can have this name.
const TRIAL: &str = "\u{1}trial";

/// A re-embedding that is running or was interrupted.
#[derive(Clone)]
pub(super) struct Fresh {
    identity: EmbedderIdentity,
    /// Vectors by record, each with the text that was embedded.
    vectors: BTreeMap<u64, (String, Vec<f32>)>,
}

pub(super) fn state_of(palace: &Palace) -> PalaceState {
    PalaceState {
        identity: String::new(),
        format: 0,
        seq: palace.seq,
        purge_pending: false,
        facts: palace.facts.len() as u64,
        links: palace.links.len() as u64,
        damaged_drawers: 0,
        damaged_relations: 0,
        removed_duplicates: 0,
        bytes: 0,
        drift_files: 0,
        set_aside: Vec::new(),
        indexes: Vec::new(),
        read_only: None,
    }
}

fn drawers(palace: &Palace) -> u64 {
    let states = palace.collections.values();
    states.map(|state| state.drawers.len() as u64).sum()
}

pub(super) fn verify(palace: &Palace, deep: bool) -> VerifyReport {
    VerifyReport {
        drawers: drawers(palace),
        deep,
        ..VerifyReport::default()
    }
}

pub(super) fn repair(palace: &Palace) -> RepairReport {
    RepairReport {
        drawers_before: drawers(palace),
        drawers_after: drawers(palace),
        ..RepairReport::default()
    }
}

/// Resumes an earlier re-embedding with the same embedder. Returns the number of its vectors.
pub(super) fn begin_reembedding(state: &mut State, identity: &EmbedderIdentity) -> Result<u64> {
    if let Some(drawer) = state
        .drawers
        .values()
        .find(|drawer| drawer.document.is_none() && drawer.embedding.is_some())
    {
        return Err(Error::invalid(
            format!("drawer `{}`", drawer.id),
            "has a vector and no text, so it cannot be re-embedded",
        ));
    }
    let begun = state
        .fresh
        .take()
        .filter(|fresh| fresh.identity == *identity);
    let fresh = begun.unwrap_or_else(|| Fresh {
        identity: identity.clone(),
        vectors: BTreeMap::new(),
    });
    let kept = fresh.vectors.len() as u64;
    state.fresh = Some(fresh);
    Ok(kept)
}

/// The next texts without a new vector, ordered by record.
pub(super) fn missing(state: &State) -> Vec<(u64, String)> {
    let Some(fresh) = &state.fresh else {
        return Vec::new();
    };
    let texts = state
        .drawers
        .iter()
        .filter_map(|(record, drawer)| Some((*record, drawer.document.clone()?)));
    texts
        .filter(|(record, text)| {
            let made = fresh.vectors.get(record);
            made.is_none_or(|(embedded, _)| embedded != text)
        })
        .take(SLICE)
        .collect()
}

pub(super) fn embed(
    embedder: &dyn Embedder,
    texts: &[(u64, String)],
) -> Result<Vec<(u64, String, Vec<f32>)>> {
    let borrowed: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = embedder.embed(&borrowed)?;
    let dimension = embedder.identity().dimension;
    if vectors.len() != texts.len() || vectors.iter().any(|vector| vector.len() != dimension) {
        return Err(Error::Internal {
            doing: "embedding".into(),
            detail:
                "the embedder returned the wrong number of vectors, or vectors of the wrong length"
                    .into(),
        });
    }
    let made = texts.iter().cloned().zip(vectors);
    Ok(made
        .map(|((record, text), vector)| (record, text, vector))
        .collect())
}

/// Stores new vectors. Returns how many drawers have one, and how many have a text.
pub(super) fn keep_fresh(state: &mut State, made: Vec<(u64, String, Vec<f32>)>) -> (u64, u64) {
    let with_text = state
        .drawers
        .values()
        .filter(|drawer| drawer.document.is_some());
    let total = with_text.count() as u64;
    let Some(fresh) = &mut state.fresh else {
        return (0, total);
    };
    for (record, text, vector) in made {
        fresh.vectors.insert(record, (text, vector));
    }
    (fresh.vectors.len() as u64, total)
}

/// Replaces the old vectors if no new one is missing, and returns their number.
pub(super) fn switch(palace: &mut Palace, name: &str) -> Result<Option<u64>> {
    let seq = palace.seq + 1;
    let state = palace.collection_mut(name)?;
    if !missing(state).is_empty() {
        return Ok(None);
    }
    let Some(fresh) = state.fresh.take() else {
        return Ok(None);
    };
    let mut switched = 0;
    for (record, (_, vector)) in fresh.vectors {
        if let Some(drawer) = state.drawers.get_mut(&record) {
            drawer.embedding = Some(vector);
            drawer.seq = seq;
            switched += 1;
        }
    }
    state.dimension = Some(fresh.identity.dimension);
    state.embedder = Some(fresh.identity);
    state.seq = seq;
    palace.seq = seq;
    Ok(Some(switched))
}

/// Writes, reads, finds and forgets a drawer on a copy of the palace, which is then discarded.
pub(super) fn self_test(palace: &Palace, text: &str, vector: &[f32]) -> SelfTest {
    let mut done = Vec::new();
    let trouble = act(&mut palace.clone(), text, vector, &mut done).err();
    SelfTest { done, trouble }
}

fn act(
    palace: &mut Palace,
    text: &str,
    vector: &[f32],
    done: &mut Vec<SelfTestStep>,
) -> Result<()> {
    palace.create(TRIAL, &CollectionOptions::default());
    let batch = Batch::new([TRIAL])
        .documents([text])
        .embeddings([vector.to_vec()]);
    write::write(palace, TRIAL, &batch, None, Mode::Add)?;
    done.push(SelfTestStep::Write);
    let trial = Selection::ids([TRIAL]);
    let is_there = |palace: &Palace| -> Result<bool> {
        let drawers = palace.collection(TRIAL)?.drawers.values();
        let mut found = drawers.filter(|drawer| drawer.is_in(&trial));
        Ok(found.any(|drawer| drawer.document.as_deref() == Some(text)))
    };
    let is_found = |palace: &Palace| -> Result<bool> {
        let wanted: Vec<String> = crate::words(text).collect();
        let documents = palace.collection(TRIAL)?.drawers.values();
        let mut documents = documents.filter_map(|drawer| drawer.document.as_deref());
        Ok(documents.any(|document| crate::words(document).any(|word| wanted.contains(&word))))
    };
    expect(is_there(palace)?, "a drawer is not read as it was written")?;
    done.push(SelfTestStep::Read);
    expect(is_found(palace)?, "a drawer is not found by its words")?;
    done.push(SelfTestStep::Find);
    ledger::forget(palace, TRIAL, &trial)?;
    let gone = !is_there(palace)? && !is_found(palace)?;
    expect(gone, "a forgotten drawer is still there")?;
    done.push(SelfTestStep::Forget);
    done.push(SelfTestStep::Commit);
    Ok(())
}

fn expect(holds: bool, what: &str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::Internal {
        doing: "running a self-test".into(),
        detail: what.into(),
    })
}

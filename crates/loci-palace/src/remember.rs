//! Adding with a look at what is there already. A text that its wing holds already is not added; the same text in another wing
//! and texts that are nearly the same are told with their similarity.

mod twins;

use std::collections::{HashMap, HashSet};

use loci_core::clock::new_id;
use loci_core::{
    Batch, Collection, DrawerRef, Error, Fact, Get, Kinship, MAX_BATCH_RECORDS,
    MAX_BATCH_TEXT_BYTES, Metadata, MetadataPatch, Outcome, OutcomeKind, Result, Selection,
    Warning, WriteResult, validate_collection_name,
};
use serde::Serialize;

use self::twins::TwinSearch;
use crate::palace::{Memory, Palace};
use crate::secrets::{Tally, mask_fact, mask_metadata, mask_text};

/// Similarity from which a drawer counts as a near duplicate.
pub const NEAR_DUPLICATE: f32 = 0.9;

/// A drawer that holds the same, or nearly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Twin {
    /// Its id.
    pub id: String,
    /// Its collection.
    pub collection: String,
    /// 1.0 for the same text; otherwise cosine of the vectors.
    pub similarity: f32,
    /// Whether the text is the same, byte for byte.
    pub exact: bool,
    /// Its text.
    pub text: String,
    /// Its wing, or empty.
    pub wing: String,
    /// Its room, or empty.
    pub room: String,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DuplicateCheck {
    /// The threshold used for near ones.
    pub threshold: f32,
    /// Most similar first, ten at most.
    pub twins: Vec<Twin>,
    /// What could not be looked at, e.g. near ones without an embedder.
    pub warnings: Vec<Warning>,
}

/// What a text that is about to be added is like.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Drawers that say the same or nearly, most similar first, ten at most.
    pub twins: Vec<Twin>,
    /// What could not be compared.
    pub warnings: Vec<Warning>,
    /// The vector that the collection's embedder made of the text, if it made one.
    pub embedded: Option<Vec<f32>>,
}

/// A drawer to add.
#[derive(Debug, Clone, Default)]
pub struct NewDrawer {
    /// Its id; drawn when absent.
    pub id: Option<String>,
    /// The text, kept word for word.
    pub text: String,
    /// Wing, room, source and whatever else is known.
    pub metadata: Metadata,
    /// What it says, as facts; written in the same transaction, with this drawer as their source.
    pub facts: Vec<Fact>,
}

/// How drawers are added.
#[derive(Debug, Clone)]
pub struct RememberOptions {
    /// The collection.
    pub collection: String,
    /// Similarity from which a drawer counts as near.
    pub threshold: f32,
    /// Leave out what has a near twin in its wing, too; exact twins in the same wing are always left out.
    pub skip_near: bool,
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remembered {
    /// Its id, or that of the twin it was left out for.
    pub id: String,
    /// Added, a duplicate (its wing holds the same text), a near duplicate (left out on request), or
    /// the id is taken.
    pub outcome: OutcomeKind,
    /// Twins that were there before.
    pub twins: Vec<Twin>,
    /// Facts that were written with it.
    pub facts: u64,
}

/// What became of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RememberReport {
    /// One per drawer given, in order.
    pub drawers: Vec<Remembered>,
    /// How many were added.
    pub added: u64,
    /// The threshold used.
    pub threshold: f32,
    /// What should be known.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked in what was given, by kind.
    pub masked: Tally,
}

impl Default for RememberOptions {
    fn default() -> Self {
        Self {
            collection: crate::DEFAULT_COLLECTION.to_owned(),
            threshold: NEAR_DUPLICATE,
            skip_near: false,
        }
    }
}

impl Palace {
    /// Looks for drawers that hold the same text, or nearly. A collection that does not exist holds none.
    ///
    /// Twins are found by their vectors; where a collection has no embedder, or drawers without a vector, by their words.
    pub fn check_duplicate(
        &self,
        collection: &str,
        text: &str,
        threshold: f32,
    ) -> Result<DuplicateCheck> {
        validate_collection_name(collection)?;
        let threshold = valid_threshold(threshold)?;
        let mut check = DuplicateCheck {
            threshold,
            ..DuplicateCheck::default()
        };
        if self.kept(collection)?.is_none() {
            return Ok(check);
        }
        let (memory, warnings) = self.reading(collection)?;
        check.warnings = warnings;
        let compared = self.compared(&memory, text, threshold, None)?;
        check.twins = compared.twins;
        check.warnings.extend(compared.warnings);
        Ok(check)
    }

    /// Compares a text that is about to be added with the drawers of a collection that is open. The
    /// text is embedded once: [`Batch::embedded`] takes the vector along to the write.
    pub fn compare(&self, memory: &Memory, text: &str, threshold: f32) -> Result<Comparison> {
        let threshold = valid_threshold(threshold)?;
        let masked = mask_text(self.secrets(), text, &mut Tally::new());
        let made = embedded(memory, &[masked.as_ref()])?;
        let mut compared = self.compared(memory, text, threshold, made.as_deref())?;
        compared.embedded = made.into_iter().flatten().next();
        Ok(compared)
    }

    fn compared(
        &self,
        memory: &Memory,
        text: &str,
        threshold: f32,
        vectors: Option<&[Vec<f32>]>,
    ) -> Result<Comparison> {
        let mut search = TwinSearch::new(memory, threshold);
        // What is stored is masked, so the text is looked for in that form.
        let text = mask_text(self.secrets(), text, &mut Tally::new());
        let twins = search.of(&[text.as_ref()], vectors)?;
        Ok(Comparison {
            twins: twins.into_iter().next().unwrap_or_default(),
            warnings: search.warnings,
            embedded: None,
        })
    }

    /// Adds drawers, each with its facts, in one transaction, and says what was there already.
    ///
    /// What a wing holds already, byte for byte, is left out, and so is what is given twice for one wing; its facts are
    /// written with the drawer that is there. One call takes 500 drawers and 1 MiB of text; more is refused. A drawer that
    /// comes without an id gets one that follows from wing and text: of two processes that add the same at the same moment,
    /// one adds it.
    pub fn remember(
        &self,
        drawers: &[NewDrawer],
        options: &RememberOptions,
    ) -> Result<RememberReport> {
        validate_collection_name(&options.collection)?;
        let threshold = valid_threshold(options.threshold)?;
        refuse_too_much(drawers)?;
        let mut report = RememberReport {
            threshold,
            ..RememberReport::default()
        };
        if drawers.is_empty() {
            return Ok(report);
        }
        // Masked before ids are derived and texts are compared: both are about what is stored.
        let drawers = &self.masked_drawers(drawers, &mut report.masked);
        let mut ids = ids_of(drawers);
        batch_of(drawers, &ids, &vec![true; drawers.len()]).validate()?;
        let (memory, warnings) = self.memory(&options.collection, true)?;
        // Facts name their drawer in the same transaction, so its id must be known before.
        let with_facts = drawers.iter().any(|drawer| !drawer.facts.is_empty());
        if with_facts {
            replace_taken(drawers, &mut ids, memory.collection.as_ref())?;
        }
        report.warnings = warnings;
        let mut search = TwinSearch::new(&memory, threshold);
        let texts: Vec<&str> = drawers.iter().map(|drawer| drawer.text.as_str()).collect();
        let embedded = embedded(&memory, &texts)?;
        let twins = search.of(&texts, embedded.as_deref())?;
        report.warnings.extend(search.warnings);
        report.drawers = judged(drawers, &ids, twins, options);
        self.write(
            drawers,
            &ids,
            &memory,
            embedded.as_deref(),
            options,
            &mut report,
        )?;
        Ok(report)
    }

    fn masked_drawers(&self, drawers: &[NewDrawer], tally: &mut Tally) -> Vec<NewDrawer> {
        let policy = self.secrets();
        let mut drawers = drawers.to_vec();
        for drawer in &mut drawers {
            policy.apply(&mut drawer.text, tally);
            mask_metadata(policy, &mut drawer.metadata, tally);
            for fact in &mut drawer.facts {
                mask_fact(policy, fact, tally);
            }
        }
        drawers
    }

    /// Writes what was not left out, with the facts of all that is kept.
    fn write(
        &self,
        drawers: &[NewDrawer],
        ids: &[String],
        memory: &Memory,
        embedded: Option<&[Vec<f32>]>,
        options: &RememberOptions,
        report: &mut RememberReport,
    ) -> Result<()> {
        let added: Vec<bool> = report
            .drawers
            .iter()
            .map(|judged| judged.outcome == OutcomeKind::Added)
            .collect();
        let batch = with_vectors(batch_of(drawers, ids, &added), &added, memory, embedded);
        let facts = facts_of(drawers, &mut report.drawers, &options.collection);
        let written = match (batch.ids.is_empty(), facts.is_empty()) {
            (true, true) => WriteResult::default(),
            (true, false) => {
                self.kept_relations()?.add_facts(&facts)?;
                WriteResult::default()
            }
            (false, true) => memory.collection.add(&batch)?,
            (false, false) => memory.collection.add_with(&batch, &facts, &[])?.0,
        };
        report.warnings.extend(written.warnings);
        let mut written = written.outcomes;
        if facts.is_empty() && written.contains(&Outcome::Exists) {
            add_under_new_ids(drawers, ids, &added, memory, embedded, report, &mut written)?;
        }
        let outcomes = report
            .drawers
            .iter_mut()
            .zip(drawers)
            .filter(|(judged, _)| judged.outcome == OutcomeKind::Added)
            .zip(written);
        for ((judged, drawer), outcome) in outcomes {
            judged.outcome = match (&outcome, &drawer.id) {
                // Another process was quicker with the same text.
                (Outcome::Exists, None) => OutcomeKind::Duplicate,
                _ => outcome.kind(),
            };
            match outcome {
                Outcome::Added => report.added += 1,
                Outcome::DuplicateOf(other) => judged.id = other,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Adds what was refused because a drawer of another text or wing has the id that follows from this one.
fn add_under_new_ids(
    drawers: &[NewDrawer],
    ids: &[String],
    added: &[bool],
    memory: &Memory,
    embedded: Option<&[Vec<f32>]>,
    report: &mut RememberReport,
    outcomes: &mut [Outcome],
) -> Result<()> {
    let mut renewed = ids.to_vec();
    replace_taken(drawers, &mut renewed, memory.collection.as_ref())?;
    let chosen: Vec<bool> = renewed
        .iter()
        .zip(ids)
        .zip(added)
        .map(|((new, old), added)| *added && new != old)
        .collect();
    if !chosen.contains(&true) {
        return Ok(());
    }
    let batch = with_vectors(
        batch_of(drawers, &renewed, &chosen),
        &chosen,
        memory,
        embedded,
    );
    let written = memory.collection.add(&batch)?;
    report.warnings.extend(written.warnings);
    let mut written = written.outcomes.into_iter();
    // `outcomes` has an entry for each drawer of the first batch.
    let first = chosen.iter().zip(added).filter(|(_, added)| **added);
    for (outcome, (chosen, _)) in outcomes.iter_mut().zip(first) {
        if *chosen && let Some(new) = written.next() {
            *outcome = new;
        }
    }
    for ((judged, new), chosen) in report.drawers.iter_mut().zip(renewed).zip(chosen) {
        if chosen {
            judged.id = new;
        }
    }
    Ok(())
}

/// The batch with the vectors of its drawers, where they were made already.
fn with_vectors(
    batch: Batch,
    taken: &[bool],
    memory: &Memory,
    embedded: Option<&[Vec<f32>]>,
) -> Batch {
    let (Some(vectors), Some(embedder)) = (embedded, &memory.embedder) else {
        return batch;
    };
    let vectors = vectors.iter().zip(taken).filter(|(_, taken)| **taken);
    let vectors = vectors.map(|(vector, _)| vector.clone());
    batch.embedded(embedder.identity(), vectors.collect())
}

/// The vectors that the drawers will have, made once for the search and for the write. Nothing where
/// the embedder only stands in for the one that made the collection's vectors.
fn embedded(memory: &Memory, texts: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
    let Some(embedder) = &memory.embedder else {
        return Ok(None);
    };
    let pinned = memory.collection.info().embedder.as_ref();
    if pinned.is_some_and(|pinned| embedder.kinship(pinned) != Kinship::Same) {
        return Ok(None);
    }
    embedder.embed(texts).map(Some)
}

/// The id that was given, else one that follows from wing and text; of a text that is given twice, a new one.
fn ids_of(drawers: &[NewDrawer]) -> Vec<String> {
    let mut taken = HashSet::new();
    let ids = drawers.iter().map(|drawer| {
        let id = drawer.id.clone().unwrap_or_else(|| derived_id(drawer));
        if drawer.id.is_some() || taken.insert(id.clone()) {
            id
        } else {
            new_id()
        }
    });
    ids.collect()
}

fn derived_id(drawer: &NewDrawer) -> String {
    let wing = wing_of(&drawer.metadata);
    let named = format!("{} {wing}{}", wing.len(), drawer.text);
    let bytes = xxhash_rust::xxh3::xxh3_128(named.as_bytes()).to_be_bytes();
    uuid::Builder::from_custom_bytes(bytes)
        .into_uuid()
        .to_string()
}

/// A drawer that was changed or moved since keeps the id that followed from its first text and wing: who brings those again gets
/// a new one.
fn replace_taken(
    drawers: &[NewDrawer],
    ids: &mut [String],
    collection: &dyn Collection,
) -> Result<()> {
    let derived: Vec<String> = drawers
        .iter()
        .zip(ids.iter())
        .filter(|(drawer, _)| drawer.id.is_none())
        .map(|(_, id)| id.clone())
        .collect();
    if derived.is_empty() {
        return Ok(());
    }
    let there = collection.get(&Get::new(Selection::ids(derived)))?;
    let places = there.metadatas.iter().map(wing_of);
    let texts = there.documents.iter().map(String::as_str);
    let there: HashMap<&str, (&str, &str)> = there
        .ids
        .iter()
        .map(String::as_str)
        .zip(places.zip(texts))
        .collect();
    for (drawer, id) in drawers.iter().zip(ids) {
        let given = (wing_of(&drawer.metadata), drawer.text.as_str());
        let is_other = there.get(id.as_str()).is_some_and(|kept| *kept != given);
        if drawer.id.is_none() && is_other {
            *id = new_id();
        }
    }
    Ok(())
}

/// What becomes of each, before anything is written.
fn judged(
    drawers: &[NewDrawer],
    ids: &[String],
    twins: Vec<Vec<Twin>>,
    options: &RememberOptions,
) -> Vec<Remembered> {
    let mut given: HashMap<(&str, &str), String> = HashMap::new();
    let mut all = Vec::with_capacity(drawers.len());
    for ((drawer, id), twins) in drawers.iter().zip(ids).zip(twins) {
        let wing = wing_of(&drawer.metadata);
        let same_wing = |twin: &&Twin| twin.wing == wing;
        let exact = twins.iter().filter(same_wing).find(|twin| twin.exact);
        let near = twins.iter().find(same_wing).filter(|_| options.skip_near);
        let before = given.get(&(wing, drawer.text.as_str())).cloned();
        let (outcome, id) = match (exact, before, near) {
            (Some(twin), ..) => (OutcomeKind::Duplicate, twin.id.clone()),
            (None, Some(first), _) => (OutcomeKind::Duplicate, first),
            (None, None, Some(twin)) => (OutcomeKind::NearDuplicate, twin.id.clone()),
            (None, None, None) => (OutcomeKind::Added, id.clone()),
        };
        if outcome == OutcomeKind::Added {
            given.insert((wing, &drawer.text), id.clone());
        }
        all.push(Remembered {
            id,
            outcome,
            twins,
            facts: 0,
        });
    }
    all
}

/// The facts of all drawers that are kept, each with its drawer as source.
fn facts_of(drawers: &[NewDrawer], judged: &mut [Remembered], collection: &str) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (drawer, judged) in drawers.iter().zip(judged) {
        if judged.outcome == OutcomeKind::NearDuplicate {
            continue;
        }
        judged.facts = drawer.facts.len() as u64;
        facts.extend(drawer.facts.iter().map(|fact| Fact {
            source: Some(DrawerRef {
                collection: collection.to_owned(),
                id: judged.id.clone(),
            }),
            ..fact.clone()
        }));
    }
    facts
}

fn batch_of(drawers: &[NewDrawer], ids: &[String], taken: &[bool]) -> Batch {
    let chosen = || {
        let all = drawers.iter().zip(ids).zip(taken);
        all.filter(|(_, taken)| **taken).map(|(drawer, _)| drawer)
    };
    Batch::new(chosen().map(|(_, id)| id.clone()))
        .documents(chosen().map(|(drawer, _)| drawer.text.clone()))
        .metadatas(chosen().map(|(drawer, _)| patch_of(&drawer.metadata)))
}

fn patch_of(metadata: &Metadata) -> MetadataPatch {
    let values = metadata.0.iter();
    MetadataPatch(
        values
            .map(|(key, value)| (key.clone(), Some(value.clone())))
            .collect(),
    )
}

fn wing_of(metadata: &Metadata) -> &str {
    metadata.get_str("wing").unwrap_or_default()
}

fn valid_threshold(threshold: f32) -> Result<f32> {
    if (0.0..=1.0).contains(&threshold) {
        return Ok(threshold);
    }
    Err(Error::invalid(
        format!("threshold {threshold}"),
        "is not a number from 0 to 1",
    ))
}

fn refuse_too_much(drawers: &[NewDrawer]) -> Result<()> {
    if drawers.len() > MAX_BATCH_RECORDS {
        return Err(Error::invalid(
            "drawers",
            format!(
                "{} in one call; {MAX_BATCH_RECORDS} are the most, split them",
                drawers.len()
            ),
        ));
    }
    let bytes: usize = drawers.iter().map(|drawer| drawer.text.len()).sum();
    if bytes > MAX_BATCH_TEXT_BYTES {
        return Err(Error::invalid(
            "drawers",
            format!(
                "{bytes} bytes of text in one call; {MAX_BATCH_TEXT_BYTES} are the most, split them"
            ),
        ));
    }
    if drawers.iter().any(|drawer| drawer.text.trim().is_empty()) {
        return Err(Error::invalid(
            "text",
            "is empty; a drawer holds at least one word",
        ));
    }
    Ok(())
}

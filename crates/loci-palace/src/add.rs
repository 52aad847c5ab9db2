//! The verb `add`: adds drawers with their facts, and reports duplicates.
//!
//! One policy about duplicates applies to all callers: a text that its wing already holds is not
//! added, unless the request says otherwise. The same text in another wing and nearly identical
//! texts are reported with their similarity.

mod similar;

use std::collections::{HashMap, HashSet};

use loci_core::clock::new_id;
use loci_core::{
    Batch, Collection, Compatibility, DrawerRef, Error, Fact, Get, MAX_BATCH_RECORDS,
    MAX_BATCH_TEXT_BYTES, Metadata, MetadataPatch, Outcome, OutcomeKind, Result, Selection,
    Warning, WriteResult, validate_collection_name,
};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::similar::{Candidate, Compared, SimilarSearch};
use self::similar::{Found, Target};
use crate::detail::{Detail, Flag, estimate, flags_of};
use crate::palace::{DEFAULT_COLLECTION, Memory, Palace};
use crate::pin::{self, is_pinned};
use crate::secrets::{Tally, mask_fact, mask_metadata, merge};

/// Similarity from which a drawer counts as a near duplicate.
pub const NEAR_DUPLICATE: f32 = 0.9;

/// Up to this many drawers, a brief answer describes similar drawers. For more, it names only the
/// most similar one of each.
const DESCRIBED: usize = 20;

/// What to do with a text that its wing already holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// The same text in the same wing is not added. The answer names the drawer that holds it.
    #[default]
    Skip,
    /// Like `Skip`, and a text with a near duplicate in the wing is not added either.
    SkipNear,
    /// Everything is added without a comparison, except a text that the same source already holds.
    Add,
}

/// A drawer to add.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawer {
    /// Its id; a missing one is generated.
    pub id: Option<String>,
    /// The text, stored word for word. A drawer without text needs a vector.
    pub text: Option<String>,
    /// Wing, room, source and other keys.
    pub metadata: Metadata,
    /// Its vector; a missing one is computed from the text.
    pub vector: Option<Vec<f32>>,
    /// Facts that it states. They are written in the same transaction, with this drawer as source.
    pub facts: Vec<Fact>,
}

/// The request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The collection; created if it is missing.
    pub collection: String,
    /// The drawers: at most 500, with at most 1 MiB of text.
    pub drawers: Vec<Drawer>,
    /// Similarity from which a drawer counts as a near duplicate, from 0 to 1.
    pub threshold: f32,
    /// What to do with a text that its wing already holds.
    pub duplicates: Duplicates,
    /// Level of detail of the answer.
    pub detail: Detail,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            collection: DEFAULT_COLLECTION.to_owned(),
            drawers: Vec::new(),
            threshold: NEAR_DUPLICATE,
            duplicates: Duplicates::Skip,
            detail: Detail::Full,
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// How many drawers were added.
    pub added: u64,
    /// One entry for each drawer of the request, in order.
    pub drawers: Vec<Added>,
    /// The collection.
    pub collection: String,
    /// The threshold that was used.
    pub threshold: f32,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
    /// The drawer of a request with one drawer. Its members are also members of a full answer.
    #[serde(flatten)]
    pub only: Option<Added>,
}

/// The outcome for one drawer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Added {
    /// Its id, or the id of the drawer that it duplicates.
    pub id: String,
    /// Added, a duplicate, a near duplicate (left out on request), or its id exists already.
    pub outcome: OutcomeKind,
    /// The drawer that it duplicates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// Number of facts that were written with it.
    pub facts: u64,
    /// Existing drawers with the same or nearly the same text; most similar first, at most ten.
    #[serde(rename = "twins")]
    pub similar: Vec<Similar>,
}

/// A drawer with the same or nearly the same text.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Similar {
    /// Its id.
    pub id: String,
    /// 1 for the same text; otherwise the cosine of the vectors.
    pub similarity: f32,
    /// Whether the text is the same, byte for byte.
    pub exact: bool,
    /// Its collection. A brief answer about many drawers omits this and the following fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its wing, or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wing: Option<String>,
    /// Its room, or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// Flags of its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

impl Similar {
    pub(crate) fn new(candidate: Candidate, collection: &str, detail: Detail) -> Self {
        Self {
            id: candidate.id,
            similarity: estimate(candidate.similarity, detail),
            exact: candidate.exact,
            collection: Some(collection.to_owned()),
            flags: flags_of(&candidate.text),
            text: Some(candidate.text),
            wing: Some(candidate.wing),
            room: Some(candidate.room),
        }
    }
}

impl Request {
    /// Checks everything that can be checked without opening the palace.
    pub fn validate(&self) -> Result<()> {
        validate_collection_name(&self.collection)?;
        valid_threshold(self.threshold)?;
        refuse_too_much(&self.drawers)?;
        let ids = ids_of(&self.drawers, self.duplicates);
        batch_of(&self.drawers, &ids, &vec![true; self.drawers.len()]).validate()
    }
}

impl Answer {
    /// Appends the answer about further drawers.
    pub fn append(&mut self, part: Self, detail: Detail) {
        self.added += part.added;
        self.drawers.extend(part.drawers);
        self.collection = part.collection;
        self.threshold = part.threshold;
        merge(&mut self.masked, &part.masked);
        for warning in part.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self.fit(detail);
    }

    /// Removes the fields that a brief answer omits. In a full answer about one drawer, fills in
    /// `only`.
    fn fit(&mut self, detail: Detail) {
        self.only = match (detail, self.drawers.as_slice()) {
            (Detail::Full, [only]) => Some(only.clone()),
            _ => None,
        };
        if detail == Detail::Brief && self.drawers.len() > DESCRIBED {
            for drawer in &mut self.drawers {
                drawer.similar.truncate(1);
                for similar in &mut drawer.similar {
                    (similar.collection, similar.text) = (None, None);
                    (similar.wing, similar.room) = (None, None);
                    similar.flags.clear();
                }
            }
        }
    }
}

impl Palace {
    /// Adds drawers, each with its facts, in one transaction, and reports duplicates.
    ///
    /// Facts of a duplicate are written with the existing drawer as source, and it gets the pin that
    /// the duplicate was to have. A drawer without an id
    /// gets an id derived from wing and text, so that only one of two processes that add the same
    /// text at the same time succeeds. If the search for similar drawers fails, a warning says so.
    pub fn add(&self, request: &Request) -> Result<Answer> {
        request.validate()?;
        let mut answer = Answer {
            collection: request.collection.clone(),
            threshold: estimate(request.threshold, request.detail),
            ..Answer::default()
        };
        if request.drawers.is_empty() {
            return Ok(answer);
        }
        // Secrets are masked before ids are derived and texts are compared, because both refer to
        // the stored text.
        let drawers = &self.masked_drawers(&request.drawers, &mut answer.masked);
        let mut ids = ids_of(drawers, request.duplicates);
        let (memory, about_embedder) = self.memory(&request.collection, true)?;
        refuse_misfits(drawers, &memory)?;
        // Facts name their drawer in the same transaction, so its id must be known beforehand.
        let with_facts = drawers.iter().any(|drawer| !drawer.facts.is_empty());
        if with_facts {
            replace_taken(drawers, &mut ids, memory.collection.as_ref())?;
        }
        let (similar, embedded) = match request.duplicates {
            Duplicates::Add => (vec![Found::default(); drawers.len()], None),
            Duplicates::Skip | Duplicates::SkipNear => {
                compared(drawers, &memory, request, &mut answer.warnings)
            }
        };
        answer.drawers = judged(drawers, &ids, similar, request);
        self.write(
            drawers,
            &ids,
            &memory,
            embedded.as_deref(),
            request,
            &mut answer,
        )?;
        self.pin_duplicates(drawers, &answer)?;
        // The embedder is needed only if a text needs a vector.
        let needs_vector = |drawer: &Drawer| drawer.text.is_some() && drawer.vector.is_none();
        if drawers.iter().any(needs_vector) {
            answer.warnings.extend(about_embedder);
        }
        answer.fit(request.detail);
        Ok(answer)
    }

    /// Pins the drawers that hold the texts which were to be added with a pin.
    fn pin_duplicates(&self, drawers: &[Drawer], answer: &Answer) -> Result<()> {
        let pairs = drawers.iter().zip(&answer.drawers);
        let held = pairs.filter(|(drawer, added)| {
            is_pinned(&drawer.metadata) && added.outcome == OutcomeKind::Duplicate
        });
        let ids: Vec<String> = held.map(|(_, added)| added.id.clone()).collect();
        if !ids.is_empty() {
            self.pin(&pin::Request {
                ids,
                off: false,
                collection: Some(answer.collection.clone()),
            })?;
        }
        Ok(())
    }

    fn masked_drawers(&self, drawers: &[Drawer], tally: &mut Tally) -> Vec<Drawer> {
        let policy = self.secrets();
        let mut drawers = drawers.to_vec();
        for drawer in &mut drawers {
            if let Some(text) = &mut drawer.text {
                policy.apply(text, tally);
            }
            mask_metadata(policy, &mut drawer.metadata, tally);
            for fact in &mut drawer.facts {
                mask_fact(policy, fact, tally);
            }
        }
        drawers
    }

    /// Writes the drawers that are not duplicates, and the facts of all drawers.
    fn write(
        &self,
        drawers: &[Drawer],
        ids: &[String],
        memory: &Memory,
        embedded: Option<&[Vec<f32>]>,
        request: &Request,
        answer: &mut Answer,
    ) -> Result<()> {
        let added: Vec<bool> = answer
            .drawers
            .iter()
            .map(|judged| judged.outcome == OutcomeKind::Added)
            .collect();
        let batch = with_vectors(batch_of(drawers, ids, &added), &added, memory, embedded);
        let facts = facts_of(drawers, &mut answer.drawers, &request.collection);
        let written = match (batch.ids.is_empty(), facts.is_empty()) {
            (true, true) => WriteResult::default(),
            (true, false) => {
                self.kept_relations()?.add_facts(&facts)?;
                WriteResult::default()
            }
            (false, true) => memory.collection.add(&batch)?,
            (false, false) => memory.collection.add_with(&batch, &facts, &[])?.0,
        };
        answer.warnings.extend(written.warnings);
        let mut written = written.outcomes;
        if facts.is_empty() && written.contains(&Outcome::Exists) {
            add_under_new_ids(drawers, ids, &added, memory, embedded, answer, &mut written)?;
        }
        let outcomes = answer
            .drawers
            .iter_mut()
            .zip(drawers)
            .filter(|(judged, _)| judged.outcome == OutcomeKind::Added)
            .zip(written);
        for ((judged, drawer), outcome) in outcomes {
            judged.outcome = match (&outcome, &drawer.id) {
                // Another process added the same text first.
                (Outcome::Exists, None) => OutcomeKind::Duplicate,
                _ => outcome.kind(),
            };
            match outcome {
                Outcome::Added => answer.added += 1,
                Outcome::DuplicateOf(other) => judged.id = other,
                _ => {}
            }
            if judged.outcome == OutcomeKind::Duplicate {
                judged.duplicate_of = Some(judged.id.clone());
            }
        }
        recognise_same(drawers, memory.collection.as_ref(), &mut answer.drawers)
    }
}

/// Marks drawers whose id exists as duplicates if the existing one has the same text and wing. Of the
/// others nothing was stored.
fn recognise_same(
    drawers: &[Drawer],
    collection: &dyn Collection,
    judged: &mut [Added],
) -> Result<()> {
    let existing: Vec<String> = judged
        .iter()
        .filter(|judged| judged.outcome == OutcomeKind::Exists)
        .map(|judged| judged.id.clone())
        .collect();
    if existing.is_empty() {
        return Ok(());
    }
    let there = places_of(collection, existing)?;
    for (drawer, judged) in drawers.iter().zip(judged) {
        let new = (wing_of(&drawer.metadata), drawer.text.as_deref());
        let same = there
            .get(&judged.id)
            .is_some_and(|(wing, text)| new == (wing.as_str(), Some(text.as_str())));
        if judged.outcome == OutcomeKind::Exists && same {
            judged.outcome = OutcomeKind::Duplicate;
            judged.duplicate_of = Some(judged.id.clone());
        }
    }
    Ok(())
}

/// Wing and text of stored drawers, by id.
fn places_of(
    collection: &dyn Collection,
    ids: Vec<String>,
) -> Result<HashMap<String, (String, String)>> {
    let there = collection.get(&Get::new(Selection::ids(ids)))?;
    let places = there.metadatas.iter().map(|of| wing_of(of).to_owned());
    Ok(there
        .ids
        .into_iter()
        .zip(places.zip(there.documents))
        .collect())
}

/// Adds drawers whose derived id belongs to a drawer with another text or wing, under new ids.
fn add_under_new_ids(
    drawers: &[Drawer],
    ids: &[String],
    added: &[bool],
    memory: &Memory,
    embedded: Option<&[Vec<f32>]>,
    answer: &mut Answer,
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
    answer.warnings.extend(written.warnings);
    let mut written = written.outcomes.into_iter();
    // `outcomes` has an entry for each drawer of the first batch.
    let first = chosen.iter().zip(added).filter(|(_, added)| **added);
    for (outcome, (chosen, _)) in outcomes.iter_mut().zip(first) {
        if *chosen && let Some(new) = written.next() {
            *outcome = new;
        }
    }
    for ((judged, new), chosen) in answer.drawers.iter_mut().zip(renewed).zip(chosen) {
        if chosen {
            judged.id = new;
        }
    }
    Ok(())
}

/// The batch with the vectors of its drawers, if they are already computed.
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

/// The similar drawers of each drawer, and the vectors of all texts, which are computed once for
/// the search and the write. If the search for similar drawers fails, adding continues.
fn compared(
    drawers: &[Drawer],
    memory: &Memory,
    request: &Request,
    warnings: &mut Vec<Warning>,
) -> (Vec<Found>, Option<Vec<Vec<f32>>>) {
    let with_text = drawers.iter().filter_map(|drawer| {
        let target = Target {
            wing: wing_of(&drawer.metadata),
            id: drawer.id.as_deref(),
        };
        let text = drawer.text.as_deref()?;
        Some(Compared {
            text,
            target: Some(target),
        })
    });
    let compared: Vec<Compared<'_>> = with_text.collect();
    let texts: Vec<&str> = compared.iter().map(|compared| compared.text).collect();
    let mut search = SimilarSearch::new(memory, request.threshold);
    if request.duplicates == Duplicates::SkipNear {
        search = search.with_near_duplicates();
    }
    let looked = embedded(memory, &texts).and_then(|vectors| {
        let similar = search.of(&compared, vectors.as_deref())?;
        Ok((similar, vectors))
    });
    warnings.append(&mut search.warnings);
    let (similar, vectors) = looked.unwrap_or_else(|error| {
        warnings.push(Warning::DuplicatesUnknown {
            problem: error.to_string(),
        });
        (vec![Found::default(); texts.len()], None)
    });
    let mut similar = similar.into_iter();
    let of_drawer = |drawer: &Drawer| {
        let with_text = drawer.text.is_some();
        let found = with_text.then(|| similar.next()).flatten();
        found.unwrap_or_default()
    };
    // A batch takes the vectors of all its records, or none.
    let vectors = vectors.filter(|vectors| vectors.len() == drawers.len());
    (drawers.iter().map(of_drawer).collect(), vectors)
}

/// The vectors of texts. `None` if the embedder only replaces the one that made the collection's
/// vectors.
pub(crate) fn embedded(memory: &Memory, texts: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
    let Some(embedder) = &memory.embedder else {
        return Ok(None);
    };
    let pinned = memory.collection.info().embedder.as_ref();
    if pinned.is_some_and(|pinned| embedder.compatibility(pinned) != Compatibility::Same) {
        return Ok(None);
    }
    embedder.embed(texts).map(Some)
}

/// The id of each drawer: from the request, else derived from wing and text, else generated.
fn ids_of(drawers: &[Drawer], duplicates: Duplicates) -> Vec<String> {
    let mut taken = HashSet::new();
    let ids = drawers
        .iter()
        .map(|drawer| match (&drawer.id, &drawer.text) {
            (Some(id), _) => id.clone(),
            (None, Some(text)) if duplicates != Duplicates::Add => {
                let id = derived_id(wing_of(&drawer.metadata), text);
                if taken.insert(id.clone()) {
                    id
                } else {
                    new_id()
                }
            }
            (None, _) => new_id(),
        });
    ids.collect()
}

fn derived_id(wing: &str, text: &str) -> String {
    let named = format!("{} {wing}{text}", wing.len());
    let bytes = xxhash_rust::xxh3::xxh3_128(named.as_bytes()).to_be_bytes();
    uuid::Builder::from_custom_bytes(bytes)
        .into_uuid()
        .to_string()
}

/// Replaces derived ids that belong to another text or wing. A drawer that was changed or moved
/// keeps the id derived from its first text and wing. If that text is added again, it gets a new
/// id.
fn replace_taken(
    drawers: &[Drawer],
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
    let there = places_of(collection, derived)?;
    for (drawer, id) in drawers.iter().zip(ids) {
        let new = (
            wing_of(&drawer.metadata),
            drawer.text.as_deref().unwrap_or_default(),
        );
        let is_other = there
            .get(id.as_str())
            .is_some_and(|(wing, text)| (wing.as_str(), text.as_str()) != new);
        if drawer.id.is_none() && is_other {
            *id = new_id();
        }
    }
    Ok(())
}

/// The outcome of each drawer, decided before anything is written.
fn judged(drawers: &[Drawer], ids: &[String], found: Vec<Found>, request: &Request) -> Vec<Added> {
    let skip_near = request.duplicates == Duplicates::SkipNear;
    let mut earlier: HashMap<(&str, &str), String> = HashMap::new();
    let mut all = Vec::with_capacity(drawers.len());
    for ((drawer, id), found) in drawers.iter().zip(ids).zip(found) {
        let wing = wing_of(&drawer.metadata);
        // A drawer with the same id is not a duplicate: the write reports that the id exists.
        let exact = found.in_wing.as_ref().filter(|other| other.exact);
        let near = found.in_wing.as_ref().filter(|_| skip_near);
        let key = drawer.text.as_deref().map(|text| (wing, text));
        let key = key.filter(|_| request.duplicates != Duplicates::Add);
        let before = key.and_then(|key| earlier.get(&key).cloned());
        let (outcome, id) = match (exact, before, near) {
            (Some(other), ..) => (OutcomeKind::Duplicate, other.id.clone()),
            (None, Some(first), _) => (OutcomeKind::Duplicate, first),
            (None, None, Some(other)) => (OutcomeKind::NearDuplicate, other.id.clone()),
            (None, None, None) => (OutcomeKind::Added, id.clone()),
        };
        if let (OutcomeKind::Added, Some(key)) = (outcome, key) {
            earlier.insert(key, id.clone());
        }
        let collection = &request.collection;
        let similar = found
            .similar
            .into_iter()
            .map(|other| Similar::new(other, collection, request.detail));
        all.push(Added {
            duplicate_of: (outcome != OutcomeKind::Added).then(|| id.clone()),
            id,
            outcome,
            similar: similar.collect(),
            facts: 0,
        });
    }
    all
}

/// The facts of all drawers, each with its drawer as source.
fn facts_of(drawers: &[Drawer], judged: &mut [Added], collection: &str) -> Vec<Fact> {
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

fn batch_of(drawers: &[Drawer], ids: &[String], taken: &[bool]) -> Batch {
    let all = drawers.iter().zip(ids).zip(taken);
    let chosen: Vec<(&Drawer, &String)> = all
        .filter(|(_, taken)| **taken)
        .map(|(drawer, _)| drawer)
        .collect();
    let mut batch = Batch::new(chosen.iter().map(|(_, id)| (*id).clone())).metadatas(
        chosen
            .iter()
            .map(|(drawer, _)| MetadataPatch::from(drawer.metadata.clone())),
    );
    if chosen.iter().any(|(drawer, _)| drawer.text.is_some()) {
        batch.documents = Some(
            chosen
                .iter()
                .map(|(drawer, _)| drawer.text.clone())
                .collect(),
        );
    }
    if chosen.iter().any(|(drawer, _)| drawer.vector.is_some()) {
        batch.embeddings = Some(
            chosen
                .iter()
                .map(|(drawer, _)| drawer.vector.clone())
                .collect(),
        );
    }
    batch
}

pub(crate) fn wing_of(metadata: &Metadata) -> &str {
    metadata.get_str("wing").unwrap_or_default()
}

pub(crate) fn valid_threshold(threshold: f32) -> Result<f32> {
    if (0.0..=1.0).contains(&threshold) {
        return Ok(threshold);
    }
    Err(Error::invalid(
        format!("threshold {threshold}"),
        "not a number from 0 to 1",
    ))
}

/// Refuses vectors that do not fit the collection, even those of duplicates: whether a call is
/// valid must not depend on the stored drawers.
fn refuse_misfits(drawers: &[Drawer], memory: &Memory) -> Result<()> {
    let Some(expected) = memory.collection.info().dimension else {
        return Ok(());
    };
    let mut lengths = drawers
        .iter()
        .flat_map(|drawer| &drawer.vector)
        .map(Vec::len);
    match lengths.find(|length| *length != expected) {
        None => Ok(()),
        Some(got) => Err(Error::DimensionMismatch {
            collection: memory.collection.name().to_owned(),
            expected,
            got,
        }),
    }
}

fn refuse_too_much(drawers: &[Drawer]) -> Result<()> {
    if drawers.len() > MAX_BATCH_RECORDS {
        return Err(Error::invalid(
            "drawers",
            format!(
                "{} in one call; the maximum is {MAX_BATCH_RECORDS}, split them",
                drawers.len()
            ),
        ));
    }
    let bytes: usize = drawers
        .iter()
        .flat_map(|drawer| &drawer.text)
        .map(String::len)
        .sum();
    if bytes > MAX_BATCH_TEXT_BYTES {
        return Err(Error::invalid(
            "drawers",
            format!(
                "{bytes} bytes of text in one call; the maximum is {MAX_BATCH_TEXT_BYTES}, split them"
            ),
        ));
    }
    let is_empty = |drawer: &Drawer| {
        drawer
            .text
            .as_ref()
            .is_some_and(|text| text.trim().is_empty())
    };
    if drawers.iter().any(is_empty) {
        return Err(Error::invalid(
            "text",
            "empty; a drawer holds at least one word",
        ));
    }
    Ok(())
}

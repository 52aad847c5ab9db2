//! Explains why a drawer is not among the hits: the stage that dropped it, and what would include
//! it.
//!
//! Causes and remedies are data. Each front end has its own text for them, such as a flag for a
//! terminal or an argument of a tool for an agent.

use loci_core::{Collection, Embedder, Filter, Get, Include, Result, Selection};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Request;
use crate::evidence::{Findings, Judge, MAX_DEPTH};
use crate::rank::{Ranked, depth_for};
use crate::score::Parts;
use crate::search::{MAX_HITS, Run, search};

/// The stage that dropped a drawer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// There is no such drawer.
    Unknown,
    /// It is a hit.
    Found,
    /// The filter excludes it.
    Filter,
    /// No arm named it among the candidates.
    Arms,
    /// It is farther than the search allows, and contains no word of the question.
    MaxDistance,
    /// Others have a higher score.
    Fusion,
    /// Another hit has the same text.
    Same,
    /// Another hit has the same source, and the request allows one hit per source.
    Source,
    /// It did not fit the budget.
    Budget,
    /// It probably does not answer the question.
    Probability,
}

/// A condition of a search that excludes a drawer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "condition", rename_all = "snake_case")]
pub enum Condition {
    /// Its wing.
    Wing,
    /// Its room.
    Room,
    /// Its source.
    Source,
    /// One key of its metadata.
    Key {
        /// The key.
        key: String,
    },
    /// A condition on several keys of its metadata.
    Metadata,
    /// A condition on its text.
    Text,
    /// The start of a period.
    Since,
    /// The end of a period.
    Before,
    /// A period with a start and an end.
    Period,
    /// A list of ids.
    Ids,
}

/// Why a drawer is not among the hits, or that it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Cause {
    /// The collection has no such drawer.
    NoSuchDrawer {
        /// The collection.
        collection: String,
    },
    /// It is a hit.
    IsHit {
        /// Its place, from 1.
        place: usize,
    },
    /// Conditions of the search exclude it.
    Excluded {
        /// All excluding conditions.
        conditions: Vec<Condition>,
    },
    /// It contains no word of the question, and only words were searched.
    NoWord,
    /// It contains no word of the question, and has no vector that can be compared.
    NoWordAndNoVector,
    /// It contains no word of the question, and is farther than the search allows.
    TooFar,
    /// Both arms found better candidates.
    NotACandidate {
        /// Number of candidates from each arm.
        depth: usize,
    },
    /// Another hit has the same text and represents both.
    SameText {
        /// The other hit.
        hit: String,
    },
    /// A better hit of the same source is shown instead.
    SameSource,
    /// It does not fit the budget.
    OverBudget {
        /// Its rank after fusion, from 1.
        rank: usize,
    },
    /// It probably does not answer the question, so it is left out.
    Improbable {
        /// Its rank after fusion, from 1.
        rank: usize,
    },
    /// Others have a higher score.
    Outranked {
        /// Its rank after fusion, from 1.
        rank: usize,
        /// Number of ranked drawers.
        ranked: usize,
    },
}

/// A change that would include a drawer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Remedy {
    /// Search without this condition.
    DropCondition {
        /// The condition.
        #[serde(flatten)]
        condition: Condition,
    },
    /// Use words that it contains.
    UseItsWords,
    /// Give it a vector.
    EmbedIt,
    /// Allow a greater distance, or any.
    AllowDistance,
    /// Ask for this many hits.
    MoreHits {
        /// The number that includes it, verified by a search.
        k: usize,
    },
    /// No number of hits includes it.
    NoNumberOfHits {
        /// The maximum number of hits.
        most: usize,
    },
    /// Allow several hits of one source.
    AllowSameSource,
    /// Raise the budget, or search without one.
    RaiseBudget,
    /// Allow improbable hits.
    AllowImprobable,
    /// Read the drawer by itself.
    ReadDrawer,
    /// Its words match less than those of the last hit: use words that it contains.
    WordsFitLess,
    /// Its source matches less: name the topic of the source, or search within the source.
    SourceFitsLess,
    /// Its meaning matches less: phrase the question closer to its text.
    MeaningFitsLess,
    /// Name its speaker.
    NameSpeaker,
    /// Name its date.
    NameDate,
}

/// The path of one drawer through a search.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhyNot {
    /// The drawer.
    pub id: String,
    /// The stage that dropped it.
    pub stage: Stage,
    /// The cause.
    pub cause: Cause,
    /// The changes that would include it.
    pub remedies: Vec<Remedy>,
    /// Its rank after fusion, if it got that far.
    pub rank: Option<usize>,
    /// Its rank in the lexical arm, up to 10,000.
    pub lexical_rank: Option<usize>,
    /// Its rank in the semantic arm, up to 10,000.
    pub semantic_rank: Option<usize>,
    /// Its distance to the question.
    pub distance: Option<f32>,
    /// The parts of its score, if it got that far.
    pub parts: Option<Parts>,
    /// The parts of the last hit's score.
    pub last_hit: Option<Parts>,
}

/// Follows a drawer through a search.
pub fn why_not(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
    id: &str,
) -> Result<WhyNot> {
    let answer = |stage, cause, remedies| WhyNot {
        id: id.to_owned(),
        stage,
        cause,
        remedies,
        rank: None,
        lexical_rank: None,
        semantic_rank: None,
        distance: None,
        parts: None,
        last_hit: None,
    };
    if !exists(collection, &Selection::ids([id]))? {
        let collection = collection.name().to_owned();
        let cause = Cause::NoSuchDrawer { collection };
        return Ok(answer(Stage::Unknown, cause, Vec::new()));
    }
    let conditions = excluding(collection, &request.selection, id)?;
    if !conditions.is_empty() {
        let remedies = conditions
            .iter()
            .map(|condition| Remedy::DropCondition {
                condition: condition.clone(),
            })
            .collect();
        let cause = Cause::Excluded { conditions };
        return Ok(answer(Stage::Filter, cause, remedies));
    }
    let mut run = Run::new(collection, embedder, request)?;
    let Some(record) = record_of(collection, &mut run, request, id)? else {
        let mut remedies = vec![Remedy::UseItsWords];
        let cause = if run.is_by_meaning() {
            remedies.push(Remedy::EmbedIt);
            Cause::NoWordAndNoVector
        } else {
            Cause::NoWord
        };
        return Ok(answer(Stage::Arms, cause, remedies));
    };
    let mut answer = answer(Stage::MaxDistance, Cause::TooFar, Vec::new());
    follow(collection, embedder, request, &mut run, record, &mut answer)?;
    Ok(answer)
}

fn follow(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
    run: &mut Run<'_>,
    record: u64,
    answer: &mut WhyNot,
) -> Result<()> {
    let deep = run.criteria(request, MAX_DEPTH);
    let (ranker, _) = run.recall(collection, request, &deep, 0)?;
    let of = |ranked: &[Ranked]| ranked.iter().position(|ranked| ranked.record == record);
    if let Some(ranked) = of(&ranker.ranked).and_then(|at| ranker.ranked.get(at)) {
        answer.lexical_rank = ranked.lexical_rank;
        answer.semantic_rank = ranked.semantic_rank;
        answer.distance = ranked.distance;
        answer.parts = Some(ranked.parts);
    } else {
        answer.remedies = vec![Remedy::AllowDistance];
        let near = Request {
            max_distance: None,
            ..request.clone()
        };
        let open = run.criteria(&near, MAX_DEPTH);
        let (ranker, _) = run.recall(collection, &near, &open, 0)?;
        let ranked = of(&ranker.ranked).and_then(|at| ranker.ranked.get(at));
        answer.distance = ranked.and_then(|ranked| ranked.distance);
        answer.semantic_rank = ranked.and_then(|ranked| ranked.semantic_rank);
        return Ok(());
    }
    let usual = run.criteria(request, depth_for(request.k));
    let (ranker, _) = run.recall(collection, request, &usual, 0)?;
    let Some(at) = of(&ranker.ranked) else {
        answer.stage = Stage::Arms;
        answer.cause = Cause::NotACandidate { depth: usual.depth };
        answer.remedies = more_hits(collection, embedder, request, record)?;
        answer.remedies.push(Remedy::UseItsWords);
        return Ok(());
    };
    answer.rank = Some(at + 1);
    // The score that gave it this rank. A deeper search compares its tokens, too.
    answer.parts = ranker.ranked.get(at).map(|ranked| ranked.parts);
    answer.last_hit = ranker.ranked.get(request.k - 1).map(|last| last.parts);
    let found = search(collection, embedder, request)?;
    if let Some(place) = found.hits.iter().position(|hit| hit.record == record) {
        answer.stage = Stage::Found;
        answer.cause = Cause::IsHit { place: place + 1 };
        return Ok(());
    }
    if let Some(same) = found
        .hits
        .iter()
        .find(|hit| hit.also_in.contains(&answer.id))
    {
        answer.stage = Stage::Same;
        answer.cause = Cause::SameText {
            hit: same.id.clone(),
        };
        return Ok(());
    }
    let source = ranker.ranked.get(at).and_then(|ranked| ranked.source);
    let above = ranker.ranked.iter().take(at);
    if request.by_source && source.is_some() && above.clone().any(|other| other.source == source) {
        answer.stage = Stage::Source;
        answer.cause = Cause::SameSource;
        answer.remedies = vec![Remedy::AllowSameSource];
        return Ok(());
    }
    let with_improbable = search(collection, embedder, &improbable_too(request))?;
    if with_improbable.hits.iter().any(|hit| hit.record == record) {
        answer.stage = Stage::Probability;
        answer.cause = Cause::Improbable { rank: at + 1 };
        answer.remedies = vec![Remedy::AllowImprobable, Remedy::UseItsWords];
        return Ok(());
    }
    if at < request.k && request.budget.is_some() {
        answer.stage = Stage::Budget;
        answer.cause = Cause::OverBudget { rank: at + 1 };
        answer.remedies = vec![Remedy::RaiseBudget, Remedy::ReadDrawer];
        return Ok(());
    }
    answer.stage = Stage::Fusion;
    answer.cause = Cause::Outranked {
        rank: at + 1,
        ranked: ranker.ranked.len(),
    };
    answer.remedies = more_hits(collection, embedder, request, record)?;
    if let (Some(own), Some(last)) = (answer.parts, answer.last_hit) {
        answer.remedies.extend(weakest(own, last));
    }
    Ok(())
}

/// The same request without a limit of the probability.
fn improbable_too(request: &Request) -> Request {
    Request {
        min_probability: Some(0.0),
        ..request.clone()
    }
}

/// The number of hits that includes a drawer. It is verified by a search, because more hits also
/// mean more candidates. If the drawer is also improbable, that must be allowed, too.
fn more_hits(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
    record: u64,
) -> Result<Vec<Remedy>> {
    let place_in = |request: &Request| -> Result<Option<usize>> {
        let found = search(collection, embedder, request)?;
        Ok(found.hits.iter().position(|hit| hit.record == record))
    };
    let with = |k: usize, request: &Request| Request {
        k,
        ..request.clone()
    };
    let all = improbable_too(request);
    let mut k = request.k;
    while k < MAX_HITS {
        k = (k * 2).min(MAX_HITS);
        if let Some(place) = place_in(&with(k, &all))? {
            let fewer = place + 1;
            let enough = place_in(&with(fewer, &all))?.is_some();
            let k = if enough { fewer } else { k };
            let mut remedies = vec![Remedy::MoreHits { k }];
            if place_in(&with(k, request))?.is_none() {
                remedies.push(Remedy::AllowImprobable);
            }
            return Ok(remedies);
        }
    }
    Ok(vec![Remedy::NoNumberOfHits { most: MAX_HITS }])
}

/// The remedy for the part of the score that is furthest behind the last hit's.
fn weakest(own: Parts, last: Parts) -> Option<Remedy> {
    let gaps = [
        (
            last.words + last.length - own.words - own.length,
            Remedy::WordsFitLess,
        ),
        (last.source - own.source, Remedy::SourceFitsLess),
        (
            last.meaning + last.tokens - own.meaning - own.tokens,
            Remedy::MeaningFitsLess,
        ),
        (last.speaker - own.speaker, Remedy::NameSpeaker),
        (last.date - own.date, Remedy::NameDate),
    ];
    let widest = gaps.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    widest.map(|(_, remedy)| remedy)
}

fn exists(collection: &dyn Collection, selection: &Selection) -> Result<bool> {
    let found = collection.get(&Get {
        selection: selection.clone(),
        limit: Some(1),
        offset: 0,
        include: Include::NONE,
    })?;
    Ok(!found.ids.is_empty())
}

/// The conditions of a selection that exclude a drawer.
fn excluding(
    collection: &dyn Collection,
    selection: &Selection,
    id: &str,
) -> Result<Vec<Condition>> {
    let mut conditions: Vec<(Condition, Selection)> = Vec::new();
    let parts = match &selection.filter {
        Some(Filter::And(parts)) => parts.clone(),
        Some(filter) => vec![filter.clone()],
        None => Vec::new(),
    };
    for part in parts {
        conditions.push((condition_of(&part), Selection::matching(part)));
    }
    if let Some(document) = &selection.document {
        let only = Selection {
            document: Some(document.clone()),
            ..Selection::default()
        };
        conditions.push((Condition::Text, only));
    }
    if let Some(period) = selection.period {
        let only = Selection {
            period: Some(period),
            ..Selection::default()
        };
        let condition = match (period.since, period.before) {
            (_, None) => Condition::Since,
            (None, Some(_)) => Condition::Before,
            (Some(_), Some(_)) => Condition::Period,
        };
        conditions.push((condition, only));
    }
    let mut excluding = Vec::new();
    if selection
        .ids
        .as_ref()
        .is_some_and(|ids| !ids.iter().any(|other| other == id))
    {
        excluding.push(Condition::Ids);
    }
    for (condition, mut only) in conditions {
        only.ids = Some(vec![id.to_owned()]);
        if !exists(collection, &only)? {
            excluding.push(condition);
        }
    }
    Ok(excluding)
}

fn condition_of(part: &Filter) -> Condition {
    let Filter::Key { key, .. } = part else {
        return Condition::Metadata;
    };
    match key.as_str() {
        "wing" => Condition::Wing,
        "room" => Condition::Room,
        "source_file" => Condition::Source,
        _ => Condition::Key { key: key.clone() },
    }
}

/// The number of a drawer, if an arm can find it at all.
fn record_of(
    collection: &dyn Collection,
    run: &mut Run<'_>,
    request: &Request,
    id: &str,
) -> Result<Option<u64>> {
    struct Only(Option<u64>);
    impl Judge for Only {
        fn shortlist(&mut self, findings: &Findings) -> Vec<usize> {
            let mut found = findings
                .evidence
                .iter()
                .filter(|found| found.lexical.is_some() || found.semantic.is_some());
            self.0 = found.next().map(|found| found.record);
            Vec::new()
        }
        fn narrow(&mut self, _: &Findings) -> Vec<usize> {
            Vec::new()
        }
        fn choose(&mut self, _: &Findings) -> Vec<u64> {
            Vec::new()
        }
    }
    let mut only = Only(None);
    let alone = Request {
        selection: Selection::ids([id]),
        ..request.clone()
    };
    run.probe(collection, &alone, 1, &mut only)?;
    Ok(only.0)
}

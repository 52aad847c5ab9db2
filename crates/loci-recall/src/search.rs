//! Search: a question in, hits out.

use std::collections::BTreeMap;

use jiff::civil::Date;
use loci_core::{
    Collection, Embedder, Error, Judge, Kinship, Metadata, Metric, Probe, ProbeVector, Recalled,
    Result, Selection, Warning,
};
use loci_text::when::{self, When};
use serde::Serialize;

use crate::budget::{Budget, Fit, count_tokens, cut};
use crate::rank::{Criteria, MatchedVia, Ranked, Ranker, depth_for, near_for};
use crate::score::{Parts, today};
use crate::verdict::{Verdict, said_by_other};
use crate::weights::CONTEXT;

/// Hits that a search may ask for.
pub const MAX_HITS: usize = 1_000;
/// Bytes of a question beyond which it is not read.
pub const MAX_QUERY_BYTES: usize = 64 * 1024;
/// Chosen drawers beyond k, in case some are damaged or the same.
const SPARE: usize = 10;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The question: any text.
    pub query: String,
    /// Hits at most.
    pub k: usize,
    /// Which drawers may be hits.
    pub selection: Selection,
    /// Drawers that hold no word of the question are left out beyond this distance.
    pub max_distance: Option<f32>,
    /// Tokens of all texts together at most.
    pub budget: Option<usize>,
    /// What "last week" is counted from.
    pub today: Date,
    /// Whether one hit per source is enough.
    pub by_source: bool,
}

impl Request {
    /// The ten best for a question, as of today.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            k: 10,
            selection: Selection::all(),
            max_distance: None,
            budget: None,
            today: today(),
            by_source: false,
        }
    }
}

/// A drawer that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Its number in the palace.
    pub record: u64,
    /// Its id.
    pub id: String,
    /// Its text, or the beginning of it if `cut`.
    pub text: String,
    /// Whether the text is only the beginning: the rest is to be had by id.
    pub cut: bool,
    /// Its metadata.
    pub metadata: Metadata,
    /// When it was said or written, else when it was added, in milliseconds since 1970.
    pub authored_at: i64,
    /// When it was added.
    pub created_at: i64,
    /// The sum of the parts.
    pub score: f32,
    /// What the score is made of.
    pub parts: Parts,
    /// Distance of the vectors, if they were compared.
    pub distance: Option<f32>,
    /// Its place in the lexical arm, if it is among the first.
    pub lexical_rank: Option<usize>,
    /// Its place in the semantic arm, if it is among the first.
    pub semantic_rank: Option<usize>,
    /// How it was found.
    pub matched_via: MatchedVia,
    /// Words of the question that it holds.
    pub matched_words: Vec<String>,
    /// Ids of hits with the very same text, which are not shown again.
    pub also_in: Vec<String>,
    /// Tokens of the text that is shown.
    pub tokens: usize,
}

/// One step of a search, for people.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    /// Its name.
    pub stage: &'static str,
    /// What it did.
    pub detail: String,
}

/// What an arm found, best first.
#[derive(Debug, Clone, Serialize)]
pub struct ArmEntry {
    /// Its place.
    pub rank: usize,
    /// The drawer's number.
    pub record: u64,
    /// The sum of its parts in the end.
    pub score: f32,
    /// Its parts.
    pub parts: Parts,
}

/// A term of the question.
#[derive(Debug, Clone, Serialize)]
pub struct TermInfo {
    /// As the postings hold it.
    pub term: String,
    /// As it was typed.
    pub word: String,
    /// Drawers of the palace that hold it.
    pub drawers: u64,
}

/// How an answer came about.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The terms that were searched.
    pub terms: Vec<TermInfo>,
    /// The days that the question names, as `from` and `until`.
    pub period: Option<(String, String)>,
    /// The best of the lexical arm.
    pub lexical: Vec<ArmEntry>,
    /// The best of the semantic arm.
    pub semantic: Vec<ArmEntry>,
    /// The best after fusion.
    pub fused: Vec<ArmEntry>,
    /// What each stage did.
    pub steps: Vec<Step>,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Whether the answer is in memory at all.
    pub verdict: Verdict,
    /// Drawers that the selection admits.
    pub in_scope: u64,
    /// Tokens of all texts that are shown.
    pub tokens: usize,
    /// What is missing or was done differently.
    pub warnings: Vec<Warning>,
    /// How it came about.
    pub explanation: Explanation,
}

/// Searches a collection. `embedder` makes the query vectors; without one, only words are searched.
pub fn search(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
) -> Result<Answer> {
    let mut run = Run::new(collection, embedder, request)?;
    let criteria = run.criteria(request, depth_for(request.k));
    let wanted = if request.by_source {
        criteria.depth * 2
    } else {
        request.k + SPARE
    };
    let (ranker, drawers) = run.recall(collection, request, &criteria, wanted)?;
    let mut answer = Answer {
        verdict: Verdict::of(&ranker.findings, &ranker.ranked),
        in_scope: ranker.findings.in_scope,
        hits: Vec::new(),
        tokens: 0,
        warnings: run.warnings,
        explanation: explain(&ranker, &criteria),
    };
    let by_vector = !run.vectors.is_empty();
    say_what_is_missing(&ranker, by_vector, request, &mut answer.warnings);
    let mut hits = fold(&ranker, drawers, request);
    hits.truncate(request.k);
    spend(hits, request.budget, &mut answer);
    Ok(answer)
}

/// A question that is ready to be asked.
pub(crate) struct Run<'a> {
    pub(crate) query: &'a str,
    vectors: Vec<ProbeVector>,
    warnings: Vec<Warning>,
    metric: Metric,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        collection: &dyn Collection,
        embedder: Option<&dyn Embedder>,
        request: &'a Request,
    ) -> Result<Self> {
        validate(request)?;
        let mut warnings = Vec::new();
        let query = readable(&request.query, &mut warnings);
        Ok(Self {
            query,
            vectors: query_vectors(collection, embedder, query, &mut warnings)?,
            warnings,
            metric: collection.metric(),
        })
    }

    pub(crate) fn criteria(&self, request: &Request, depth: usize) -> Criteria {
        Criteria {
            metric: self.metric,
            when: when::find(self.query, request.today),
            max_distance: request.max_distance,
            by_meaning: !self.vectors.is_empty(),
            depth,
        }
    }

    /// Ranks what a collection finds and fetches the first `wanted`.
    pub(crate) fn recall<'c>(
        &mut self,
        collection: &dyn Collection,
        request: &Request,
        criteria: &'c Criteria,
        wanted: usize,
    ) -> Result<(Ranker<'c>, Vec<Recalled>)> {
        let mut ranker = Ranker::new(criteria, wanted);
        let drawers = self.probe(collection, request, criteria.depth, &mut ranker)?;
        Ok((ranker, drawers))
    }

    /// Lets a judge choose.
    pub(crate) fn probe(
        &mut self,
        collection: &dyn Collection,
        request: &Request,
        depth: usize,
        judge: &mut dyn Judge,
    ) -> Result<Vec<Recalled>> {
        let probe = Probe {
            query: self.query,
            vectors: self.vectors.clone(),
            selection: &request.selection,
            depth,
            near: near_for(depth),
            context: CONTEXT,
        };
        let result = collection.recall(&probe, judge)?;
        self.warnings.extend(result.warnings);
        Ok(result.drawers)
    }
}

fn validate(request: &Request) -> Result<()> {
    if request.k == 0 || request.k > MAX_HITS {
        return Err(Error::invalid(
            "k",
            format!("{}; must be 1 to {MAX_HITS}", request.k),
        ));
    }
    if request.budget == Some(0) {
        return Err(Error::invalid(
            "budget",
            "0 tokens; must be at least 1, or left out for no limit",
        ));
    }
    if request
        .max_distance
        .is_some_and(|limit| limit.is_nan() || limit < 0.0)
    {
        return Err(Error::invalid("max-distance", "must be 0 or more"));
    }
    Ok(())
}

/// The part of a question that is read.
fn readable<'a>(query: &'a str, warnings: &mut Vec<Warning>) -> &'a str {
    if query.len() <= MAX_QUERY_BYTES {
        return query;
    }
    let mut end = MAX_QUERY_BYTES;
    while !query.is_char_boundary(end) {
        end -= 1;
    }
    warnings.push(Warning::new(
        "long_query",
        format!(
            "the question has {} bytes; only the first {end} were read",
            query.len()
        ),
    ));
    query.get(..end).unwrap_or_default()
}

/// The question as a vector for each space that can be searched.
fn query_vectors(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    query: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ProbeVector>> {
    let Some(embedder) = embedder else {
        warnings.push(Warning::new(
            "no_embedder",
            "the embedder is `none`: only words were searched",
        ));
        return Ok(Vec::new());
    };
    let identity = embedder.identity();
    let own = |vector| ProbeVector {
        space: None,
        vector,
    };
    let apart = |vector| ProbeVector {
        space: Some(identity.clone()),
        vector,
    };
    let pinned = collection.embedder()?;
    let kinship = pinned
        .as_ref()
        .map_or(Kinship::Same, |pinned| embedder.kinship(pinned));
    let vectors = match (&pinned, kinship) {
        (Some(pinned), Kinship::Foreign) => {
            return Err(Error::EmbedderMismatch {
                collection: collection.name().into(),
                pinned: pinned.to_string(),
                given: identity.to_string(),
            });
        }
        (Some(pinned), Kinship::Compatible) => {
            warnings.push(Warning::new(
                "compatible_embedder",
                format!(
                    "the vectors were made by {pinned}; the question was embedded by {identity}, which finds somewhat less: \
                     add the model with `loci model add`, or run `loci reembed`"
                ),
            ));
            let mut vectors = Vec::new();
            vectors.extend(
                embedder
                    .embed_queries(&[query], pinned)?
                    .into_iter()
                    .map(own),
            );
            vectors.extend(embedder.embed(&[query])?.into_iter().map(apart));
            vectors
        }
        (Some(pinned), Kinship::Same) => {
            let mut vectors: Vec<ProbeVector> = embedder
                .embed_queries(&[query], pinned)?
                .into_iter()
                .map(own)
                .collect();
            // What was added while this embedder was missing has static vectors.
            let fallback = loci_embed::StaticEmbedder::builtin();
            if fallback.kinship(pinned) == Kinship::Compatible {
                vectors.push(ProbeVector {
                    space: Some(fallback.identity()),
                    vector: fallback.embed_one(query),
                });
            }
            vectors
        }
        (None, _) => {
            let known = collection.dimension()?;
            if known.is_some_and(|dimension| dimension != identity.dimension) {
                warnings.push(Warning::new(
                    "unknown_embedder",
                    format!(
                        "nobody knows who made the vectors of `{}`, and {identity} does not fit: only words were searched",
                        collection.name()
                    ),
                ));
                return Ok(Vec::new());
            }
            if known.is_some() {
                warnings.push(Warning::new(
                    "unknown_embedder",
                    format!(
                        "nobody knows who made the vectors of `{}`; they were searched as if {identity} had",
                        collection.name()
                    ),
                ));
            }
            embedder.embed(&[query])?.into_iter().map(own).collect()
        }
    };
    // The vector of a text without tokens is zero: near to nothing.
    Ok(vectors
        .into_iter()
        .filter(|vector| vector.vector.iter().any(|number| *number != 0.0))
        .collect())
}

/// Hits in order, those with the same text once, with `by_source` one per source.
fn fold(ranker: &Ranker<'_>, drawers: Vec<Recalled>, request: &Request) -> Vec<Hit> {
    let ranked: BTreeMap<u64, &Ranked> = ranker
        .ranked
        .iter()
        .map(|ranked| (ranked.record, ranked))
        .collect();
    let mut hits: Vec<Hit> = Vec::new();
    let mut sources = Vec::new();
    for drawer in drawers {
        let Some(ranked) = ranked.get(&drawer.record) else {
            continue;
        };
        if let Some(same) = hits.iter_mut().find(|hit| hit.text == drawer.document) {
            same.also_in.push(drawer.id);
            continue;
        }
        if request.by_source {
            if ranked.source.is_some() && sources.contains(&ranked.source) {
                continue;
            }
            sources.push(ranked.source);
        }
        hits.push(hit(ranker, ranked, drawer));
    }
    hits
}

fn hit(ranker: &Ranker<'_>, ranked: &Ranked, drawer: Recalled) -> Hit {
    let mut matched_words: Vec<String> = Vec::new();
    for term in ranked
        .terms
        .iter()
        .filter_map(|at| ranker.findings.terms.get(*at))
    {
        if !matched_words.contains(&term.word) {
            matched_words.push(term.word.clone());
        }
    }
    Hit {
        record: drawer.record,
        id: drawer.id,
        text: drawer.document,
        cut: false,
        metadata: drawer.metadata,
        authored_at: ranked.authored_at,
        created_at: drawer.created_at,
        score: ranked.parts.score(),
        parts: ranked.parts,
        distance: ranked.distance,
        lexical_rank: ranked.lexical_rank,
        semantic_rank: ranked.semantic_rank,
        matched_via: ranked.matched_via,
        matched_words,
        also_in: Vec::new(),
        tokens: 0,
    }
}

/// Fills the answer as far as the budget goes.
fn spend(hits: Vec<Hit>, budget: Option<usize>, answer: &mut Answer) {
    let mut purse = Budget::new(budget);
    let mut left_out = Vec::new();
    for mut hit in hits {
        hit.tokens = count_tokens(&hit.text);
        match purse.take(hit.tokens) {
            Fit::Whole => answer.hits.push(hit),
            Fit::Out => left_out.push(hit),
        }
    }
    if let Some(tokens) = purse.for_cut()
        && !left_out.is_empty()
    {
        let mut best = left_out.remove(0);
        let length = cut(&best.text, tokens).len();
        best.text.truncate(length);
        best.tokens = count_tokens(&best.text);
        best.cut = true;
        answer.warnings.push(Warning::new(
            "budget_cut",
            format!(
                "no hit fits {tokens} tokens; `{}` was cut, its full text is to be had by id",
                best.id
            ),
        ));
        answer.hits.push(best);
    }
    if !left_out.is_empty() {
        answer.warnings.push(Warning::new(
            "budget_left_out",
            format!(
                "{} hit(s) did not fit the budget: {}",
                left_out.len(),
                list(left_out.iter().map(|hit| hit.id.as_str()))
            ),
        ));
    }
    answer.tokens = answer.hits.iter().map(|hit| hit.tokens).sum();
}

/// The first few names.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(5);
    names.truncate(5);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

fn say_what_is_missing(
    ranker: &Ranker<'_>,
    by_meaning: bool,
    request: &Request,
    warnings: &mut Vec<Warning>,
) {
    let findings = &ranker.findings;
    if findings.terms.is_empty() && !by_meaning {
        warnings.push(Warning::new(
            "empty_query",
            "the question holds no word to search for",
        ));
    }
    if findings.only_stop_words && !findings.terms.is_empty() {
        warnings.push(Warning::new(
            "stop_words",
            "the question holds only very common words; they were searched all the same",
        ));
    }
    if findings.not_compared > 0 {
        warnings.push(Warning::new(
            "not_compared",
            format!(
                "{} drawer(s) have a vector of another embedder and were found by words only; `loci reembed` brings them in",
                findings.not_compared
            ),
        ));
    }
    let by_vector = ranker.ranked.iter().any(|ranked| ranked.distance.is_some());
    if by_meaning && !by_vector && !ranker.ranked.is_empty() {
        warnings.push(Warning::new(
            "no_vectors",
            "no drawer in scope has a vector: only words were searched",
        ));
    }
    if said_by_other(&ranker.ranked) {
        warnings.push(Warning::new(
            "other_speaker",
            "what fits best was said by somebody else than the question names",
        ));
    }
    if ranker.too_far > 0 {
        warnings.push(Warning::new(
            "max_distance",
            format!(
                "{} candidate(s) without a word of the question are farther than {} and were left out",
                ranker.too_far,
                request.max_distance.unwrap_or_default()
            ),
        ));
    }
}

/// Entries of an arm that an explanation shows.
const SHOWN: usize = 10;

fn explain(ranker: &Ranker<'_>, criteria: &Criteria) -> Explanation {
    let entry = |rank: usize, ranked: &Ranked| ArmEntry {
        rank,
        record: ranked.record,
        score: ranked.parts.score(),
        parts: ranked.parts,
    };
    let arm = |rank_of: fn(&Ranked) -> Option<usize>| {
        let mut entries: Vec<ArmEntry> = ranker
            .ranked
            .iter()
            .filter_map(|ranked| Some(entry(rank_of(ranked)?, ranked)))
            .collect();
        entries.sort_by_key(|entry| entry.rank);
        entries.truncate(SHOWN);
        entries
    };
    let count = |test: fn(&Ranked) -> bool| ranker.ranked.iter().filter(|r| test(r)).count();
    let findings = &ranker.findings;
    let period = criteria
        .when
        .as_ref()
        .map(|When { from, until, .. }| (from.to_string(), until.to_string()));
    let mut steps = vec![
        Step {
            stage: "scope",
            detail: format!("{} drawer(s) are admitted", findings.in_scope),
        },
        Step {
            stage: "lexical",
            detail: format!(
                "{} term(s); {} candidate(s) named by rank",
                findings.terms.len(),
                count(|ranked| ranked.lexical_rank.is_some())
            ),
        },
        Step {
            stage: "semantic",
            detail: format!(
                "{} candidate(s) named by rank",
                count(|ranked| ranked.semantic_rank.is_some())
            ),
        },
        Step {
            stage: "context",
            detail: format!(
                "{} candidate(s) came in as neighbours",
                count(|ranked| ranked.lexical_rank.is_none() && ranked.semantic_rank.is_none())
            ),
        },
        Step {
            stage: "fusion",
            detail: format!(
                "words + source + meaning + tokens + speaker + date, {} candidate(s)",
                ranker.ranked.len()
            ),
        },
    ];
    if ranker.too_far > 0 {
        steps.push(Step {
            stage: "max_distance",
            detail: format!("{} candidate(s) left out", ranker.too_far),
        });
    }
    Explanation {
        terms: findings
            .terms
            .iter()
            .map(|term| TermInfo {
                term: term.term.clone(),
                word: term.word.clone(),
                drawers: term.drawers,
            })
            .collect(),
        period,
        lexical: arm(|ranked| ranked.lexical_rank),
        semantic: arm(|ranked| ranked.semantic_rank),
        fused: ranker
            .ranked
            .iter()
            .take(SHOWN)
            .zip(1..)
            .map(|(ranked, rank)| entry(rank, ranked))
            .collect(),
        steps,
    }
}

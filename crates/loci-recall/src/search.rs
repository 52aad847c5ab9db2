//! Search: finds the hits for a question.

use std::collections::BTreeMap;

use loci_core::{
    Collection, Compatibility, Embedder, Error, Metric, OutsideQuery, Recalled, Result, Warning,
};
use loci_embed::{STATIC_NAME, StaticEmbedder};
use loci_text::{query_terms, when};

use crate::answer::{Answer, Hit, Request};
use crate::budget::{SMALLEST_PART, Share, count_tokens, cut_around, shares};
use crate::evidence::{FacetQuery, Findings, Judge, MAX_DEPTH, Probe, ProbeVector};
use crate::explain::explain;
use crate::later;
use crate::marks::{Marker, line_in_source};
use crate::probability::Calibration;
use crate::rank::{Criteria, Ranked, Ranker, depth_for, near_for};
use crate::recall::{RecallResult, recall};
use crate::relevance::Relevances;
use crate::score::{Asked, start_of};
use crate::vectors::query_vectors;
use crate::verdict::{Verdict, said_by_other};
use crate::weights::CONTEXT;

/// Maximum number of hits of a search.
pub const MAX_HITS: usize = 1_000;
/// Hits without a word of the question that are less probable than this are left out, unless the
/// request has another limit. In a palace of less than 600 drawers they need more, up to 0.02.
pub const MIN_PROBABILITY: f32 = 0.001;
/// In a small palace, such a hit needs this probability divided by the number of drawers.
const PADDING: f32 = 0.6;
/// Fewer drawers than this are shown whatever is asked.
const FEWEST: u64 = 3;
/// The highest limit, in the smallest palaces.
const MOST_IMPROBABLE: f32 = 0.02;
/// Maximum number of bytes of a question that are read.
pub const MAX_QUERY_BYTES: usize = 64 * 1024;
/// Factor by which a search goes deeper if copies of one text fill its places.
const DEEPER: usize = 20;
/// Maximum number of values of a key that are counted outside the selection.
const MOST_VALUES: usize = 10_000;
/// Additional drawers beyond k, in case some are damaged or have the same text.
const SPARE: usize = 10;

/// Searches a collection. `embedder` embeds the question; without one, only words are searched.
pub fn search(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
) -> Result<Answer> {
    let mut run = Run::new(collection, embedder, request)?;
    if query_terms(run.query, 1).terms.is_empty() {
        // The vector of punctuation is near to every vector.
        run.vectors.clear();
    }
    let said = run.warnings.len();
    let mut criteria = run.criteria(request, depth_for(request.k));
    let mut choice = Choice::new(request, &criteria);
    let mut result = run.probe(collection, request, criteria.depth, &mut choice)?;
    if choice.look_deeper {
        criteria = run.criteria(request, MAX_DEPTH.min(criteria.depth * DEEPER));
        run.warnings.truncate(said);
        choice = Choice::new(request, &criteria);
        choice.is_last = true;
        result = run.probe(collection, request, criteria.depth, &mut choice)?;
    }
    let (ranker, drawers) = (choice.ranker, result.drawers);
    let is_calibrated = run.calibrated();
    let mut answer = Answer {
        verdict: Verdict::of(&ranker, is_calibrated),
        in_scope: ranker.findings.in_scope,
        hits: Vec::new(),
        tokens: 0,
        facets: choice.counted.then_some(result.facets),
        outside: result.outside,
        warnings: run.warnings,
        explanation: explain(&ranker, &criteria, &drawers),
    };
    let by_vector = !run.vectors.is_empty();
    let model = run.model.split(':').next().unwrap_or_default();
    let of = (collection.name(), model);
    say_what_is_missing(&ranker, by_vector, request, of, &mut answer.warnings);
    let (mut hits, others) = fold(&ranker, drawers, request);
    later::mark(run.query, &mut hits, &others, request.unasked);
    let drawers = ranker.findings.in_scope;
    let warnings = &mut answer.warnings;
    leave_out_improbable(&mut hits, request, drawers, is_calibrated, warnings);
    say_what_was_skipped(&ranker, &hits, request, &mut answer.warnings);
    let spoken = hits
        .first()
        .is_some_and(|hit| hit.metadata.get("speaker").is_some());
    if spoken && said_by_other(&ranker.ranked) {
        answer.warnings.push(Warning::OtherSpeaker);
    }
    fill(&mut answer, hits, request);
    Ok(answer)
}

/// Ranks the drawers, and decides in the same read transaction whether the hits are enough.
struct Choice<'a> {
    request: &'a Request,
    ranker: Ranker,
    /// Whether this is the last attempt.
    is_last: bool,
    /// Whether copies of one text fill the places, so that a deeper search may find others.
    look_deeper: bool,
    /// Whether facets were requested.
    counted: bool,
}

impl<'a> Choice<'a> {
    fn new(request: &'a Request, criteria: &Criteria) -> Self {
        Self {
            request,
            ranker: Ranker::new(criteria.clone(), request.k + SPARE),
            is_last: false,
            look_deeper: false,
            counted: false,
        }
    }
}

impl Judge for Choice<'_> {
    fn shortlist(&mut self, findings: &Findings) -> Vec<usize> {
        self.ranker.shortlist(findings)
    }

    fn narrow(&mut self, findings: &Findings) -> Vec<usize> {
        self.ranker.narrow(findings)
    }

    fn choose(&mut self, findings: &Findings) -> Vec<u64> {
        self.ranker.choose(findings)
    }

    fn order(&mut self, findings: &Findings, drawers: Vec<Recalled>) -> Vec<Recalled> {
        self.ranker.order(findings, drawers)
    }

    fn facets(&mut self, drawers: &[Recalled]) -> Option<FacetQuery> {
        let (hits, _) = fold(&self.ranker, drawers.to_vec(), self.request);
        let is_short = hits.len() < self.request.k;
        self.look_deeper = is_short && self.ranker.full && !self.is_last;
        let wanted = self.request.facets.filter(|_| !self.look_deeper)?;
        self.counted = is_short || fitting(&hits, self.request.budget) < self.request.k;
        self.counted.then_some(wanted)
    }

    fn outside(&mut self) -> Option<OutsideQuery<'_>> {
        Some(OutsideQuery {
            keys: &self.request.outside_keys,
            limit: MOST_VALUES,
            selections: &self.request.outside_selections,
        })
    }
}

/// The number of hits that fit the budget.
fn fitting(hits: &[Hit], budget: Option<usize>) -> usize {
    match budget {
        Some(budget) => hits.len().min((budget / SMALLEST_PART).max(1)),
        None => hits.len(),
    }
}

/// A prepared question.
pub(crate) struct Run<'a> {
    pub(crate) query: &'a str,
    vectors: Vec<ProbeVector>,
    warnings: Vec<Warning>,
    metric: Metric,
    stand_in: bool,
    /// Name of the embedder of the collection's present or future vectors.
    model: String,
}

impl<'a> Run<'a> {
    /// Whether the question is also compared by meaning.
    pub(crate) fn is_by_meaning(&self) -> bool {
        !self.vectors.is_empty()
    }

    /// Whether the verdict is calibrated for this search.
    fn calibrated(&self) -> bool {
        !self.stand_in
    }

    pub(crate) fn new(
        collection: &dyn Collection,
        embedder: Option<&dyn Embedder>,
        request: &'a Request,
    ) -> Result<Self> {
        validate(request)?;
        let mut warnings = Vec::new();
        let query = readable(&request.query, &mut warnings);
        let vectors = query_vectors(collection, embedder, query, &mut warnings)?;
        let pinned = collection.info().embedder.as_ref();
        let stand_in = embedder.zip(pinned).is_some_and(|(embedder, pinned)| {
            embedder.compatibility(pinned) == Compatibility::Compatible
        });
        let model = pinned.map_or_else(|| STATIC_NAME.to_owned(), |pinned| pinned.name.clone());
        Ok(Self {
            query,
            vectors,
            stand_in,
            warnings,
            model,
            metric: collection.metric(),
        })
    }

    pub(crate) fn criteria(&self, request: &Request, depth: usize) -> Criteria {
        Criteria {
            metric: self.metric,
            asked: Asked {
                when: when::find(self.query, request.today),
                question: self.query.to_owned(),
                today: request.today,
            },
            max_distance: request.max_distance,
            by_meaning: !self.vectors.is_empty(),
            table: (self.model != STATIC_NAME)
                .then(|| StaticEmbedder::builtin().embed_one(self.query)),
            by_source: request.by_source,
            explain: request.explain,
            depth,
        }
    }

    /// Ranks the results of a collection, and fetches the first `wanted`.
    pub(crate) fn recall(
        &mut self,
        collection: &dyn Collection,
        request: &Request,
        criteria: &Criteria,
        wanted: usize,
    ) -> Result<(Ranker, Vec<Recalled>)> {
        let mut ranker = Ranker::new(criteria.clone(), wanted);
        let result = self.probe(collection, request, criteria.depth, &mut ranker)?;
        Ok((ranker, result.drawers))
    }

    /// Runs the search with a judge that chooses the drawers.
    pub(crate) fn probe(
        &mut self,
        collection: &dyn Collection,
        request: &Request,
        depth: usize,
        judge: &mut dyn Judge,
    ) -> Result<RecallResult> {
        let probe = Probe {
            query: self.query,
            vectors: self.vectors.clone(),
            selection: &request.selection,
            depth,
            near: near_for(depth),
            context: CONTEXT,
            dates: when::find(self.query, request.today).is_some(),
            until: request.today.tomorrow().ok().and_then(start_of),
        };
        let mut result = recall(collection, &probe, judge)?;
        self.warnings.append(&mut result.warnings);
        Ok(result)
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
    if request
        .min_probability
        .is_some_and(|limit| !(0.0..=1.0).contains(&limit))
    {
        return Err(Error::invalid("min-probability", "must be 0 to 1"));
    }
    Ok(())
}

/// The probability that a hit without a word of the question needs, in a palace of this size. In a
/// small palace, the first ten are a large part of all drawers, and most are not about the question.
fn least_probable(drawers: u64) -> f32 {
    let limit = (PADDING / drawers.max(1) as f32).clamp(MIN_PROBABILITY, MOST_IMPROBABLE);
    (limit * 1_000.0).round() / 1_000.0
}

/// Leaves out hits that probably do not answer the question. Without a limit in the request, a hit
/// with a word of the question stays: if many drawers contain it, each is improbable, and results
/// that match are never dropped.
fn leave_out_improbable(
    hits: &mut Vec<Hit>,
    request: &Request,
    drawers: u64,
    is_calibrated: bool,
    warnings: &mut Vec<Warning>,
) {
    // A search with a filter asks what is there. Without calibration, the probability is only a
    // rank.
    let is_plain = request.selection.is_all() && is_calibrated && drawers >= FEWEST;
    let least = if is_plain {
        least_probable(drawers)
    } else {
        MIN_PROBABILITY
    };
    let limit = request.min_probability.unwrap_or(least);
    let is_default = request.min_probability.is_none();
    let before = hits.len();
    hits.retain(|hit| {
        let matches = is_default && !hit.matched_words.is_empty();
        hit.probability >= limit || matches
    });
    if hits.len() < before {
        warnings.push(Warning::min_probability(before - hits.len(), limit));
    }
}

/// Warns about the drawers above the last hit that `by_source` left out.
fn say_what_was_skipped(
    ranker: &Ranker,
    hits: &[Hit],
    request: &Request,
    warnings: &mut Vec<Warning>,
) {
    let Some(last) = hits.last().filter(|_| request.by_source) else {
        return;
    };
    let above = ranker
        .ranked
        .iter()
        .take_while(|ranked| ranked.record != last.record)
        .count();
    let skipped = (above + 1).saturating_sub(hits.len());
    if skipped > 0 {
        warnings.push(Warning::BySource { skipped });
    }
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
    warnings.push(Warning::LongQuery { bytes_read: end });
    query.get(..end).unwrap_or_default()
}

/// The hits in order, and the drawers that were fetched besides them. Hits with the same text are
/// merged.
fn fold(ranker: &Ranker, drawers: Vec<Recalled>, request: &Request) -> (Vec<Hit>, Vec<Recalled>) {
    let ranked: BTreeMap<u64, &Ranked> = ranker
        .ranked
        .iter()
        .map(|ranked| (ranked.record, ranked))
        .collect();
    let calibration = ranker.calibration();
    let relevances = Relevances::new(ranker, &calibration);
    let mut hits: Vec<Hit> = Vec::new();
    let mut others: Vec<Recalled> = Vec::new();
    for drawer in drawers {
        let Some(ranked) = ranked
            .get(&drawer.record)
            .filter(|_| ranker.chosen.contains(&drawer.record))
        else {
            others.push(drawer);
            continue;
        };
        let same = hits
            .iter_mut()
            .find(|hit| !hit.text.is_empty() && hit.text == drawer.document);
        if let Some(same) = same {
            same.also_in.push(drawer.id);
            continue;
        }
        if hits.len() == request.k {
            others.push(drawer);
            continue;
        }
        hits.push(hit(ranker, ranked, drawer, &calibration, &relevances));
    }
    (hits, others)
}

fn hit(
    ranker: &Ranker,
    ranked: &Ranked,
    drawer: Recalled,
    calibration: &Calibration,
    relevances: &Relevances,
) -> Hit {
    let probability = calibration.of(ranked.parts.score());
    let relevance = relevances.of(ranked, &drawer);
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
        marks: Vec::new(),
        best_line: 0,
        line: None,
        metadata: drawer.metadata,
        authored_at: ranked.authored_at,
        created_at: drawer.created_at,
        score: ranked.parts.score(),
        probability,
        relevance,
        parts: ranked.parts,
        distance: ranked.distance,
        lexical_rank: ranked.lexical_rank,
        semantic_rank: ranked.semantic_rank,
        matched_via: ranked.matched_via,
        matched_words,
        also_in: Vec::new(),
        tokens: 0,
        later: None,
    }
}

/// Fills the answer with hits, and cuts those that are too long for the budget around what matches.
pub fn fill(answer: &mut Answer, hits: Vec<Hit>, request: &Request) {
    let tokens: Vec<usize> = hits.iter().map(|hit| count_tokens(&hit.text)).collect();
    let mut left_out = Vec::new();
    let mut cut: Vec<String> = Vec::new();
    let mut marker = Marker::new(
        &request.query,
        &answer.explanation.terms,
        &request.phrases,
        answer.in_scope,
    );
    for ((mut hit, tokens), share) in hits
        .into_iter()
        .zip(&tokens)
        .zip(shares(&tokens, request.budget))
    {
        hit.tokens = *tokens;
        if share == Share::Nothing {
            left_out.push(hit.id);
            continue;
        }
        if !request.unasked {
            hit.marks = marker.marks(&hit.text);
            hit.best_line = marker.best_line(&hit.text, &hit.marks);
            hit.line = line_in_source(&hit.metadata, &hit.text, hit.best_line);
        }
        if let Share::Part(limit) = share {
            let part = cut_around(&hit.text, &hit.marks, hit.best_line, limit);
            hit.marks
                .retain(|mark| part.start <= mark.span.start && mark.span.end <= part.end);
            for mark in &mut hit.marks {
                mark.span = mark.span.start - part.start..mark.span.end - part.start;
            }
            hit.best_line = hit.best_line.saturating_sub(part.start);
            hit.text.truncate(part.end);
            hit.text.drain(..part.start);
            hit.tokens = count_tokens(&hit.text);
            hit.cut = true;
            cut.push(hit.id.clone());
        }
        answer.hits.push(hit);
    }
    if let (Some(drawer), Some(budget)) = (cut.first(), request.budget) {
        answer.warnings.push(Warning::BudgetCut {
            budget,
            drawer: drawer.clone(),
            hits: cut.len(),
        });
    }
    if !left_out.is_empty() {
        answer
            .warnings
            .push(Warning::BudgetLeftOut { drawers: left_out });
    }
    answer.tokens = answer.hits.iter().map(|hit| hit.tokens).sum();
}

fn say_what_is_missing(
    ranker: &Ranker,
    by_meaning: bool,
    request: &Request,
    (collection, model): (&str, &str),
    warnings: &mut Vec<Warning>,
) {
    let findings = &ranker.findings;
    if findings.terms.is_empty() && !by_meaning {
        warnings.push(Warning::EmptyQuery);
    }
    if findings.only_stop_words && !findings.terms.is_empty() {
        warnings.push(Warning::StopWords);
    }
    if findings.not_compared > 0 {
        warnings.push(Warning::NotCompared {
            drawers: findings.not_compared,
            model: model.to_owned(),
        });
    }
    if findings.stand_ins > 0 {
        warnings.push(Warning::StandIn {
            drawers: findings.stand_ins,
            model: model.to_owned(),
        });
    }
    if by_meaning && findings.without_vector > 0 {
        warnings.push(Warning::WithoutVector {
            collection: collection.to_owned(),
            drawers: findings.without_vector,
            other_embedder: 0,
            model: Some(model.to_owned()),
        });
    }
    if ranker.too_far > 0 {
        let limit = request.max_distance.unwrap_or_default();
        warnings.push(Warning::max_distance(ranker.too_far, limit));
    }
}

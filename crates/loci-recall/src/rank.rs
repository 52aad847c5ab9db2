//! Ranks evidence. It runs inside the read transaction of a search, after the arms and before the
//! drawers are fetched.

use std::collections::{HashMap, HashSet};

use loci_core::{Metric, Recalled};
use loci_embed::{StaticEmbedder, TokenId};

use crate::evidence::{Evidence, Findings, Judge, MAX_DEPTH, Placed};
use crate::explain::SHOWN;
use crate::feature::{Feature, Features};
use crate::model::Model;
use crate::probability::Calibration;
use crate::score::{Asked, Parts, Scorer, similarity};
use crate::similarity::Similarity;
use crate::weights::{COMPANY, COMPANY_SCALE, DEPTH, FIRST_OF_ARM, FOLLOWED, NEAR_PERCENT, TEXTS};
use crate::window::Windows;

/// How a drawer was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchedVia {
    /// It contains words of the question, and its vector is near.
    Both,
    /// It contains words of the question.
    Lexical,
    /// Its vector is near.
    Semantic,
    /// A neighbour in its source was found.
    Context,
    /// It satisfies the conditions of a question without words.
    Conditions,
}

/// A drawer with its score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) at: usize,
    pub(crate) record: u64,
    pub(crate) source: Option<u64>,
    pub(crate) features: Features,
    /// Whether its tokens are compared with those of the question.
    pub(crate) is_compared: bool,
    /// What the other drawers of its source add to its score, if sources are ranked.
    company: f32,
    /// The parts of its score, by the features that are known so far.
    pub(crate) parts: Parts,
    pub(crate) distance: Option<f32>,
    pub(crate) lexical_rank: Option<usize>,
    pub(crate) semantic_rank: Option<usize>,
    pub(crate) matched_via: MatchedVia,
    pub(crate) authored_at: i64,
    /// Terms of the question that it contains itself.
    pub(crate) terms: Vec<usize>,
}

impl Ranked {
    fn score_by(&mut self, model: Model) {
        self.parts = model.parts(&self.features);
        self.parts.source += self.company;
    }
}

/// The parameters of the ranking.
#[derive(Clone)]
pub(crate) struct Criteria {
    pub(crate) metric: Metric,
    /// What the question asks about, apart from its words.
    pub(crate) asked: Asked,
    /// Drawers beyond this distance are left out, unless they contain a word of the question.
    pub(crate) max_distance: Option<f32>,
    /// Whether tokens are compared; false for a collection without an embedder.
    pub(crate) by_meaning: bool,
    /// The question embedded by the built-in table, if another embedder made the vectors. Each of
    /// the two contributes half of the meaning.
    pub(crate) table: Option<Vec<f32>>,
    /// Whether to choose at most one drawer per source.
    pub(crate) by_source: bool,
    /// Whether the best drawers of each arm are fetched too.
    pub(crate) explain: bool,
    /// Number of drawers whose tokens are compared, in a palace of any size, besides the first of
    /// each arm. Measured at 108,431 drawers: comparing half as many again finds nothing more.
    pub(crate) depth: usize,
}

/// The judge of a search. It keeps the findings for explanations.
pub(crate) struct Ranker {
    criteria: Criteria,
    /// Number of ranked drawers to fetch.
    wanted: usize,
    pub(crate) ranked: Vec<Ranked>,
    /// The findings, without the evidence.
    pub(crate) findings: Findings,
    /// Number of drawers left out because of the distance.
    pub(crate) too_far: usize,
    /// Whether an arm returned as many drawers as requested, so that there may be more.
    pub(crate) full: bool,
    /// Records that may become hits.
    pub(crate) chosen: HashSet<u64>,
}

impl Ranker {
    pub(crate) fn new(criteria: Criteria, wanted: usize) -> Self {
        Self {
            criteria,
            wanted,
            ranked: Vec::new(),
            findings: Findings::default(),
            too_far: 0,
            full: false,
            chosen: HashSet::new(),
        }
    }

    /// The best drawers, until as many as wanted differ. Drawers with the same text count as one,
    /// and with `by_source` so do drawers of the same source.
    fn first(&self, findings: &Findings) -> Vec<u64> {
        let mut sources = HashSet::new();
        let mut texts = HashSet::new();
        let mut records = Vec::new();
        let wanted = self.wanted.max(TEXTS);
        for ranked in &self.ranked {
            if texts.len() == wanted {
                break;
            }
            let first = ranked.source.is_none_or(|source| sources.insert(source));
            if self.criteria.by_source && !first {
                continue;
            }
            let evidence = findings.evidence.get(ranked.at);
            // Equal tokens and lengths are treated as equal texts here. Surplus drawers are merged
            // later.
            texts.insert(
                match evidence.filter(|evidence| !evidence.tokens.is_empty()) {
                    Some(evidence) => (Some(&evidence.tokens), u64::from(evidence.length)),
                    None => (None, ranked.record),
                },
            );
            records.push(ranked.record);
        }
        records
    }

    /// The drawers that follow the best ones in their sources. They may replace what these say
    /// without a word of the question.
    fn following(&self, findings: &Findings) -> Vec<u64> {
        let mut records: Vec<u64> = Vec::new();
        for ranked in self.ranked.iter().take(FOLLOWED) {
            let evidence = findings.evidence.get(ranked.at);
            for at in evidence.iter().flat_map(|evidence| &evidence.after) {
                let after = findings.evidence.get(*at).filter(|after| after.admitted);
                let record = after.map(|after| after.record);
                records.extend(record.filter(|record| !self.chosen.contains(record)));
            }
        }
        records.sort_unstable();
        records.dedup();
        records
    }

    /// The probabilities of the hits.
    pub(crate) fn calibration(&self) -> Calibration {
        Calibration::new(
            &self.ranked,
            self.findings.in_scope,
            self.criteria.by_meaning,
        )
    }

    /// Ranks all candidates by the features that need no vectors, tokens or text. Returns their
    /// positions.
    pub(crate) fn keep_all(&mut self, findings: &Findings) -> Vec<usize> {
        let scorer = Scorer::new(findings, &self.criteria.asked);
        let model = Model::for_palace(findings.in_scope);
        self.full = findings.evidence.iter().any(|evidence| {
            let reached = |placed: Option<Placed>, depth: usize| {
                placed.is_some_and(|placed| placed.rank >= depth)
            };
            reached(evidence.lexical, findings.depth) || reached(evidence.semantic, findings.near)
        });
        let mut ranked: Vec<Ranked> = findings
            .evidence
            .iter()
            .enumerate()
            .filter(|(_, evidence)| evidence.admitted)
            .map(|(at, evidence)| Ranked {
                at,
                record: evidence.record,
                source: evidence.source,
                features: scorer.features(evidence),
                is_compared: false,
                company: 0.0,
                parts: Parts::default(),
                distance: None,
                lexical_rank: evidence.lexical.map(|placed| placed.rank),
                semantic_rank: evidence.semantic.map(|placed| placed.rank),
                matched_via: MatchedVia::Context,
                authored_at: evidence.authored_at,
                terms: evidence.terms.iter().map(|(term, _)| *term).collect(),
            })
            .collect();
        set_leads(&mut ranked, Feature::Words, Feature::WordsLead);
        set_leads(&mut ranked, Feature::Source, Feature::SourceLead);
        for ranked in &mut ranked {
            ranked.score_by(model);
        }
        sort(&mut ranked);
        self.ranked = ranked;
        self.ranked.iter().map(|ranked| ranked.at).collect()
    }

    fn matched_via(&self, evidence: &Evidence) -> MatchedVia {
        let near = evidence.semantic.is_some()
            && self
                .criteria
                .max_distance
                .is_none_or(|limit| evidence.distance.is_some_and(|distance| distance <= limit));
        match (evidence.terms.is_empty(), near) {
            (false, true) => MatchedVia::Both,
            (false, false) => MatchedVia::Lexical,
            (true, true) => MatchedVia::Semantic,
            (true, false) => MatchedVia::Context,
        }
    }

    fn is_too_far(&self, evidence: &Evidence) -> bool {
        let far = |limit| evidence.distance.is_none_or(|distance| distance > limit);
        evidence.terms.is_empty() && self.criteria.max_distance.is_some_and(far)
    }
}

impl Judge for Ranker {
    fn shortlist(&mut self, findings: &Findings) -> Vec<usize> {
        self.keep_all(findings);
        let mut by_words = 0;
        self.ranked.retain(|ranked| {
            let is_near = ranked.semantic_rank.is_some();
            let has_words = ranked.features.get(Feature::WordsAround) > 0.0;
            by_words += usize::from(has_words);
            is_near || (has_words && by_words <= findings.depth)
        });
        self.ranked.iter().map(|ranked| ranked.at).collect()
    }

    fn narrow(&mut self, findings: &Findings) -> Vec<usize> {
        let model = Model::for_palace(findings.in_scope);
        let mut ranked = std::mem::take(&mut self.ranked);
        let before = ranked.len();
        ranked.retain(|ranked| {
            let evidence = findings.evidence.get(ranked.at);
            evidence.is_some_and(|evidence| !self.is_too_far(evidence))
        });
        self.too_far = before - ranked.len();
        for ranked in &mut ranked {
            let Some(evidence) = findings.evidence.get(ranked.at) else {
                continue;
            };
            ranked.distance = evidence.distance;
            ranked.matched_via = self.matched_via(evidence);
            if let Some(distance) = evidence.distance {
                let cosine = similarity(self.criteria.metric, distance).max(0.0);
                ranked.features.set(Feature::Cosine, cosine);
            }
        }
        set_cosine_leads(&mut ranked);
        for ranked in &mut ranked {
            ranked.score_by(model);
        }
        sort(&mut ranked);
        self.ranked = ranked;
        let is_first = |rank: Option<usize>| rank.is_some_and(|rank| rank <= FIRST_OF_ARM);
        for (place, ranked) in self.ranked.iter_mut().enumerate() {
            ranked.is_compared = place < self.criteria.depth
                || is_first(ranked.lexical_rank)
                || is_first(ranked.semantic_rank);
        }
        let compared = self.ranked.iter().filter(|ranked| ranked.is_compared);
        compared.map(|ranked| ranked.at).collect()
    }

    fn choose(&mut self, findings: &Findings) -> Vec<u64> {
        if self.criteria.by_meaning {
            let mut tokens = Similarity::new(findings);
            let compared = self.ranked.iter_mut();
            for ranked in compared.filter(|ranked| ranked.is_compared) {
                let own = tokens.own(findings, ranked.at);
                ranked.features.set(Feature::OwnTokens, own);
                let around = tokens.of(findings, ranked.at);
                ranked.features.set(Feature::Tokens, around);
                if let Some(question) = &self.criteria.table
                    && let Some(evidence) = findings.evidence.get(ranked.at)
                {
                    let table = cosine(question, &evidence.tokens);
                    let both = f32::midpoint(ranked.features.get(Feature::Cosine), table);
                    ranked.features.set(Feature::Cosine, both);
                }
            }
            set_leads(&mut self.ranked, Feature::Tokens, Feature::TokensLead);
            set_cosine_leads(&mut self.ranked);
            let model = Model::for_palace(findings.in_scope);
            for ranked in &mut self.ranked {
                ranked.score_by(model);
            }
            sort(&mut self.ranked);
        }
        if self.criteria.by_source {
            add_company(&mut self.ranked);
        }
        self.findings = Findings {
            terms: findings.terms.clone(),
            evidence: Vec::new(),
            sources: Vec::new(),
            ..*findings
        };
        let mut records = self.first(findings);
        self.chosen = records.iter().copied().collect();
        let following = self.following(findings);
        records.extend(following);
        if self.criteria.explain {
            let shown = |rank: Option<usize>| rank.is_some_and(|rank| rank <= SHOWN);
            let of_arms = self
                .ranked
                .iter()
                .filter(|ranked| shown(ranked.lexical_rank) || shown(ranked.semantic_rank))
                .map(|ranked| ranked.record)
                .filter(|record| !records.contains(record))
                .collect::<Vec<u64>>();
            records.extend(of_arms);
        }
        records
    }

    fn order(&mut self, findings: &Findings, mut drawers: Vec<Recalled>) -> Vec<Recalled> {
        let model = Model::for_palace(findings.in_scope);
        let windows = Windows::new(findings);
        let texts: HashMap<u64, &str> = drawers
            .iter()
            .map(|drawer| (drawer.record, drawer.document.as_str()))
            .collect();
        for ranked in &mut self.ranked {
            let text = texts.get(&ranked.record);
            if let Some(text) = text.filter(|_| self.chosen.contains(&ranked.record)) {
                let placement = windows.of(text);
                ranked.features.set(Feature::Close, placement.close);
                ranked.features.set(Feature::Pairs, placement.pairs);
                ranked.features.set(Feature::Exact, placement.exact);
                ranked.features.set(Feature::Asks, placement.asks);
                ranked.score_by(model);
            }
        }
        sort(&mut self.ranked);
        let ranks = self.ranked.iter().zip(0_usize..);
        let ranks: HashMap<u64, usize> = ranks.map(|(ranked, at)| (ranked.record, at)).collect();
        drawers.sort_by_key(|drawer| ranks.get(&drawer.record).copied().unwrap_or(usize::MAX));
        drawers
    }
}

/// Adds to the best drawer of each source what the next best ones say for the source: a source with
/// several good passages answers better than one with a single passage. Expects and leaves the best
/// first. It runs before texts are read, because only the best drawer of a source has its text read.
fn add_company(ranked: &mut [Ranked]) {
    /// A source: the position of its best drawer, and the scores of the best ones.
    struct Source {
        best: usize,
        scores: Vec<f32>,
    }
    let mut sources: HashMap<u64, Source> = HashMap::new();
    for (at, ranked) in ranked.iter().enumerate() {
        let Some(source) = ranked.source else {
            continue;
        };
        let source = sources.entry(source).or_insert_with(|| Source {
            best: at,
            scores: Vec::with_capacity(COMPANY),
        });
        if source.scores.len() < COMPANY {
            source.scores.push(ranked.parts.score());
        }
    }
    for Source { best, scores } in sources.into_values() {
        if let Some(best) = ranked.get_mut(best) {
            let highest = best.parts.score();
            let shares = scores
                .iter()
                .map(|score| ((score - highest) / COMPANY_SCALE).exp());
            best.company = COMPANY_SCALE * shares.sum::<f32>().ln();
            best.parts.source += best.company;
        }
    }
    sort(ranked);
}

/// Sets how much of the best value of a feature each candidate has.
fn set_leads(ranked: &mut [Ranked], of: Feature, lead: Feature) {
    let values = ranked.iter().map(|ranked| ranked.features.get(of));
    let best = values.fold(0.0, f32::max);
    if best > 0.0 {
        for ranked in ranked {
            let share = ranked.features.get(of) / best;
            ranked.features.set(lead, share);
        }
    }
}

/// Sets how far each candidate that was compared is behind the nearest one.
fn set_cosine_leads(ranked: &mut [Ranked]) {
    let values = ranked
        .iter()
        .map(|ranked| ranked.features.get(Feature::Cosine));
    let best = values.fold(0.0, f32::max);
    for ranked in ranked.iter_mut().filter(|ranked| ranked.distance.is_some()) {
        let behind = ranked.features.get(Feature::Cosine) - best;
        ranked.features.set(Feature::CosineLead, behind);
    }
}

/// The cosine of a question and a passage by the built-in table, from the passage's distinct
/// tokens.
fn cosine(question: &[f32], tokens: &[TokenId]) -> f32 {
    let passage = StaticEmbedder::builtin().embed_tokens(tokens);
    let dot: f32 = question.iter().zip(passage).map(|(a, b)| a * b).sum();
    dot.max(0.0)
}

/// Sorts the best first. The newer of two equal drawers comes first.
fn sort(ranked: &mut [Ranked]) {
    ranked.sort_by(|a, b| {
        b.parts
            .score()
            .total_cmp(&a.parts.score())
            .then(b.authored_at.cmp(&a.authored_at))
            .then(a.record.cmp(&b.record))
    });
}

/// The depth for `k` hits.
pub(crate) fn depth_for(k: usize) -> usize {
    DEPTH.max(2 * k)
}

/// The depth of the semantic arm for a given depth of the lexical one. Each result costs the read
/// of a vector.
pub(crate) fn near_for(depth: usize) -> usize {
    if depth == MAX_DEPTH {
        return depth;
    }
    (depth * NEAR_PERCENT / 100).max(1)
}

#[cfg(test)]
mod tests {
    use loci_core::Metric;

    use super::*;
    use crate::evidence::{Origin, ProbedTerm};

    /// A drawer that contains the term of the question.
    fn found(rank: usize, length: u32) -> Evidence {
        let value = 1.0;
        Evidence {
            record: rank as u64,
            admitted: true,
            lexical: Some(Placed { rank, value }),
            terms: vec![(0, 1)],
            length,
            ..Evidence::default()
        }
    }

    #[test]
    fn the_tokens_of_the_first_of_an_arm_are_always_compared() {
        let term = ProbedTerm {
            term: "boiler".into(),
            word: "boiler".into(),
            weight: 1.0,
            origin: Origin::Asked,
            drawers: 200,
        };
        // The first by words is very long, so that all others have a higher score.
        let others = (2..=200).map(|rank| found(rank, 20));
        let findings = Findings {
            terms: vec![term],
            depth: 200,
            near: 1,
            drawers: 1_000,
            mean_length: 20.0,
            evidence: [found(1, 50_000)].into_iter().chain(others).collect(),
            ..Findings::default()
        };
        let criteria = Criteria {
            metric: Metric::Cosine,
            asked: Asked {
                when: None,
                question: "boiler".into(),
                today: crate::score::today(),
            },
            max_distance: None,
            by_meaning: true,
            table: None,
            by_source: false,
            explain: false,
            depth: 50,
        };
        let mut ranker = Ranker::new(criteria, 10);
        ranker.shortlist(&findings);
        let compared = ranker.narrow(&findings);
        assert_eq!(ranker.ranked.last().map(|last| last.record), Some(1));
        for at in 0..FIRST_OF_ARM {
            assert!(compared.contains(&at), "{at}");
        }
        assert!(compared.len() <= 50 + FIRST_OF_ARM, "{}", compared.len());
    }
}

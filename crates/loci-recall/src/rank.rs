//! Ranks evidence. It runs inside the read transaction of a search, after the arms and before the
//! drawers are fetched.

use std::collections::HashSet;

use loci_core::Metric;
use loci_embed::{StaticEmbedder, TokenId};
use loci_text::when::When;

use crate::evidence::{Evidence, Findings, Judge, MAX_DEPTH, Placed};
use crate::explain::SHOWN;
use crate::score::{Parts, Scorer, similarity};
use crate::similarity::Similarity;
use crate::weights::{DEPTH, NEAR_PERCENT};

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
}

/// A drawer with its score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) at: usize,
    pub(crate) record: u64,
    pub(crate) source: Option<u64>,
    pub(crate) parts: Parts,
    pub(crate) distance: Option<f32>,
    pub(crate) lexical_rank: Option<usize>,
    pub(crate) semantic_rank: Option<usize>,
    pub(crate) matched_via: MatchedVia,
    pub(crate) authored_at: i64,
    /// Terms of the question that it contains itself.
    pub(crate) terms: Vec<usize>,
    /// How well its own tokens match, without those of its neighbours.
    pub(crate) own_tokens: f32,
}

/// The parameters of the ranking.
#[derive(Clone)]
pub(crate) struct Criteria {
    pub(crate) metric: Metric,
    pub(crate) when: Option<When>,
    /// The question that contains the date.
    pub(crate) question: String,
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
    /// Number of drawers that are scored in full.
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

    /// The best drawers, until `wanted` of them differ. Drawers with the same text count as one,
    /// and with `by_source` so do drawers of the same source.
    fn first(&self, findings: &Findings) -> Vec<u64> {
        let mut sources = HashSet::new();
        let mut texts = HashSet::new();
        let mut records = Vec::new();
        for ranked in &self.ranked {
            if texts.len() == self.wanted {
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
        let scorer = Scorer::new(
            findings,
            self.criteria.when.as_ref(),
            &self.criteria.question,
        );
        self.full = findings.evidence.iter().any(|evidence| {
            let reached = |placed: Option<Placed>, depth: usize| {
                placed.is_some_and(|placed| placed.rank >= depth)
            };
            reached(evidence.lexical, self.criteria.depth)
                || reached(evidence.semantic, near_for(self.criteria.depth))
        });
        let mut by_words: Vec<(f32, usize)> = Vec::new();
        let mut chosen: Vec<usize> = Vec::new();
        for (at, evidence) in findings.evidence.iter().enumerate() {
            if !evidence.admitted {
                continue;
            }
            let parts = scorer.cheap(evidence);
            if parts.words > 0.0 {
                by_words.push((parts.score(), at));
            }
            let near = |placed: Placed| placed.rank <= self.criteria.depth;
            if evidence.semantic.is_some_and(near) {
                chosen.push(at);
            }
        }
        by_words.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        chosen.extend(by_words.iter().take(self.criteria.depth).map(|(_, at)| at));
        chosen.sort_unstable();
        chosen.dedup();
        self.ranked = chosen
            .iter()
            .filter_map(|at| {
                let evidence = findings.evidence.get(*at)?;
                Some(Ranked {
                    at: *at,
                    record: evidence.record,
                    source: evidence.source,
                    parts: scorer.cheap(evidence),
                    distance: None,
                    lexical_rank: evidence.lexical.map(|placed| placed.rank),
                    semantic_rank: evidence.semantic.map(|placed| placed.rank),
                    matched_via: MatchedVia::Context,
                    authored_at: evidence.authored_at,
                    terms: evidence.terms.iter().map(|(term, _)| *term).collect(),
                    own_tokens: 0.0,
                })
            })
            .collect();
        chosen
    }

    fn narrow(&mut self, findings: &Findings) -> Vec<usize> {
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
                ranked.parts.meaning = similarity(self.criteria.metric, distance).max(0.0);
            }
        }
        sort(&mut ranked);
        self.ranked = ranked;
        self.ranked
            .iter()
            .take(self.criteria.depth)
            .map(|ranked| ranked.at)
            .collect()
    }

    fn choose(&mut self, findings: &Findings) -> Vec<u64> {
        if self.criteria.by_meaning {
            let mut tokens = Similarity::new(findings);
            for ranked in self.ranked.iter_mut().take(self.criteria.depth) {
                ranked.parts.tokens = tokens.of(findings, ranked.at);
                ranked.own_tokens = tokens.own(findings, ranked.at);
                if let Some(question) = &self.criteria.table
                    && let Some(evidence) = findings.evidence.get(ranked.at)
                {
                    let table = cosine(question, &evidence.tokens);
                    ranked.parts.meaning = f32::midpoint(ranked.parts.meaning, table);
                }
            }
            sort(&mut self.ranked);
        }
        self.findings = Findings {
            terms: findings.terms.clone(),
            evidence: Vec::new(),
            sources: Vec::new(),
            ..*findings
        };
        let mut records = self.first(findings);
        self.chosen = records.iter().copied().collect();
        if self.criteria.explain {
            let shown = |rank: Option<usize>| rank.is_some_and(|rank| rank <= SHOWN);
            let of_arms = self
                .ranked
                .iter()
                .filter(|ranked| shown(ranked.lexical_rank) || shown(ranked.semantic_rank))
                .map(|ranked| ranked.record)
                .filter(|record| !self.chosen.contains(record));
            records.extend(of_arms);
        }
        records
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

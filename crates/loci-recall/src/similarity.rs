//! MaxSim over static token vectors: for each token of the question, the best match among the
//! tokens of a passage or, with less weight, of its neighbours.

use loci_embed::{ComparedTokens, StaticEmbedder, TokenId};

use crate::bm25::rarity;
use crate::evidence::Findings;
use crate::weights::{AFTER_TOKENS, BEFORE_TOKENS};

/// Similarities are compared in groups of this many, which fit the registers of a processor.
const GROUP: usize = 8;

/// The similarities of one token or passage to tokens of the question.
type Group = [f32; GROUP];

/// Compares passages with one question. Similarities between tokens are computed once.
pub(crate) struct Similarity {
    /// The tokens of the question and their weights.
    compared: ComparedTokens,
    weights: Vec<f32>,
    /// Groups per token. The last one is filled with zeros.
    groups: usize,
    /// The first group of each token; 0 if its similarities are not computed yet.
    rows: Vec<u32>,
    similarities: Vec<Group>,
    /// Best matches, and the first group of each position of the evidence; 0 if they are not
    /// computed yet.
    best: Vec<Group>,
    starts: Vec<u32>,
}

impl Similarity {
    /// Uses the words whose terms were searched, which excludes stop words.
    pub(crate) fn new(findings: &Findings) -> Self {
        let table = StaticEmbedder::builtin();
        let mut pieces: Vec<TokenId> = Vec::new();
        let mut weights: Vec<f32> = Vec::new();
        for term in &findings.terms {
            for token in table.tokens(&term.word) {
                let rare = table.token_weight(token);
                let weight = rarity(findings.drawers, term.drawers).sqrt() * rare
                    / (rare + 3.0 * (1.0 - rare));
                if weight > 0.0 && !pieces.contains(&token) {
                    pieces.push(token);
                    weights.push(weight);
                }
            }
        }
        let groups = pieces.len().div_ceil(GROUP).max(1);
        Self {
            compared: table.compared(&pieces),
            weights,
            groups,
            // The first row means "not computed".
            similarities: vec![[0.0; GROUP]; groups],
            rows: vec![0; usize::from(TokenId::MAX) + 1],
            best: vec![[0.0; GROUP]; groups],
            starts: vec![0; findings.evidence.len()],
        }
    }

    /// The similarity as a share of the attainable maximum, between 0 and 1.
    pub(crate) fn of(&mut self, findings: &Findings, at: usize) -> f32 {
        let Some(evidence) = findings.evidence.get(at) else {
            return 0.0;
        };
        let own = self.start_of(findings, at);
        let mut best: Vec<Group> = self.matches(own).to_vec();
        let before = evidence.before.iter().zip(BEFORE_TOKENS);
        let after = evidence.after.iter().zip(AFTER_TOKENS);
        for (neighbour, share) in before.chain(after) {
            let lent = self.start_of(findings, *neighbour);
            for (best, lent) in best.iter_mut().zip(self.matches(lent)) {
                raise(best, &lent.map(|lent| share * lent));
            }
        }
        self.share(&best)
    }

    /// The same without neighbours.
    pub(crate) fn own(&mut self, findings: &Findings, at: usize) -> f32 {
        let own = self.start_of(findings, at);
        self.share(self.matches(own))
    }

    fn share(&self, best: &[Group]) -> f32 {
        let total: f32 = self.weights.iter().sum();
        let matched = self.weights.iter().zip(best.as_flattened());
        let sum: f32 = matched.map(|(weight, best)| weight * best).sum();
        if total > 0.0 { sum / total } else { 0.0 }
    }

    fn matches(&self, start: usize) -> &[Group] {
        let end = start + self.groups;
        self.best.get(start..end).unwrap_or_default()
    }

    /// The start of the best matches of a position, which are computed if necessary.
    fn start_of(&mut self, findings: &Findings, at: usize) -> usize {
        let known = self.starts.get(at).copied().unwrap_or_default() as usize;
        if known > 0 {
            return known;
        }
        let start = self.best.len();
        self.best.resize(start + self.groups, [0.0; GROUP]);
        if let Some(evidence) = findings.evidence.get(at) {
            for token in &evidence.tokens {
                let row = self.row_of(*token);
                let similarities = self.similarities.get(row..row + self.groups);
                let best = self.best.get_mut(start..).unwrap_or_default();
                for (best, similarity) in best.iter_mut().zip(similarities.unwrap_or_default()) {
                    raise(best, similarity);
                }
            }
        }
        if let Some(slot) = self.starts.get_mut(at) {
            *slot = start as u32;
        }
        start
    }

    fn row_of(&mut self, token: TokenId) -> usize {
        let Some(row) = self.rows.get_mut(usize::from(token)) else {
            return 0;
        };
        if *row == 0 {
            let start = self.similarities.len();
            *row = start as u32;
            self.similarities.resize(start + self.groups, [0.0; GROUP]);
            let row = self.similarities.get_mut(start..).unwrap_or_default();
            let table = StaticEmbedder::builtin();
            let found = table.token_similarities(&mut self.compared, token);
            for (slot, similarity) in row.as_flattened_mut().iter_mut().zip(found) {
                *slot = similarity;
            }
        }
        *row as usize
    }
}

/// Raises each of the best matches to a better one. Without an early end, it is vectorised.
fn raise(best: &mut Group, by: &Group) {
    for (best, by) in best.iter_mut().zip(by) {
        *best = if *by > *best { *by } else { *best };
    }
}

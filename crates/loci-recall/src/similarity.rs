//! MaxSim over static token vectors: for each token of the question, the best match among the
//! tokens of a passage or, with less weight, of its neighbours.

use loci_embed::{StaticEmbedder, TokenId};

use crate::bm25::rarity;
use crate::evidence::Findings;
use crate::weights::{AFTER_TOKENS, BEFORE_TOKENS};

/// A token of the question.
struct Piece {
    token: TokenId,
    weight: f32,
}

/// Compares passages with one question. Similarities between tokens are computed once.
pub(crate) struct Similarity {
    pieces: Vec<Piece>,
    /// The start of the similarities of each token; 0 if they are not computed yet.
    rows: Vec<u32>,
    similarities: Vec<f32>,
    /// Best matches, and the start of those of each position of the evidence; 0 if they are not
    /// computed yet.
    best: Vec<f32>,
    starts: Vec<u32>,
}

impl Similarity {
    /// Uses the words whose terms were searched, which excludes stop words.
    pub(crate) fn new(findings: &Findings) -> Self {
        let table = StaticEmbedder::builtin();
        let mut pieces: Vec<Piece> = Vec::new();
        for term in &findings.terms {
            for token in table.tokens(&term.word) {
                let rare = table.token_weight(token);
                let weight = rarity(findings.drawers, term.drawers).sqrt() * rare
                    / (rare + 3.0 * (1.0 - rare));
                if weight > 0.0 && pieces.iter().all(|piece| piece.token != token) {
                    pieces.push(Piece { token, weight });
                }
            }
        }
        Self {
            // The first row means "not computed".
            similarities: vec![0.0; pieces.len().max(1)],
            rows: vec![0; usize::from(TokenId::MAX) + 1],
            best: vec![0.0; pieces.len().max(1)],
            starts: vec![0; findings.evidence.len()],
            pieces,
        }
    }

    /// The similarity as a share of the attainable maximum, between 0 and 1.
    pub(crate) fn of(&mut self, findings: &Findings, at: usize) -> f32 {
        let Some(evidence) = findings.evidence.get(at) else {
            return 0.0;
        };
        let own = self.start_of(findings, at);
        let mut best: Vec<f32> = self.matches(own).collect();
        let before = evidence.before.iter().zip(BEFORE_TOKENS);
        let after = evidence.after.iter().zip(AFTER_TOKENS);
        for (neighbour, share) in before.chain(after) {
            let lent = self.start_of(findings, *neighbour);
            for (best, lent) in best.iter_mut().zip(self.matches(lent)) {
                *best = best.max(share * lent);
            }
        }
        self.share(best.into_iter())
    }

    /// The same without neighbours.
    pub(crate) fn own(&mut self, findings: &Findings, at: usize) -> f32 {
        let own = self.start_of(findings, at);
        self.share(self.matches(own))
    }

    fn share(&self, best: impl Iterator<Item = f32>) -> f32 {
        let total: f32 = self.pieces.iter().map(|piece| piece.weight).sum();
        let sum: f32 = self
            .pieces
            .iter()
            .zip(best)
            .map(|(piece, best)| piece.weight * best)
            .sum();
        if total > 0.0 { sum / total } else { 0.0 }
    }

    fn matches(&self, start: usize) -> impl Iterator<Item = f32> + '_ {
        self.best
            .iter()
            .skip(start)
            .take(self.pieces.len())
            .copied()
    }

    /// The start of the best matches of a position, which are computed if necessary.
    fn start_of(&mut self, findings: &Findings, at: usize) -> usize {
        let known = self.starts.get(at).copied().unwrap_or_default() as usize;
        if known > 0 {
            return known;
        }
        let start = self.best.len();
        self.best.resize(start + self.pieces.len(), 0.0);
        if let Some(evidence) = findings.evidence.get(at) {
            for token in &evidence.tokens {
                let row = self.row_of(*token);
                let similarities = self.similarities.iter().skip(row);
                for (best, similarity) in self.best.iter_mut().skip(start).zip(similarities) {
                    *best = best.max(*similarity);
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
            *row = self.similarities.len() as u32;
            let table = StaticEmbedder::builtin();
            let pieces = self.pieces.iter();
            self.similarities
                .extend(pieces.map(|piece| table.token_similarity(piece.token, token)));
        }
        *row as usize
    }
}

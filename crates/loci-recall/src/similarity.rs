//! MaxSim over static token vectors: for each token of the question, the best match among the tokens of a passage or, for
//! less, of its neighbours.

use loci_core::{Evidence, Findings};
use loci_embed::{StaticEmbedder, TokenId};

use crate::weights::{AFTER_TOKENS, BEFORE_TOKENS, rarity};

/// A token of the question.
struct Piece {
    token: TokenId,
    weight: f32,
}

/// Compares passages with one question. Similarities between tokens are computed once.
pub(crate) struct Similarity {
    pieces: Vec<Piece>,
    /// Where the similarities of a token begin, by token; 0 when they are not computed yet.
    rows: Vec<u32>,
    similarities: Vec<f32>,
    /// Best matches by position of the evidence.
    best: Vec<Option<Vec<f32>>>,
}

impl Similarity {
    /// Takes the words whose terms were searched: stop words say nothing here, too.
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
            // The first row stands for "not computed".
            similarities: vec![0.0; pieces.len()],
            rows: vec![0; usize::from(TokenId::MAX) + 1],
            best: vec![None; findings.evidence.len()],
            pieces,
        }
    }

    /// Between 0 and 1: the share of what the question could attain.
    pub(crate) fn of(&mut self, findings: &Findings, at: usize) -> f32 {
        let Some(evidence) = findings.evidence.get(at) else {
            return 0.0;
        };
        let mut best = self.best_of(findings, at);
        let before = evidence.before.iter().zip(BEFORE_TOKENS);
        let after = evidence.after.iter().zip(AFTER_TOKENS);
        for (neighbour, share) in before.chain(after) {
            let lent = self.best_of(findings, *neighbour);
            for (best, lent) in best.iter_mut().zip(lent) {
                *best = best.max(share * lent);
            }
        }
        self.share(best)
    }

    /// The same without neighbours.
    pub(crate) fn own(&mut self, findings: &Findings, at: usize) -> f32 {
        let best = self.best_of(findings, at);
        self.share(best)
    }

    fn share(&self, best: Vec<f32>) -> f32 {
        let total: f32 = self.pieces.iter().map(|piece| piece.weight).sum();
        let sum: f32 = self
            .pieces
            .iter()
            .zip(best)
            .map(|(piece, best)| piece.weight * best)
            .sum();
        if total > 0.0 { sum / total } else { 0.0 }
    }

    fn best_of(&mut self, findings: &Findings, at: usize) -> Vec<f32> {
        if let Some(Some(best)) = self.best.get(at) {
            return best.clone();
        }
        let best = match findings.evidence.get(at) {
            Some(evidence) => self.match_tokens(evidence),
            None => Vec::new(),
        };
        if let Some(slot) = self.best.get_mut(at) {
            *slot = Some(best.clone());
        }
        best
    }

    fn match_tokens(&mut self, evidence: &Evidence) -> Vec<f32> {
        let width = self.pieces.len();
        let mut best = vec![0.0_f32; width];
        for token in &evidence.tokens {
            let start = self.row_of(*token);
            let row = self.similarities.iter().skip(start).take(width);
            for (best, similarity) in best.iter_mut().zip(row) {
                *best = best.max(*similarity);
            }
        }
        best
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

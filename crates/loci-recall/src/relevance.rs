//! How likely it is that the best drawers are about a text that asks nothing of memory, such as the
//! prompt of a coding agent. Telling something unasked needs more certainty than answering a
//! question: one wrong recall costs more than ten missing ones.
//!
//! The probability of [`crate::probability`] says whether a drawer answers, given that the text is a
//! question to this memory. Here it is one of several inputs. The others compare the words that the
//! best drawer contains with all words of the text, by how rare they are in general: "typo" says
//! less about a memory than "postcard", however many drawers contain it.

use loci_embed::StaticEmbedder;

use crate::evidence::Origin;
use crate::rank::Ranker;

/// Number of inputs.
pub const RELEVANCE_INPUTS: usize = 5;

/// The rarity of a word whose token has the weight 1/2.
const MEDIUM: f32 = 2.5;
/// The highest and lowest weights that are told apart.
const SMALLEST: f32 = 1e-4;

/// What the relevance of an answer depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Relevance {
    inputs: [f32; RELEVANCE_INPUTS],
    /// Whether any drawer was found.
    found: bool,
}

impl Relevance {
    pub(crate) fn new(ranker: &Ranker) -> Self {
        let Some(best) = ranker.ranked.first() else {
            return Self::default();
        };
        let mut words: Vec<(&str, f32, bool)> = Vec::new();
        for (at, term) in ranker.findings.terms.iter().enumerate() {
            if term.origin != Origin::Asked {
                continue;
            }
            let contained = best.terms.contains(&at);
            match words.iter_mut().find(|(word, ..)| *word == term.word) {
                Some((_, _, before)) => *before |= contained,
                None => words.push((&term.word, rarity_of(&term.word), contained)),
            }
        }
        let all: f32 = words.iter().map(|(_, rarity, _)| rarity).sum();
        let contained = words.iter().filter(|(.., contained)| *contained);
        let shared: f32 = contained.map(|(_, rarity, _)| rarity).sum();
        let rarest = words.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let answered = ranker.calibration().of_any().clamp(1e-5, 1.0 - 1e-5);
        Self {
            inputs: [
                1.0,
                (answered / (1.0 - answered)).ln(),
                if all > 0.0 { shared / all } else { 0.0 },
                shared.ln_1p(),
                if rarest.is_some_and(|(.., contained)| *contained) {
                    1.0
                } else {
                    0.0
                },
            ],
            found: true,
        }
    }

    /// The inputs, for fitting.
    pub fn inputs(&self) -> [f32; RELEVANCE_INPUTS] {
        self.inputs
    }

    /// The probability with these weights.
    pub fn probability(&self, weights: &[f32; RELEVANCE_INPUTS]) -> f32 {
        if !self.found {
            return 0.0;
        }
        let logit: f32 = self.inputs.iter().zip(weights).map(|(a, b)| a * b).sum();
        1.0 / (1.0 + (-logit).exp())
    }
}

/// How rare a word is in general, by the rarest of its tokens; 0 for the most frequent words.
fn rarity_of(word: &str) -> f32 {
    let table = StaticEmbedder::builtin();
    let of_token = |token| {
        let weight: f32 = table.token_weight(token);
        let weight = weight.clamp(SMALLEST, 1.0 - SMALLEST);
        (weight / (1.0 - weight)).ln() + MEDIUM
    };
    let rarities = table.tokens(word).into_iter().map(of_token);
    rarities.fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_rarer_than_a_common_verb() {
        assert!(rarity_of("postcards") > rarity_of("make"));
        assert!(rarity_of("Kubernetes") > rarity_of("fix"));
        assert!(rarity_of("the") >= 0.0 && rarity_of("") >= 0.0);
    }
}

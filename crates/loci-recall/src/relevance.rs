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
use crate::probability::Calibration;
use crate::rank::{Ranked, Ranker};
use crate::relevance_weights::WEIGHTS;

/// Number of inputs.
pub const RELEVANCE_INPUTS: usize = 6;

/// The rarity of a word whose token has the weight 1/2.
const MEDIUM: f32 = 2.5;
/// The highest and lowest weights that are told apart.
const SMALLEST: f32 = 1e-4;

/// What the relevance of a hit depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Relevance([f32; RELEVANCE_INPUTS]);

impl Relevance {
    /// The inputs, for fitting.
    pub fn inputs(&self) -> [f32; RELEVANCE_INPUTS] {
        self.0
    }

    /// How likely it is that the hit helps with the text.
    pub fn probability(&self) -> f32 {
        let logit: f32 = self.0.iter().zip(WEIGHTS).map(|(a, b)| a * b).sum();
        1.0 / (1.0 + (-logit).exp())
    }
}

/// A word of the text.
struct Word {
    rarity: f32,
    /// The terms that stand for it.
    terms: Vec<usize>,
}

/// Computes the relevance of the hits of one text.
pub(crate) struct Relevances {
    words: Vec<Word>,
    answered: f32,
}

impl Relevances {
    pub(crate) fn new(ranker: &Ranker, calibration: &Calibration) -> Self {
        let mut names: Vec<&str> = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        for (at, term) in ranker.findings.terms.iter().enumerate() {
            if term.origin != Origin::Asked {
                continue;
            }
            let known = names.iter().position(|name| *name == term.word);
            if let Some(word) = known.and_then(|known| words.get_mut(known)) {
                word.terms.push(at);
            } else {
                names.push(&term.word);
                words.push(Word {
                    rarity: rarity_of(&term.word),
                    terms: vec![at],
                });
            }
        }
        Self {
            words,
            answered: logit(calibration.of_any()),
        }
    }

    /// The relevance of a hit with this probability.
    pub(crate) fn of(&self, ranked: &Ranked, probability: f32) -> Relevance {
        let contains = |word: &&Word| word.terms.iter().any(|term| ranked.terms.contains(term));
        let all: f32 = self.words.iter().map(|word| word.rarity).sum();
        let contained = self.words.iter().filter(contains);
        let shared: f32 = contained.map(|word| word.rarity).sum();
        let by_rarity = |a: &&Word, b: &&Word| a.rarity.total_cmp(&b.rarity);
        let rarest = self.words.iter().max_by(by_rarity);
        Relevance([
            1.0,
            self.answered,
            logit(probability),
            if all > 0.0 { shared / all } else { 0.0 },
            shared.ln_1p(),
            f32::from(u8::from(rarest.as_ref().is_some_and(contains))),
        ])
    }
}

fn logit(probability: f32) -> f32 {
    let probability = probability.clamp(1e-5, 1.0 - 1e-5);
    (probability / (1.0 - probability)).ln()
}

/// How rare a word is in general, by the rarest of its tokens; 0 for the most frequent words.
pub fn rarity_of(word: &str) -> f32 {
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

//! The probability that a hit answers the question: a logistic curve over its score and over what
//! is known of the whole ranking. `cargo xtask fit` fits it ([`crate::curves`]), with questions
//! whose answer is in the palace and with the same questions after the answer was taken out.

use crate::curves::{BY_MEANING, BY_WORDS};
use crate::feature::{Feature, Features};
use crate::model::share_of_large;
use crate::rank::Ranked;

/// Number of inputs of the calibration.
pub const INPUTS: usize = 7;

/// The place in the ranking whose score stands for the drawers that do not answer.
pub const CROWD: usize = 20;

/// What the probabilities of all hits of one question have in common.
#[derive(Debug, Clone, Copy)]
pub struct Common {
    inputs: [f32; INPUTS],
}

impl Common {
    /// Takes the features of the best hit, the score of the drawer at place [`CROWD`] (0 if there
    /// are fewer), and the number of drawers of the palace.
    pub fn new(best: &Features, crowd: f32, drawers: u64) -> Self {
        Self {
            inputs: [
                1.0,
                0.0,
                crowd,
                best.get(Feature::Coverage),
                best.get(Feature::Cosine),
                best.get(Feature::Tokens),
                share_of_large(drawers),
            ],
        }
    }

    /// The inputs of the calibration for a hit with this score.
    pub fn inputs(&self, score: f32) -> [f32; INPUTS] {
        let [one, _, rest @ ..] = self.inputs;
        let [crowd, coverage, cosine, tokens, large] = rest;
        [one, score, crowd, coverage, cosine, tokens, large]
    }
}

/// Computes the probabilities of the hits of one ranking.
pub(crate) struct Calibration {
    common: Common,
    weights: &'static [f32; INPUTS],
}

impl Calibration {
    /// `by_meaning` says whether vectors were compared.
    pub(crate) fn new(ranked: &[Ranked], drawers: u64, by_meaning: bool) -> Self {
        let best = ranked.first().map(|best| best.features).unwrap_or_default();
        let crowd = ranked
            .get(CROWD - 1)
            .map_or(0.0, |ranked| ranked.parts.score());
        Self {
            common: Common::new(&best, crowd, drawers),
            weights: if by_meaning { &BY_MEANING } else { &BY_WORDS },
        }
    }

    /// Between 0 and 1. A higher score never has a lower probability.
    pub(crate) fn of(&self, score: f32) -> f32 {
        let inputs = self.common.inputs(score);
        let logit: f32 = inputs.iter().zip(self.weights).map(|(a, b)| a * b).sum();
        1.0 / (1.0 + (-logit).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_score_is_more_probable_and_every_probability_lies_between_0_and_1() {
        for by_meaning in [true, false] {
            let calibration = Calibration::new(&[], 1_000, by_meaning);
            let mut last = 0.0;
            for step in 0..200 {
                let probability = calibration.of(step as f32 / 10.0);
                assert!(probability >= last && probability <= 1.0, "{step}");
                last = probability;
            }
            assert!(last > 0.9, "{last}");
        }
    }
}

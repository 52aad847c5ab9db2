//! The probability that a hit answers the question, and the probability that any hit does: logistic
//! curves over the scores and over what is known of the whole ranking. `cargo xtask fit` fits them
//! ([`crate::curves`]), with questions whose answer is in the palace and with the same questions
//! after the answer was taken out.

use crate::curves::{ANSWERED, ANSWERED_BY_WORDS, BY_MEANING, BY_WORDS};
use crate::feature::{Feature, Features};
use crate::model::share_of_large;
use crate::rank::Ranked;

/// Number of inputs of the calibration.
pub const INPUTS: usize = 8;

/// The place in the ranking whose score stands for the drawers that do not answer.
const CROWD: usize = 20;

/// The weights of the inputs, in a small palace and in a large one.
pub(crate) type Weights = [[f32; INPUTS]; 2];

/// What the probabilities of all hits of one question have in common.
#[derive(Debug, Clone, Copy)]
pub struct Common {
    inputs: [f32; INPUTS],
    large: f32,
}

impl Common {
    /// Takes the score and the features of every candidate, best first, and the number of drawers
    /// of the palace.
    pub fn new<'a>(
        ranked: impl Iterator<Item = (f32, &'a Features)> + Clone,
        drawers: u64,
    ) -> Self {
        let best = ranked.clone().next();
        let of_best = |feature| best.map_or(0.0, |(_, features)| features.get(feature));
        let highest = best.map_or(0.0, |(score, _)| score);
        let crowd = ranked
            .clone()
            .nth(CROWD - 1)
            .map_or(0.0, |(score, _)| score);
        let others: f32 = ranked
            .clone()
            .map(|(score, _)| (score - highest).exp())
            .sum();
        Self {
            inputs: [
                1.0,
                highest,
                crowd,
                // The logarithm of the sum of `exp(score)`: rivals take from a hit's probability.
                highest + others.max(1.0).ln(),
                of_best(Feature::Coverage),
                of_best(Feature::Cosine),
                of_best(Feature::Tokens),
                speaker_lead(ranked),
            ],
            large: share_of_large(drawers),
        }
    }

    /// The inputs of the calibration for a hit with this score.
    pub fn inputs(&self, score: f32) -> [f32; INPUTS] {
        let [one, _, rest @ ..] = self.inputs;
        let [crowd, total, coverage, cosine, tokens, speaker] = rest;
        [one, score, crowd, total, coverage, cosine, tokens, speaker]
    }

    /// The inputs for the best hit.
    pub fn inputs_of_best(&self) -> [f32; INPUTS] {
        self.inputs
    }

    /// The share of the weights for large palaces.
    pub fn large(&self) -> f32 {
        self.large
    }

    fn probability(&self, inputs: &[f32; INPUTS], [small, large]: &Weights) -> f32 {
        let sum = |weights: &[f32; INPUTS]| -> f32 {
            inputs.iter().zip(weights).map(|(a, b)| a * b).sum()
        };
        let logit = (1.0 - self.large) * sum(small) + self.large * sum(large);
        1.0 / (1.0 + (-logit).exp())
    }
}

/// How much better the best match of the speaker that the question names is than the best match of
/// all others. 0 if it names none.
pub(crate) fn speaker_lead<'a>(ranked: impl Iterator<Item = (f32, &'a Features)>) -> f32 {
    let (mut named, mut others) = (None::<f32>, None::<f32>);
    for (_, features) in ranked.take(CROWD) {
        let best = if features.get(Feature::Named) > 0.0 {
            &mut named
        } else {
            &mut others
        };
        let own = features.get(Feature::OwnTokens);
        *best = Some(best.map_or(own, |best| best.max(own)));
    }
    match (named, others) {
        (Some(named), Some(others)) => named - others,
        _ => 0.0,
    }
}

/// Computes the probabilities of one ranking.
pub(crate) struct Calibration {
    common: Common,
    by_meaning: bool,
}

impl Calibration {
    /// `by_meaning` says whether vectors were compared.
    pub(crate) fn new(ranked: &[Ranked], drawers: u64, by_meaning: bool) -> Self {
        let candidates = ranked.iter();
        let candidates = candidates.map(|ranked| (ranked.parts.score(), &ranked.features));
        Self {
            common: Common::new(candidates, drawers),
            by_meaning,
        }
    }

    /// The probability that a hit with this score answers the question. A higher score never has a
    /// lower probability.
    pub(crate) fn of(&self, score: f32) -> f32 {
        let weights = if self.by_meaning {
            &BY_MEANING
        } else {
            &BY_WORDS
        };
        let inputs = self.common.inputs(score);
        self.common.probability(&inputs, weights)
    }

    /// The probability that one of the drawers answers the question.
    pub(crate) fn of_any(&self) -> f32 {
        let weights = if self.by_meaning {
            &ANSWERED
        } else {
            &ANSWERED_BY_WORDS
        };
        let inputs = self.common.inputs_of_best();
        self.common.probability(&inputs, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_score_is_more_probable_and_every_probability_lies_between_0_and_1() {
        for drawers in [10, 1_000, 1_000_000] {
            for by_meaning in [true, false] {
                let calibration = Calibration::new(&[], drawers, by_meaning);
                let mut last = 0.0;
                for step in 0..300 {
                    let probability = calibration.of(step as f32 / 10.0);
                    assert!(probability >= last && probability <= 1.0, "{step}");
                    last = probability;
                }
                assert!(last > 0.9, "{last}");
            }
        }
    }

    #[test]
    fn rivals_with_the_same_score_lower_the_probability() {
        let features = Features::default();
        let of = |rivals: usize| {
            let candidates = std::iter::repeat_n((9.0_f32, &features), rivals);
            Calibration {
                common: Common::new(candidates, 100_000),
                by_meaning: true,
            }
            .of(9.0)
        };
        assert!(of(1) > of(10), "{} {}", of(1), of(10));
    }
}

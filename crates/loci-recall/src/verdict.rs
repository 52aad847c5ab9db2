//! Estimates whether the answer is in memory at all, from the probability that `cargo xtask fit`
//! calibrates ([`crate::probability`]).

use schemars::JsonSchema;
use serde::Serialize;

use crate::evidence::{Findings, Origin};
use crate::probability::speaker_lead;
use crate::rank::{Ranked, Ranker};

/// Below this probability, the answer is reported as probably not in memory.
const DOUBT: f32 = 0.2;
/// Difference from which a better match of another speaker is reported.
const OTHER: f32 = -0.1;

/// How likely it is that the palace contains the answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Between 0 and 1. `None` if it is not calibrated, because another embedder embedded the
    /// question, or because the question is only a few words and all of them were found.
    pub probability: Option<f32>,
    /// False if the answer is probably not in memory.
    pub likely: bool,
}

impl Verdict {
    /// The verdict if nothing was found.
    pub const NOTHING: Self = Self {
        probability: Some(0.0),
        likely: false,
    };

    /// Judges a ranking. `calibrated` says whether the probability applies to it.
    pub(crate) fn of(ranker: &Ranker, calibrated: bool) -> Self {
        let Some(best) = ranker.ranked.first() else {
            return Self::NOTHING;
        };
        if contains_all(&ranker.findings, best) {
            // The probability is fitted to sentences. A question of one or two words that are found
            // is answered.
            return Self {
                probability: None,
                likely: true,
            };
        }
        if !calibrated {
            return Self {
                probability: None,
                likely: !best.terms.is_empty(),
            };
        }
        let probability = ranker.calibration().of_any();
        Self {
            probability: Some(probability),
            likely: probability >= DOUBT,
        }
    }
}

/// Whether a drawer contains every word of the question.
fn contains_all(findings: &Findings, ranked: &Ranked) -> bool {
    let terms = findings.terms.iter().enumerate();
    let mut asked = terms.filter(|(_, term)| term.origin == Origin::Asked);
    !ranked.terms.is_empty() && asked.all(|(at, _)| ranked.terms.contains(&at))
}

/// Whether the best match is by another speaker than the question names.
pub(crate) fn said_by_other(ranked: &[Ranked]) -> bool {
    let candidates = ranked.iter();
    speaker_lead(candidates.map(|ranked| (ranked.parts.score(), &ranked.features))) < OTHER
}

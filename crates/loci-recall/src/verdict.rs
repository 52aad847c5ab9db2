//! Whether the answer is in memory at all: a probability, fitted on the tuning half of LoCoMo by asking each question of
//! its own conversation and of others (docs/benchmarks.md).

use loci_core::Findings;
use serde::Serialize;

use crate::rank::Ranked;

/// Below this, a search says that the answer is probably not in memory.
const DOUBT: f32 = 0.3;
/// The place whose score stands for the crowd.
const CROWD: usize = 20;

/// How likely it is that the palace holds what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Verdict {
    /// Between 0 and 1.
    pub probability: f32,
    /// False: probably not in memory.
    pub likely: bool,
}

impl Verdict {
    /// Nothing was found.
    pub(crate) const NOTHING: Self = Self {
        probability: 0.0,
        likely: false,
    };

    /// Judges a ranking: how far the best stands out from the crowd, how well its tokens and its meaning fit, and how much
    /// was asked.
    pub(crate) fn of(findings: &Findings, ranked: &[Ranked]) -> Self {
        let Some(best) = ranked
            .iter()
            .max_by(|a, b| a.parts.content().total_cmp(&b.parts.content()))
        else {
            return Self::NOTHING;
        };
        let mut contents: Vec<f32> = ranked.iter().map(|ranked| ranked.parts.content()).collect();
        contents.sort_by(|a, b| b.total_cmp(a));
        let crowd = contents
            .get(CROWD - 1)
            .or(contents.last())
            .copied()
            .unwrap_or_default();
        let gap = best.parts.content() - crowd;
        let asked = findings.terms.len().max(1) as f32;
        let logit =
            4.0 * gap + 4.0 * best.parts.tokens + 5.5 * best.parts.meaning + 1.2 * asked.ln()
                - 10.0;
        let probability = 1.0 / (1.0 + (-logit).exp());
        Self {
            probability,
            likely: probability >= DOUBT,
        }
    }
}

//! Estimates whether the answer is in memory at all. The probability is fitted on the tuning half
//! of LoCoMo, by asking each question of its own conversation and of others (docs/benchmarks.md).

use schemars::JsonSchema;
use serde::Serialize;

use crate::evidence::Findings;
use crate::feature::Feature;
use crate::rank::Ranked;
use crate::score::is_extension;

/// Below this probability, the answer is reported as probably not in memory.
const DOUBT: f32 = 0.2;
/// The rank whose score represents the other drawers.
const CROWD: usize = 20;
/// The assumed lead of the best drawer if there are fewer drawers than that.
const GAP_OF_FEW: f32 = 0.9;
/// If all terms are unknown, up to this many of them still count as asked for.
const FEW: usize = 3;
/// Maximum number of terms that count.
const MOST_ASKED: usize = 12;
/// Difference from which a better match of another speaker is reported.
const OTHER: f32 = -0.1;

/// How likely it is that the palace contains the answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Between 0 and 1. `None` if it is not calibrated, because only words were searched or another
    /// embedder embedded the question.
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

    /// Judges a ranking by four features: how far the best drawer is ahead of the others, how well
    /// its tokens and meaning match, the number of terms, and whether the speaker that the question
    /// names said it.
    pub(crate) fn of(findings: &Findings, ranked: &[Ranked], calibrated: bool) -> Self {
        let Some(best) = ranked.first() else {
            return Self::NOTHING;
        };
        let words = findings.terms.iter().enumerate();
        let mut words = words.filter(|(_, term)| !is_extension(&term.term));
        let holds_all = words.all(|(at, _)| best.terms.contains(&at));
        if holds_all && !best.terms.is_empty() {
            // It is fitted to sentences. A question of one or two words that are found is answered.
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
        let mut contents: Vec<f32> = ranked.iter().map(Ranked::content).collect();
        contents.sort_by(|a, b| b.total_cmp(a));
        let gap = match (contents.first(), contents.get(CROWD - 1)) {
            (Some(first), Some(crowd)) => first - crowd,
            _ => GAP_OF_FEW,
        };
        let asked = asked(findings) as f32;
        let logit = 4.0 * gap
            + 3.5 * best.features.get(Feature::Tokens)
            + 5.0 * best.features.get(Feature::Cosine)
            + 1.2 * asked.ln()
            + 4.5 * who(ranked)
            - 9.6;
        let probability = 1.0 / (1.0 + (-logit).exp());
        Self {
            probability: Some(probability),
            likely: probability >= DOUBT,
        }
    }
}

/// The number of terms that count as asked for. Unknown words count little, very common words
/// nothing.
fn asked(findings: &Findings) -> usize {
    let all = findings.terms.len();
    let known = findings
        .terms
        .iter()
        .filter(|term| term.drawers > 0)
        .count();
    let asked = match known {
        _ if findings.only_stop_words => 1,
        0 if all > FEW => 1,
        0 => all,
        known => all.min(2 * known + 2),
    };
    asked.clamp(1, MOST_ASKED)
}

/// Whether the best match is by another speaker than the question names.
pub(crate) fn said_by_other(ranked: &[Ranked]) -> bool {
    who(ranked) < OTHER
}

/// How much better the best match of the named speaker is than the best match of all others.
fn who(ranked: &[Ranked]) -> f32 {
    let best = |named: bool| {
        ranked
            .iter()
            .take(CROWD)
            .filter(|ranked| (ranked.features.get(Feature::Named) > 0.0) == named)
            .map(|ranked| ranked.features.get(Feature::OwnTokens))
            .reduce(f32::max)
    };
    match (best(true), best(false)) {
        (Some(named), Some(others)) => named - others,
        _ => 0.0,
    }
}

//! Whether the answer is in memory at all: a probability, fitted on the tuning half of LoCoMo by asking each question of
//! its own conversation and of others (docs/benchmarks.md).

use schemars::JsonSchema;
use serde::Serialize;

use crate::evidence::Findings;
use crate::rank::Ranked;
use crate::score::is_extension;

/// Below this, a search says that the answer is probably not in memory.
const DOUBT: f32 = 0.2;
/// The place whose score stands for the crowd, and how far the best is taken to stand out where there is no crowd.
const CROWD: usize = 20;
const GAP_OF_FEW: f32 = 0.9;
/// Terms that nobody wrote and that may still be asked for in other words.
const FEW: usize = 3;
/// Terms beyond which more of them say no more.
const MOST_ASKED: usize = 12;
/// How much better somebody else must fit to be worth a word.
const OTHER: f32 = -0.1;

/// How likely it is that the palace holds what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Between 0 and 1; unknown where it was not calibrated: words alone were searched, or a stand-in embedded the question.
    pub probability: Option<f32>,
    /// False: probably not in memory.
    pub likely: bool,
}

impl Verdict {
    /// Nothing was found.
    pub const NOTHING: Self = Self {
        probability: Some(0.0),
        likely: false,
    };

    /// Judges a ranking: how far the best stands out from the crowd, how well its tokens and its meaning fit, how much was
    /// asked, and whether the one that the question names said it rather than somebody else.
    pub(crate) fn of(findings: &Findings, ranked: &[Ranked], calibrated: bool) -> Self {
        let Some(best) = ranked.first() else {
            return Self::NOTHING;
        };
        let words = findings.terms.iter().enumerate();
        let mut words = words.filter(|(_, term)| !is_extension(&term.term));
        let holds_all = words.all(|(at, _)| best.terms.contains(&at));
        if holds_all && !best.terms.is_empty() {
            // It was fitted to sentences; a word or two that stand there are there.
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
        let mut contents: Vec<f32> = ranked.iter().map(|ranked| ranked.parts.content()).collect();
        contents.sort_by(|a, b| b.total_cmp(a));
        let gap = match (contents.first(), contents.get(CROWD - 1)) {
            (Some(first), Some(crowd)) => first - crowd,
            _ => GAP_OF_FEW,
        };
        let asked = asked(findings) as f32;
        let logit = 4.0 * gap
            + 3.5 * best.parts.tokens
            + 5.0 * best.parts.meaning
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

/// How many terms count as asked for: words that nobody ever wrote say little, those that everybody writes nothing.
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

/// Whether somebody else than the question names said what fits best.
pub(crate) fn said_by_other(ranked: &[Ranked]) -> bool {
    who(ranked) < OTHER
}

/// How much better the best of the one who is named fits than the best of all others.
fn who(ranked: &[Ranked]) -> f32 {
    let best = |named: bool| {
        ranked
            .iter()
            .take(CROWD)
            .filter(|ranked| (ranked.parts.speaker > 0.0) == named)
            .map(|ranked| ranked.own_tokens)
            .reduce(f32::max)
    };
    match (best(true), best(false)) {
        (Some(named), Some(others)) => named - others,
        _ => 0.0,
    }
}

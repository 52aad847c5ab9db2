//! Explains an answer: the list of each arm, the fusion, and a note about each stage.

use loci_core::Recalled;
use loci_text::when::When;
use schemars::JsonSchema;
use serde::Serialize;

use crate::rank::{Criteria, Ranked, Ranker};
use crate::score::Parts;

/// A note about one stage of a search, for people.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StageNote {
    /// Its name.
    pub stage: &'static str,
    /// What it did.
    pub detail: String,
}

/// One result of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArmEntry {
    /// Its rank.
    pub rank: usize,
    /// The drawer's number.
    pub record: u64,
    /// The drawer's id, if it was fetched.
    pub id: Option<String>,
    /// Its final score, the sum of its parts.
    pub score: f32,
    /// Its parts.
    pub parts: Parts,
}

/// A term of the question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TermInfo {
    /// The term as in the postings.
    pub term: String,
    /// The word as typed.
    pub word: String,
    /// Number of drawers of the palace that contain it.
    pub drawers: u64,
}

/// The explanation of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The terms that were searched.
    pub terms: Vec<TermInfo>,
    /// The days that the question names, as `from` and `until`.
    pub period: Option<(String, String)>,
    /// The best results of the lexical arm.
    pub lexical: Vec<ArmEntry>,
    /// The best results of the semantic arm.
    pub semantic: Vec<ArmEntry>,
    /// The best results after fusion.
    pub fused: Vec<ArmEntry>,
    /// A note about each stage.
    pub steps: Vec<StageNote>,
}

/// Maximum number of entries of an arm in an explanation.
pub(crate) const SHOWN: usize = 10;

pub(crate) fn explain(ranker: &Ranker, criteria: &Criteria, drawers: &[Recalled]) -> Explanation {
    let entry = |rank: usize, ranked: &Ranked| ArmEntry {
        rank,
        record: ranked.record,
        id: drawers
            .iter()
            .find(|drawer| drawer.record == ranked.record)
            .map(|drawer| drawer.id.clone()),
        score: ranked.parts.score(),
        parts: ranked.parts,
    };
    let arm = |rank_of: fn(&Ranked) -> Option<usize>| {
        let mut entries: Vec<ArmEntry> = ranker
            .ranked
            .iter()
            .filter_map(|ranked| Some(entry(rank_of(ranked)?, ranked)))
            .collect();
        entries.sort_by_key(|entry| entry.rank);
        entries.truncate(SHOWN);
        entries
    };
    let count = |test: fn(&Ranked) -> bool| ranker.ranked.iter().filter(|r| test(r)).count();
    let findings = &ranker.findings;
    let period = criteria
        .asked
        .when
        .as_ref()
        .map(|When { from, until, .. }| (from.to_string(), until.to_string()));
    let mut steps = vec![
        StageNote {
            stage: "scope",
            detail: format!("{} drawer(s) are admitted", findings.in_scope),
        },
        StageNote {
            stage: "lexical",
            detail: format!(
                "{} term(s); {} candidate(s) named by rank",
                findings.terms.len(),
                count(|ranked| ranked.lexical_rank.is_some())
            ),
        },
        StageNote {
            stage: "semantic",
            detail: format!(
                "{} candidate(s) named by rank",
                count(|ranked| ranked.semantic_rank.is_some())
            ),
        },
        StageNote {
            stage: "context",
            detail: format!(
                "{} candidate(s) came in as neighbours",
                count(|ranked| ranked.lexical_rank.is_none() && ranked.semantic_rank.is_none())
            ),
        },
        StageNote {
            stage: "fusion",
            detail: format!("the sum of the parts, {} candidate(s)", ranker.ranked.len()),
        },
    ];
    if ranker.too_far > 0 {
        steps.push(StageNote {
            stage: "max_distance",
            detail: format!("{} candidate(s) left out", ranker.too_far),
        });
    }
    Explanation {
        terms: findings
            .terms
            .iter()
            .map(|term| TermInfo {
                term: term.term.clone(),
                word: term.word.clone(),
                drawers: term.drawers,
            })
            .collect(),
        period,
        lexical: arm(|ranked| ranked.lexical_rank),
        semantic: arm(|ranked| ranked.semantic_rank),
        fused: ranker
            .ranked
            .iter()
            .take(SHOWN)
            .zip(1..)
            .map(|(ranked, rank)| entry(rank, ranked))
            .collect(),
        steps,
    }
}

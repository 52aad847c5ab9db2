//! The score of a passage: the sum of its words, source, meaning, tokens, speaker and date.

use std::collections::HashMap;

use jiff::civil::Date;
use loci_core::Metric;
use loci_text::when::When;
use schemars::JsonSchema;
use serde::Serialize;

use crate::bm25::{PASSAGE_B, PASSAGE_K1, rarity, saturation};
use crate::evidence::{Evidence, Findings};
use crate::weights::{
    AFTER_TERMS, BEFORE_TERMS, DATE, DATE_ALONE, DATE_DAYS, DATE_WITH_ONE, LABEL, SOURCE_B,
    SOURCE_K1, UNDATED,
};

/// The parts of a score. The score is their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Parts {
    /// Words of the question in the passage and, with less weight, in its neighbours: BM25 as a
    /// share of the attainable maximum.
    pub words: f32,
    /// Words of the question in the whole source, likewise.
    pub source: f32,
    /// Cosine of the vectors.
    pub meaning: f32,
    /// MaxSim of the tokens, as a share of the attainable maximum.
    pub tokens: f32,
    /// The question names the speaker.
    pub speaker: f32,
    /// The question names the date.
    pub date: f32,
}

impl Parts {
    /// The sum.
    pub fn score(&self) -> f32 {
        self.words + self.source + self.meaning + self.tokens + self.speaker + self.date
    }

    /// The sum without speaker and date: how well the content matches.
    pub fn content(&self) -> f32 {
        self.words + self.source + self.meaning + self.tokens
    }
}

/// Scores the evidence of one search.
pub(crate) struct Scorer<'a> {
    findings: &'a Findings,
    /// Weight of each term, and whether the question contains it or it only extends such a term.
    weights: Vec<f32>,
    attainable: f32,
    sources: HashMap<u64, f32>,
    when: Option<&'a When>,
    date_weight: f32,
}

impl<'a> Scorer<'a> {
    /// Creates a scorer. `question` is the text that contains `when`.
    pub(crate) fn new(findings: &'a Findings, when: Option<&'a When>, question: &str) -> Self {
        let weights: Vec<f32> = findings
            .terms
            .iter()
            .map(|term| term.weight * rarity(findings.drawers, term.drawers))
            .collect();
        let attainable = findings
            .terms
            .iter()
            .zip(&weights)
            .filter(|(term, _)| !is_extension(&term.term))
            .map(|(_, weight)| weight)
            .sum();
        Self {
            findings,
            weights,
            attainable,
            sources: source_scores(findings),
            date_weight: when.map_or(0.0, |when| date_weight(findings, when, question)),
            when,
        }
    }

    /// The parts that need no vectors and tokens.
    pub(crate) fn cheap(&self, evidence: &Evidence) -> Parts {
        let words = self.words(evidence);
        Parts {
            words,
            // A drawer without a source is its own source.
            source: match evidence.source {
                Some(source) => self.sources.get(&source).copied().unwrap_or_default(),
                None => words,
            },
            speaker: if evidence.label.is_empty() {
                0.0
            } else {
                LABEL
            },
            date: self.date(evidence),
            ..Parts::default()
        }
    }

    fn words(&self, evidence: &Evidence) -> f32 {
        if self.attainable <= 0.0 {
            return 0.0;
        }
        let mut counts = vec![0.0_f32; self.weights.len()];
        let mut add = |evidence: &Evidence, share: f32| {
            for (term, count) in &evidence.terms {
                if let Some(sum) = counts.get_mut(*term) {
                    *sum += share * *count as f32;
                }
            }
        };
        add(evidence, 1.0);
        let before = evidence.before.iter().zip(BEFORE_TERMS);
        let after = evidence.after.iter().zip(AFTER_TERMS);
        for (neighbour, share) in before.chain(after) {
            if let Some(neighbour) = self.findings.evidence.get(*neighbour) {
                add(neighbour, share);
            }
        }
        let length = evidence.length as f32;
        let mean = self.findings.mean_length;
        let sum: f32 = self
            .weights
            .iter()
            .zip(counts)
            .map(|(weight, count)| weight * saturation(count, PASSAGE_K1, PASSAGE_B, length, mean))
            .sum();
        (sum / self.attainable).min(1.0)
    }

    fn date(&self, evidence: &Evidence) -> f32 {
        let Some(when) = self.when else { return 0.0 };
        let Some(day) = day(evidence.authored_at) else {
            return 0.0;
        };
        let days = |from: Date, to: Date| {
            from.until(to)
                .map_or(f32::MAX, |span| span.get_days() as f32)
        };
        let apart = if day < when.from {
            days(day, when.from)
        } else if day >= when.until {
            days(when.until, day) + 1.0
        } else {
            0.0
        };
        let share = if evidence.dated { 1.0 } else { UNDATED };
        self.date_weight * share * (1.0 - apart / DATE_DAYS).max(0.0)
    }
}

/// The weight of a date. It is larger if the question contains little else.
fn date_weight(findings: &Findings, when: &When, question: &str) -> f32 {
    let phrase = question.get(when.phrase.clone()).unwrap_or_default();
    let others = findings
        .terms
        .iter()
        .filter(|term| !phrase.contains(term.word.as_str()))
        .count();
    match others {
        0 => DATE_ALONE,
        1 => DATE_WITH_ONE,
        _ => DATE,
    }
}

/// The day of a moment, in UTC.
pub(crate) fn day(moment: i64) -> Option<Date> {
    let timestamp = jiff::Timestamp::from_millisecond(moment).ok()?;
    Some(timestamp.to_zoned(jiff::tz::TimeZone::UTC).date())
}

/// Today, in UTC.
pub fn today() -> Date {
    loci_core::clock::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date()
}

/// The first moment of a day, in UTC.
pub fn start_of(day: Date) -> Option<i64> {
    let zoned = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// A moment in RFC 3339, in UTC, to the second.
pub fn date_of(moment: i64) -> String {
    loci_core::clock::moment(moment)
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

/// A distance as a similarity of at most 1. Squared Euclidean distances are treated as those of
/// unit vectors.
pub(crate) fn similarity(metric: Metric, distance: f32) -> f32 {
    match metric {
        Metric::Cosine | Metric::Ip => 1.0 - distance,
        Metric::L2 => 1.0 - distance / 2.0,
    }
}

/// Whether a term only extends a term of the question.
pub(crate) fn is_extension(term: &str) -> bool {
    term.ends_with('*')
}

/// BM25 of each whole source, as a share of the attainable maximum. The number of sources that
/// contain a term is counted if all were read, else estimated from the drawers that contain it.
fn source_scores(findings: &Findings) -> HashMap<u64, f32> {
    let read: u64 = findings.sources.iter().map(|source| source.drawers).sum();
    if read == 0 {
        return HashMap::new();
    }
    let all = read * 10 >= findings.drawers * 9;
    let drawers = findings.drawers.max(read) as f32;
    let sources = if all {
        findings.sources.len() as f32
    } else {
        drawers * findings.sources.len() as f32 / read as f32
    }
    .max(1.0);
    let holding = |at: usize| {
        findings
            .sources
            .iter()
            .filter(|source| source.terms.iter().any(|(term, _)| *term == at))
            .count() as f32
    };
    let weights: Vec<f32> = findings
        .terms
        .iter()
        .enumerate()
        .map(|(at, term)| {
            let holding = if all {
                holding(at)
            } else {
                sources * (1.0 - (1.0 - 1.0 / sources).powf(term.drawers as f32))
            };
            term.weight * (1.0 + (sources - holding + 0.5).max(0.5) / (holding + 0.5)).ln()
        })
        .collect();
    let attainable: f32 = findings
        .terms
        .iter()
        .zip(&weights)
        .filter(|(term, _)| !is_extension(&term.term))
        .map(|(_, weight)| weight)
        .sum();
    let mean = findings.mean_length * drawers / sources;
    findings
        .sources
        .iter()
        .map(|source| {
            let sum: f32 = source
                .terms
                .iter()
                .map(|(term, count)| {
                    let length = source.length as f32;
                    weights.get(*term).copied().unwrap_or_default()
                        * saturation(*count as f32, SOURCE_K1, SOURCE_B, length, mean)
                })
                .sum();
            let share = if attainable > 0.0 {
                sum / attainable
            } else {
                0.0
            };
            (source.source, share.min(1.0))
        })
        .collect()
}

//! The score of a passage: a sum of parts, and the features that do not need vectors, tokens or
//! text.

use std::collections::HashMap;

use jiff::civil::Date;
use loci_core::Metric;
use loci_text::when::When;
use schemars::JsonSchema;
use serde::Serialize;

use crate::bm25::{PASSAGE_B, PASSAGE_K1, rarity, saturation};
use crate::evidence::{Evidence, Findings, Origin, Role};
use crate::feature::{Feature, Features};
use crate::weights::{
    AFTER_TERMS, BEFORE_TERMS, DATE_ALONE, DATE_DAYS, DATE_WITH_ONE, SOURCE_B, SOURCE_K1, UNDATED,
};

/// The parts of a score. The score is their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Parts {
    /// Words of the question in the passage and, with less weight, in its neighbours.
    pub words: f32,
    /// Words of the question in the whole source.
    pub source: f32,
    /// How near the vectors are.
    pub meaning: f32,
    /// How well the tokens match, by their own vectors.
    pub tokens: f32,
    /// Who said it: a speaker that the question names, or the side of a chat that it is about.
    pub speaker: f32,
    /// The question names the date. Negative if it was written after the day of the question.
    pub date: f32,
    /// How long the passage is. Long passages contain any word more easily.
    pub length: f32,
}

/// A part of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// [`Parts::words`].
    Words,
    /// [`Parts::source`].
    Source,
    /// [`Parts::meaning`].
    Meaning,
    /// [`Parts::tokens`].
    Tokens,
    /// [`Parts::speaker`].
    Speaker,
    /// [`Parts::date`].
    Date,
    /// [`Parts::length`].
    Length,
}

impl Parts {
    /// The sum.
    pub fn score(&self) -> f32 {
        self.words
            + self.source
            + self.meaning
            + self.tokens
            + self.speaker
            + self.date
            + self.length
    }

    pub(crate) fn of(&mut self, part: Part) -> &mut f32 {
        match part {
            Part::Words => &mut self.words,
            Part::Source => &mut self.source,
            Part::Meaning => &mut self.meaning,
            Part::Tokens => &mut self.tokens,
            Part::Speaker => &mut self.speaker,
            Part::Date => &mut self.date,
            Part::Length => &mut self.length,
        }
    }
}

/// What a question asks about, apart from its words.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The days that it names.
    pub(crate) when: Option<When>,
    /// The text that contains them.
    pub(crate) question: String,
    /// The day on which it is asked.
    pub(crate) today: Date,
}

/// Computes the features of the evidence of one search that need no vectors, tokens or text.
pub(crate) struct Scorer<'a> {
    findings: &'a Findings,
    asked: &'a Asked,
    /// Weight of each term.
    weights: Vec<f32>,
    /// Sum of the weights of the terms that the question contains.
    attainable: f32,
    /// The word that each term belongs to, and the weight of each word.
    word_of: Vec<usize>,
    words: Vec<f32>,
    sources: HashMap<u64, f32>,
    date_weight: f32,
    about_self: bool,
    about_chat: bool,
}

impl<'a> Scorer<'a> {
    pub(crate) fn new(findings: &'a Findings, asked: &'a Asked) -> Self {
        let weights = term_weights(findings);
        let mut names: Vec<&str> = Vec::new();
        let mut words: Vec<f32> = Vec::new();
        let mut word_of = Vec::with_capacity(weights.len());
        for (term, weight) in findings.terms.iter().zip(&weights) {
            let known = names.iter().position(|name| *name == term.word);
            let at = known.unwrap_or_else(|| {
                names.push(&term.word);
                words.push(0.0);
                names.len() - 1
            });
            word_of.push(at);
            // Initials stand for several words, which count themselves.
            if let Some(word) = words.get_mut(at).filter(|_| term.origin == Origin::Asked) {
                *word = word.max(*weight);
            }
        }
        let when = asked.when.as_ref();
        Self {
            attainable: attainable(findings, &weights),
            sources: source_scores(findings),
            date_weight: when.map_or(0.0, |when| date_weight(findings, when, &asked.question)),
            about_self: is_about_self(&asked.question),
            about_chat: is_about_chat(&asked.question),
            findings,
            asked,
            weights,
            word_of,
            words,
        }
    }

    /// The features of a passage, without those that compare it with other candidates.
    pub(crate) fn features(&self, evidence: &Evidence) -> Features {
        let mut features = Features::default();
        let counts = self.counts(evidence);
        let words = self.bm25(&counts, evidence.length);
        let flag = |holds: bool| if holds { 1.0 } else { 0.0 };
        let is_user = evidence.role == Role::User;
        let is_assistant = evidence.role == Role::Assistant;
        features.set(Feature::Words, words);
        let around = self.bm25(&self.counts_around(evidence, counts), evidence.length);
        features.set(Feature::WordsAround, around);
        features.set(Feature::Coverage, self.coverage(evidence));
        features.set(Feature::Complete, flag(self.is_complete(evidence)));
        // A drawer without a source is its own source.
        let source = match evidence.source {
            Some(source) => self.sources.get(&source).copied().unwrap_or_default(),
            None => words,
        };
        features.set(Feature::Source, source);
        features.set(Feature::Named, flag(!evidence.label.is_empty()));
        features.set(Feature::User, flag(is_user));
        features.set(Feature::UserAsksOfSelf, flag(is_user && self.about_self));
        features.set(
            Feature::AssistantIsAsked,
            flag(is_assistant && self.about_chat),
        );
        features.set(Feature::Date, self.date(evidence));
        features.set(Feature::Future, self.future(evidence));
        features.set(Feature::Length, (1.0 + evidence.length as f32).ln());
        features
    }

    /// How often the passage contains each term.
    fn counts(&self, evidence: &Evidence) -> Vec<f32> {
        let mut counts = vec![0.0_f32; self.weights.len()];
        add(&mut counts, evidence, 1.0);
        counts
    }

    /// The same with the neighbours.
    fn counts_around(&self, evidence: &Evidence, mut counts: Vec<f32>) -> Vec<f32> {
        let before = evidence.before.iter().zip(BEFORE_TERMS);
        let after = evidence.after.iter().zip(AFTER_TERMS);
        for (neighbour, share) in before.chain(after) {
            if let Some(neighbour) = self.findings.evidence.get(*neighbour) {
                add(&mut counts, neighbour, share);
            }
        }
        counts
    }

    fn bm25(&self, counts: &[f32], length: u32) -> f32 {
        if self.attainable <= 0.0 {
            return 0.0;
        }
        let (length, mean) = (length as f32, self.findings.mean_length);
        let counted = self.weights.iter().zip(counts);
        let sum: f32 = counted
            .map(|(weight, count)| weight * saturation(*count, PASSAGE_K1, PASSAGE_B, length, mean))
            .sum();
        (sum / self.attainable).min(1.0)
    }

    fn coverage(&self, evidence: &Evidence) -> f32 {
        let total: f32 = self.words.iter().sum();
        if total <= 0.0 {
            return 0.0;
        }
        let mut covered = vec![0.0_f32; self.words.len()];
        for (term, _) in &evidence.terms {
            let word = self
                .word_of
                .get(*term)
                .and_then(|word| covered.get_mut(*word));
            if let (Some(word), Some(weight)) = (word, self.weights.get(*term)) {
                *word = word.max(*weight);
            }
        }
        (covered.iter().sum::<f32>() / total).min(1.0)
    }

    /// Whether a passage contains every term of the question that any drawer contains.
    fn is_complete(&self, evidence: &Evidence) -> bool {
        let terms = self.findings.terms.iter().enumerate();
        let mut known = terms.filter(|(_, term)| term.origin == Origin::Asked && term.drawers > 0);
        let contains = |at: usize| evidence.terms.iter().any(|(term, _)| *term == at);
        !evidence.terms.is_empty() && known.all(|(at, _)| contains(at))
    }

    /// How near the date of a drawer is to the dates that the question names. More than 1 if the
    /// question contains little else.
    fn date(&self, evidence: &Evidence) -> f32 {
        let Some(when) = &self.asked.when else {
            return 0.0;
        };
        let Some(day) = day(evidence.authored_at) else {
            return 0.0;
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

    /// The logarithm of 1 and the days by which a drawer is dated after the question.
    fn future(&self, evidence: &Evidence) -> f32 {
        match day(evidence.authored_at) {
            Some(day) if evidence.dated && day > self.asked.today => {
                (1.0 + days(self.asked.today, day)).ln()
            }
            _ => 0.0,
        }
    }
}

fn add(counts: &mut [f32], evidence: &Evidence, share: f32) {
    for (term, count) in &evidence.terms {
        if let Some(sum) = counts.get_mut(*term) {
            *sum += share * *count as f32;
        }
    }
}

fn days(from: Date, to: Date) -> f32 {
    from.until(to)
        .map_or(f32::MAX, |span| span.get_days() as f32)
}

/// The weight of each term: more if fewer drawers contain it.
pub(crate) fn term_weights(findings: &Findings) -> Vec<f32> {
    let weight = |term: &crate::ProbedTerm| term.weight * rarity(findings.drawers, term.drawers);
    findings.terms.iter().map(weight).collect()
}

/// The sum of the weights of the terms that the question contains. Words that no drawer contains
/// count at most as much as the others: noise around a known word must not hide it.
pub(crate) fn attainable(findings: &Findings, weights: &[f32]) -> f32 {
    let (mut known, mut unknown) = (0.0, 0.0);
    for (term, weight) in findings.terms.iter().zip(weights) {
        if term.origin == Origin::Variant {
            continue;
        }
        *(if term.drawers > 0 {
            &mut known
        } else {
            &mut unknown
        }) += weight;
    }
    if known > 0.0 {
        unknown = unknown.min(known);
    }
    known + unknown
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
        _ => 1.0,
    }
}

/// Whether a question is about the person who asks.
fn is_about_self(question: &str) -> bool {
    const SELF: [&str; 9] = ["i", "my", "me", "mine", "myself", "we", "our", "ours", "us"];
    words_of(question).any(|word| SELF.contains(&word.as_str()))
}

/// Whether a question is about what an assistant said.
fn is_about_chat(question: &str) -> bool {
    const PHRASES: [&str; 5] = [
        "we talked",
        "we discussed",
        "previous chat",
        "previous conversation",
        "remind me",
    ];
    let lower = question.to_lowercase();
    words_of(question).any(|word| word == "you" || word == "your")
        || PHRASES.iter().any(|phrase| lower.contains(phrase))
}

fn words_of(question: &str) -> impl Iterator<Item = String> + '_ {
    question
        .split(|character: char| !character.is_alphanumeric())
        .map(str::to_lowercase)
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
    let attainable = attainable(findings, &weights);
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

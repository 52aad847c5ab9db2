//! Finds the later statement about the thing that an earlier one is about, so that a proposal or an
//! old decision is not taken for what holds.
//!
//! Two statements are compared where they match the question. The likelihood that the later one
//! replaces the earlier one is a weighted sum of a few inputs: what they share, whether they are
//! close in meaning, whether values differ, whether the later one reads like a decision.
//! `cargo xtask fit-hooks` fits the weights. Nothing here understands the texts, so a later statement
//! is always presented as later, never as true.
//!
//! Only conversations, notes and texts with a date of their own are compared. A file is what it says
//! now, however long ago it was written.

mod cues;
mod window;

use loci_core::{MetaValue, Metadata, Recalled};

use crate::answer::Hit;
use crate::later_weights::WEIGHTS;
use window::{Window, Windows};

/// Number of inputs.
pub const LATER_INPUTS: usize = 13;

/// From this likelihood on, a hit is marked. It is low, because both statements are shown and a missed
/// mark costs more than a wrong one. docs/benchmarks.md has the share of both.
const MIN_LIKELIHOOD: f32 = 0.12;
/// The latest drawer counts if it is at least this share as likely as the likeliest one.
const LATEST_SHARE: f32 = 0.8;
/// How many hits are compared with later drawers.
const MOST_HITS: usize = 40;
/// How many drawers each of them is compared with.
const MOST_LATER: usize = 80;
/// The later statement has this share of the rarity that the earlier one has of the question, or it
/// says that something changed.
const MIN_COMMON: f32 = 0.6;
/// A question with less rarity than this names nothing, so that statements about it are unknown.
const MIN_RARITY: f32 = 0.1;

/// A drawer that is later than a hit, and about the same thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Later {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Its metadata.
    pub metadata: Metadata,
    /// When it was written, else when it was added, in milliseconds since 1970.
    pub authored_at: i64,
    /// How likely it is that it replaces the hit, from 0 to 1.
    pub likelihood: f32,
}

/// A text that may be earlier or later than another one.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// The text of the drawer.
    pub text: &'a str,
    /// The metadata of the drawer.
    pub metadata: &'a Metadata,
    /// When it was written, else when it was added, in milliseconds since 1970.
    pub authored_at: i64,
}

impl<'a> Statement<'a> {
    fn source(&self) -> Option<&'a str> {
        self.metadata.get_str("source_file")
    }

    fn wing(&self) -> Option<&'a str> {
        self.metadata.get_str("wing")
    }

    fn line(&self) -> Option<i64> {
        match self.metadata.get("start_line") {
            Some(MetaValue::Int(line)) => Some(*line),
            _ => None,
        }
    }

    /// Whether it says what held when it was written.
    fn is_dated(&self) -> bool {
        let is_spoken = ["conversation", "agent", "role", "speaker"]
            .iter()
            .any(|key| self.metadata.get(key).is_some());
        is_spoken || self.source().is_none() || self.metadata.authored_at().is_some()
    }

    fn is_assistants(&self) -> bool {
        self.metadata.get_str("role") == Some("assistant")
    }

    /// How far this one is behind an earlier one of the same source; 0 for another source. `None` if
    /// it is not later, or belongs to another wing.
    fn behind(&self, earlier: &Self) -> Option<u32> {
        let wings = self.wing().zip(earlier.wing());
        let is_elsewhere = wings.is_some_and(|(here, there)| here != there);
        if is_elsewhere || !self.is_dated() || !earlier.is_dated() {
            return None;
        }
        let places = self.line().zip(earlier.line());
        let is_same = self.source().is_some() && self.source() == earlier.source();
        match places.filter(|_| is_same) {
            Some((later, before)) => u32::try_from(later.saturating_sub(before))
                .ok()
                .filter(|distance| *distance > 0),
            None => (self.authored_at > earlier.authored_at).then_some(0),
        }
    }
}

/// Compares statements about one question.
pub struct Comparison {
    question: Window,
    rarity: f32,
}

impl Comparison {
    /// Prepares a question.
    pub fn new(question: &str) -> Self {
        let question = Window::of(question);
        Self {
            rarity: question.rarity(),
            question,
        }
    }

    /// The inputs of the likelihood that `later` replaces `earlier`. `None` if it is not later, or if
    /// they have nothing in common.
    pub fn inputs(
        &self,
        earlier: &Statement<'_>,
        later: &Statement<'_>,
    ) -> Option<[f32; LATER_INPUTS]> {
        if self.rarity < MIN_RARITY {
            return None;
        }
        let windows = Windows::of(earlier.text, earlier.is_assistants());
        let before = windows.best(|window| self.question.shared(window))?;
        self.between(
            earlier,
            before,
            later,
            &Windows::of(later.text, later.is_assistants()),
        )
    }

    fn between(
        &self,
        earlier: &Statement<'_>,
        before: &Window,
        later: &Statement<'_>,
        windows: &Windows,
    ) -> Option<[f32; LATER_INPUTS]> {
        let behind = later.behind(earlier)?;
        let question = &self.question;
        let after = windows.best(|window| before.shared(window) + 0.5 * question.shared(window))?;
        if before.shared(after) <= 0.0 && question.shared(after) <= 0.0 && behind == 0 {
            return None;
        }
        let share = |rarity: f32| rarity / self.rarity;
        let in_both = question.shared_by(before, after);
        // "Oleg approves holidays" does not replace "Marta approves refunds", if the question is about
        // refunds. A statement that says that something changed need not name it again.
        if in_both < MIN_COMMON * question.shared(before) && !after.changes() {
            return None;
        }
        let beyond = (before.shared(after) - in_both).max(0.0);
        Some([
            1.0,
            share(in_both),
            share(question.shared(before)).min(share(question.shared(after))),
            beyond.ln_1p(),
            before.cosine(after),
            f32::from(after.changes()),
            f32::from(before.values_differ(after)),
            f32::from(after.asks()),
            f32::from(!after.is_assistants()),
            (1.0 + behind as f32).ln().min(4.0),
            before.beginning_in(&[after]),
            after.beginning_in(&[before, question]),
            after.length(),
        ])
    }
}

/// The likelihood that belongs to some inputs, from 0 to 1.
pub fn likelihood(inputs: &[f32; LATER_INPUTS]) -> f32 {
    let sum: f32 = inputs.iter().zip(WEIGHTS).map(|(a, b)| a * b).sum();
    1.0 / (1.0 + (-sum).exp())
}

/// Marks the hits that a later drawer replaces, among the other hits and `others`. If there are
/// several, the latest counts. With `only_relevant`, only hits that are worth adding to a prompt
/// are marked, because nobody sees the rest.
pub(crate) fn mark(query: &str, hits: &mut [Hit], others: &[Recalled], only_relevant: bool) {
    let wanted: Vec<bool> = hits
        .iter()
        .take(MOST_HITS)
        .map(|hit| !only_relevant || hit.relevance.is_worth_adding())
        .collect();
    if !wanted.contains(&true) {
        return;
    }
    let comparison = Comparison::new(query);
    if comparison.rarity < MIN_RARITY {
        return;
    }
    let marks = {
        let drawers = drawers_of(hits, others);
        let windows: Vec<Windows> = drawers
            .iter()
            .map(|(_, statement)| Windows::of(statement.text, statement.is_assistants()))
            .collect();
        let mark_of = |at: usize| -> Option<Later> {
            let (_, earlier) = drawers.get(at)?;
            let question = &comparison.question;
            let before = windows.get(at)?.best(|window| question.shared(window))?;
            let mut likely = Vec::new();
            for ((id, later), windows) in drawers.iter().zip(&windows) {
                let inputs = comparison.between(earlier, before, later, windows);
                let likelihood = inputs.map_or(0.0, |inputs| likelihood(&inputs));
                if likelihood >= MIN_LIKELIHOOD {
                    likely.push((*id, later, likelihood));
                }
            }
            let best = likely.iter().map(|(_, _, one)| *one).fold(0.0, f32::max);
            let (id, later, likelihood) = likely
                .into_iter()
                .filter(|(_, _, likelihood)| *likelihood >= LATEST_SHARE * best)
                .max_by_key(|(_, later, _)| (later.authored_at, later.line()))?;
            Some(Later {
                id: id.to_owned(),
                text: later.text.to_owned(),
                metadata: later.metadata.clone(),
                authored_at: later.authored_at,
                likelihood,
            })
        };
        let places = wanted.iter().enumerate();
        places
            .map(|(at, is_wanted)| is_wanted.then(|| mark_of(at)).flatten())
            .collect::<Vec<_>>()
    };
    for (hit, mark) in hits.iter_mut().zip(marks) {
        hit.later = mark;
    }
}

/// The ids and statements of hits and of other drawers. The hits come first.
fn drawers_of<'a>(hits: &'a [Hit], others: &'a [Recalled]) -> Vec<(&'a str, Statement<'a>)> {
    let of_hits = hits.iter().map(|hit| {
        let statement = Statement {
            text: &hit.text,
            metadata: &hit.metadata,
            authored_at: hit.authored_at,
        };
        (hit.id.as_str(), statement)
    });
    let of_others = others.iter().map(|drawer| {
        let statement = Statement {
            text: &drawer.document,
            metadata: &drawer.metadata,
            authored_at: drawer.metadata.authored_at().unwrap_or(drawer.created_at),
        };
        (drawer.id.as_str(), statement)
    });
    of_hits.chain(of_others).take(MOST_LATER).collect()
}

//! What came out of a run.

use std::collections::BTreeMap;
use std::path::Path;

use loci_palace::NO_EMBEDDER;
use serde::Serialize;

use crate::ask::Outcome;
use crate::clock::percentile;
use crate::dataset::{Case, Half, Kind};
use crate::figures::{AtTop, Brief, Figures, fraction};
use crate::store::Filled;

/// The figures of a run. As JSON it is what `loci bench retrieval --json` prints.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// File name of the data set.
    pub dataset: String,
    /// Its format.
    pub format: Kind,
    /// Questions that were asked.
    pub questions: usize,
    /// Name of the embedder; `none` if only words were searched.
    pub embedder: String,
    /// The embedder with dimension and digest.
    pub embedder_identity: String,
    /// Ranking of sessions, over questions with evidence that have an answer.
    pub session: Figures,
    /// Ranking of turns, over questions with evidence that have an answer.
    pub turn: Figures,
    /// MemPalace's measure over all questions; for LoCoMo only.
    pub mempalace_locomo: Option<AtTop>,
    /// How the halves are made.
    pub split: &'static str,
    /// The half that weights may be chosen on.
    pub tuning: HalfFigures,
    /// The half to quote.
    pub reporting: HalfFigures,
    /// Each category of the data set.
    pub by_category: BTreeMap<String, Category>,
    /// CPU of a search for turns, warm.
    pub cpu_ms: Percentiles,
    /// What else it cost.
    pub cost: Cost,
    /// What palaces had to say when they were made, each once.
    pub warnings: Vec<String>,
}

/// One half.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HalfFigures {
    /// Questions that were asked.
    pub questions: usize,
    /// Its conversations, for LoCoMo.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<String>,
    /// As in [`Report`].
    pub session: Figures,
    /// As in [`Report`].
    pub turn: Figures,
    /// As in [`Report`].
    pub mempalace_locomo: Option<AtTop>,
}

/// One category.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Category {
    /// Questions that were asked.
    pub count: usize,
    /// Over those with evidence.
    pub session: Brief,
    /// Over those with evidence.
    pub turn: Brief,
    /// Over all; for LoCoMo only.
    pub mempalace_locomo: Option<AtTop>,
}

/// Milliseconds that half, and all but one in twenty, stay within.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
}

impl Percentiles {
    fn of(values: &[f64]) -> Self {
        Self {
            p50: percentile(values, 0.5),
            p95: percentile(values, 0.95),
        }
    }
}

/// What a run cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Cost {
    /// Palaces that were made.
    pub palaces: usize,
    /// Drawers that were written.
    pub drawers: usize,
    /// Those without a date that could be read.
    pub undated_drawers: usize,
    /// Size of all palaces together.
    pub bytes_on_disk: u64,
    /// CPU of writing a drawer, its vector and its share of the index included.
    pub ingest_cpu_ms_per_drawer: f64,
    /// CPU of a search by source, warm.
    pub session_cpu_ms: Percentiles,
    /// Tokens of the texts that a search for turns shows, on average.
    pub tokens_per_query: f64,
}

/// What a run has gathered so far.
pub(crate) struct Tally {
    kind: Kind,
    pub(crate) palaces: usize,
    pub(crate) outcomes: Vec<Outcome>,
    conversations: Vec<(Half, String)>,
    embedder: Option<(String, String)>,
    warnings: Vec<String>,
    pub(crate) drawers: usize,
    pub(crate) undated: usize,
    ingest_ms: f64,
    bytes: u64,
}

impl Tally {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            palaces: 0,
            outcomes: Vec::new(),
            conversations: Vec::new(),
            embedder: None,
            warnings: Vec::new(),
            drawers: 0,
            undated: 0,
            ingest_ms: 0.0,
            bytes: 0,
        }
    }

    /// A palace was filled.
    pub(crate) fn filled(&mut self, filled: Filled, cpu_ms: f64) {
        self.ingest_ms += cpu_ms;
        for warning in filled.warnings {
            let message = warning.message();
            if !self.warnings.contains(&message) {
                self.warnings.push(message);
            }
        }
        if let Some(identity) = filled.embedder {
            self.embedder = Some((identity.name.clone(), identity.to_string()));
        }
    }

    /// A question was asked.
    pub(crate) fn asked(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// A palace is done with.
    pub(crate) fn palace(&mut self, case: &Case, bytes: u64) {
        self.palaces += 1;
        self.bytes += bytes;
        if self.kind == Kind::LoCoMo {
            self.conversations.push((case.half, case.id.clone()));
        }
    }

    pub(crate) fn report(self, dataset: &Path) -> Report {
        let cpu: Vec<f64> = self.outcomes.iter().map(|one| one.cpu_ms).collect();
        let session_cpu: Vec<f64> = self.outcomes.iter().map(|one| one.session_cpu_ms).collect();
        let tokens: usize = self.outcomes.iter().map(|one| one.tokens).sum();
        let whole = self.half(|_| true);
        let tuning = self.half(|half| half == Half::Tuning);
        let reporting = self.half(|half| half == Half::Reporting);
        let by_category = self.by_category();
        let none = || (NO_EMBEDDER.to_owned(), NO_EMBEDDER.to_owned());
        let (embedder, embedder_identity) = self.embedder.unwrap_or_else(none);
        Report {
            dataset: dataset.file_name().map_or_else(
                || dataset.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            ),
            format: self.kind,
            questions: whole.questions,
            embedder,
            embedder_identity,
            session: whole.session,
            turn: whole.turn,
            mempalace_locomo: whole.mempalace_locomo,
            split: self.kind.split(),
            tuning,
            reporting,
            by_category,
            cpu_ms: Percentiles::of(&cpu),
            cost: Cost {
                palaces: self.palaces,
                drawers: self.drawers,
                undated_drawers: self.undated,
                bytes_on_disk: self.bytes,
                ingest_cpu_ms_per_drawer: self.ingest_ms / self.drawers.max(1) as f64,
                session_cpu_ms: Percentiles::of(&session_cpu),
                tokens_per_query: tokens as f64 / self.outcomes.len().max(1) as f64,
            },
            warnings: self.warnings,
        }
    }

    fn half(&self, is_in: impl Fn(Half) -> bool) -> HalfFigures {
        let asked = || self.outcomes.iter().filter(|one| is_in(one.half));
        let answerable = || asked().filter(|one| !one.unanswerable);
        HalfFigures {
            questions: asked().count(),
            conversations: self
                .conversations
                .iter()
                .filter(|(half, _)| is_in(*half))
                .map(|(_, id)| id.clone())
                .collect(),
            session: Figures::of(answerable().filter_map(|one| one.session.as_ref())),
            turn: Figures::of(answerable().filter_map(|one| one.turn.as_ref())),
            mempalace_locomo: fraction(asked().filter_map(|one| one.mempalace.as_ref())),
        }
    }

    /// LoCoMo's adversarial questions have a category of their own. Abstentions of LongMemEval are of a category of others,
    /// and left out.
    fn by_category(&self) -> BTreeMap<String, Category> {
        let mut by_category: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
        for one in &self.outcomes {
            if self.kind == Kind::LoCoMo || !one.unanswerable {
                by_category
                    .entry(one.category.clone())
                    .or_default()
                    .push(one);
            }
        }
        let figures = |outcomes: Vec<&Outcome>| Category {
            count: outcomes.len(),
            session: Brief::of(outcomes.iter().filter_map(|one| one.session.as_ref())),
            turn: Brief::of(outcomes.iter().filter_map(|one| one.turn.as_ref())),
            mempalace_locomo: fraction(outcomes.iter().filter_map(|one| one.mempalace.as_ref())),
        };
        by_category
            .into_iter()
            .map(|(category, outcomes)| (category, figures(outcomes)))
            .collect()
    }
}

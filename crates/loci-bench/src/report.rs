//! The report of a run.

use std::collections::BTreeMap;
use std::path::Path;

use loci_palace::NO_EMBEDDER;
use serde::Serialize;

use crate::ask::Outcome;
use crate::clock::percentile;
use crate::dataset::{Case, Half, Kind};
use crate::difference::Differences;
use crate::figures::{AtTop, Brief, Figures, fraction};
use crate::metric::Judged;
use crate::store::Filled;

/// The figures of a run. `loci bench retrieval --json` prints it as JSON.
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
    /// How the data set is split into halves.
    pub split: &'static str,
    /// The half on which weights may be chosen.
    pub tuning: HalfFigures,
    /// The half from which figures are quoted.
    pub reporting: HalfFigures,
    /// Whether all conversations shared one palace.
    pub together: bool,
    /// The baseline on the same drawers, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineFigures>,
    /// Each category of the data set.
    pub by_category: BTreeMap<String, Category>,
    /// CPU time of a warm search for turns.
    pub cpu_ms: Percentiles,
    /// Other costs.
    pub cost: Cost,
    /// Warnings of the palaces when they were created, without duplicates.
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

/// The figures of the baseline, and how far Loci is ahead of it.
#[derive(Debug, Clone, Serialize)]
pub struct BaselineFigures {
    /// What it is.
    pub name: &'static str,
    /// As in [`Report`].
    pub session: Figures,
    /// As in [`Report`].
    pub turn: Figures,
    /// Loci minus baseline, ranking of sessions.
    pub session_difference: Differences,
    /// Loci minus baseline, ranking of turns.
    pub turn_difference: Differences,
    /// CPU time of its search.
    pub cpu_ms: Percentiles,
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

/// Percentiles in milliseconds.
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

/// The costs of a run.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Cost {
    /// Number of palaces.
    pub palaces: usize,
    /// Number of drawers.
    pub drawers: usize,
    /// Number of drawers without a readable date.
    pub undated_drawers: usize,
    /// Size of all palaces together.
    pub bytes_on_disk: u64,
    /// CPU time of writing a drawer, including its vector and its share of the index.
    pub ingest_cpu_ms_per_drawer: f64,
    /// CPU time of a warm search by source.
    pub session_cpu_ms: Percentiles,
    /// Mean number of tokens in the answer of a search for turns.
    pub tokens_per_query: f64,
}

/// The results that a run has collected so far.
pub(crate) struct Tally {
    kind: Kind,
    together: bool,
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
    pub(crate) fn new(kind: Kind, together: bool) -> Self {
        Self {
            kind,
            together,
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

    /// Adds a filled palace.
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

    /// Adds the outcome of a question.
    pub(crate) fn asked(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// Adds a completed palace.
    pub(crate) fn palace(&mut self, case: &Case, bytes: u64) {
        self.one_palace(std::slice::from_ref(case), bytes);
    }

    /// Adds a completed palace with several cases.
    pub(crate) fn one_palace(&mut self, cases: &[Case], bytes: u64) {
        self.palaces += 1;
        self.bytes += bytes;
        if self.kind == Kind::LoCoMo {
            let named = cases.iter().map(|case| (case.half, case.id.clone()));
            self.conversations.extend(named);
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
        let baseline = self.baseline();
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
            together: self.together,
            baseline,
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

    /// The figures of the baseline over the same questions as the overall figures.
    fn baseline(&self) -> Option<BaselineFigures> {
        let answerable = || self.outcomes.iter().filter(|one| !one.unanswerable);
        let pairs = |level: fn(&Outcome) -> Option<(&Judged, &Judged)>| -> Vec<_> {
            answerable().filter_map(level).collect()
        };
        let session = pairs(|one| {
            one.session
                .as_ref()
                .zip(one.baseline.as_ref()?.session.as_ref())
        });
        let turn = pairs(|one| one.turn.as_ref().zip(one.baseline.as_ref()?.turn.as_ref()));
        let cpu = self.outcomes.iter().filter_map(|one| one.baseline.as_ref());
        let cpu: Vec<f64> = cpu.map(|baseline| baseline.cpu_ms).collect();
        (!cpu.is_empty()).then(|| BaselineFigures {
            name: crate::baseline::NAME,
            session: Figures::of(session.iter().map(|(_, baseline)| *baseline)),
            turn: Figures::of(turn.iter().map(|(_, baseline)| *baseline)),
            session_difference: Differences::of(&session),
            turn_difference: Differences::of(&turn),
            cpu_ms: Percentiles::of(&cpu),
        })
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

    /// The figures by category. LoCoMo's adversarial questions have their own category. Abstentions
    /// of LongMemEval share a category with other questions, and are left out.
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

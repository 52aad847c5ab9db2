//! Runs a data set: every case becomes a palace, and every question two searches.

use std::path::{Path, PathBuf};

use loci_palace::{OpenOptions, Palace, Result};

use crate::ask::{ask, judge};
use crate::clock;
use crate::dataset::{self, Case};
use crate::details::Details;
use crate::report::{Report, Tally};
use crate::sample::Sample;
use crate::store::{PalacesDir, bytes_in, fill};

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Embedder by name; otherwise the default of a new palace.
    pub embedder: Option<String>,
    /// Maximum number of questions: an even sample of the whole set, always the same.
    pub limit: Option<usize>,
    /// A file to write, with one line of JSON per question.
    pub details: Option<PathBuf>,
    /// A new or empty directory for the palaces, which are removed otherwise.
    pub keep: Option<PathBuf>,
}

/// Progress of a run. It is reported after every filled palace and every question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The conversation or question of the palace.
    pub palace: String,
    /// Number of questions asked so far.
    pub done: usize,
    /// Total number of questions.
    pub total: usize,
}

/// Runs a data set through palaces on disk, and measures the results of search. The data set is
/// read twice, entry by entry. One palace exists at a time, unless they are kept.
pub fn run(
    dataset: &Path,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report> {
    let outline = dataset::outline(dataset)?;
    let sample = Sample::new(outline.questions, options.limit);
    let mut run = Run {
        open: OpenOptions {
            embedder: options.embedder.clone(),
            ..OpenOptions::create()
        },
        place: PalacesDir::new(options.keep.as_deref())?,
        details: Details::create(options.details.as_deref())?,
        total: sample.wanted(),
        tally: Tally::new(outline.kind),
        progress,
    };
    let mut at = 0;
    dataset::cases(dataset, outline.kind, |mut case| {
        let first = at;
        at += case.questions.len();
        let mut place = first..;
        case.questions
            .retain(|_| place.next().is_some_and(|place| sample.contains(place)));
        if case.questions.is_empty() {
            return Ok(());
        }
        run.case(case)
    })?;
    run.details.finish()?;
    Ok(run.tally.report(dataset))
}

struct Run<'a> {
    open: OpenOptions,
    place: PalacesDir,
    details: Details,
    total: usize,
    tally: Tally,
    progress: &'a mut dyn FnMut(Progress),
}

impl Run<'_> {
    fn case(&mut self, mut case: Case) -> Result<()> {
        let path = self.place.palace(self.tally.palaces, &case.id);
        let drawers = std::mem::take(&mut case.drawers);
        self.tally.drawers += drawers.len();
        self.tally.undated += drawers.iter().filter(|drawer| !drawer.is_dated()).count();
        let (filled, cpu_ms) = clock::timed(|| fill(&path, &self.open, drawers));
        self.tally.filled(filled?, cpu_ms);
        self.tell(&case.id);
        self.questions(&case, &path)?;
        self.tally.palace(&case, bytes_in(&path)?);
        self.place.done_with(&path)
    }

    /// Asks all questions of a case. The palace is opened again, as by a program that did not write
    /// it.
    fn questions(&mut self, case: &Case, path: &Path) -> Result<()> {
        let palace = Palace::open(path, &self.open)?;
        if let Some(first) = case.questions.first() {
            // The first search loads everything into memory and is not measured.
            ask(&palace, &first.text, case.today)?;
        }
        for question in &case.questions {
            let asked = ask(&palace, &question.text, case.today)?;
            self.details.write(question, case.half, &asked)?;
            self.tally.asked(judge(question, case.half, &asked));
            self.tell(&case.id);
        }
        palace.close()
    }

    fn tell(&mut self, palace: &str) {
        (self.progress)(Progress {
            palace: palace.to_owned(),
            done: self.tally.outcomes.len(),
            total: self.total,
        });
    }
}

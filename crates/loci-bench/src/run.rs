//! Runs a data set: every case becomes a palace, or all cases together, and every question two
//! searches.

use std::path::{Path, PathBuf};

use loci_palace::{Error, OpenOptions, Palace, Result};

use crate::ask::{ask, judge, judge_baseline};
use crate::baseline::Baseline;
use crate::clock;
use crate::collect::{Examined, examined};
use crate::dataset::{self, Case, Drawer, Outline, Question};
use crate::details::Details;
use crate::distractors;
use crate::report::{Report, Tally};
use crate::sample::Sample;
use crate::store::{Filling, PalacesDir, bytes_in};
use crate::together::Merger;

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
    /// Whether all conversations share one palace, in which every question is asked.
    pub together: bool,
    /// A file of drawers to add to that palace, one JSON object with `text` per line.
    pub distractors: Option<PathBuf>,
    /// Whether plain BM25 ranks the same drawers for comparison.
    pub baseline: bool,
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
    visit(dataset, options, progress, None)
}

/// The same. If `receive` is given, it gets the candidates of every question, and nothing is
/// measured.
pub(crate) fn visit<'a>(
    dataset: &Path,
    options: &Options,
    progress: &'a mut dyn FnMut(Progress),
    receive: Option<&'a mut dyn FnMut(Examined)>,
) -> Result<Report> {
    if options.distractors.is_some() && !options.together {
        return Err(Error::invalid(
            "distractors",
            "they need `together`: every question would need its own copy of them",
        ));
    }
    let outline = dataset::outline(dataset)?;
    let sample = Sample::new(outline.questions, options.limit);
    let mut run = Run {
        open: OpenOptions {
            embedder: options.embedder.clone(),
            ..OpenOptions::create()
        },
        place: PalacesDir::new(options.keep.as_deref())?,
        details: Details::create(options.details.as_deref())?,
        with_baseline: options.baseline,
        total: sample.wanted(),
        tally: Tally::new(outline.kind, options.together),
        progress,
        receive,
    };
    if options.together {
        run.together(dataset, outline, sample, options.distractors.as_deref())?;
    } else {
        each_case(dataset, outline, sample, |case| {
            match case.questions.len() {
                0 => Ok(()),
                _ => run.case(case),
            }
        })?;
    }
    run.details.finish()?;
    Ok(run.tally.report(dataset))
}

/// Visits the cases of a data set, with those questions that the sample contains.
fn each_case(
    dataset: &Path,
    outline: Outline,
    sample: Sample,
    mut visit: impl FnMut(Case) -> Result<()>,
) -> Result<()> {
    let mut at = 0;
    dataset::cases(dataset, outline.kind, |mut case| {
        let first = at;
        at += case.questions.len();
        let mut place = first..;
        case.questions
            .retain(|_| place.next().is_some_and(|place| sample.contains(place)));
        visit(case)
    })
}

struct Run<'a> {
    open: OpenOptions,
    place: PalacesDir,
    details: Details,
    with_baseline: bool,
    total: usize,
    tally: Tally,
    progress: &'a mut dyn FnMut(Progress),
    receive: Option<&'a mut dyn FnMut(Examined)>,
}

/// A palace that is being filled, and the baseline of the same drawers.
struct Stores {
    palace: Filling,
    baseline: Option<Baseline>,
    cpu_ms: f64,
}

impl Run<'_> {
    /// Asks the questions of a case in a palace of its own.
    fn case(&mut self, mut case: Case) -> Result<()> {
        let path = self.place.palace(self.tally.palaces, &case.id);
        let drawers = std::mem::take(&mut case.drawers);
        let mut stores = self.open_stores(&path)?;
        self.add(&mut stores, drawers)?;
        let baseline = self.finish(stores)?;
        self.report_progress(&case.id);
        self.ask(std::slice::from_ref(&case), &path, baseline.as_ref())?;
        self.tally.palace(&case, bytes_in(&path)?);
        self.place.done_with(&path)
    }

    /// Asks all questions in one palace with all conversations. Histories are added even if none of
    /// their questions is in the sample, so that a sample measures the same palace.
    fn together(
        &mut self,
        dataset: &Path,
        outline: Outline,
        sample: Sample,
        distractors: Option<&Path>,
    ) -> Result<()> {
        let path = self.place.palace(0, "together");
        let mut stores = self.open_stores(&path)?;
        let mut merger = Merger::default();
        let mut cases = Vec::new();
        each_case(dataset, outline, sample, |mut case| {
            let drawers = merger.merge(&mut case);
            self.add(&mut stores, drawers)?;
            self.report_progress(&case.id);
            cases.push(case);
            Ok(())
        })?;
        if let Some(file) = distractors {
            distractors::each_chunk(file, |chunk| self.add(&mut stores, chunk))?;
        }
        let baseline = self.finish(stores)?;
        self.ask(&cases, &path, baseline.as_ref())?;
        self.tally.one_palace(&cases, bytes_in(&path)?);
        self.place.done_with(&path)
    }

    fn open_stores(&self, path: &Path) -> Result<Stores> {
        Ok(Stores {
            palace: Filling::open(path, &self.open)?,
            baseline: self.with_baseline.then(Baseline::new).transpose()?,
            cpu_ms: 0.0,
        })
    }

    fn add(&mut self, stores: &mut Stores, drawers: Vec<Drawer>) -> Result<()> {
        self.tally.drawers += drawers.len();
        self.tally.undated += drawers.iter().filter(|drawer| !drawer.is_dated()).count();
        if let Some(baseline) = &mut stores.baseline {
            baseline.add(&drawers)?;
        }
        let (added, cpu_ms) = clock::timed(|| stores.palace.add(drawers));
        stores.cpu_ms += cpu_ms;
        added
    }

    fn finish(&mut self, stores: Stores) -> Result<Option<Baseline>> {
        let (filled, cpu_ms) = clock::timed(|| stores.palace.finish());
        self.tally.filled(filled?, stores.cpu_ms + cpu_ms);
        Ok(stores.baseline)
    }

    /// Asks all questions of some cases. The palace is opened again, as by a program that did not
    /// write it.
    fn ask(&mut self, cases: &[Case], path: &Path, baseline: Option<&Baseline>) -> Result<()> {
        let palace = Palace::open(path, &self.open)?;
        if self.receive.is_some() {
            for (case, question) in questions(cases) {
                let found = examined(&palace, question, &case.id, case.half, case.today)?;
                if let Some(receive) = &mut self.receive {
                    receive(found);
                }
                self.report_progress(&case.id);
            }
            return palace.close();
        }
        if let Some((case, first)) = questions(cases).next() {
            // The first search loads everything into memory and is not measured.
            ask(&palace, &first.text, case.today)?;
        }
        for (case, question) in questions(cases) {
            let asked = ask(&palace, &question.text, case.today)?;
            let (plain, plain_cpu_ms) =
                clock::timed(|| baseline.map(|baseline| baseline.ask(&question.text)));
            let plain = plain.transpose()?;
            self.details
                .write(question, case.half, &asked, plain.as_ref())?;
            let mut outcome = judge(question, case.half, &asked);
            outcome.baseline = plain.map(|plain| judge_baseline(question, &plain, plain_cpu_ms));
            self.tally.asked(outcome);
            self.report_progress(&case.id);
        }
        palace.close()
    }

    fn report_progress(&mut self, palace: &str) {
        (self.progress)(Progress {
            palace: palace.to_owned(),
            done: self.tally.outcomes.len(),
            total: self.total,
        });
    }
}

fn questions(cases: &[Case]) -> impl Iterator<Item = (&Case, &Question)> {
    cases.iter().flat_map(|case| {
        let questions = case.questions.iter();
        questions.map(move |question| (case, question))
    })
}

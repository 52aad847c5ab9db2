//! One round of an attack: a directory, a random script that the seed decides, and a tally.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::home::{Home, copy};
use super::texts;

/// The state that all rounds of a run share.
pub(super) struct RunContext {
    pub(super) binary: PathBuf,
    /// The directory of the run.
    pub(super) root: PathBuf,
    /// How long a round runs.
    pub(super) slice: Duration,
    /// How long commands take when they are not killed.
    durations: Mutex<BTreeMap<String, Duration>>,
    templates: Mutex<()>,
}

/// The results of one or more rounds.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) tries: u64,
    pub(super) failures: Vec<String>,
    /// Counts of other outcomes, which are not failures.
    pub(super) notes: BTreeMap<String, u64>,
    /// Reasons why something could not be tried, with counts.
    pub(super) skipped: BTreeMap<String, u64>,
}

pub(super) struct Round<'a> {
    pub(super) context: &'a RunContext,
    pub(super) home: Home,
    pub(super) random: fastrand::Rng,
    pub(super) tally: Tally,
    since: Instant,
}

impl RunContext {
    pub(super) fn new(binary: PathBuf, root: PathBuf, slice: Duration) -> Self {
        Self {
            binary,
            root,
            slice,
            durations: Mutex::default(),
            templates: Mutex::default(),
        }
    }

    /// How long a command usually takes, if that is known.
    pub(super) fn duration(&self, what: &str) -> Option<Duration> {
        self.durations.lock().ok()?.get(what).copied()
    }

    pub(super) fn took(&self, what: &str, time: Duration) {
        if let Ok(mut durations) = self.durations.lock() {
            let known = durations.entry(what.to_owned()).or_insert(time);
            *known = (*known * 3 + time) / 4;
        }
    }

    /// Creates a palace with `drawers` drawers at `palace`, and returns their ids and texts. A
    /// palace of each size is imported once per run and copied after that.
    pub(super) fn fill(&self, palace: &Path, drawers: usize) -> anyhow::Result<Drawers> {
        let known = texts::numbered("base", drawers);
        let template = self.root.join(format!("template-{drawers}"));
        {
            let _one_at_a_time = self.templates.lock();
            if !template.join("palace").exists() {
                let home = Home::new(&self.binary, &template)?;
                home.with_palace(&template.join("making"))
                    .import(&texts::lines(&known))?;
                // Only a complete palace gets the final name.
                std::fs::rename(template.join("making"), template.join("palace"))?;
            }
        }
        copy(&template.join("palace"), palace)?;
        Ok(known)
    }
}

/// Texts of drawers by id.
pub(super) type Drawers = BTreeMap<String, String>;

impl<'a> Round<'a> {
    pub(super) fn new(
        context: &'a RunContext,
        directory: &Path,
        seed: u64,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            context,
            home: Home::new(&context.binary, directory)?,
            random: fastrand::Rng::with_seed(seed),
            tally: Tally::default(),
            since: Instant::now(),
        })
    }

    /// Whether the time of this round is over.
    pub(super) fn is_over(&self) -> bool {
        self.since.elapsed() >= self.context.slice
    }

    /// Counts a failure. The same failure counts once per round.
    pub(super) fn fail(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.tally.failures.contains(&what) {
            self.tally.failures.push(what);
        }
    }

    pub(super) fn note(&mut self, what: &str) {
        *self.tally.notes.entry(what.to_owned()).or_default() += 1;
    }

    pub(super) fn skip(&mut self, why: &str) {
        *self.tally.skipped.entry(why.to_owned()).or_default() += 1;
    }

    /// Counts an error as a failure.
    pub(super) fn expect(&mut self, what: anyhow::Result<()>) {
        if let Err(error) = what {
            self.fail(format!("{error:#}"));
        }
    }
}

impl Tally {
    /// The tally of a round that could not start.
    pub(super) fn broken(error: &anyhow::Error) -> Self {
        Self {
            failures: vec![format!("{error:#}")],
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.tries += other.tries;
        self.failures.extend(other.failures);
        for (note, times) in other.notes {
            *self.notes.entry(note).or_default() += times;
        }
        for (why, times) in other.skipped {
            *self.skipped.entry(why).or_default() += times;
        }
    }
}

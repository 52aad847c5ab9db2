//! `cargo xtask torture` attacks the release binary with real processes and counts what it loses.
//!
//! An attack is a file in `attack/` and a line in `attack::ATTACKS`. It runs in rounds of a few
//! seconds. The seed of a round decides its script; the timing stays real. Everything happens in
//! a temporary directory, which is removed unless a round failed.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value gives null for a name that it does not have"
)]

mod attack;
mod contents;
mod home;
mod process;
mod report;
mod round;
mod server;
mod texts;
mod watchdog;
mod workers;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use attack::{ATTACKS, Attack};
use clap::Args;
use report::Report;
use round::{Round, RunContext};

use crate::{root, target, test};

/// The length of a round. Then it is the turn of another attack.
const SLICE: Duration = Duration::from_secs(4);

#[derive(Args)]
pub(crate) struct Options {
    /// Minutes to run, shared between the attacks; each attack runs at least one round.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Seed of the script [default: random; it is printed].
    #[arg(long)]
    seed: Option<u64>,
    /// Run only this attack; may be repeated.
    #[arg(long, value_name = "NAME")]
    attack: Vec<String>,
    /// The binary to attack [default: the release binary, which is built first].
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Number of rounds that run at the same time.
    #[arg(long, default_value_t = 2, value_name = "N")]
    jobs: usize,
    /// Keep the temporary directory.
    #[arg(long)]
    keep: bool,
    /// Hold the exclusive lock of this file until killed; used by the attacks.
    #[arg(long, hide = true, value_name = "FILE")]
    hold: Option<PathBuf>,
    /// Clean up after the run in this directory when stdin ends; used by the attacks.
    #[arg(long, hide = true, value_name = "DIR")]
    clean_up: Option<PathBuf>,
}

impl Options {
    /// The long run of `cargo xtask test --long`.
    pub(crate) fn long() -> Self {
        Self::new(20.0, None)
    }

    fn new(minutes: f64, binary: Option<PathBuf>) -> Self {
        Self {
            minutes,
            seed: None,
            attack: Vec::new(),
            binary,
            jobs: 2,
            keep: false,
            hold: None,
            clean_up: None,
        }
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(file) = &options.hold {
        return attack::hold(file);
    }
    if let Some(directory) = &options.clean_up {
        return watchdog::wait(directory);
    }
    let report = attack_all(options)?;
    report.print();
    match report.failures() {
        0 => Ok(()),
        failures => bail!("{failures} failure(s)"),
    }
}

fn attack_all(options: &Options) -> anyhow::Result<Report> {
    let attacks = chosen(&options.attack)?;
    let binary = match &options.binary {
        Some(path) => path
            .canonicalize()
            .with_context(|| format!("no binary at `{}`", path.display()))?,
        None => build()?,
    };
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1 << 48));
    let directory = tempfile::Builder::new().prefix("loci-torture-").tempdir()?;
    // Loci resolves the links of its paths. The driver does the same, so that paths compare equal.
    let path = directory.path().canonicalize()?;
    println!(
        "attacking `{}` for {} minute(s), seed {seed}, in `{}`",
        binary.display(),
        options.minutes,
        path.display()
    );
    let watchdog = watchdog::Watchdog::start(&path)?;
    let time = Duration::from_secs_f64(options.minutes.max(0.0) * 60.0);
    let context = RunContext::new(binary, path, SLICE.min(time.max(Duration::from_secs(1))));
    let plan = Mutex::new(Plan::new(&attacks, seed, time));
    let report = Mutex::new(Report::new(seed));
    std::thread::scope(|threads| {
        for _ in 0..options.jobs.max(1) {
            threads.spawn(|| work(&context, &plan, &report));
        }
    });
    watchdog.dismiss()?;
    let report = report
        .into_inner()
        .map_err(|_| anyhow::anyhow!("a thread of the driver panicked"))?;
    if options.keep || report.failures() > 0 {
        println!("kept: `{}`", directory.keep().display());
    }
    Ok(report)
}

fn work(context: &RunContext, plan: &Mutex<Plan<'_>>, report: &Mutex<Report>) {
    loop {
        let Some((attack, seed)) = plan.lock().ok().and_then(|mut plan| plan.next()) else {
            return;
        };
        let since = Instant::now();
        let directory = context.root.join(format!("{}-{seed}", attack.name));
        let tally = match Round::new(context, &directory, seed) {
            Err(error) => round::Tally::broken(&error),
            Ok(mut round) => {
                let outcome = (attack.round)(&mut round);
                round.expect(outcome);
                round.tally
            }
        };
        watchdog::sweep(&directory);
        if let Ok(mut report) = report.lock() {
            report.round(attack, seed, &directory, tally);
        }
        if let Ok(mut plan) = plan.lock() {
            plan.spent(attack, since.elapsed());
        }
    }
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Attack>> {
    for name in names {
        if !ATTACKS.iter().any(|attack| attack.name == name) {
            let all: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
            bail!("no attack `{name}`; the attacks are {}", all.join(", "));
        }
    }
    let is_chosen = |attack: &&Attack| names.is_empty() || names.iter().any(|n| n == attack.name);
    Ok(ATTACKS.iter().filter(is_chosen).collect())
}

fn build() -> anyhow::Result<PathBuf> {
    let built = test::cargo()
        .args(["build", "--release", "-p", "loci-cli"])
        .current_dir(root())
        .status()?;
    if !built.success() {
        bail!("cannot build the release binary");
    }
    Ok(target().join("release").join("loci"))
}

/// Decides which attack is next: the one that has used the least of its share of the time.
struct Plan<'a> {
    shares: Vec<Share<'a>>,
    seed: u64,
    until: Instant,
}

struct Share<'a> {
    attack: &'a Attack,
    rounds: u64,
    spent: Duration,
}

impl<'a> Plan<'a> {
    fn new(attacks: &[&'a Attack], seed: u64, time: Duration) -> Self {
        let share = |attack: &&'a Attack| Share {
            attack,
            rounds: 0,
            spent: Duration::ZERO,
        };
        Self {
            shares: attacks.iter().map(share).collect(),
            seed,
            until: Instant::now() + time,
        }
    }

    fn next(&mut self) -> Option<(&'a Attack, u64)> {
        let is_over = Instant::now() >= self.until;
        let share = self
            .shares
            .iter_mut()
            .filter(|share| share.rounds == 0 || !is_over)
            .min_by_key(|share| (share.rounds > 0, share.spent / share.attack.weight))?;
        let seed = seed_of(self.seed, share.rounds);
        share.rounds += 1;
        // The time is charged in advance. Otherwise two rounds of one attack could start together,
        // because neither has ended and been charged.
        share.spent += SLICE;
        Some((share.attack, seed))
    }

    fn spent(&mut self, attack: &Attack, time: Duration) {
        for share in &mut self.shares {
            if share.attack.name == attack.name {
                share.spent = (share.spent + time).saturating_sub(SLICE);
            }
        }
    }
}

/// The seed of a round. The first round has the seed of the run, so a run with the printed seed of
/// any round begins with exactly that round.
fn seed_of(seed: u64, round: u64) -> u64 {
    match round {
        0 => seed,
        _ => fastrand::Rng::with_seed(seed ^ (round << 40)).u64(..1 << 48),
    }
}

/// The size of everything below a directory.
fn size_of(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_of_a_printed_seed_is_that_round() {
        let third = seed_of(42, 3);
        assert_eq!(seed_of(third, 0), third);
        assert_ne!(seed_of(42, 1), seed_of(42, 2));
    }

    #[test]
    fn every_attack_has_a_turn_before_any_has_a_second_one_even_without_time() {
        let attacks = chosen(&[]).unwrap();
        let mut plan = Plan::new(&attacks, 1, Duration::ZERO);
        let mut turns: Vec<&str> = std::iter::from_fn(|| plan.next())
            .map(|(attack, _)| attack.name)
            .collect();
        turns.sort_unstable();
        let mut names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        names.sort_unstable();
        assert_eq!(turns, names);
    }
}

//! Random damage: over a thousand seeds, applied to all files of small directories that real
//! releases wrote. Whatever the bytes say, reading ends soon and without a panic. It returns no
//! vector as good that its length, its label or its place in the queue proves wrong.

mod claims;
mod strike;
mod subject;

use std::fs;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use loci_core::ErrorKind;

use crate::chroma_scenes::scene::copy_tree;
use claims::Damaged;
use strike::Strike;
use subject::Subject;

/// Two of three are flips and truncations.
const SEEDS: u64 = 2_400;
/// Selects other seeds, for a longer search: `9000..40000`.
const OTHERS: &str = "LOCI_TEST_SEEDS";
const THREADS: usize = 4;
/// A small directory takes a few hundredths of a second. The rest is a margin for a busy machine.
const SLOW: Duration = Duration::from_secs(5);
const HANGS: Duration = Duration::from_secs(60);

/// The result of one seed.
struct Outcome {
    what: String,
    problems: Vec<String>,
    refused: bool,
    healthy: bool,
}

/// Applies the damage of a seed to a copy of its subject in `directory`, checks it, and undoes the
/// damage.
fn try_seed(seed: u64, subject: &Subject, directory: &Path) -> Outcome {
    let mut random = Rng::with_seed(seed);
    let names: Vec<&PathBuf> = subject.files.keys().collect();
    let file = names[random.usize(..names.len())];
    let strike = Strike::choose(&mut random, &subject.files[file]);
    let mut files = subject.files.clone();
    let bytes = strike.applied(&subject.files[file]);
    fs::write(directory.join(file), &bytes).unwrap();
    files.insert(file.clone(), bytes);
    let begun = Instant::now();
    let read = catch_unwind(AssertUnwindSafe(|| subject::read(directory)));
    let took = begun.elapsed();
    let mut outcome = Outcome {
        what: format!(
            "seed {seed}: {}, {}: {strike}",
            subject.name,
            file.display()
        ),
        problems: Vec::new(),
        refused: false,
        healthy: false,
    };
    match read {
        Err(_) => outcome.problems.push("it panicked".into()),
        Ok(Err(error)) => {
            outcome.refused = true;
            if error.kind() == ErrorKind::Internal || !subject::is_database(file) {
                outcome.problems.push(format!("refused: {error}"));
            }
        }
        Ok(Ok((diagnosis, records))) => {
            let damaged = Damaged {
                subject,
                file,
                strike: &strike,
                files: &files,
            };
            outcome.problems = damaged.problems(&diagnosis, &records);
            outcome.healthy = diagnosis.is_healthy();
        }
    }
    if took > SLOW {
        outcome.problems.push(format!("it took {took:?}"));
    }
    if !outcome.problems.is_empty() {
        let kept = keep(seed, directory).unwrap_or_default();
        outcome.what = format!("{}, kept in `{}`", outcome.what, kept.display());
    }
    fs::write(directory.join(file), &subject.files[file]).unwrap();
    outcome
}

fn seeds() -> Range<u64> {
    let Ok(others) = std::env::var(OTHERS) else {
        return 0..SEEDS;
    };
    let (first, end) = others.split_once("..").unwrap();
    first.parse().unwrap()..end.parse().unwrap()
}

/// Keeps the first directories that show a problem, because those of 1.5.9 differ between machines.
fn keep(seed: u64, directory: &Path) -> Option<PathBuf> {
    static KEPT: AtomicU64 = AtomicU64::new(0);
    if KEPT.fetch_add(1, Ordering::Relaxed) >= 5 {
        return None;
    }
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("random-{seed}"));
    let _ = fs::remove_dir_all(&kept);
    copy_tree(directory, &kept);
    Some(kept)
}

fn try_seeds(next: &AtomicU64, end: u64, subjects: &[Subject], say: &mpsc::Sender<Outcome>) {
    let folder = tempfile::tempdir().unwrap();
    for (at, subject) in subjects.iter().enumerate() {
        subject.write(&folder.path().join(at.to_string()));
    }
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return;
        }
        let at = seed as usize % subjects.len();
        say.send(try_seed(
            seed,
            &subjects[at],
            &folder.path().join(at.to_string()),
        ))
        .unwrap();
    }
}

#[test]
fn random_damage_neither_stops_the_reader_nor_makes_it_believe_wrong_vectors() {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let subjects: &'static [Subject] = Box::leak(subject::all().into());
    let seeds = seeds();
    NEXT.store(seeds.start, Ordering::Relaxed);
    let (say, outcomes) = mpsc::channel();
    for _ in 0..THREADS {
        let (say, end) = (say.clone(), seeds.end);
        std::thread::spawn(move || try_seeds(&NEXT, end, subjects, &say));
    }
    drop(say);
    let (mut problems, mut refused, mut healthy) = (Vec::new(), 0_u64, 0_u64);
    for _ in seeds {
        let outcome = outcomes.recv_timeout(HANGS).expect("a seed hangs");
        refused += u64::from(outcome.refused);
        healthy += u64::from(outcome.healthy);
        if !outcome.problems.is_empty() {
            problems.push((outcome.what, outcome.problems));
        }
    }
    println!("of all damages {refused} refused, {healthy} healthy, the rest with findings");
    assert!(problems.is_empty(), "{} {problems:#?}", problems.len());
}

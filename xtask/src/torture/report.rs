//! The report of a run: a table, the failures with the commands that repeat them, and their files.

use std::collections::BTreeMap;
use std::path::Path;

use super::attack::{ATTACKS, Attack};
use super::round::Tally;
use super::size_of;

/// Limits of the kept directories of failed rounds: their number and their total size.
const KEPT_ROUNDS: usize = 8;
const KEPT_BYTES: u64 = 256 << 20;
/// The number of failures per attack that are printed.
const PRINTED: usize = 12;

pub(super) struct Report {
    seed: u64,
    attacks: BTreeMap<&'static str, (u64, Tally)>,
    failed: Vec<Failed>,
    kept_rounds: usize,
    kept_bytes: u64,
}

struct Failed {
    attack: &'static str,
    seed: u64,
    what: String,
    kept: Option<String>,
}

impl Report {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            attacks: BTreeMap::new(),
            failed: Vec::new(),
            kept_rounds: 0,
            kept_bytes: 0,
        }
    }

    /// Adds the results of a round, and removes its directory unless it failed.
    pub(super) fn round(&mut self, attack: &Attack, seed: u64, directory: &Path, tally: Tally) {
        let bytes = size_of(directory);
        let keep = !tally.failures.is_empty()
            && self.kept_rounds < KEPT_ROUNDS
            && self.kept_bytes + bytes <= KEPT_BYTES;
        let kept = keep.then(|| directory.display().to_string());
        if keep {
            self.kept_rounds += 1;
            self.kept_bytes += bytes;
        } else {
            let _ = std::fs::remove_dir_all(directory);
        }
        for what in &tally.failures {
            println!("{}: FAILED: {what}", attack.name);
            self.failed.push(Failed {
                attack: attack.name,
                seed,
                what: what.clone(),
                kept: kept.clone(),
            });
        }
        let (rounds, sum) = self.attacks.entry(attack.name).or_default();
        *rounds += 1;
        sum.add(tally);
    }

    pub(super) fn failures(&self) -> usize {
        self.failed.len()
    }

    pub(super) fn print(&self) {
        println!();
        println!("| attack | rounds | tries | failures | what was checked |");
        println!("|---|---:|---:|---:|---|");
        for attack in ATTACKS {
            if let Some((rounds, tally)) = self.attacks.get(attack.name) {
                let (tries, failures) = (tally.tries, tally.failures.len());
                let (name, checks) = (attack.name, attack.checks);
                println!("| {name} | {rounds} | {tries} | {failures} | {checks} |");
            }
        }
        println!();
        for attack in ATTACKS {
            let Some((_, tally)) = self.attacks.get(attack.name) else {
                continue;
            };
            if !tally.notes.is_empty() {
                let notes: Vec<String> = tally
                    .notes
                    .iter()
                    .map(|(note, times)| format!("{note} {times}"))
                    .collect();
                println!("{}: {}", attack.name, notes.join(", "));
            }
            for (why, times) in &tally.skipped {
                println!("{}: skipped {times} time(s): {why}", attack.name);
            }
        }
        self.print_failures();
        println!("seed {}", self.seed);
    }

    fn print_failures(&self) {
        for attack in ATTACKS {
            let failed: Vec<&Failed> = self
                .failed
                .iter()
                .filter(|failed| failed.attack == attack.name)
                .collect();
            for failure in failed.iter().take(PRINTED) {
                println!("\n{}: {}", failure.attack, failure.what);
                println!(
                    "  repeat: cargo xtask torture --minutes 0.1 --attack {} --seed {}",
                    failure.attack, failure.seed
                );
                if let Some(kept) = &failure.kept {
                    println!("  files: {kept}");
                }
            }
            if failed.len() > PRINTED {
                println!("\n{}: {} more", attack.name, failed.len() - PRINTED);
            }
        }
    }
}

//! Runs every seed of every fuzz target through the body of the target, without libFuzzer.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read the seeds of the repository"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loci_fuzz::TARGETS;

/// The folder with the package for cargo-fuzz.
fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(directory: &Path) -> BTreeSet<String> {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn every_kept_input_holds_what_its_target_checks() {
    for target in TARGETS {
        let seeds = fuzz().join("seeds").join(target.name);
        for name in names(&seeds) {
            let input = std::fs::read(seeds.join(&name)).unwrap();
            let begun = Instant::now();
            let result = std::panic::catch_unwind(|| (target.run)(&input));
            assert!(result.is_ok(), "{}/{name} fails", target.name);
            // The limit is generous, because the machine may be busy. Slow inputs took minutes
            // before their bugs were fixed.
            let taken = begun.elapsed();
            assert!(
                taken < Duration::from_secs(20),
                "{}/{name} takes {taken:?}",
                target.name
            );
        }
    }
}

#[test]
fn every_input_cut_anywhere_holds_what_its_target_checks() {
    for target in TARGETS {
        let seeds = fuzz().join("seeds").join(target.name);
        for name in names(&seeds) {
            let input = std::fs::read(seeds.join(&name)).unwrap();
            for part in 0..8 {
                (target.run)(&input[..input.len() * part / 8]);
            }
        }
    }
}

#[test]
fn every_target_has_a_binary_and_seeds_of_at_most_100_kb() {
    let known: BTreeSet<String> = TARGETS
        .iter()
        .map(|target| target.name.to_owned())
        .collect();
    assert_eq!(names(&fuzz().join("seeds")), known);
    let binaries = names(&fuzz().join("fuzz_targets"));
    let expected: BTreeSet<String> = known.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(binaries, expected);
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for name in &known {
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
        let seeds = fuzz().join("seeds").join(name);
        let bytes: u64 = names(&seeds)
            .iter()
            .map(|seed| seeds.join(seed).metadata().unwrap().len())
            .sum();
        assert!((1..=100_000).contains(&bytes), "{name}: {bytes} bytes");
    }
}

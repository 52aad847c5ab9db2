//! Fits the relevance of drawers to prompts, and the likelihood that a later statement replaces an
//! earlier one: reads the details of `loci bench hooks` and writes `relevance_weights.rs` and
//! `later_weights.rs` in `crates/loci-recall/src`. The same details give the same weights.
//!
//! For each size of palace, a logistic regression separates the drawers with evidence from all
//! others that were considered. More of an input never hurts, except for the length. The constant
//! is then moved so that one half is the lowest relevance at which cross and junk stay within their
//! limits.
//!
//! The likelihood is one logistic regression over all pairs of drawers that were compared. Pairs
//! that are held apart are left out.

#![expect(
    clippy::indexing_slicing,
    reason = "positions come from the same vectors"
)]

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use loci_bench::{AskedKind, HookRow, PalaceSize};
use loci_recall::{LATER_INPUTS, RELEVANCE_INPUTS as INPUTS};

use crate::root;

/// The sizes, how many drawers stand for each, and the largest shares of cross questions and
/// everyday prompts that may get anything.
const SIZES: [(PalaceSize, u64, f64, f64); 3] = [
    (PalaceSize::Notes, 40, 0.040, 0.02),
    (PalaceSize::Small, 500, 0.046, 0.025),
    (PalaceSize::Large, 108_000, 0.045, 0.02),
];
/// The position of the input that may have a negative weight, besides the constant.
const LENGTH: usize = 4;
const FOLDS: usize = 5;
const RIDGE: f64 = 1.0;
const ITERATIONS: usize = 60;
/// How many drawers are added to a prompt at most.
const ADDED: usize = 3;

/// The inputs of the likelihood that may have a negative weight: whether the later statement asks,
/// how far it is behind, and how long it is.
const LATER_FREE: [usize; 3] = [7, 9, 12];
/// The relevance at which the hook adds a drawer.
const RELEVANT: f32 = 0.5;
/// How much an update of the data set counts, any other pair of drawers of it, and a drawer that is
/// not relevant. A pair of the notes counts 1.
const UPDATE_WEIGHT: f64 = 1.5;
const CONVERSATION_WEIGHT: f64 = 0.5;
const IRRELEVANT_WEIGHT: f64 = 0.3;

type Weights = [f64; INPUTS];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The file that `loci bench hooks --details FILE` wrote
    details: PathBuf,
    /// Print the figures, and leave the weights as they are
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(&options.details)
        .with_context(|| format!("cannot read `{}`", options.details.display()))?;
    let rows: Result<Vec<HookRow>, _> = text.lines().map(serde_json::from_str).collect();
    let rows = rows.context("not the details of `loci bench hooks`")?;
    let mut fitted = Vec::new();
    for (size, drawers, cross, junk) in SIZES {
        let rows: Vec<&HookRow> = rows.iter().filter(|row| row.size == size).collect();
        if rows.is_empty() {
            bail!("the details have no prompts in palaces of size {size:?}");
        }
        let all = learn(&rows);
        // Each prompt is scored by weights that were learnt without it.
        let folds: Vec<Weights> = (0..FOLDS)
            .map(|fold| {
                let others = rows.iter().copied().filter(|row| fold_of(row) != fold);
                learn(&others.collect::<Vec<_>>())
            })
            .collect();
        let scored: Vec<Scored> = rows
            .iter()
            .map(|row| score(row, &folds[fold_of(row)]))
            .collect();
        let limit = limit_for(&scored, cross, junk);
        let share = |kind| share(&scored, kind, limit);
        println!(
            "{drawers} drawers: help {:.3}, cross {:.3}, junk {:.3} (cross-validated)",
            share(AskedKind::Help),
            share(AskedKind::Cross),
            share(AskedKind::Junk)
        );
        let mut weights = all;
        weights[0] -= limit;
        fitted.push((drawers, weights));
    }
    let later = learn_later(&rows);
    println!("the later statement: weights {later:.3?}");
    if !options.dry_run {
        let folder = root().join("crates/loci-recall/src");
        std::fs::write(folder.join("relevance_weights.rs"), source(&fitted))
            .and_then(|()| std::fs::write(folder.join("later_weights.rs"), later_source(&later)))
            .context("cannot write the weights")?;
    }
    Ok(())
}

/// Learns how likely a later statement replaces an earlier one.
fn learn_later(rows: &[HookRow]) -> [f64; LATER_INPUTS] {
    let mut examples: Vec<Example<LATER_INPUTS>> = Vec::new();
    let fitted = rows.iter().filter(|row| {
        let is_held_apart = row.pair.as_ref().is_some_and(|pair| pair.held_apart);
        row.kind == AskedKind::Help && !is_held_apart
    });
    for row in fitted {
        for compared in &row.compared {
            let mut considered = row.considered.iter();
            let is_relevant =
                considered.any(|drawer| drawer.id == compared.id && drawer.relevance >= RELEVANT);
            for (inputs, replaces) in &compared.later {
                let weight = match (row.pair.is_none(), *replaces) {
                    (true, true) => UPDATE_WEIGHT,
                    (true, false) => CONVERSATION_WEIGHT,
                    (false, _) => 1.0,
                };
                let share = if is_relevant || *replaces {
                    1.0
                } else {
                    IRRELEVANT_WEIGHT
                };
                examples.push((inputs.map(f64::from), *replaces, weight * share));
            }
        }
    }
    learn_from(&examples, &LATER_FREE)
}

/// The kind of a prompt, and the scores of its drawers with whether they are evidence.
struct Scored {
    kind: AskedKind,
    drawers: Vec<(f64, bool)>,
}

fn score(row: &HookRow, weights: &Weights) -> Scored {
    let drawers = row.considered.iter();
    let mut drawers: Vec<(f64, bool)> = drawers
        .map(|drawer| (product(&drawer.inputs, weights), drawer.is_evidence))
        .collect();
    drawers.sort_by(|one, other| other.0.total_cmp(&one.0));
    drawers.truncate(ADDED);
    Scored {
        kind: row.kind,
        drawers,
    }
}

fn product(inputs: &[f32; INPUTS], weights: &Weights) -> f64 {
    let pairs = inputs.iter().zip(weights);
    pairs
        .map(|(input, weight)| f64::from(*input) * weight)
        .sum()
}

/// The share of the prompts of a kind that get anything, or evidence if they have some.
fn share(scored: &[Scored], kind: AskedKind, limit: f64) -> f64 {
    let of_kind: Vec<&Scored> = scored.iter().filter(|row| row.kind == kind).collect();
    let counts = |row: &&&Scored| {
        let mut drawers = row.drawers.iter();
        drawers.any(|(score, is_evidence)| {
            *score >= limit && (*is_evidence || kind != AskedKind::Help)
        })
    };
    of_kind.iter().filter(counts).count() as f64 / of_kind.len().max(1) as f64
}

/// The lowest limit at which cross and junk are small enough.
fn limit_for(scored: &[Scored], cross: f64, junk: f64) -> f64 {
    let steps = (-800..=800).map(|step| f64::from(step) / 100.0);
    let mut fine = steps.filter(|limit| {
        share(scored, AskedKind::Cross, *limit) <= cross
            && share(scored, AskedKind::Junk, *limit) <= junk
    });
    fine.next().unwrap_or(8.0)
}

/// The fold of a prompt. A prompt that is asked in several palaces is in one fold.
fn fold_of(row: &HookRow) -> usize {
    let hash = xxhash_rust::xxh3::xxh3_64(row.id.as_bytes());
    (hash % FOLDS as u64) as usize
}

/// Learns weights. An input whose weight would be negative is left out.
fn learn(rows: &[&HookRow]) -> Weights {
    let drawers = rows.iter().flat_map(|row| {
        let weight = match row.kind {
            AskedKind::Help | AskedKind::Junk => 1.0,
            AskedKind::Cross => 2.0,
        };
        let considered = row.considered.iter();
        considered.map(move |drawer| (drawer.inputs.map(f64::from), drawer.is_evidence, weight))
    });
    learn_from(&drawers.collect::<Vec<_>>(), &[LENGTH])
}

/// Learns weights. Only the constant and the inputs at `free` may have negative ones.
fn learn_from<const N: usize>(examples: &[Example<N>], free: &[usize]) -> [f64; N] {
    let mut used = [true; N];
    loop {
        let weights = regress(examples, used);
        let negative = (1..N).filter(|at| !free.contains(at) && weights[*at] < 0.0);
        let negative: Vec<usize> = negative.collect();
        if negative.is_empty() {
            return weights;
        }
        for at in negative {
            used[at] = false;
        }
    }
}

/// Inputs, whether it is evidence, and how much it counts.
type Example<const N: usize> = ([f64; N], bool, f64);

/// Newton's method for the logistic loss with a ridge.
fn regress<const N: usize>(examples: &[Example<N>], used: [bool; N]) -> [f64; N] {
    let mut weights = [0.0; N];
    for _ in 0..ITERATIONS {
        let mut slope = [0.0; N];
        let mut curvature = [[0.0; N]; N];
        for (inputs, is_evidence, weight) in examples {
            let sum: f64 = inputs.iter().zip(&weights).map(|(a, b)| a * b).sum();
            let probability = 1.0 / (1.0 + (-sum).exp());
            let error = probability - f64::from(u8::from(*is_evidence));
            for i in 0..N {
                slope[i] += weight * error * inputs[i];
                for j in 0..N {
                    curvature[i][j] +=
                        weight * probability * (1.0 - probability) * inputs[i] * inputs[j];
                }
            }
        }
        for i in 0..N {
            slope[i] += RIDGE * weights[i];
            curvature[i][i] += RIDGE;
            if !used[i] {
                slope[i] = 0.0;
                curvature[i] = [0.0; N];
                curvature[i][i] = 1.0;
            }
        }
        let step = solve(curvature, slope);
        for (weight, step) in weights.iter_mut().zip(&step) {
            *weight -= step;
        }
        if step.iter().all(|step| step.abs() < 1e-9) {
            break;
        }
    }
    weights
}

/// Gauss's elimination. The matrix is positive definite, so no row is exchanged.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> [f64; N] {
    for i in 0..N {
        for j in i + 1..N {
            let factor = matrix[j][i] / matrix[i][i];
            let row = matrix[i];
            for (cell, above) in matrix[j].iter_mut().zip(row) {
                *cell -= factor * above;
            }
            right[j] -= factor * right[i];
        }
    }
    let mut solved = [0.0; N];
    for i in (0..N).rev() {
        let known: f64 = (i + 1..N).map(|j| matrix[i][j] * solved[j]).sum();
        solved[i] = (right[i] - known) / matrix[i][i];
    }
    solved
}

fn source(fitted: &[(u64, Weights)]) -> String {
    let mut text = "//! Written by `cargo xtask fit-hooks`.\n\n\
                    use crate::relevance::RELEVANCE_INPUTS;\n\n\
                    /// Numbers of drawers for which weights were fitted.\n"
        .to_owned();
    let count = fitted.len();
    let sizes: Vec<String> = fitted
        .iter()
        .map(|(drawers, _)| grouped(*drawers))
        .collect();
    let _ = writeln!(
        text,
        "pub(crate) const SIZES: [u64; {count}] = [{}];\n\n\
         /// The weights of the inputs of the relevance for each size.\n\
         pub(crate) const WEIGHTS: [[f32; RELEVANCE_INPUTS]; {count}] = [",
        sizes.join(", ")
    );
    for (_, weights) in fitted {
        let weights: Vec<String> = weights
            .iter()
            .map(|weight| format!("{weight:.3}"))
            .collect();
        let _ = writeln!(
            text,
            "    [{}],",
            weights.join(", ").replace("-0.000", "0.000")
        );
    }
    text.push_str("];\n");
    text
}

fn later_source(weights: &[f64; LATER_INPUTS]) -> String {
    let weights: Vec<String> = weights
        .iter()
        .map(|weight| format!("{weight:.3}"))
        .collect();
    let lines: Vec<String> = weights.chunks(10).map(|line| line.join(", ")).collect();
    format!(
        "//! Written by `cargo xtask fit-hooks`.\n\n\
         use crate::later::LATER_INPUTS;\n\n\
         /// The weights of the inputs of the likelihood that a later statement replaces an earlier one.\n\
         pub(crate) const WEIGHTS: [f32; LATER_INPUTS] = [\n    {},\n];\n",
        lines.join(",\n    ").replace("-0.000", "0.000")
    )
}

/// A number as Rust code has it.
fn grouped(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        _ => format!("{}_{:03}", number / 1_000, number % 1_000),
    }
}

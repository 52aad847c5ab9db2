//! Fits the ranking: learns the curves of `loci_recall::DEFINITIONS` from data sets and writes
//! `crates/loci-recall/src/curves.rs`. The same data give the same curves.
//!
//! `sets` makes the data sets, real palaces answer their questions (`loci_bench::collect`), and
//! `learn` finds the curves under which the evidence of a question is the most probable of its
//! candidates. `calibrate` turns scores into probabilities. `figures` prints how well they rank, in
//! sample and cross-validated.

#![expect(
    clippy::indexing_slicing,
    reason = "positions come from the same vectors"
)]

mod calibrate;
mod figures;
mod learn;
mod sets;
mod write;

use std::path::PathBuf;
use std::process::Command;

use anyhow::bail;

use crate::root;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// LoCoMo as published. Only its tuning half is used.
    #[arg(long, value_name = "FILE")]
    locomo: PathBuf,
    /// Questions of LongMemEval in its published form.
    #[arg(long, value_name = "FILE")]
    longmemeval: PathBuf,
    /// A directory with Markdown documents. Their headings are searched.
    #[arg(long, value_name = "DIR")]
    documents: PathBuf,
    /// Number of folds of the cross-validation; 0 for none.
    #[arg(long, default_value_t = 5)]
    folds: usize,
    /// Print the figures, and leave the curves as they are.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        return run_optimised();
    }
    let sets = sets::all(options)?;
    if options.folds > 1 {
        println!("cross-validated, {} folds:", options.folds);
        figures::cross_validate(&sets, options.folds);
    }
    let curves = learn::learn(&sets, |_| true);
    println!("in sample:");
    figures::print(&sets, |_, _| Some(&curves));
    let weights = write::AllWeights {
        by_meaning: calibrate::calibrate(&sets, &curves, true),
        by_words: calibrate::calibrate(&sets, &curves, false),
    };
    if !options.dry_run {
        write::curves(&curves, &weights)?;
    }
    Ok(())
}

/// Runs the same command in a release build.
fn run_optimised() -> anyhow::Result<()> {
    let status = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["run", "--release", "--package", "xtask", "--"])
        .args(std::env::args().skip(1))
        .current_dir(root())
        .status()?;
    if !status.success() {
        bail!("the optimised run failed");
    }
    Ok(())
}

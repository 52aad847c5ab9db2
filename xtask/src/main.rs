//! The tasks of the workspace. `cargo xtask test` runs what CI runs. `cargo xtask bench store`
//! compares Loci with ChromaDB; `bench mine` and `bench agents` compare it with MemPalace.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools open no palace whose locks they could lose, or damage it on purpose"
)]
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool that reports to a terminal"
)]

mod bench;
mod distill;
mod fit;
mod fit_hooks;
mod fuzz;
mod peers;
mod test;
mod torture;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Tests and benchmarks of the Loci workspace"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks format and lints, builds docs, runs all tests, and compares with the real chromadb.
    Test {
        /// Also run `cargo xtask torture` for 20 minutes.
        #[arg(long)]
        long: bool,
    },
    /// Attacks the release binary with kills, full disks, damaged files and more, and counts
    /// losses.
    Torture(torture::Options),
    /// Runs the fuzz targets of `fuzz/` with cargo-fuzz.
    Fuzz(fuzz::Options),
    /// Compares the speed of Loci with that of other programs.
    Bench {
        #[command(subcommand)]
        what: bench::Bench,
    },
    /// Installs the peers, prints the variables by which tests find them, and compares with the
    /// real chromadb.
    Peers,
    /// Computes the table of the static embedder from all-MiniLM-L6-v2.
    Distill {
        /// A directory, a `.safetensors` file or a wheel that holds the model.
        model: PathBuf,
    },
    /// Learns the curves of the ranking from data sets, and writes them.
    Fit(fit::Options),
    /// Fit the relevance of drawers to prompts from the details of `loci bench hooks`
    FitHooks(fit_hooks::Options),
    /// Runs one measured process of a benchmark; called by `bench`.
    #[command(hide = true)]
    Measure {
        #[command(subcommand)]
        what: bench::Measure,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Test { long } => test::run(long),
        Command::Torture(options) => torture::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Bench { what } => bench::run(what),
        Command::Peers => peers(),
        Command::Distill { model } => distill::run(&model),
        Command::Fit(options) => fit::run(&options),
        Command::FitHooks(options) => fit_hooks::run(&options),
        Command::Measure { what } => bench::measure(what),
    }
}

fn peers() -> anyhow::Result<()> {
    let peers = peers::environment::all();
    for (variable, program) in &peers.found {
        println!("export {variable}='{}'", program.display());
    }
    for line in &peers.missing {
        println!("skipped: {line}");
    }
    match peers::check()? {
        peers::Verdict::Passed(what) => println!("{what}"),
        peers::Verdict::Skipped(why) => println!("skipped: {why}"),
    }
    Ok(())
}

/// The root of the workspace.
fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .map_or_else(|| manifest.clone(), PathBuf::from)
}

/// Cargo's target directory.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

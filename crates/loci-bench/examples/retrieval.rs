//! Runs a retrieval data set: `cargo run --release -p loci-bench --example retrieval -- DATASET.json`.
//!
//! Options: `--limit N`, `--embedder NAME`, `--details FILE`, `--keep DIRECTORY`, `--json`.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

use std::error::Error;
use std::path::PathBuf;

use loci_bench::{Options, Progress, run};

fn main() -> Result<(), Box<dyn Error>> {
    let mut dataset = None;
    let mut options = Options::default();
    let mut json = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let missing = || format!("`{argument}` needs a value");
            arguments.next().ok_or_else(missing)
        };
        match argument.as_str() {
            "--json" => json = true,
            "--limit" => options.limit = Some(value()?.parse()?),
            "--embedder" => options.embedder = Some(value()?),
            "--details" => options.details = Some(value()?.into()),
            "--keep" => options.keep = Some(value()?.into()),
            _ if argument.starts_with('-') => return Err(format!("what is `{argument}`?").into()),
            _ => dataset = Some(PathBuf::from(argument)),
        }
    }
    let dataset = dataset.ok_or("name a data set: LoCoMo or LongMemEval, as JSON")?;
    let mut last = String::new();
    let report = run(&dataset, &options, &mut |progress: Progress| {
        if progress.palace != last {
            eprintln!("{}/{} {}", progress.done, progress.total, progress.palace);
            last = progress.palace;
        }
    })?;
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.to_text());
    }
    Ok(())
}

//! Whole runs: small data sets through real palaces.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "the helpers of tests are tests"
)]

mod formats;
mod locomo;
mod longmemeval;
mod wake_up;

use std::path::{Path, PathBuf};

use loci_bench::{Options, Report, run};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A run with the embedder in the binary, its report, and what it says of each question.
fn run_with_details(name: &str, limit: Option<usize>) -> (Report, Vec<Value>) {
    let directory = tempfile::tempdir().unwrap();
    let details = directory.path().join("details.jsonl");
    let options = Options {
        embedder: Some("static".into()),
        limit,
        details: Some(details.clone()),
        keep: None,
        ..Options::default()
    };
    let report = run(&data(name), &options, &mut |_| {}).unwrap();
    let lines = std::fs::read_to_string(details).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    (report, lines.collect())
}

/// Every line of a report fits a terminal.
fn assert_narrow(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
}

//! `cargo xtask fuzz` runs the targets of `fuzz/` with cargo-fuzz, one after the other, under
//! limits of time and memory. docs/fuzzing.md describes the targets.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::test::cargo;
use crate::{root, target};

/// The longest input in bytes, for targets with another limit than [`LONGEST_ELSE`].
const LONGEST: [(&str, u32); 8] = [
    ("docx", 16_384),
    ("hnsw", 16_384),
    ("html", 16_384),
    ("mcp_lines", 8_192),
    ("pdf", 16_384),
    ("sqlite_pages", 49_152),
    ("text", 512),
    ("transcripts", 16_384),
];
const LONGEST_ELSE: u32 = 4_096;
/// Limits of resident memory, of one allocation, and of the seconds for one input. An input that
/// exceeds one is a finding.
const LIMITS: [&str; 3] = ["-rss_limit_mb=2048", "-malloc_limit_mb=512", "-timeout=10"];

#[derive(Args)]
pub(crate) struct Options {
    /// Targets to run [default: all].
    targets: Vec<String>,
    /// Minutes per target.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// `address`, or `none` for more executions per second.
    #[arg(long, default_value = "address")]
    sanitizer: String,
}

/// The result of a run, as libFuzzer reports it.
struct Outcome {
    name: String,
    seconds: u64,
    executions: u64,
    coverage: String,
    features: String,
    corpus: String,
    findings: Vec<PathBuf>,
    passed: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let known = known()?;
    for name in &options.targets {
        if !known.contains(name) {
            bail!("no target `{name}`; the targets are {}", known.join(", "));
        }
    }
    install()?;
    let chosen = if options.targets.is_empty() {
        &known
    } else {
        &options.targets
    };
    build(options)?;
    let outcomes = chosen
        .iter()
        .map(|name| fuzz(name, options))
        .collect::<anyhow::Result<Vec<_>>>()?;
    println!(
        "{:<14} {:>7} {:>12} {:>8} {:>7} {:>7} {:>7}  findings",
        "target", "seconds", "executions", "per s", "cov", "ft", "corpus"
    );
    for outcome in &outcomes {
        println!(
            "{:<14} {:>7} {:>12} {:>8} {:>7} {:>7} {:>7}  {}",
            outcome.name,
            outcome.seconds,
            outcome.executions,
            outcome.executions / outcome.seconds.max(1),
            outcome.coverage,
            outcome.features,
            outcome.corpus,
            outcome.findings.len()
        );
    }
    for finding in outcomes.iter().flat_map(|outcome| &outcome.findings) {
        println!("finding: {}", finding.display());
    }
    let failed: Vec<&str> = outcomes
        .iter()
        .filter(|outcome| !outcome.passed)
        .map(|outcome| outcome.name.as_str())
        .collect();
    if !failed.is_empty() {
        bail!("targets with findings: {}", failed.join(", "));
    }
    Ok(())
}

/// The names of the targets.
fn known() -> anyhow::Result<Vec<String>> {
    let directory = root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in
        fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))?
    {
        if let Some(name) = entry?.path().file_stem() {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn install() -> anyhow::Result<()> {
    let is_there = cargo()
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if is_there {
        return Ok(());
    }
    println!("installing cargo-fuzz");
    let installed = cargo()
        .args(["install", "cargo-fuzz", "--locked"])
        .status()?;
    if !installed.success() {
        bail!("cannot install cargo-fuzz; the targets were not run");
    }
    Ok(())
}

/// Sanitizers and coverage are flags of nightly compilers. `RUSTC_BOOTSTRAP` makes a stable
/// compiler accept them.
fn cargo_fuzz(action: &str, options: &Options) -> Command {
    let mut command = cargo();
    command
        .args(["fuzz", action, "--fuzz-dir"])
        .arg(root().join("fuzz"))
        .arg("--target-dir")
        .arg(target().join("fuzz"))
        .args(["--sanitizer", &options.sanitizer])
        .current_dir(root().join("fuzz"))
        .env("RUSTC_BOOTSTRAP", "1");
    command
}

fn build(options: &Options) -> anyhow::Result<()> {
    if !cargo_fuzz("build", options).status()?.success() {
        bail!(
            "cannot build the targets; try `--sanitizer none` if AddressSanitizer cannot be linked"
        );
    }
    Ok(())
}

fn fuzz(name: &str, options: &Options) -> anyhow::Result<Outcome> {
    let place = |kind: &str| -> anyhow::Result<PathBuf> {
        let directory = target().join("fuzz").join(kind).join(name);
        fs::create_dir_all(&directory)?;
        Ok(directory)
    };
    let (corpus, findings) = (place("corpus")?, place("findings")?);
    let before = listed(&findings)?;
    let log = place("logs")?.join("last.log");
    let longest = LONGEST
        .iter()
        .find(|(target, _)| *target == name)
        .map_or(LONGEST_ELSE, |(_, bytes)| *bytes);
    let seconds = (options.minutes * 60.0).round().max(1.0);
    println!("{name}: {seconds} s, log in {}", log.display());

    let mut command = cargo_fuzz("run", options);
    command
        .arg(name)
        .args([&corpus, &root().join("fuzz/seeds").join(name)])
        .arg("--")
        .args(LIMITS)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={longest}"))
        .arg("-print_final_stats=1");
    let mut prefix = OsString::from("-artifact_prefix=");
    prefix.push(findings.join(""));
    command.arg(prefix);
    let dictionary = root().join(format!("fuzz/dictionaries/{name}.dict"));
    if dictionary.exists() {
        let mut argument = OsString::from("-dict=");
        argument.push(dictionary);
        command.arg(argument);
    }
    let begun = Instant::now();
    let output = File::create(&log)?;
    let status = command
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()?;
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let mut found = listed(&findings)?;
    found.retain(|finding| !before.contains(finding));
    Ok(Outcome {
        name: name.to_owned(),
        seconds: begun.elapsed().as_secs(),
        executions: number_behind(&text, "stat::number_of_executed_units:")
            .parse()
            .unwrap_or_default(),
        coverage: number_behind(&text, " cov:"),
        features: number_behind(&text, " ft:"),
        corpus: number_behind(&text, " corp:"),
        findings: found,
        passed: status.success(),
    })
}

fn listed(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect()
}

/// The word after the last occurrence of a label.
fn number_behind(text: &str, label: &str) -> String {
    text.rsplit_once(label)
        .and_then(|(_, behind)| behind.split_whitespace().next())
        .unwrap_or("-")
        .to_owned()
}

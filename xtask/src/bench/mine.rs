//! `cargo xtask bench mine` lets Loci and MemPalace mine the same files, and prints ratios of CPU
//! time.
//!
//! Each figure is the cost of one process and its children. Nothing is measured in this process.

pub(super) mod corpus;
pub(super) mod cost;
pub(super) mod peer;
mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::{root, target};
use corpus::Corpus;
use cost::Mined;
use peer::Peer;

#[derive(Args, Clone)]
pub(crate) struct Options {
    /// Folder to mine [default: the text files of the peer's own source]
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Folder to mine with the peer's real model, which takes a second for about eight drawers
    /// [default: 150 kB of Markdown files of that source]
    #[arg(long)]
    small: Option<PathBuf>,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The binary to measure [default: a release build]
    #[arg(long, value_name = "FILE")]
    loci: Option<PathBuf>,
    /// Measure Loci alone
    #[arg(long)]
    no_peer: bool,
}

/// The results of the runs.
struct Figures {
    /// Runs by name, which consists of the side, the corpus and the embedder. A failed run is
    /// `None`.
    runs: Vec<(&'static str, Option<Mined>)>,
}

impl Figures {
    /// Stores the figures of a run and prints them.
    fn note(&mut self, name: &'static str, mined: anyhow::Result<Mined>) {
        match &mined {
            Ok(mined) => eprintln!("{name}: {}", mined.to_json()),
            Err(error) => println!("SKIPPED: {name}: {error:#}"),
        }
        self.runs.push((name, mined.ok()));
    }

    fn get(&self, name: &str) -> Option<&Mined> {
        let (_, mined) = self.runs.iter().find(|(run, _)| *run == name)?;
        mined.as_ref()
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let directory = target().join("bench").join("mine");
    let home = directory.join("home");
    std::fs::create_dir_all(&home)?;
    let source = || peer::source().context("fetching the source of the peer");
    let whole = match &options.corpus {
        Some(folder) => Corpus::read(folder)?,
        None => Corpus::texts(&source()?, &directory.join("corpus"))?,
    };
    let small = match &options.small {
        Some(folder) => Corpus::read(folder)?,
        None => Corpus::notes(&source()?, &directory.join("small"))?,
    };
    println!("whole corpus: {whole}\nsmall corpus: {small}");
    let mut figures = Figures { runs: Vec::new() };
    if !options.no_peer {
        let peer = Peer::install(&home).context("installing the peer")?;
        let palace = directory.join("peer");
        match peer.model(&home) {
            Ok(()) => {
                fresh(&palace)?;
                figures.note("peer small model", peer.mine("model", &palace, &small));
            }
            Err(error) => println!("SKIPPED: the peer with its model: {error:#}"),
        }
        fresh(&palace)?;
        figures.note("peer whole hash", peer.mine("hash", &palace, &whole));
        figures.note("peer again hash", peer.mine("hash", &palace, &whole));
    }
    let binary = match &options.loci {
        Some(binary) => binary.clone(),
        None => build()?,
    };
    if has_mine(&binary, &home)? {
        let palace = directory.join("palace");
        for (name, embedder, corpus) in [
            ("loci small static", "static", Some(&small)),
            ("loci whole none", "none", Some(&whole)),
            ("loci whole static", "static", Some(&whole)),
            ("loci again static", "static", None),
        ] {
            if corpus.is_some() {
                fresh(&palace)?;
            }
            let corpus = corpus.unwrap_or(&whole);
            figures.note(name, mine(&binary, &home, &palace, embedder, corpus));
        }
    } else {
        println!("SKIPPED: {} has no command `mine`", binary.display());
    }
    table::print(&figures, &whole, &small);
    if let Some(file) = &options.json {
        let made = serde_json::to_vec_pretty(&to_json(&figures, &whole, &small))?;
        std::fs::write(file, made).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

fn to_json(figures: &Figures, whole: &Corpus, small: &Corpus) -> Value {
    let runs: serde_json::Map<String, Value> = figures
        .runs
        .iter()
        .map(|(name, mined)| {
            let figures = mined.as_ref().map_or(Value::Null, Mined::to_json);
            (name.replace(' ', "_"), figures)
        })
        .collect();
    json!({
        "whole": { "files": whole.files, "bytes": whole.bytes },
        "small": { "files": small.files, "bytes": small.bytes },
        "runs": runs,
    })
}

/// Removes the palace of an earlier run.
pub(super) fn fresh(palace: &Path) -> anyhow::Result<()> {
    if palace.exists() {
        std::fs::remove_dir_all(palace)
            .with_context(|| format!("removing {}", palace.display()))?;
    }
    Ok(())
}

pub(super) fn build() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .current_dir(root())
        .args(["build", "--quiet", "--release", "-p", "loci-cli"])
        .status()?;
    ensure!(built.success(), "the release build failed");
    Ok(target().join("release").join("loci"))
}

pub(super) fn loci(binary: &Path, home: &Path) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("LOCI_") || name.starts_with("XDG_") {
            command.env_remove(name.as_ref());
        }
    }
    command.env("HOME", home);
    command
}

fn has_mine(binary: &Path, home: &Path) -> anyhow::Result<bool> {
    let output = loci(binary, home)
        .args(["mine", "--help"])
        .output()
        .with_context(|| format!("running {}", binary.display()))?;
    Ok(output.status.success())
}

fn mine(
    binary: &Path,
    home: &Path,
    palace: &Path,
    embedder: &str,
    corpus: &Corpus,
) -> anyhow::Result<Mined> {
    let arguments: [OsString; 9] = [
        "--palace".into(),
        palace.into(),
        "--embedder".into(),
        embedder.into(),
        "--json".into(),
        "mine".into(),
        corpus.folder.clone().into(),
        "--wing".into(),
        "bench".into(),
    ];
    let mut command = loci(binary, home);
    command.args(arguments);
    let (cost, output) = cost::measure(&command)?;
    let report: Value = serde_json::from_slice(&output).context("reading the report")?;
    let number = |path: &str| report.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let drawers = ["new", "updated", "kept"]
        .iter()
        .map(|part| number(&format!("/drawers/{part}")))
        .sum();
    if drawers == 0 && number("/files/unchanged") == 0 {
        bail!("nothing was mined: {report}");
    }
    Ok(Mined {
        cost,
        drawers,
        files: number("/files/read"),
        disk_bytes: corpus::size(palace),
        text_bytes: corpus.bytes,
    })
}

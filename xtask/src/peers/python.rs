//! Creates virtualenvs: finds a suitable Python and installs packages with pip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::environment::run;

/// Creates a virtualenv with these packages, with Python 3 of at least this minor version.
pub(super) fn install(directory: &Path, minor: u32, packages: &[&str]) -> anyhow::Result<()> {
    run(Command::new(interpreter(minor)?)
        .args(["-m", "venv", "--clear"])
        .arg(directory))
    .context("creating a virtualenv")?;
    run(pip(&executable(directory), "install").args(packages)).context("pip install")
}

/// The Python of a virtualenv.
pub(super) fn executable(directory: &Path) -> PathBuf {
    directory.join("bin").join("python")
}

/// A Python 3 of at least this minor version, from `PATH` or from pyenv.
fn interpreter(minor: u32) -> anyhow::Result<PathBuf> {
    let mut candidates = vec![PathBuf::from("python3")];
    candidates.extend((minor..minor + 6).map(|minor| PathBuf::from(format!("python3.{minor}"))));
    let home = std::env::home_dir().unwrap_or_default();
    if let Ok(versions) = fs::read_dir(home.join(".pyenv").join("versions")) {
        candidates.extend(
            versions
                .flatten()
                .map(|entry| entry.path().join("bin/python3")),
        );
    }
    let question = format!("import sys, venv; sys.exit(sys.version_info < (3, {minor}))");
    let suits = |python: &PathBuf| {
        let mut command = Command::new(python);
        run(command.args(["-c", &question])).is_ok()
    };
    match candidates.into_iter().find(suits) {
        Some(python) => Ok(python),
        None => bail!("there is no Python 3.{minor} or newer"),
    }
}

/// The command of pip for this Python, without progress output.
pub(crate) fn pip(python: &Path, verb: &str) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", verb, "--quiet", "--disable-pip-version-check"]);
    command
}

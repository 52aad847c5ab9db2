//! The binary under attack, with an environment of its own. Home, palace and temporary files are
//! inside the directory of one round.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use super::process::{HANGS, Ran, Started, short};

/// Every child has this variable with the directory of its round, by which the watchdog finds it.
pub(super) const MARK: &str = "LOCI_TORTURE";

#[derive(Clone)]
pub(super) struct Home {
    binary: PathBuf,
    root: PathBuf,
    palace: PathBuf,
}

impl Home {
    pub(super) fn new(binary: &Path, root: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(root.join("home"))?;
        std::fs::create_dir_all(root.join("tmp"))?;
        Ok(Self {
            binary: binary.to_owned(),
            root: root.to_owned(),
            palace: root.join("palace"),
        })
    }

    /// The same environment with another palace.
    pub(super) fn with_palace(&self, palace: &Path) -> Self {
        Self {
            palace: palace.to_owned(),
            ..self.clone()
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn palace(&self) -> &Path {
        &self.palace
    }

    /// The path of a file of the palace.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.palace.join(name)
    }

    pub(super) fn environment(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("LOCI_PALACE", &self.palace)
            .env(MARK, &self.root)
            .current_dir(&self.root);
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        self.environment(&mut command);
        command.args(arguments);
        command
    }

    /// The command of the binary, started by a shell line that ends with `exec "$@"`.
    pub(super) fn shell(&self, line: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("bash");
        self.environment(&mut command);
        command.args(["-c", line, "bash"]);
        command.arg(&self.binary).args(arguments);
        command
    }

    pub(super) fn start(&self, arguments: &[&str]) -> anyhow::Result<Started> {
        Started::new(&mut self.command(arguments), None)
    }

    pub(super) fn run(&self, arguments: &[&str]) -> anyhow::Result<Ran> {
        self.run_within(arguments, HANGS)
    }

    pub(super) fn run_within(&self, arguments: &[&str], limit: Duration) -> anyhow::Result<Ran> {
        self.start(arguments)?.finish(limit)
    }

    pub(super) fn pipe(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<Ran> {
        Started::new(&mut self.command(arguments), Some(input))?.finish(HANGS)
    }

    /// Runs a command that must succeed, and returns its answer.
    pub(super) fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let ran = self.run(&[arguments, &["--json"]].concat())?;
        answer(arguments, &ran)
    }

    /// Runs `verify`, which must find nothing.
    pub(super) fn verify(&self, deep: bool) -> anyhow::Result<()> {
        let arguments: &[&str] = if deep {
            &["verify", "--deep"]
        } else {
            &["verify"]
        };
        let ran = self.run(&[arguments, &["--json"]].concat())?;
        if ran.code != Some(0) {
            bail!(
                "`loci {}` reports problems: {} {}",
                arguments.join(" "),
                short(&ran.stdout),
                short(&ran.stderr)
            );
        }
        Ok(())
    }

    /// Imports the drawers of `lines` with one command.
    pub(super) fn import(&self, lines: &str) -> anyhow::Result<Value> {
        let ran = self.pipe(&["import", "jsonl", "-", "--json"], lines.as_bytes())?;
        answer(&["import"], &ran)
    }
}

/// The answer of a command that must have succeeded.
pub(super) fn answer(arguments: &[&str], ran: &Ran) -> anyhow::Result<Value> {
    let line = short(&arguments.join(" "));
    // Exit code 1 means that nothing was found.
    if !matches!(ran.code, Some(0 | 1)) {
        let why = ran
            .violation()
            .unwrap_or_else(|| format!("failed: {}", short(&ran.stderr)));
        bail!("`loci {line}` {why}");
    }
    ran.json()
        .with_context(|| format!("`loci {line}` answered no JSON: {}", short(&ran.stdout)))
}

/// Copies a directory.
pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

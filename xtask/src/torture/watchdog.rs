//! Ensures that no process survives a run. Rounds end their own children. This module ends
//! processes that a child left behind, and all that are left when the driver itself is killed.

use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::home::MARK;

/// How long the removal of a directory is tried.
const CLEAN_UP_LIMIT: Duration = Duration::from_secs(30);

/// A process that waits for the end of the driver.
pub(super) struct Watchdog {
    child: Child,
}

impl Watchdog {
    pub(super) fn start(directory: &Path) -> anyhow::Result<Self> {
        let child = Command::new(std::env::current_exe()?)
            .args(["torture", "--clean-up"])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Ctrl-C in a terminal ends the group of the driver, not this process.
            .process_group(0)
            .spawn()?;
        Ok(Self { child })
    }

    /// Ends the watchdog after a complete run. The directory of the run stays.
    pub(super) fn dismiss(mut self) -> anyhow::Result<()> {
        if let Some(mut stdin) = self.child.stdin.take() {
            stdin.write_all(b"done")?;
        }
        self.child.wait()?;
        Ok(())
    }
}

/// Waits until the driver is gone, then ends the processes that it started. Removes the directory
/// if the driver did not complete its run.
pub(super) fn wait(directory: &Path) -> anyhow::Result<()> {
    let mut word = Vec::new();
    std::io::stdin().read_to_end(&mut word)?;
    sweep(directory);
    if word == b"done" {
        return Ok(());
    }
    let since = Instant::now();
    loop {
        match std::fs::remove_dir_all(directory) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !directory.exists() => {
                return Ok(());
            }
            Err(error) if since.elapsed() > CLEAN_UP_LIMIT => return Err(error.into()),
            // A process that is dying may still have written a file, or have started another.
            Err(_) => {
                sweep(directory);
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// Kills every process that was started for a round in or below this directory, and unmounts file
/// systems there. Processes are recognised by a variable of their environment.
pub(super) fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return;
    };
    for entry in entries.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if belongs_to(&entry.path(), directory)
            && let Some(pid) = Pid::from_raw(pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    for mounted in mounts.lines().filter_map(|line| line.split(' ').nth(1)) {
        if Path::new(mounted).starts_with(directory) {
            let _ = Command::new("umount").args(["--lazy", mounted]).status();
        }
    }
}

fn belongs_to(process: &Path, directory: &Path) -> bool {
    let environment = std::fs::read(process.join("environ")).unwrap_or_default();
    let prefix = format!("{MARK}=");
    environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| variable.strip_prefix(prefix.as_bytes()))
        .any(|value| PathBuf::from(std::ffi::OsStr::from_bytes(value)).starts_with(directory))
}

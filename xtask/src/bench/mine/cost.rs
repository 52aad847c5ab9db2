//! Measures the cost of a process and its children with `wait4`.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::peers;

#[derive(Clone, Deserialize)]
pub(crate) struct Cost {
    pub(crate) cpu_s: f64,
    /// The largest resident memory of any of the processes.
    pub(crate) rss_bytes: f64,
    pub(crate) wall_s: f64,
    status: i32,
}

/// The result of one mining run.
pub(crate) struct Mined {
    pub(crate) cost: Cost,
    pub(crate) drawers: u64,
    /// Files that were read.
    pub(crate) files: u64,
    /// The size of the palace on disk.
    pub(crate) disk_bytes: u64,
    /// The size of the corpus.
    pub(crate) text_bytes: u64,
}

impl Mined {
    pub(crate) fn drawers_per_s(&self) -> f64 {
        self.drawers as f64 / self.cost.cpu_s
    }

    pub(crate) fn mb_per_s(&self) -> f64 {
        self.text_bytes as f64 / 1e6 / self.cost.cpu_s
    }

    pub(crate) fn rss_mb(&self) -> f64 {
        self.cost.rss_bytes / 1e6
    }

    pub(crate) fn disk_per_text(&self) -> f64 {
        self.disk_bytes as f64 / self.text_bytes.max(1) as f64
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "files": self.files, "drawers": self.drawers, "cpu_s": self.cost.cpu_s, "wall_s": self.cost.wall_s,
            "drawers_per_cpu_s": self.drawers_per_s(), "mb_per_cpu_s": self.mb_per_s(), "rss_mb": self.rss_mb(),
            "disk_bytes": self.disk_bytes, "text_bytes": self.text_bytes, "disk_per_text": self.disk_per_text(),
        })
    }
}

/// Runs a command to its end. Returns its cost and its stdout.
pub(crate) fn measure(command: &Command) -> anyhow::Result<(Cost, Vec<u8>)> {
    let file = tempfile::NamedTempFile::new()?;
    let mut measured = Command::new("python3");
    measured
        .arg(peers::script("usage.py"))
        .arg(file.path())
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => measured.env(name, value),
            None => measured.env_remove(name),
        };
    }
    let output = measured.output().context("running python3")?;
    let written = std::fs::read(file.path())?;
    let cost: Cost = serde_json::from_slice(&written).with_context(|| {
        String::from_utf8_lossy(&output.stderr)
            .lines()
            .last()
            .unwrap_or("no figures")
            .to_owned()
    })?;
    ensure!(
        cost.status == 0,
        "status {}: {}",
        cost.status,
        String::from_utf8_lossy(&output.stderr)
            .lines()
            .last()
            .unwrap_or("no message")
    );
    Ok((cost, output.stdout))
}

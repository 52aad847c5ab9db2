//! Child processes. Each one leads a process group of its own, has a deadline, and is killed and
//! reaped when its handle is dropped.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// A process that runs longer than this counts as hanging, unless an attack has another limit.
pub(super) const HANGS: Duration = Duration::from_secs(90);

/// A running process. Its output goes to unnamed files, because a full pipe would block it.
pub(super) struct Started {
    child: Child,
    stdout: File,
    stderr: File,
    since: Instant,
}

/// How a process ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) took: Duration,
    /// It was killed because its deadline passed.
    pub(super) overdue: bool,
}

impl Started {
    pub(super) fn new(command: &mut Command, input: Option<&[u8]>) -> anyhow::Result<Self> {
        let stdout = tempfile::tempfile()?;
        let stderr = tempfile::tempfile()?;
        let stdin = match input {
            None => Stdio::null(),
            Some(bytes) => {
                let mut file = tempfile::tempfile()?;
                file.write_all(bytes)?;
                file.rewind()?;
                Stdio::from(file)
            }
        };
        let child = command
            .stdin(stdin)
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self {
            child,
            stdout,
            stderr,
            since: Instant::now(),
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn signal(&self, signal: Signal) {
        signal_group(&self.child, signal);
    }

    /// Whether the process is still running.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end. The group is killed at the deadline, which counts from the start.
    pub(super) fn finish(self, deadline: Duration) -> anyhow::Result<Ran> {
        self.end(deadline, true)
    }

    /// Kills the group when `after` has passed since the start, unless it ended before.
    pub(super) fn kill_after(self, after: Duration) -> anyhow::Result<Ran> {
        self.end(after, false)
    }

    /// Kills the group `delay` after `is_ready` first holds, unless it ended before; at the latest
    /// when `limit` has passed since the start.
    pub(super) fn kill_when(
        mut self,
        is_ready: impl Fn() -> bool,
        delay: Duration,
        limit: Duration,
    ) -> anyhow::Result<Ran> {
        while self.since.elapsed() < limit && self.runs() && !is_ready() {
            std::thread::yield_now();
        }
        let moment = self.since.elapsed() + delay;
        self.kill_after(moment)
    }

    fn end(mut self, limit: Duration, overdue: bool) -> anyhow::Result<Ran> {
        let (status, killed) = match wait(&mut self.child, self.since, limit)? {
            Some(status) => (status, false),
            None => {
                self.signal(Signal::KILL);
                (self.child.wait()?, true)
            }
        };
        let took = self.since.elapsed();
        Ok(Ran {
            code: status.code(),
            signal: status.signal(),
            stdout: text(&mut self.stdout)?,
            stderr: text(&mut self.stderr)?,
            took,
            overdue: killed && overdue,
        })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Ran {
    /// The JSON answer on stdout.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.stdout).ok()
    }

    /// The error object on stderr.
    pub(super) fn error(&self) -> Option<Value> {
        let line = self
            .stderr
            .lines()
            .rev()
            .find(|line| line.starts_with('{'))?;
        let error: Value = serde_json::from_str(line).ok()?;
        error.get("error").cloned()
    }

    /// A description of behaviour that no command may show, whatever its input and its files.
    pub(super) fn violation(&self) -> Option<String> {
        let stderr = short(&self.stderr);
        if self.overdue {
            return Some(format!("did not end within {} s", self.took.as_secs()));
        }
        if let Some(signal) = self.signal {
            return Some(format!("died of signal {signal}: {stderr}"));
        }
        if self.stderr.contains("panicked at") {
            return Some(format!("panicked: {stderr}"));
        }
        if self.stderr.contains("internal error")
            || self
                .error()
                .is_some_and(|error| error["kind"] == "internal")
        {
            return Some(format!("ended with an internal error: {stderr}"));
        }
        match self.code {
            Some(2 | 64) if self.stderr.trim().is_empty() && self.json().is_none() => {
                Some("failed without a message".into())
            }
            Some(0 | 1 | 2 | 64) => None,
            code => Some(format!("ended with exit code {code:?}: {stderr}")),
        }
    }
}

/// Waits until the child ended or `limit` has passed since `since`.
fn wait(child: &mut Child, since: Instant, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let passed = since.elapsed();
        let Some(left) = limit.checked_sub(passed).filter(|left| !left.is_zero()) else {
            return Ok(None);
        };
        let step = (passed / 16).clamp(Duration::from_micros(100), Duration::from_millis(20));
        std::thread::sleep(step.min(left));
    }
}

/// Waits for the end of a child that was not started by [`Started::new`].
pub(super) fn wait_for(child: &mut Child, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
    wait(child, Instant::now(), limit)
}

pub(super) fn signal_group(child: &Child, signal: Signal) {
    // An error means that the group is already gone, so it can be ignored.
    let _ = kill_process_group(Pid::from_child(child), signal);
}

fn text(file: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The beginning of a text, for messages.
pub(super) fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(300) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
    }
}

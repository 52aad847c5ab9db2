//! A background process that saves a transcript. It runs in its own session, inherits no file
//! handles, and ends after some minutes at most.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use loci_palace::{Advice, Error, PalaceRef, Result};

use super::notes::{self, Outcome};
use super::run::Call;
use super::saving::{Job, note};

/// The time limit of the process, and how long it may take to stop after it.
const LIFE: Duration = Duration::from_secs(600);
const GRACE: Duration = Duration::from_secs(5);
/// How long the process waits for the hook that started it to release the lock, and how often it
/// checks.
const START: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(10);
/// The event name under which its work is recorded.
const EVENT: &str = "save";

/// Starts the process and returns immediately.
pub(super) fn start(job: &Job) -> Result<Outcome> {
    let call = &job.call;
    let folder = job.folder.iter().flat_map(|folder| ["--folder", folder]);
    let mut command = Command::new(&call.program);
    if let PalaceRef::Url(url) = &call.palace {
        command.env("LOCI_PALACE", url.expose());
    }
    command
        .args(&call.arguments)
        .args(["hook", EVENT, "--harness", call.harness.name()])
        .arg("--transcript")
        .arg(&job.path)
        .args(folder)
        // Programs started by the process must not call hooks that start it again.
        .env("LOCI_HOOKS", "off")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error::io("cannot start", &call.program, error))?;
    Ok(Outcome::done("saving in the background"))
}

/// The main function of the process: saves the transcript until nothing is left to save.
pub fn save_in_background(call: &Call, transcript: &Path, folder: Option<String>) {
    let since = Instant::now();
    // The process must survive the end of the terminal and of the agent, and must not disturb them.
    let _ = rustix::process::setsid();
    let _ = rustix::process::nice(10);
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = {
        let (job, stop) = (Job::new(call, transcript, folder), Arc::clone(&stop));
        move || {
            let outcome = save_all(&job, &stop).unwrap_or_else(|error| Outcome::error(&error));
            let _ = sender.send(outcome);
        }
    };
    let outcome = match std::thread::Builder::new().spawn(work) {
        Err(error) => Outcome::failed(format!("cannot start a thread: {error}")),
        Ok(_) => receiver.recv_timeout(LIFE).unwrap_or_else(|_| {
            stop.store(true, Ordering::Relaxed);
            receiver.recv_timeout(GRACE).unwrap_or_else(|_| {
                Outcome::failed("saving took too long and was stopped").advise(Advice::MineFile {
                    path: transcript.to_owned(),
                })
            })
        }),
    };
    notes::write(
        &call.state_dir(),
        call.harness.name(),
        EVENT,
        &outcome,
        since.elapsed(),
    );
}

fn save_all(job: &Job, stop: &AtomicBool) -> Result<Outcome> {
    let fail = |error| Error::io("cannot lock", &job.path, error);
    let mut passages = 0;
    let mut wings = Vec::new();
    let mut until = Instant::now() + START;
    // The marker is checked after the lock was released, because a process that came in between
    // left the marker and ended.
    while job.turn.is_marked() && !stop.load(Ordering::Relaxed) {
        let Some(held) = job.turn.take().map_err(fail)? else {
            if Instant::now() >= until {
                return Ok(Outcome::done("another process is saving"));
            }
            std::thread::sleep(STEP);
            continue;
        };
        while job.turn.unmark() && !stop.load(Ordering::Relaxed) {
            let saved = job.mine(stop, true)?;
            passages += saved.passages;
            wings.extend(saved.wings);
        }
        drop(held);
        until = Instant::now() + START;
    }
    Ok(Outcome::done(note(passages, &wings)))
}

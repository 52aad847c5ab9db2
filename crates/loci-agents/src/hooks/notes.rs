//! Records of hook calls for `loci doctor`: one small file per harness and event, with the last
//! call and the last failed one.

use std::time::Duration;

use loci_palace::clock::now_ms;
use loci_palace::{Advice, date_of};
use serde::{Deserialize, Serialize};

use super::HookRun;
use super::excerpt::beginning;
use super::state_dir::{StateDir, read_json};

/// The most bytes of a note.
const MAX_NOTE_BYTES: usize = 600;
const PREFIX: &str = "note-";
/// The most files that are read. There are always fewer.
const MOST: usize = 200;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes {
    last: Option<HookRun>,
    failed: Option<HookRun>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) ok: bool,
    pub(super) note: String,
    /// The advice for the user.
    pub(super) advice: Option<Advice>,
}

impl Outcome {
    pub(super) fn done(note: impl Into<String>) -> Self {
        Self {
            ok: true,
            note: note.into(),
            advice: None,
        }
    }

    pub(super) fn failed(note: impl Into<String>) -> Self {
        Self {
            ok: false,
            note: note.into(),
            advice: None,
        }
    }

    /// Adds advice.
    pub(super) fn advise(mut self, advice: impl Into<Option<Advice>>) -> Self {
        self.advice = advice.into();
        self
    }

    /// Creates the outcome of an error, with its advice.
    pub(super) fn error(error: &loci_palace::Error) -> Self {
        let mut note = error.to_string();
        if let Some(help) = error.help() {
            note.push_str("; ");
            note.push_str(&help);
        }
        Self::failed(note).advise(error.advice())
    }
}

/// Records a call. If this fails, the hook continues.
pub(super) fn write(
    state_dir: &StateDir,
    harness: &str,
    event: &str,
    outcome: &Outcome,
    took: Duration,
) {
    let run = HookRun {
        event: event.to_owned(),
        harness: harness.to_owned(),
        at: now(),
        ok: outcome.ok,
        note: cut(&outcome.note),
        advice: outcome.advice.clone(),
        milliseconds: took.as_millis() as u64,
    };
    let name = format!("{PREFIX}{harness}-{event}.json");
    let mut notes: Notes = state_dir.read(&name).unwrap_or_default();
    if !run.ok {
        notes.failed = Some(run.clone());
    }
    notes.last = Some(run);
    if let Err(error) = state_dir.write(&name, &notes) {
        tracing::debug!(%error, "failed to record the call of a hook");
    }
}

/// Returns all recorded calls, the latest first.
pub(super) fn read_all(state_dir: &StateDir) -> Vec<HookRun> {
    let Ok(entries) = std::fs::read_dir(state_dir.folder()) else {
        return Vec::new();
    };
    let mut runs = Vec::new();
    let files = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(".json")
    });
    for file in files.take(MOST) {
        let Some(notes) = read_json::<Notes>(&file.path()) else {
            continue;
        };
        let failed = notes
            .failed
            .filter(|failed| notes.last.as_ref() != Some(failed));
        runs.extend(notes.last);
        runs.extend(failed);
    }
    runs.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.event.cmp(&b.event)));
    runs
}

fn now() -> String {
    date_of(now_ms())
}

fn cut(note: &str) -> String {
    if note.len() <= MAX_NOTE_BYTES {
        return note.to_owned();
    }
    format!("{}…", beginning(note, MAX_NOTE_BYTES))
}

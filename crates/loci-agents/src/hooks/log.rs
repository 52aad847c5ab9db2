//! The log of what was added to prompts: which drawers, when, for which prompt. It is for people
//! who wonder why an agent knows something. It holds ids and places, not the text of drawers, and
//! the beginning of each prompt. `forget` deletes it.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use loci_palace::clock::now_ms;
use loci_palace::{HOOK_LOG, date_of};
use serde::{Deserialize, Serialize};

use super::excerpt::beginning;
use super::harness::{Event, Harness};
use super::inject::Injection;
use super::lock;
use super::state_dir::StateDir;
use crate::home::Home;

/// The size at which the older half of the log is removed.
const MAX_BYTES: u64 = 256 << 10;
/// The most bytes of a prompt.
const MAX_PROMPT_BYTES: usize = 300;

/// What was added to one prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When (RFC 3339).
    pub at: String,
    /// The harness that called.
    pub harness: String,
    /// The event, by Loci's name.
    pub event: String,
    /// The id of the session.
    pub session: String,
    /// The wing of the project.
    pub wing: String,
    /// The beginning of the prompt.
    pub prompt: String,
    /// The drawers.
    pub drawers: Vec<LoggedDrawer>,
}

/// A drawer that was added to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedDrawer {
    /// Its id.
    pub id: String,
    /// Its file and line, or its session and date.
    pub place: String,
    /// Its wing, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wing: Option<String>,
    /// How relevant it was to the prompt, from 0 to 1.
    pub relevance: f32,
}

impl Entry {
    pub(super) fn new(
        (harness, event): (Harness, Event),
        session: &str,
        prompt: &str,
        wing: &str,
        injection: &Injection,
    ) -> Self {
        let drawers = injection.passages.iter().map(|passage| LoggedDrawer {
            id: passage.drawer.clone(),
            place: passage.place.clone(),
            wing: passage.wing.clone(),
            relevance: passage.relevance,
        });
        Self {
            at: date_of(now_ms()),
            harness: harness.name().to_owned(),
            event: event.name().to_owned(),
            session: session.to_owned(),
            wing: wing.to_owned(),
            prompt: beginning(prompt, MAX_PROMPT_BYTES).to_owned(),
            drawers: drawers.collect(),
        }
    }
}

/// Appends an entry. A log that is too long loses its older half.
pub(super) fn append(state_dir: &StateDir, entry: &Entry) -> std::io::Result<()> {
    state_dir.ensure()?;
    let Some(_held) = lock::short_lock(state_dir) else {
        return Err(std::io::ErrorKind::WouldBlock.into());
    };
    let mut file = state_dir.open(HOOK_LOG)?;
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    let length = file.metadata()?.len();
    if length > MAX_BYTES {
        let mut newer = Vec::new();
        file.seek(SeekFrom::Start(length - MAX_BYTES / 2))?;
        (&mut file).take(MAX_BYTES).read_to_end(&mut newer)?;
        let whole = newer.iter().position(|byte| *byte == b'\n');
        newer.drain(..whole.map_or(newer.len(), |end| end + 1));
        if newer.last().is_some_and(|last| *last != b'\n') {
            newer.push(b'\n');
        }
        newer.extend_from_slice(&line);
        // A crash here loses entries of a log that nothing depends on.
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        return file.write_all(&newer);
    }
    // A line without an end is a write that a crash interrupted. The new line does not continue it.
    if length > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            line.insert(0, b'\n');
        }
    }
    file.seek(SeekFrom::End(0))?;
    file.write_all(&line)
}

/// Returns the last entries of the log, the latest first. Damaged lines are left out.
pub fn read(home: &Home, most: usize) -> Vec<Entry> {
    let path = StateDir::of(home).path(HOOK_LOG);
    let Ok(file) = loci_files::own::open(&path) else {
        return Vec::new();
    };
    let mut bytes = Vec::new();
    if file.take(2 * MAX_BYTES).read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    let lines = bytes.split(|byte| *byte == b'\n').rev();
    let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
    entries.take(most).collect()
}

//! Handles the hooks that agents call.
//!
//! A hook receives one JSON object and prints the JSON that the harness defines, or nothing. It
//! never blocks a turn: it has a time limit and gives a neutral answer on every failure. Failures
//! are reported to `loci doctor` ([`last_runs`]), never to the model.

mod answer;
mod background;
mod choose;
mod earlier;
mod excerpt;
mod failure;
mod fix;
mod fix_words;
mod harness;
mod inject;
mod input;
mod lock;
mod log;
mod notes;
mod place;
mod prompt;
mod recall;
mod run;
mod saving;
mod session;
mod signature;
mod state_dir;
mod transcript;
mod wake;

use loci_palace::Advice;
use serde::{Deserialize, Deserializer, Serialize};

use crate::home::Home;

pub use background::save_in_background;
pub use choose::{Candidate, MIN_RELEVANCE, MIN_RELEVANCE_ELSEWHERE, Prompt, choose, is_command};
pub use harness::{Event, Harness, event_names, harness_names};
pub use inject::{Injection, Passage, inject};
pub use log::{Entry as LogEntry, LoggedDrawer, read as read_log};
pub use prompt::PROMPT_TOKENS;
pub use run::{Call, answer, note_unknown, refuse, switched_off};

/// A call of a hook, as recorded for `loci doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    /// The event, by Loci's name.
    pub event: String,
    /// The harness that called.
    pub harness: String,
    /// The time of the call (RFC 3339).
    pub at: String,
    /// Whether the hook succeeded.
    pub ok: bool,
    /// What the hook did, or why it did nothing.
    pub note: String,
    /// The advice for the user. Unknown advice from another version of Loci is left out.
    #[serde(
        default,
        deserialize_with = "known_advice",
        skip_serializing_if = "Option::is_none"
    )]
    pub advice: Option<Advice>,
    /// The duration of the call.
    pub milliseconds: u64,
}

fn known_advice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Advice>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// Returns the last call of each hook of each harness, and the last one that failed. It only reads.
pub fn last_runs(home: &Home) -> Vec<HookRun> {
    notes::read_all(&state_dir::StateDir::of(home))
}

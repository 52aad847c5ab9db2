//! What Loci does when an agent calls one of its hooks.
//!
//! One JSON object comes in, what the harness defines goes out, or nothing. A hook never blocks a
//! turn: it has a time limit, it answers neutrally whatever goes wrong, and it says what went wrong
//! to `loci doctor` ([`last_runs`]), never to the model.

mod answer;
mod background;
mod excerpt;
mod failure;
mod harness;
mod input;
mod lock;
mod notes;
mod prompt;
mod recall;
mod run;
mod saving;
mod session;
mod shelf;
mod signature;
mod transcript;
mod wake;

use loci_palace::Advice;
use serde::{Deserialize, Deserializer, Serialize};

use crate::home::Home;

pub use background::save_in_background;
pub use harness::{Event, Harness, event_names, harness_names};
pub use run::{Call, answer, note_unknown, refuse, switched_off};

/// A call of a hook, as it is noted for `loci doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    /// The event, by Loci's name.
    pub event: String,
    /// The harness that called.
    pub harness: String,
    /// When (RFC 3339).
    pub at: String,
    /// Whether it could do its work.
    pub ok: bool,
    /// What it did, or why not.
    pub note: String,
    /// What can be done about it. A program of another version may have written advice that this
    /// one does not know; that is left out.
    #[serde(
        default,
        deserialize_with = "known_advice",
        skip_serializing_if = "Option::is_none"
    )]
    pub advice: Option<Advice>,
    /// How long it took.
    pub milliseconds: u64,
}

fn known_advice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Advice>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// The last call of each hook of each harness, and the last that failed. Reads only.
pub fn last_runs(home: &Home) -> Vec<HookRun> {
    notes::read_all(&shelf::Shelf::of(home))
}

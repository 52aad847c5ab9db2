//! What a hook answers, in the JSON of each harness. There is no way to say that a turn is to be
//! blocked or stopped.

use loci_palace::printable_json;
use serde_json::{Value, json};

use super::harness::{Event, Harness};

/// What there is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HookOutput {
    /// Nothing.
    Nothing,
    /// For the model.
    Context(String),
    /// For the user; the model does not see it.
    Message(String),
}

impl HookOutput {
    /// The answer as the harness reads it: one line of JSON, or nothing at all.
    pub(super) fn render(&self, harness: Harness, event: Event) -> String {
        let said = match (self, harness, event) {
            (Self::Context(text), Harness::Cursor, Event::SessionStart) => {
                Some(json!({ "additional_context": text }))
            }
            // Cursor reads no context and no message at any other event.
            (Self::Context(_) | Self::Message(_), Harness::Cursor, _) | (Self::Nothing, _, _) => {
                None
            }
            (Self::Context(text), _, _) => Some(json!({
                "hookSpecificOutput": {
                    "hookEventName": event.name_for(harness),
                    "additionalContext": text,
                }
            })),
            (Self::Message(text), _, _) => Some(json!({ "systemMessage": text })),
        };
        said.or_else(|| neutral(harness, event))
            .map_or_else(String::new, |value| printable_json(value.to_string()))
    }
}

/// What a harness reads as "go on". Some expect JSON in any case.
fn neutral(harness: Harness, event: Event) -> Option<Value> {
    match (harness, event) {
        (Harness::Cursor, Event::Prompt) => Some(json!({ "continue": true })),
        (Harness::Cursor | Harness::Gemini, _) => Some(json!({})),
        (Harness::ClaudeCode | Harness::Codex | Harness::Other, _) => None,
    }
}

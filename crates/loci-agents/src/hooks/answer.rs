//! The answers of hooks, in the JSON of each harness. No answer can block or stop a turn.

use loci_palace::printable_json;
use serde_json::{Value, json};

use super::harness::{Event, Harness};

/// The output of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HookOutput {
    /// Nothing.
    Nothing,
    /// Text for the model.
    Context(String),
    /// Text for the user. The model does not see it.
    Message(String),
}

impl HookOutput {
    /// Renders the answer for the harness: one line of JSON, or nothing.
    pub(super) fn render(&self, harness: Harness, event: Event) -> String {
        let rendered = match (self, harness, event) {
            (Self::Context(text), Harness::Cursor, Event::SessionStart) => {
                Some(json!({ "additional_context": text }))
            }
            // Cursor reads context and messages at no other event.
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
        rendered
            .or_else(|| neutral(harness, event))
            .map_or_else(String::new, |value| printable_json(value.to_string()))
    }
}

/// Returns the neutral answer of a harness. Some harnesses always expect JSON.
fn neutral(harness: Harness, event: Event) -> Option<Value> {
    match (harness, event) {
        (Harness::Cursor, Event::Prompt) => Some(json!({ "continue": true })),
        (Harness::Cursor | Harness::Gemini, _) => Some(json!({})),
        (Harness::ClaudeCode | Harness::Codex | Harness::Other, _) => None,
    }
}

//! Where reading can go on later, and what must be known to do so.

use super::books::clip;
use super::event::Conversation;
use super::said::Point;
use serde::{Deserialize, Serialize};

/// Longer facts are left out of a mark, so that it stays small; the file tells them again.
const MAX_FACT_BYTES: usize = 160;

/// A point of rest: everything needed to go on from a byte offset. Small, and stable across versions. The file must
/// still begin with the same `offset` bytes; the caller sees to that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The byte that reading goes on from.
    pub offset: u64,
    /// Lines before it; in formats that are no lines, the messages read of what begins there.
    pub line: u64,
    /// The exchange that ended here, or that goes on if `part` is not 0.
    pub exchange: u32,
    /// The parts of that exchange before this point; 0 between exchanges.
    pub part: u32,
    /// What was known of the conversation.
    pub conversation: Conversation,
    #[serde(flatten)]
    pub(super) state: State,
}

/// What a format remembers from one record to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// The latest time that any record bears, by the order of strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) latest: Option<String>,
    /// Whether the file is a subagent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sidechain: Option<bool>,
    /// Whether prompts are quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) quotes: Option<bool>,
    /// Digests of what was said once and may be said again in another form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) said: Vec<u64>,
    /// Digest of what lies before the mark, where bytes cannot tell.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) check: u64,
}

impl Mark {
    pub(super) fn new(point: Point, conversation: &Conversation, state: &State) -> Self {
        let fact = |fact: &Option<String>| fact.clone().filter(|fact| fact.len() <= MAX_FACT_BYTES);
        Self {
            offset: point.offset,
            line: point.line,
            exchange: 0,
            part: 0,
            conversation: Conversation {
                id: clip(&conversation.id, MAX_FACT_BYTES).to_owned(),
                title: conversation
                    .title
                    .as_deref()
                    .map(|title| clip(title, MAX_FACT_BYTES).to_owned()),
                folder: fact(&conversation.folder),
                branch: fact(&conversation.branch),
                started_at: fact(&conversation.started_at),
            },
            state: State {
                model: fact(&state.model),
                latest: fact(&state.latest),
                ..state.clone()
            },
        }
    }

    pub(super) fn point(&self) -> Point {
        Point {
            offset: self.offset,
            line: self.line,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

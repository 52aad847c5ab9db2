//! The events of a reader: conversations, pieces, and resume points.

use super::mark::Mark;
use serde::{Deserialize, Serialize};

/// One conversation, as described by its format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The format's own id, or the name of the file if the format has none.
    pub id: String,
    /// The title of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The directory that the agent worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The git branch that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The start time, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
}

/// The text of one future drawer, word for word. Each message follows a marker line of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// The text. Two pieces of one exchange with the same `start_line` never have the same text.
    pub text: String,
    /// The line on which the first message begins. In formats without lines, the 1-based number of
    /// that message.
    pub start_line: u32,
    /// The line on which the last message ends, or its number.
    pub end_line: u32,
    /// The number of the exchange in the conversation, from 1. Messages before the first prompt are
    /// an exchange of their own.
    pub exchange: u32,
    /// The number of the part in the exchange, from 1.
    pub part: u32,
    /// The time of the first message, RFC 3339 in UTC.
    pub authored_at: Option<String>,
    /// The time of the last message.
    pub ended_at: Option<String>,
    /// The speakers, each once, in order: `user`, `assistant`, `system`, or a name.
    pub speakers: Vec<String>,
    /// The tools that are called, each once, in order, at most 32.
    pub tools: Vec<String>,
    /// The first model that speaks.
    pub model: Option<String>,
}

/// One step of reading.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A conversation begins; its pieces follow.
    Conversation(Conversation),
    /// A piece of the latest announced conversation.
    Piece(Piece),
    /// A resume point. No piece spans it, so reading may stop here and resume later from the mark.
    Rest(Box<Mark>),
}

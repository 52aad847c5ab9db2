//! What a reader hands out: conversations, pieces, and points of rest.

use super::mark::Mark;
use serde::{Deserialize, Serialize};

/// One conversation as its format tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The format's own id; the file's name where it gives none.
    pub id: String,
    /// What the conversation is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The directory that the agent worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The git branch that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// When it began, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
}

/// One drawer to be: words as they were said, each message after a marker line of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// The text. Two pieces of one exchange with the same `start_line` never have the same text.
    pub text: String,
    /// The line that the first message in it begins on; in formats that are no lines, the 1-based
    /// number of that message.
    pub start_line: u32,
    /// The same for the end of the last message.
    pub end_line: u32,
    /// Which exchange of the conversation, from 1. What is said before the first prompt is an
    /// exchange of its own.
    pub exchange: u32,
    /// Which part of the exchange, from 1.
    pub part: u32,
    /// When the first message in it was said, RFC 3339 in UTC.
    pub authored_at: Option<String>,
    /// When the last message in it was said.
    pub ended_at: Option<String>,
    /// Who speaks in it, each once, in order: `user`, `assistant`, `system`, or a name.
    pub speakers: Vec<String>,
    /// The tools that are called in it, each once, in order, at most 32.
    pub tools: Vec<String>,
    /// The model that speaks in it first.
    pub model: Option<String>,
}

/// One step of reading.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A conversation begins; its pieces follow.
    Conversation(Conversation),
    /// A piece of the conversation that was announced last.
    Piece(Piece),
    /// No piece spans this point: reading may stop here and go on later from the mark.
    Rest(Box<Mark>),
}

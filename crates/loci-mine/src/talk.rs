//! Conversations with agents, and between people, as pieces that become drawers: one for each exchange, a long exchange
//! in parts.
//!
//! Words are kept as they were said. What is not filed is counted with its reason, so that the sums can be checked.
//! Nothing here writes, and nothing is held in memory that is longer than one message (one conversation, where an
//! export keeps it as one JSON value).

mod aider;
mod blocks;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod clock;
mod codex;
mod companions;
mod compose;
mod continue_dev;
mod cursor;
mod cut;
mod database;
mod elements;
mod error;
mod event;
mod feed;
mod field;
mod format;
mod gemini;
mod gemini_log;
mod input;
mod keys;
mod lines;
mod mark;
mod mend;
mod opencode;
mod plain;
mod reader;
mod recognise;
mod record_tally;
mod records;
mod scalar;
mod sink;
mod slack;
mod turns;
mod utterance;

pub use companions::companions;
pub(crate) use companions::{companion_places, companions_within};
pub use error::Error;
pub use event::{Conversation, Event, Piece};
pub use format::Format;
pub use mark::Mark;
pub use reader::Reader;
pub use recognise::recognise;
pub use record_tally::Tally;

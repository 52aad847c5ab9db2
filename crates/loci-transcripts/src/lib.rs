//! Reads transcripts, which are conversations with agents or between people, and turns them into
//! pieces that become drawers. A piece is one exchange; a long exchange has several pieces.
//!
//! Text is kept word for word. Records that become no piece are counted by reason, so that the sums
//! can be checked. This crate never writes. It holds at most one message in memory, or one
//! conversation if an export stores it as one JSON value.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod aider;
mod amp;
mod asides;
mod beside;
mod blocks;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod cline;
mod clock;
mod codex;
mod companions;
mod compose;
mod continue_dev;
mod copilot_chat;
mod copilot_cli;
mod crush;
mod cursor;
mod cut;
mod database;
mod elements;
mod error;
mod event;
mod factory;
mod feed;
mod field;
mod folder;
mod format;
mod gemini;
mod gemini_log;
mod goose;
mod input;
mod keys;
mod kimi;
mod lines;
mod mark;
mod opencode;
mod openhands;
mod pi;
mod plain;
mod qwen;
mod reader;
mod recognise;
mod record_tally;
mod records;
mod scalar;
mod sink;
mod slack;
mod surrogates;
mod turns;
mod utterance;
mod values;
mod vibe;

pub use asides::is_aside;
pub use companions::{companion_places, companions, companions_within};
pub use error::Error;
pub use event::{Conversation, Event, Piece};
pub use format::Format;
pub use mark::Mark;
pub use reader::Reader;
pub use recognise::recognise;
pub use record_tally::Tally;

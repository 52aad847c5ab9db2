//! Tests of turning conversations into pieces.
#![allow(
    clippy::disallowed_methods,
    reason = "tests have no palace open whose locks could be lost"
)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::format_collect,
    clippy::format_push_string
)]

mod agent_databases;
mod agents;
mod claude_code;
mod codex;
mod composing;
mod exports;
mod gemini;
mod recognising;
mod resuming;
mod rows;
mod support;
mod text;

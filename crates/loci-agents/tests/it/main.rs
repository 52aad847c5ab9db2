//! Agents in a home of their own: what wiring does to their files.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

mod hooks;
mod wiring;

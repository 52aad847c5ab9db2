//! What the ranking promises, on a real collection with the built-in embedder.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

mod ranking;

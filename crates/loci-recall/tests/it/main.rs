//! What the ranking promises, on a real collection with the built-in embedder.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

mod ranking;
mod spelling;

//! ChromaDB directories, from the outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the helpers of tests are tests"
)]

mod answers;
mod backend;
mod contract;
mod written;

//! The promises of the design, tested with real processes on real files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "the helpers of tests are tests"
)]

#[path = "../worker/protocol.rs"]
mod protocol;

mod access;
mod collections;
mod compat;
mod cortexadb;
mod crowd;
mod damage;
mod duplicates;
mod embedders;
mod forget;
mod format;
mod freshness;
mod full_disk;
mod model;
mod passages;
mod recall;
mod reembed;
mod support;
mod torture;
mod truth;
mod upkeep;

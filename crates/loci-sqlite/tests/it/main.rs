//! Tests of the SQLite backend through its public API, with real processes on real files.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "the helpers of tests are tests"
)]

#[path = "../worker/operations.rs"]
mod operations;
#[path = "../worker/palace.rs"]
mod palace;

mod contract;
mod cortexadb;
mod crowd;
mod damage;
mod duplicates;
mod forget;
mod format;
mod freshness;
mod full_disk;
mod harness;
mod model;
mod removing;
mod same_hits;
mod schema;
mod support;
mod torture;
mod truth;
mod unpublished;
mod upkeep;
mod working_copies;

//! The promises of the product, tested with real processes on real files. The tests of the SQLite
//! backend alone are in `loci-sqlite`.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::duplicate_mod,
    reason = "`in_memory` compiles tests a second time, on another backend"
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

/// Tests about files and other processes. `in_memory` leaves them out.
macro_rules! on_disk {
    ($($test:item)*) => { $($test)* };
}

#[path = "../worker/foreign.rs"]
mod foreign;
#[path = "../../../loci-sqlite/tests/it/harness.rs"]
mod harness;
#[path = "../../../loci-sqlite/tests/worker/operations.rs"]
mod operations;
#[path = "../worker/protocol.rs"]
mod protocol;

mod access;
mod adding;
mod answers;
mod collections;
mod compat;
mod diaries;
mod earlier_table;
mod embedders;
mod fact_spellings;
mod facts;
mod forgotten;
mod forgotten_places;
mod import_damaged_chroma;
mod import_foreign;
#[allow(unused_imports, reason = "what only tests on disk use")]
mod in_memory;
mod linking;
mod machines;
mod mine_crash;
mod mine_crowd;
mod mine_large;
mod mined;
mod mined_links;
mod mined_noise;
mod mining;
mod own_files;
mod passages;
mod places;
mod projects;
mod purging;
mod reading_only;
mod recall;
mod reembed;
mod relations;
mod round_trip;
mod salvage_report;
mod stored_vectors;
mod support;
mod undo;
mod wake_up_precision;
mod wake_up_statements;
mod waking;

//! Directories that the real chromadb wrote, damaged, and how Loci and the real chromadb read them.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the makers of scenes are tests; not every scene is used by every test"
)]

mod answers;
mod backend;
mod best;
mod candidates;
mod catalogue;
mod contract;
mod damage;
mod expected;
mod hostile;
mod lengths;
mod lost_rows;
mod metadata;
mod peer;
mod quarantine;
mod random;
mod repair;
mod scene;
mod segments;
mod survey;
mod swapped;
mod written;

//! Directories that the real chromadb wrote, damaged, repaired, and served by the backend.
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
#[path = "../../../loci-foreign/tests/chroma_scenes/mod.rs"]
mod chroma_scenes;
mod contract;
mod quarantine;
mod repair;
mod written;

use chroma_scenes::{best, damage, expected, peer, reading, scene, twins};

//! ChromaDB directories for the tests: the real chromadb writes them, tests damage them, and the real
//! chromadb judges the result. The tests of `loci-chroma` and `loci-palace` include this module.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests make and damage files; not every scene is used by every crate"
)]

pub mod best;
pub mod damage;
pub mod expected;
pub mod peer;
pub mod reading;
pub mod scene;
pub mod twins;

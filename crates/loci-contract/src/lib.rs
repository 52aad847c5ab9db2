//! Conformance suite of the storage contract. Any backend can run it.
//!
//! docs/contract.md numbers the sentences, [`sentences`] has one function for each, and
//! [`contract_tests!`] turns every function into a test. [`memory`] is the reference backend that
//! property tests compare other backends with. The complete test file of a backend is:
//!
//! ```
//! # use std::sync::Arc;
//! # use loci_contract::memory::MemoryBackend;
//! use loci_contract::{TempFixture, contract_tests};
//! contract_tests!(TempFixture::in_memory(|| Arc::new(MemoryBackend::new())));
//! ```
//!
//! A backend that cannot write runs the read half: [`read_contract_tests!`] with [`Through`].
//! [`json_lines`] is an example of such a backend.
//!
//! This crate is for tests only: functions panic, and the embedder does not capture meaning.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test suite reports by panicking"
)]

pub mod arbitrary;
mod embedder;
mod fixture;
pub mod json_lines;
pub mod memory;
mod scene;
pub mod sentences;
mod through;

pub use embedder::WordEmbedder;
pub use fixture::{Fixture, TempFixture};
pub use sentences::{READ_ONLY_SENTENCES, SENTENCES, Sentence};
pub use through::Through;

/// The words of a text in lower case. A word is a run of letters and digits.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

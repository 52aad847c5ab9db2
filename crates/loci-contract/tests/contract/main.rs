//! The reference backend satisfies the whole contract, and the example of a read-only backend
//! satisfies its read half.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod document;
mod filters;
mod json_lines;

use std::sync::Arc;

use loci_contract::memory::MemoryBackend;
use loci_contract::{TempFixture, contract_tests};

contract_tests!(TempFixture::in_memory(|| Arc::new(MemoryBackend::new())));

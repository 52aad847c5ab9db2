//! The reference backend keeps the whole contract.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]

mod document;
mod filters;

use std::sync::Arc;

use loci_contract::memory::MemoryBackend;
use loci_contract::{TempFixture, contract_tests};

contract_tests!(TempFixture::in_memory(|| Arc::new(MemoryBackend::new())));

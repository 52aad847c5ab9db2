//! The reference backend keeps the whole contract.

mod document;
mod filters;

use std::sync::Arc;

use loci_contract::memory::MemoryBackend;
use loci_contract::{TempFixture, contract_tests};

contract_tests!(TempFixture::in_memory(|| Arc::new(MemoryBackend::new())));

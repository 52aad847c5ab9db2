//! The promises of the embedders, tested with fixtures from the reference implementations
//! (`xtask/peers/minilm_reference.py`).
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the helpers of tests are tests"
)]

mod minilm;

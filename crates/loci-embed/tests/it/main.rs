//! What the embedders promise, against fixtures made by the reference implementations
//! (`xtask/peers/minilm_reference.py`).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the helpers of tests are tests"
)]

mod minilm;

//! How the tests open palaces, and the worker that they start.

use std::path::Path;

use loci_palace::{OpenOptions, Palace};

pub(crate) use crate::harness::*;
pub(crate) use crate::operations::{Op, Request as StoreRequest, Rng, Row, random_row};
pub(crate) use crate::protocol::Request;

/// The program that [`Worker`] starts.
pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_loci-worker");

/// Whether palaces are files. The same tests run on palaces in memory, see `in_memory.rs`.
pub(crate) const ON_DISK: bool = true;

/// How tests open a palace.
pub(crate) fn options() -> OpenOptions {
    OpenOptions::create()
}

pub(crate) fn open(path: &Path) -> Palace {
    Palace::open(path, &options()).unwrap()
}

/// The number of the last change of a collection.
pub(crate) fn last_change(palace: &Palace, collection: &str) -> u64 {
    let collection = palace.collection(collection, false).unwrap();
    collection.maintenance_state().unwrap().seq
}

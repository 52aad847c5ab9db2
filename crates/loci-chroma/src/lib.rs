//! ChromaDB directories, from their files alone: read, diagnose, quarantine, repair, and a read-only backend.
//!
//! Nothing here needs ChromaDB or opens a directory in a way that it would notice. Only `quarantine` and `repair` write, and both keep
//! what they replace.
#![forbid(unsafe_code)]

mod finding;
mod snapshot;

pub use finding::{Finding, SAMPLE, Severity};
pub use snapshot::{Access, Rebuilt, Snapshot, Table};

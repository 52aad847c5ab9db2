//! Repairs and quarantines ChromaDB directories in place, and serves them as a read-only backend.
//!
//! `loci_foreign::chroma` reads and diagnoses them. Everything works from the files alone: ChromaDB
//! is not needed. Only [`quarantine()`] and [`repair()`] write, and both keep the files that they
//! replace.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod backend;
mod directory;
mod quarantine;
mod repair;

pub use backend::{BACKEND_NAME, ChromaBackend, KnownEmbedders};
pub use directory::require_directory;
pub use quarantine::{QuarantineOptions, QuarantineReport, Quarantined, quarantine};
pub use repair::{
    Change, CollectionRepair, Models, RenamedDirectory, RepairOptions, RepairReport, repair,
    write_candidates,
};

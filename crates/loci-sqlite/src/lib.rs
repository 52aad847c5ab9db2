//! The default backend of Loci: one SQLite file is the truth, every index is derived from it.
//!
//! Text, metadata, vector and postings of a write commit in one transaction. The vector index
//! (`loci-index`) is rebuilt from the truth whenever its file is missing, foreign or damaged; until
//! then answers are computed exactly. docs/format.md describes the files and what a crash may leave.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod backend;
mod collection;
mod fault;
mod index;
mod ledger;
mod maintenance;
mod projects;
mod relations;
mod store;

pub use backend::SqliteBackend;
pub use collection::SqliteCollection;
pub use maintenance::{CopyPlace, TEXT_COPIES, TextCopy, Treatment};

/// Name of this backend in the registry.
pub const BACKEND_NAME: &str = "sqlite";
/// The newest format of a database that this build reads, and the one it writes.
pub const FORMAT: i64 = store::schema::FORMAT;

/// The version of SQLite that is part of this build.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

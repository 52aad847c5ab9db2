//! The default backend of Loci. One SQLite file is the database of a palace, and every index is
//! derived from it.
//!
//! The text, metadata, vector and postings of a write are committed in one transaction. The vector
//! index (`loci-index`) is rebuilt from the database when its file is missing, foreign or damaged.
//! Until then, vectors are compared one by one, so answers are exact. docs/format.md describes the
//! files and what a crash may leave.
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
/// The format that this build writes, and the newest one that it reads.
pub const FORMAT: i64 = store::schema::FORMAT;

/// The version of SQLite that is compiled into this build.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

//! Reads records out of SQLite database files, page by page, without SQLite.
//!
//! Every page and every cell is checked separately, so a bad first page, bad interior pages, a bad
//! schema or a truncated file cost only the rows in them. Nothing is ever written: the file, its
//! WAL and its journal are opened for reading. The caller ensures that no other process writes in
//! the meantime, and checks what the values mean. SQLite keeps no checksums, so a changed byte
//! inside a value cannot be detected here.
//!
//! [`Snapshot`] opens a database of another program as of one moment, without a lock and without a
//! trace. It uses SQLite, and falls back to reading page by page.
//!
//! ```no_run
//! use loci_salvage::{DatabaseFile, Value};
//!
//! # fn main() -> Result<(), loci_salvage::SalvageError> {
//! let file = DatabaseFile::open("palace.sqlite3".as_ref(), Some(8192))?;
//! let mut texts = Vec::new();
//! let report = file.for_each_record(&mut |record| {
//!     if let Some(Value::Text(text)) = record.values.into_iter().next() {
//!         texts.push((record.rowid, text));
//!     }
//! });
//! assert!(report.is_clean());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod btree;
mod bytes;
mod chain;
mod damaged_log;
mod database;
mod error;
mod freelist;
mod header;
mod pages;
mod pointer_map;
mod probe;
mod record;
mod report;
mod scan;
mod schema;
pub mod snapshot;
mod tree;
mod wal;
mod wal_index;
mod whole;

pub use damaged_log::{DamagedLog, damaged_log};
pub use database::{DatabaseFile, Opener};
pub use error::SalvageError;
pub use record::Value;
pub use report::{Damage, MAX_DAMAGES, Report};
pub use scan::{IndexRecord, Record};
pub use schema::SchemaEntry;
pub use snapshot::{Access, Snapshot, Table};
pub use wal_index::WAL_INDEX_HEADER_BYTES;

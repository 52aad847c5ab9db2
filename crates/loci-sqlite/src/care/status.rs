//! What a palace looks like from outside: counts, sizes, what is pending.

use loci_core::{PalaceRef, Result};

use crate::SqliteBackend;
use crate::index::registry;
use crate::store::{Head, schema};

/// The state of a palace.
#[derive(Debug, Clone)]
pub struct PalaceState {
    /// Format of the database.
    pub format: i64,
    /// Number of the last change.
    pub seq: u64,
    /// Forgotten text may still be in the files; the next process that can will purge it.
    pub purge_pending: bool,
    /// Facts.
    pub facts: u64,
    /// Links.
    pub links: u64,
    /// Drawers that a repair set aside because their bytes were damaged.
    pub damaged_drawers: u64,
    /// Facts and links that a repair set aside because their bytes were damaged.
    pub damaged_relations: u64,
    /// Duplicates that were removed when the palace was opened; they are kept in a side table.
    pub removed_duplicates: u64,
    /// Bytes of all files in the palace directory.
    pub bytes: u64,
    /// Index files that failed their check and were set aside.
    pub drift_files: usize,
    /// All files that were set aside instead of being deleted; only `forget` removes them.
    pub set_aside: Vec<String>,
    /// Registered index files.
    pub indexes: Vec<String>,
}

impl SqliteBackend {
    /// Reads the state of a palace.
    pub fn state(&self, palace: &PalaceRef) -> Result<PalaceState> {
        let store = self.store(palace, false)?;
        let state = store.read("reading the palace's state", |db| {
            let count = |table: &str| -> rusqlite::Result<u64> {
                let sql = format!("SELECT count(*) FROM {table}");
                db.sql
                    .query_row(&sql, [], |row| row.get::<_, i64>(0))
                    .map(|count| count as u64)
            };
            let head = Head::read(&db.sql)?;
            Ok(PalaceState {
                format: schema::FORMAT,
                seq: head.seq,
                purge_pending: head.purge_pending > 0,
                facts: count("facts")?,
                links: count("links")?,
                damaged_drawers: count("damaged_drawers")?,
                damaged_relations: count("damaged_facts")? + count("damaged_links")?,
                removed_duplicates: count("removed_duplicates")?,
                bytes: 0,
                drift_files: 0,
                set_aside: Vec::new(),
                indexes: registry::names(&db.sql)?,
            })
        })?;
        Ok(PalaceState {
            bytes: bytes_below(&store.place.directory),
            set_aside: super::copies::kept_files(&store.place)
                .iter()
                .filter_map(|path| {
                    Some(
                        path.strip_prefix(&store.place.directory)
                            .ok()?
                            .display()
                            .to_string(),
                    )
                })
                .collect(),
            drift_files: loci_index::drift_files(&store.place.index_directory()).len(),
            ..state
        })
    }
}

fn bytes_below(directory: &std::path::Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
            _ => entry.metadata().map_or(0, |metadata| metadata.len()),
        })
        .sum()
}

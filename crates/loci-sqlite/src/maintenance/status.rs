//! The state of a palace: counts, sizes, kept files, and whether a purge is pending. Reads the
//! database in one transaction, and the sizes of the files from the directory.

use loci_core::{PalaceRef, PalaceState, Result};

use crate::SqliteBackend;
use crate::index::registry;
use crate::store::{Head, schema};

/// Reads the state of a palace.
pub(crate) fn state(backend: &SqliteBackend, palace: &PalaceRef) -> Result<PalaceState> {
    let store = backend.store(palace, false)?;
    let state = store.read("reading the palace's state", |db| {
        let count = |table: &str| -> rusqlite::Result<u64> {
            let sql = format!("SELECT count(*) FROM {table}");
            db.sql
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .map(|count| count as u64)
        };
        let head = Head::read(&db.sql)?;
        Ok(PalaceState {
            identity: head.identity_text(),
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
            read_only: store.read_only(),
        })
    })?;
    Ok(PalaceState {
        bytes: bytes_below(&store.origin().directory),
        set_aside: super::copies::kept_files(store.origin())
            .iter()
            .filter_map(|path| {
                Some(
                    path.strip_prefix(&store.origin().directory)
                        .ok()?
                        .display()
                        .to_string(),
                )
            })
            .collect(),
        drift_files: loci_index::drift_files(&store.origin().index_directory()).len(),
        ..state
    })
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

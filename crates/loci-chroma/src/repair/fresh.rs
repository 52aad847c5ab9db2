//! Replaces a database that SQLite cannot read. The new one has the schema of the same version and
//! the rows that were salvaged.

mod migrations;
mod schema;

use std::path::Path;

use loci_core::{Advice, Error, Result};
use loci_foreign::chroma::Directory;
use loci_salvage::Snapshot;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::plan::Work;
use super::report::Change;
use super::{database, records, steps};

/// The entry of the report.
pub(super) fn change() -> Change {
    Change::new("database rebuilt from its readable rows", 1)
}

/// Writes the new database to `path`.
pub(super) fn write(directory: &Directory, work: &Work, path: &Path) -> Result<Vec<Change>> {
    match fill(path, directory, work) {
        Ok(mut changes) => {
            changes.insert(0, change());
            Ok(changes)
        }
        Err(error) => {
            // An incomplete database is useless. The first error is the one to report.
            _ = std::fs::remove_file(path);
            Err(error)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a new file")]
fn fill(path: &Path, directory: &Directory, work: &Work) -> Result<Vec<Change>> {
    let failed = |error: rusqlite::Error| database::failed(path, "writing", &error);
    let mut connection = Connection::open(path).map_err(failed)?;
    database::prepare(&connection).map_err(failed)?;
    let transaction = database::exclusive(&mut connection, path)?;
    let lost = restore(&transaction, directory).map_err(failed)?;
    if lost > 0 {
        return Err(Error::UnsupportedCapability {
            capability: "repair in place".into(),
            reason: format!(
                "{lost} rows of ChromaDB's record of migrations are lost, and it opens no database without them; \
                 import everything instead"
            ),
        }
        .advise(Advice::Import { path: None }));
    }
    let changes = steps::apply(&transaction, work)?;
    // The file has a temporary name, so a crash on either side of the commit leaves the old
    // database untouched. `backup::put_in_place` renames it only after it is closed.
    transaction.commit().map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    Ok(changes)
}

/// Creates and fills the tables. Returns how many rows of the migration record are lost.
fn restore(target: &Connection, directory: &Directory) -> rusqlite::Result<u32> {
    let source = directory.snapshot();
    let version = migrations::version(source, directory.version())?;
    for table in schema::tables(source, &version)? {
        target.execute_batch(&table.sql)?;
        if source.has_table(&table.name) {
            copy_rows(target, source, &table.name)?;
        }
    }
    for index in schema::indexes(&version) {
        target.execute_batch(index)?;
    }
    schema::default_places(target)?;
    if version.metadata >= schema::FULL_TEXT {
        // Recover the texts that only the old full-text index holds before it is rebuilt.
        schema::lost_documents(target, source)?;
        records::make_full_text(target)?;
    }
    migrations::missing(target, &version)
}

/// Copies the columns that both sides have. Rows that break a constraint are damaged and are
/// skipped.
fn copy_rows(target: &Connection, source: &Snapshot, table: &str) -> rusqlite::Result<()> {
    let wanted: Vec<String> = target
        .prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?
        .query_map([table], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let columns: Vec<String> = source
        .columns(table)
        .into_iter()
        .filter(|column| wanted.contains(column))
        .collect();
    if columns.is_empty() {
        return Ok(());
    }
    let names = columns
        .iter()
        .map(|column| format!("\"{}\"", column.replace('"', "\"\"")))
        .collect::<Vec<_>>()
        .join(", ");
    let marks = vec!["?"; columns.len()].join(", ");
    let mut insert = target.prepare(&format!(
        "INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"
    ))?;
    let mut select = source
        .connection()
        .prepare(&format!("SELECT {names} FROM {table} ORDER BY rowid"))?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let values: Vec<Value> = (0..columns.len())
            .map(|column| row.get(column))
            .collect::<rusqlite::Result<_>>()?;
        insert.execute(params_from_iter(values))?;
    }
    Ok(())
}

//! Reads rows and cells of foreign tables. SQLite lets any column hold any type, and a damaged file
//! may, so every type is checked.

use loci_core::{Error, Result};
use loci_salvage::Snapshot;
use rusqlite::types::ValueRef;
use rusqlite::{Params, Row, Rows};

/// A text, even if some of its bytes are damaged.
pub(crate) fn text(row: &Row<'_>, column: &str) -> Option<String> {
    match row.get_ref(column).ok()? {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// A text that is not empty.
pub(crate) fn filled(row: &Row<'_>, column: &str) -> Option<String> {
    text(row, column).filter(|text| !text.is_empty())
}

/// A whole number.
pub(crate) fn integer(row: &Row<'_>, column: &str) -> Option<i64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => None,
    }
}

/// A finite number.
pub(crate) fn real(row: &Row<'_>, column: &str) -> Option<f64> {
    match row.get_ref(column).ok()? {
        ValueRef::Real(number) => Some(number).filter(|number| number.is_finite()),
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => None,
    }
}

/// Bytes.
pub(crate) fn blob<'a>(row: &'a Row<'_>, column: &str) -> Option<&'a [u8]> {
    match row.get_ref(column).ok()? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Some(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

/// The columns of a table as a SELECT list. Columns that an older program did not have are null.
pub(crate) fn list(snapshot: &Snapshot, table: &str, wanted: &[&str]) -> String {
    let present = snapshot.columns(table);
    let column = |name: &&str| {
        if present.iter().any(|column| column == name) {
            format!("t.\"{name}\" AS \"{name}\"")
        } else {
            format!("NULL AS \"{name}\"")
        }
    };
    wanted.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// Passes every row of a query to `take`. Returns why the rest of the rows is out of reach, if it is.
/// A query that does not fit the file has no rows.
pub(crate) fn for_each_row(
    snapshot: &Snapshot,
    sql: &str,
    parameters: impl Params,
    take: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<Option<rusqlite::Error>> {
    let Ok(mut statement) = snapshot.connection().prepare(sql) else {
        return Ok(None);
    };
    match statement.query(parameters) {
        Ok(rows) => pass_on(rows, take),
        Err(_) => Ok(None),
    }
}

/// As [`for_each_row`], for the main table of a store: a query that does not fit the file is an
/// error.
pub(crate) fn for_each_row_of(
    table: &str,
    snapshot: &Snapshot,
    sql: &str,
    parameters: impl Params,
    take: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<Option<rusqlite::Error>> {
    let failed = |error: rusqlite::Error| Error::Corrupt {
        what: format!("the table `{table}`"),
        path: snapshot.path().to_owned(),
        detail: error.to_string(),
    };
    let mut statement = snapshot.connection().prepare(sql).map_err(failed)?;
    let rows = statement.query(parameters).map_err(failed)?;
    pass_on(rows, take)
}

/// The rows before one that cannot be read are good. Those that follow are out of reach.
fn pass_on(
    mut rows: Rows<'_>,
    mut take: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<Option<rusqlite::Error>> {
    loop {
        match rows.next() {
            Ok(Some(row)) => take(row)?,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// The values of the rows that can be read.
pub(crate) fn collect<T>(
    snapshot: &Snapshot,
    sql: &str,
    parameters: impl Params,
    mut value: impl FnMut(&Row<'_>) -> Option<T>,
) -> Vec<T> {
    let mut values = Vec::new();
    // The closure cannot fail, and rows that cannot be read are left out.
    let _ = for_each_row(snapshot, sql, parameters, |row| {
        values.extend(value(row));
        Ok(())
    });
    values
}

/// The value of the first row.
pub(crate) fn first<T>(
    snapshot: &Snapshot,
    sql: &str,
    parameters: impl Params,
    value: impl FnOnce(&Row<'_>) -> Option<T>,
) -> Option<T> {
    let mut statement = snapshot.connection().prepare(sql).ok()?;
    let found = statement.query_row(parameters, |row| Ok(value(row)));
    found.ok().flatten()
}

/// The number of rows of a table; 0 if there is no such table.
pub(crate) fn count(snapshot: &Snapshot, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM \"{}\"", table.replace('"', "\"\""));
    let count = first(snapshot, &sql, [], |row| row.get::<_, i64>(0).ok());
    count
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or(0)
}

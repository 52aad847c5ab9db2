//! Reads cells of foreign tables. SQLite lets any column hold any type, and a damaged file may, so
//! every type is checked.

use loci_salvage::Snapshot;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};

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

/// Prepares a statement; `None` if the table or file is not as expected.
pub(crate) fn prepare<'a>(snapshot: &'a Snapshot, sql: &str) -> Option<Statement<'a>> {
    snapshot.connection().prepare(sql).ok()
}

/// The number of rows of a table; 0 if there is no such table.
pub(crate) fn count(snapshot: &Snapshot, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM \"{}\"", table.replace('"', "\"\""));
    let count: Option<i64> = snapshot
        .connection()
        .query_row(&sql, [], |row| row.get(0))
        .ok();
    count
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or(0)
}

//! Sequence numbers: blobs of old versions and numbers that a conversion spoiled become plain numbers.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use super::database::has_table;
use super::records::number;
use super::report::Change;
use crate::seq::SeqId;

/// Makes `sequence_number(value)` known: the number that a stored value means, or NULL.
pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_scalar_function(
        "sequence_number",
        1,
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC,
        |context| {
            Ok(SeqId::of(context.get_raw(0))
                .and_then(|id| id.value())
                .and_then(|number| i64::try_from(number).ok()))
        },
    )
}

/// Makes plain numbers of what can be understood.
pub(super) fn mend(connection: &Connection, write: bool) -> Result<Vec<Change>> {
    let blobs = "typeof(seq_id) = 'blob' AND sequence_number(seq_id) IS NOT NULL";
    let spoiled = "typeof(seq_id) = 'integer' AND sequence_number(seq_id) <> seq_id";
    let mut changes = Vec::new();
    for (what, table, condition) in [
        ("sequence ids of records made numbers", "embeddings", blobs),
        ("watermarks made numbers", "max_seq_id", blobs),
        ("spoiled watermarks decoded", "max_seq_id", spoiled),
    ] {
        if !has_table(connection, table)? {
            continue;
        }
        let count = number(
            connection,
            &format!("SELECT count(*) FROM {table} WHERE {condition}"),
        )?;
        if count > 0 && write {
            connection.execute(
                &format!("UPDATE {table} SET seq_id = sequence_number(seq_id) WHERE {condition}"),
                [],
            )?;
        }
        changes.push(Change::new(what, count));
    }
    Ok(changes)
}

/// A number as the file stores it: an integer, or an 8-byte big-endian blob.
pub(super) fn stored(number: i64, as_blob: bool) -> Value {
    if as_blob {
        Value::Blob(number.to_be_bytes().to_vec())
    } else {
        Value::Integer(number)
    }
}

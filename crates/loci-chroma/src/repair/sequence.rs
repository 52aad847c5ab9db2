//! Converts sequence numbers to integers: blobs of old versions, and numbers that a wrong
//! conversion produced.

use loci_foreign::chroma::SeqId;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use super::database::has_table;
use super::records::number;
use super::report::Change;

/// Registers `sequence_number(value)`, which returns the number that a stored value means, or NULL.
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

/// Converts the values that can be decoded.
pub(super) fn convert(connection: &Connection, write: bool) -> Result<Vec<Change>> {
    let blobs = "typeof(seq_id) = 'blob' AND sequence_number(seq_id) IS NOT NULL";
    let spoiled = "typeof(seq_id) = 'integer' AND sequence_number(seq_id) <> seq_id";
    let mut changes = Vec::new();
    for (what, table, condition) in [
        (
            "sequence ids of records converted to numbers",
            "embeddings",
            blobs,
        ),
        ("watermarks converted to numbers", "max_seq_id", blobs),
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

/// A number as the file stores it, either an integer or an 8-byte big-endian blob.
pub(super) fn stored(number: i64, as_blob: bool) -> Value {
    if as_blob {
        Value::Blob(number.to_be_bytes().to_vec())
    } else {
        Value::Integer(number)
    }
}

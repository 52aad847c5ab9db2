//! Restores the metadata of records that have lost all of it, from the rows of the queue.

use std::collections::HashMap;

use rusqlite::{Connection, Result, params};
use serde_json::{Map, Value};

use super::database::has_table;
use super::plan::{Plan, Work};
use super::report::Change;

const ADD: i64 = 0;
const DELETE: i64 = 3;

/// Restores the metadata that the queue still holds for records without any.
pub(super) fn metadata(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let mut count = 0;
    for table in ["embeddings", "embedding_metadata", "embeddings_queue"] {
        if !has_table(connection, table)? {
            return Ok(Vec::new());
        }
    }
    let lists = has_table(connection, "embedding_metadata_array")?;
    for plan in &work.plans {
        let Some(segment) = &plan.metadata_segment else {
            continue;
        };
        for (row, values) in lost(connection, plan, segment, lists)? {
            count += 1;
            for (key, value) in values.iter().filter(|_| write) {
                insert(connection, row, key, value, lists)?;
            }
        }
    }
    Ok(vec![Change::new(
        "records whose metadata was restored from the queue",
        count,
    )])
}

/// Records without metadata, each with the metadata from the queue.
fn lost(
    connection: &Connection,
    plan: &Plan,
    segment: &str,
    lists: bool,
) -> Result<HashMap<i64, Map<String, Value>>> {
    let unlisted = if lists {
        "AND NOT EXISTS (SELECT 1 FROM embedding_metadata_array AS list WHERE list.id = record.id)"
    } else {
        ""
    };
    let mark = plan.watermark();
    let mut statement = connection.prepare(&format!(
        "SELECT record.id, sequence_number(record.seq_id), queue.seq_id, queue.operation, queue.metadata \
         FROM embeddings_queue AS queue CROSS JOIN embeddings AS record \
         ON record.segment_id = ?1 AND record.embedding_id = queue.id \
         WHERE substr(queue.topic, -length(?2)) = ?2 AND queue.seq_id <= ?3 \
         AND NOT EXISTS (SELECT 1 FROM embedding_metadata AS own WHERE own.id = record.id) {unlisted} \
         ORDER BY queue.seq_id"
    ))?;
    let mut found: HashMap<i64, Map<String, Value>> = HashMap::new();
    let mut rows = statement.query(params![segment, plan.row.id, mark])?;
    while let Some(row) = rows.next()? {
        let (record, last): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        let (number, operation): (i64, i64) = (row.get(2)?, row.get(3)?);
        if operation == DELETE {
            found.remove(&record);
            continue;
        }
        // An add of an existing record had no effect.
        if operation == ADD
            && (found.contains_key(&record) || last.is_some_and(|last| number > last))
        {
            continue;
        }
        let text: Option<String> = row.get(4)?;
        let values: Option<Map<String, Value>> =
            text.and_then(|text| serde_json::from_str(&text).ok());
        found
            .entry(record)
            .or_default()
            .extend(values.unwrap_or_default());
    }
    for values in found.values_mut() {
        values.retain(|_, value| is_storable(value, lists));
    }
    found.retain(|_, values| !values.is_empty());
    Ok(found)
}

fn is_storable(value: &Value, lists: bool) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(values) => {
            lists && !values.is_empty() && values.iter().all(|value| is_storable(value, false))
        }
        Value::Null | Value::Object(_) => false,
    }
}

fn insert(
    connection: &Connection,
    record: i64,
    key: &str,
    value: &Value,
    lists: bool,
) -> Result<()> {
    if let (Value::Array(values), true) = (value, lists) {
        for value in values {
            insert_value(connection, "embedding_metadata_array", record, key, value)?;
        }
        return Ok(());
    }
    insert_value(connection, "embedding_metadata", record, key, value)
}

fn insert_value(
    connection: &Connection,
    table: &str,
    record: i64,
    key: &str,
    value: &Value,
) -> Result<()> {
    let column = match value {
        Value::Bool(_) => "bool_value",
        Value::Number(number) if number.is_i64() => "int_value",
        Value::Number(_) => "float_value",
        Value::String(_) => "string_value",
        Value::Null | Value::Array(_) | Value::Object(_) => return Ok(()),
    };
    let sql = format!("INSERT INTO {table} (id, key, {column}) VALUES (?1, ?2, ?3)");
    let mut statement = connection.prepare_cached(&sql)?;
    match value {
        Value::Bool(flag) => statement.execute(params![record, key, flag])?,
        Value::String(text) => statement.execute(params![record, key, text])?,
        other => match other.as_i64() {
            Some(number) => statement.execute(params![record, key, number])?,
            None => statement.execute(params![record, key, other.as_f64()])?,
        },
    };
    Ok(())
}

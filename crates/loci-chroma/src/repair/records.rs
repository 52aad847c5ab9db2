//! Repairs rows that are out of step with their records: metadata, documents and the full-text
//! index.

use rusqlite::{Connection, Result};

use super::database::has_table;
use super::plan::Work;
use super::report::Change;

const FULL_TEXT: &str = "embedding_fulltext_search";
const FULL_TEXT_SQL: &str =
    "CREATE VIRTUAL TABLE embedding_fulltext_search USING fts5(string_value, tokenize='trigram')";

/// Removes rows of records that are gone. Otherwise the next record with the same number would get
/// them.
pub(super) fn orphans(connection: &Connection, write: bool) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    if !has_table(connection, "embeddings")? {
        return Ok(changes);
    }
    for (what, table) in [
        ("metadata rows of no record removed", "embedding_metadata"),
        (
            "list entries of no record removed",
            "embedding_metadata_array",
        ),
    ] {
        if has_table(connection, table)? {
            let condition =
                format!("FROM {table} WHERE id IS NULL OR id NOT IN (SELECT id FROM embeddings)");
            changes.push(Change::new(
                what,
                number(connection, &format!("SELECT count(*) {condition}"))?,
            ));
            if write {
                connection.execute(&format!("DELETE {condition}"), [])?;
            }
        }
    }
    Ok(changes)
}

/// Restores documents that only the full-text index holds.
pub(super) fn documents(connection: &Connection, write: bool) -> Result<Vec<Change>> {
    let content = format!("{FULL_TEXT}_content");
    for table in ["embeddings", "embedding_metadata", content.as_str()] {
        if !has_table(connection, table)? {
            return Ok(Vec::new());
        }
    }
    let found = format!(
        "FROM {content} AS copy WHERE typeof(copy.c0) = 'text' AND copy.id IN (SELECT id FROM embeddings) \
         AND NOT EXISTS (SELECT 1 FROM embedding_metadata AS own WHERE own.id = copy.id AND own.key = 'chroma:document')"
    );
    let count = number(connection, &format!("SELECT count(*) {found}"))?;
    if write && count > 0 {
        connection.execute(
            &format!(
                "INSERT INTO embedding_metadata (id, key, string_value) SELECT copy.id, 'chroma:document', copy.c0 {found}"
            ),
            [],
        )?;
    }
    Ok(vec![Change::new(
        "documents restored from the full-text index",
        count,
    )])
}

/// Rebuilds the full-text index from the documents if the two differ.
pub(super) fn full_text(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    if !has_table(connection, FULL_TEXT)? || !has_table(connection, "embedding_metadata")? {
        return Ok(Vec::new());
    }
    let wrong = differences(connection)?;
    if wrong == 0 && !work.full_text_damaged {
        return Ok(Vec::new());
    }
    if write {
        connection.execute_batch(&format!("DROP TABLE {FULL_TEXT}"))?;
        make_full_text(connection)?;
    }
    Ok(vec![Change::new(
        "full-text index rebuilt, wrong entries",
        wrong.max(1),
    )])
}

/// Creates and fills the full-text index.
pub(super) fn make_full_text(connection: &Connection) -> Result<()> {
    connection.execute_batch(FULL_TEXT_SQL)?;
    connection.execute(
        &format!(
            "INSERT INTO {FULL_TEXT} (rowid, string_value) SELECT id, string_value FROM embedding_metadata \
             WHERE key = 'chroma:document' AND string_value IS NOT NULL ORDER BY id"
        ),
        [],
    )?;
    Ok(())
}

/// Counts documents that are missing from the index or differ there, and entries without a
/// document. Old versions have empty entries for records without a document.
fn differences(connection: &Connection) -> Result<u64> {
    let content = format!("{FULL_TEXT}_content");
    if !has_table(connection, &content)? {
        return Ok(1);
    }
    let missing = number(
        connection,
        &format!(
            "SELECT count(*) FROM embedding_metadata AS own LEFT JOIN {content} AS copy ON copy.id = own.id \
             WHERE own.key = 'chroma:document' AND own.string_value IS NOT NULL AND copy.c0 IS NOT own.string_value \
             AND own.id IN (SELECT id FROM embeddings)"
        ),
    )?;
    let surplus = number(
        connection,
        &format!(
            "SELECT count(*) FROM {content} AS copy WHERE typeof(copy.c0) = 'text' AND NOT EXISTS (SELECT 1 FROM embedding_metadata AS own \
             WHERE own.id = copy.id AND own.key = 'chroma:document' AND own.string_value IS NOT NULL)"
        ),
    )?;
    Ok(missing + surplus)
}

pub(super) fn number(connection: &Connection, sql: &str) -> Result<u64> {
    connection.query_row(sql, [], |row| Ok(row.get::<_, i64>(0)? as u64))
}

//! Finds records, metadata and full-text rows that do not match. All collections share these
//! tables.

use std::collections::HashSet;

use loci_core::Result;
use loci_core::finding::{Finding, Fix, SAMPLE, Severity, counted};
use loci_salvage::snapshot::{Snapshot, unreadable};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::chroma::directory::{DATABASE, Directory};
use crate::chroma::survey::Survey;

/// Rows without a counterpart, with the first few by name or number.
#[derive(Default)]
struct Strays {
    count: u64,
    names: Vec<Value>,
}

/// Adds the findings.
pub(super) fn check(
    directory: &Directory,
    surveys: &[Survey],
    found: &mut Vec<Finding>,
) -> Result<()> {
    let snapshot = directory.snapshot();
    let failed = |error: rusqlite::Error| unreadable(snapshot.path(), &error);
    let repair = Fix::repair(directory.path());
    if !snapshot.has_table("embedding_metadata") || !snapshot.has_table("embeddings") {
        found.push(
            Finding::new(
                "tables_missing",
                Severity::Error,
                "the tables of records or of metadata are missing",
            )
            .file(DATABASE)
            .then("ChromaDB refuses to open it, or starts with an empty database")
            .fix(Fix::PutBackUpInPlace {
                file: DATABASE.to_owned(),
            }),
        );
        return Ok(());
    }
    // Rows that belong, or may belong, to recovered records have findings of their own.
    let lost = directory.lost_rows()?;
    let mut accounted = lost.restored_rows();
    accounted.extend(lost.candidates.iter().filter_map(|candidate| candidate.row));
    for (table, code) in [
        ("embedding_metadata", "metadata_orphans"),
        ("embedding_metadata_array", "metadata_list_orphans"),
    ] {
        if !snapshot.has_table(table) {
            continue;
        }
        let orphans = strays_but(
            snapshot.connection(),
            &format!("SELECT DISTINCT id FROM {table} WHERE id NOT IN (SELECT id FROM embeddings)"),
            &accounted,
        )
        .map_err(failed)?;
        if orphans.count > 0 {
            found.push(
                Finding::new(
                    code,
                    Severity::Warning,
                    format!(
                        "{} metadata and no record",
                        counted(orphans.count, "row has", "rows have")
                    ),
                )
                .file(DATABASE)
                .with("rows_count", orphans.count)
                .with("rows", orphans.names)
                .then("row numbers are reused, so a new record may get this old metadata")
                .fix(repair.clone()),
            );
        }
    }
    bare(directory, surveys, &repair, found).map_err(failed)?;
    if snapshot.has_table("embedding_fulltext_search_content") {
        full_text(snapshot, &repair, found).map_err(failed)?;
    }
    Ok(())
}

/// Finds records without any metadata row. A text in the full-text index shows that they had some.
fn bare(
    directory: &Directory,
    surveys: &[Survey],
    repair: &Fix,
    found: &mut Vec<Finding>,
) -> rusqlite::Result<()> {
    let snapshot = directory.snapshot();
    let bare =
        "SELECT embedding_id FROM embeddings WHERE id NOT IN (SELECT id FROM embedding_metadata)";
    let texts = "(SELECT id FROM embedding_fulltext_search_content WHERE c0 IS NOT NULL)";
    let (robbed, never) = if snapshot.has_table("embedding_fulltext_search_content") {
        (
            strays(snapshot.connection(), &format!("{bare} AND id IN {texts}"))?,
            strays(
                snapshot.connection(),
                &format!("{bare} AND id NOT IN {texts}"),
            )?,
        )
    } else {
        (Strays::default(), strays(snapshot.connection(), bare)?)
    };
    if robbed.count > 0 {
        found.push(
            Finding::new(
                "metadata_lost",
                Severity::Warning,
                format!(
                    "{} lost all metadata; only the full-text index still has the text",
                    counted(robbed.count, "record has", "records have")
                ),
            )
            .file(DATABASE)
            .with("ids_count", robbed.count)
            .with("ids", robbed.names)
            .then("filters do not find them, and `get` returns neither text nor metadata")
            .fix(repair.clone()),
        );
    }
    let total: u64 = surveys.iter().map(|survey| survey.counts.records).sum();
    if never.count > 0 && never.count < total {
        found.push(
            Finding::new(
                "metadata_missing",
                Severity::Note,
                format!(
                    "{} neither text nor metadata",
                    counted(never.count, "record has", "records have")
                ),
            )
            .file(DATABASE)
            .with("ids_count", never.count)
            .with("ids", never.names)
            .then("filters do not find them; this is correct if they were written that way"),
        );
    }
    Ok(())
}

fn full_text(snapshot: &Snapshot, repair: &Fix, found: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let connection = snapshot.connection();
    let unsearchable = strays(
        connection,
        "SELECT coalesce(e.embedding_id, m.id) FROM embedding_metadata m LEFT JOIN embeddings e ON e.id = m.id \
         WHERE m.key = 'chroma:document' AND m.string_value IS NOT NULL \
         AND m.id NOT IN (SELECT id FROM embedding_fulltext_search_content)",
    )?;
    if unsearchable.count > 0 {
        found.push(
            Finding::new(
                "fulltext_missing",
                Severity::Warning,
                format!(
                    "{} not in the full-text index",
                    counted(unsearchable.count, "text is", "texts are")
                ),
            )
            .file(DATABASE)
            .with("ids_count", unsearchable.count)
            .with("ids", unsearchable.names)
            .then("$contains does not find them")
            .fix(repair.clone()),
        );
    }
    let textless = strays(
        connection,
        "SELECT coalesce(e.embedding_id, c.id) FROM embedding_fulltext_search_content c \
         LEFT JOIN embeddings e ON e.id = c.id WHERE c.c0 IS NOT NULL AND c.id NOT IN \
         (SELECT id FROM embedding_metadata WHERE key = 'chroma:document' AND string_value IS NOT NULL)",
    )?;
    if textless.count > 0 {
        found.push(
            Finding::new(
                "document_missing",
                Severity::Warning,
                format!(
                    "{} only in the full-text index",
                    counted(textless.count, "text is", "texts are")
                ),
            )
            .file(DATABASE)
            .with("ids_count", textless.count)
            .with("ids", textless.names)
            .then("`get` returns no text for them, although a copy exists")
            .fix(repair.clone()),
        );
    }
    Ok(())
}

fn strays(connection: &Connection, query: &str) -> rusqlite::Result<Strays> {
    strays_but(connection, query, &HashSet::new())
}

/// Counts without the numbers that are accounted for elsewhere.
fn strays_but(
    connection: &Connection,
    query: &str,
    accounted: &HashSet<i64>,
) -> rusqlite::Result<Strays> {
    let mut strays = Strays::default();
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if matches!(row.get_ref(0)?, ValueRef::Integer(number) if accounted.contains(&number)) {
            continue;
        }
        strays.count += 1;
        if strays.names.len() < SAMPLE {
            strays.names.push(match row.get_ref(0)? {
                ValueRef::Integer(number) => number.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                _ => Value::Null,
            });
        }
    }
    Ok(strays)
}

//! Records, metadata and full-text rows that do not fit together. These tables serve all collections at once.

use loci_core::Result;
use rusqlite::Connection;

use crate::directory::{DATABASE, Directory};
use crate::finding::{Finding, SAMPLE, Severity};
use crate::snapshot::{Snapshot, unreadable};
use crate::survey::Survey;

/// Rows that have no partner, with the first few of them.
struct Strays {
    count: u64,
    rows: Vec<i64>,
}

/// Adds what is found.
pub(super) fn check(
    directory: &Directory,
    surveys: &[Survey],
    found: &mut Vec<Finding>,
) -> Result<()> {
    let snapshot = directory.snapshot();
    let failed = |error: rusqlite::Error| unreadable(snapshot.path(), &error);
    let repair = format!("loci repair --chroma {}", directory.quoted_path());
    if !snapshot.has_table("embedding_metadata") || !snapshot.has_table("embeddings") {
        found.push(
            Finding::new(
                "tables_missing",
                Severity::Error,
                "the tables of records or of their metadata are missing",
            )
            .file(DATABASE)
            .then("ChromaDB refuses to open it")
            .fix(repair),
        );
        return Ok(());
    }
    for (table, code) in [
        ("embedding_metadata", "metadata_orphans"),
        ("embedding_metadata_array", "metadata_list_orphans"),
    ] {
        if !snapshot.has_table(table) {
            continue;
        }
        let orphans = strays(
            snapshot.connection(),
            &format!("SELECT DISTINCT id FROM {table} WHERE id NOT IN (SELECT id FROM embeddings)"),
        )
        .map_err(failed)?;
        if orphans.count > 0 {
            found.push(
                Finding::new(
                    code,
                    Severity::Warning,
                    format!("{} rows have metadata and no record", orphans.count),
                )
                .file(DATABASE)
                .with("rows_count", orphans.count)
                .with("rows", orphans.rows)
                .then("row numbers are used again: a new record may come up with this old metadata")
                .fix(repair.clone()),
            );
        }
    }
    bare(directory, surveys, found).map_err(failed)?;
    if snapshot.has_table("embedding_fulltext_search_content") {
        full_text(snapshot, &repair, found).map_err(failed)?;
    }
    Ok(())
}

/// Records without any metadata row, in a directory whose other records have some.
fn bare(
    directory: &Directory,
    surveys: &[Survey],
    found: &mut Vec<Finding>,
) -> rusqlite::Result<()> {
    let connection = directory.snapshot().connection();
    let bare = strays(
        connection,
        "SELECT id FROM embeddings WHERE id NOT IN (SELECT id FROM embedding_metadata)",
    )?;
    let total: u64 = surveys.iter().map(|survey| survey.counts.records).sum();
    if bare.count > 0 && bare.count < total {
        found.push(
            Finding::new(
                "metadata_missing",
                Severity::Note,
                format!(
                    "{} of {total} records have neither text nor metadata",
                    bare.count
                ),
            )
            .file(DATABASE)
            .with("rows_count", bare.count)
            .with("rows", bare.rows)
            .then("filters do not find them; that is right only if they were written so"),
        );
    }
    Ok(())
}

fn full_text(snapshot: &Snapshot, repair: &str, found: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let connection = snapshot.connection();
    let unsearchable = strays(
        connection,
        "SELECT id FROM embedding_metadata WHERE key = 'chroma:document' AND string_value IS NOT NULL \
         AND id NOT IN (SELECT id FROM embedding_fulltext_search_content)",
    )?;
    if unsearchable.count > 0 {
        found.push(
            Finding::new(
                "fulltext_missing",
                Severity::Warning,
                format!(
                    "{} texts are not in the full-text index",
                    unsearchable.count
                ),
            )
            .file(DATABASE)
            .with("rows_count", unsearchable.count)
            .with("rows", unsearchable.rows)
            .then("$contains does not find them")
            .fix(repair),
        );
    }
    let textless = strays(
        connection,
        "SELECT id FROM embedding_fulltext_search_content WHERE c0 IS NOT NULL AND id NOT IN \
         (SELECT id FROM embedding_metadata WHERE key = 'chroma:document' AND string_value IS NOT NULL)",
    )?;
    if textless.count > 0 {
        found.push(
            Finding::new(
                "document_missing",
                Severity::Warning,
                format!("{} texts are only in the full-text index", textless.count),
            )
            .file(DATABASE)
            .with("rows_count", textless.count)
            .with("rows", textless.rows)
            .then("get gives no text for them, although a copy is there")
            .fix(repair),
        );
    }
    Ok(())
}

fn strays(connection: &Connection, query: &str) -> rusqlite::Result<Strays> {
    let mut strays = Strays {
        count: 0,
        rows: Vec::new(),
    };
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        strays.count += 1;
        if strays.rows.len() < SAMPLE {
            strays.rows.push(row.get(0).unwrap_or_default());
        }
    }
    Ok(strays)
}

//! The findings about a memtomem database.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use loci_core::finding::{Finding, Severity};
use loci_salvage::Snapshot;

use super::vectors::VectorTable;
use super::{chunks, links};
use crate::{cells, database};

/// All findings.
pub(super) fn of(path: &Path, snapshot: &Snapshot, vectors: &VectorTable) -> Vec<Finding> {
    let mut findings = database::damage(snapshot, "memtomem");
    let seen = Seen::read(snapshot);
    content(&seen, &mut findings);
    vector_rows(&seen, vectors, &mut findings);
    words(snapshot, &seen, &mut findings);
    let dangling = links::dangling(snapshot);
    if !dangling.is_empty() {
        findings.push(
            Finding::new(
                "links_dangling",
                Severity::Note,
                "links name chunks that are missing",
            )
            .list("links", dangling)
            .then("memtomem keeps them until its clean-up of dangling links runs"),
        );
    }
    database::fixed_by_import(path, &mut findings);
    findings
}

/// The results of one pass over the chunks.
#[derive(Default)]
struct Seen {
    rows: HashMap<i64, String>,
    altered: Vec<String>,
    /// Surplus rows of groups that should be a single row.
    duplicates: Vec<String>,
}

impl Seen {
    fn read(snapshot: &Snapshot) -> Self {
        let mut seen = Self::default();
        let wanted = [
            "id",
            "content",
            "content_hash",
            "namespace",
            "source_file",
            "start_line",
        ];
        let columns = cells::list(snapshot, "chunks", &wanted);
        let sql = format!("SELECT t._rowid_ AS number, {columns} FROM chunks t ORDER BY t._rowid_");
        let mut keys = HashSet::new();
        let rows = cells::collect(snapshot, &sql, [], |row| {
            let number = cells::integer(row, "number").unwrap_or_default();
            let id = cells::text(row, "id").unwrap_or_default();
            let hash = cells::text(row, "content_hash");
            let content = cells::text(row, "content").unwrap_or_default();
            if !chunks::agrees(&content, hash.clone()) {
                seen.altered.push(id.clone());
            }
            let key = (
                hash,
                cells::text(row, "namespace"),
                cells::text(row, "source_file"),
                cells::integer(row, "start_line"),
            );
            if !keys.insert(key) {
                seen.duplicates.push(id.clone());
            }
            Some((number, id))
        });
        seen.rows.extend(rows);
        seen
    }
}

fn content(seen: &Seen, findings: &mut Vec<Finding>) {
    if !seen.altered.is_empty() {
        findings.push(
            Finding::new(
                "content_altered",
                Severity::Error,
                "texts differ from their recorded hashes; they are imported and marked `damaged`",
            )
            .list("ids", seen.altered.iter().cloned())
            .then("memtomem does not notice; it answers with the altered text"),
        );
    }
    if !seen.duplicates.is_empty() {
        findings.push(
            Finding::new(
                "duplicates",
                Severity::Warning,
                "chunks of the same place in a file exist more than once",
            )
            .list("ids", seen.duplicates.iter().cloned())
            .then("memtomem returns each of them, or deletes the surplus at its next start"),
        );
    }
}

fn vector_rows(seen: &Seen, vectors: &VectorTable, findings: &mut Vec<Finding>) {
    if vectors.dimension().is_none() {
        findings.push(
            Finding::new(
                "no_vectors",
                Severity::Note,
                "the database was created without vectors",
            )
            .then("memtomem searches it by words only"),
        );
        return;
    }
    let mut missing: Vec<&String> = seen
        .rows
        .iter()
        .filter(|(number, _)| !vectors.has(**number))
        .map(|(_, id)| id)
        .collect();
    missing.sort();
    if !missing.is_empty() {
        findings.push(
            // memtomem itself writes chunks this way if it has no vector for them.
            Finding::new(
                "vectors_missing",
                Severity::Note,
                format!(
                    "{} of {} chunks have no vector",
                    missing.len(),
                    seen.rows.len()
                ),
            )
            .list("ids", missing.into_iter().cloned())
            .then("memtomem finds them by words only"),
        );
    }
    let mut orphaned: Vec<i64> = vectors
        .rows()
        .filter(|number| !seen.rows.contains_key(number))
        .collect();
    orphaned.sort_unstable();
    if !orphaned.is_empty() {
        findings.push(
            Finding::new(
                "vectors_orphaned",
                Severity::Warning,
                "vectors belong to chunks that are missing",
            )
            .list("rows", orphaned)
            .then("they take up places in memtomem's answers"),
        );
    }
    if !vectors.broken.is_empty() {
        findings.push(
            Finding::new(
                "vectors_damaged",
                Severity::Error,
                "blocks of vectors are damaged",
            )
            .list("blocks", vectors.broken.iter().copied())
            .then("memtomem's search by meaning fails"),
        );
    }
}

fn words(snapshot: &Snapshot, seen: &Seen, findings: &mut Vec<Finding>) {
    if !snapshot.has_table("chunks_fts_content") {
        return;
    }
    let sql = "SELECT id FROM chunks_fts_content";
    let indexed = cells::collect(snapshot, sql, [], |row| cells::integer(row, "id"));
    let indexed: HashSet<i64> = indexed.into_iter().collect();
    let mut missing: Vec<&String> = seen
        .rows
        .iter()
        .filter(|(number, _)| !indexed.contains(number))
        .map(|(_, id)| id)
        .collect();
    missing.sort();
    if !missing.is_empty() {
        findings.push(
            Finding::new(
                "words_missing",
                Severity::Warning,
                "chunks are not in the full-text index",
            )
            .list("ids", missing.into_iter().cloned())
            .then("memtomem never finds them by words"),
        );
    }
}

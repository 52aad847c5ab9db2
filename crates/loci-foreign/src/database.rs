//! Findings that apply to every SQLite database.

use std::path::Path;

use loci_core::finding::{Finding, Fix, SAMPLE, Severity};
use loci_salvage::{Access, Snapshot};

/// The findings of SQLite's own check and of the salvage. `program` owns the file.
pub(crate) fn damage(snapshot: &Snapshot, program: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = snapshot.path().file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    if !snapshot.damage().is_empty() {
        let mut finding = Finding::new(
            "database_damaged",
            Severity::Error,
            "SQLite reports damage in the database; it was read page by page",
        )
        .file(name.clone())
        .list("messages", snapshot.damage().iter().cloned())
        .then(format!("{program} fails or returns incomplete answers"));
        if let Access::Salvaged(rebuilt) = snapshot.access() {
            finding = finding
                .with("rows", rebuilt.rows.values().sum::<u64>())
                .with("rows_left", rebuilt.left)
                .list("pages", rebuilt.damages.iter().take(SAMPLE).cloned());
        }
        findings.push(finding);
    }
    if !snapshot.index_damage().is_empty() {
        findings.push(
            Finding::new(
                "words_damaged",
                Severity::Warning,
                "the index of words is damaged",
            )
            .file(name.clone())
            .list("messages", snapshot.index_damage().iter().cloned())
            .then(format!("{program}'s search by words fails or misses texts")),
        );
    }
    if let Access::Copied { companions } = snapshot.access()
        && !companions.is_empty()
    {
        findings.push(
            Finding::new(
                "log_beside",
                Severity::Note,
                "there is a log or journal beside the database; both were read from a private copy",
            )
            .file(name)
            .list("companions", companions.iter().cloned())
            .then(format!(
                "{program} applies it when it opens the database; keep both files together"
            )),
        );
    }
    findings
}

/// Sets import as the fix of every finding that is worse than a note.
pub(crate) fn fixed_by_import(path: &Path, findings: &mut [Finding]) {
    for finding in findings {
        if finding.severity > Severity::Note && finding.fix.is_none() {
            finding.fix = Some(Fix::import(path));
        }
    }
}

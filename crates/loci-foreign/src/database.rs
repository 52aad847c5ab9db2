//! Findings that every SQLite database can give.

use std::path::Path;

use loci_chroma::{Access, Finding, Fix, SAMPLE, Severity, Snapshot};

/// What SQLite's own check and the salvage found. `program` is who owns the file.
pub(crate) fn damage(snapshot: &Snapshot, program: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = snapshot.path().file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    if !snapshot.damage().is_empty() {
        let mut finding = Finding::new(
            "database_damaged",
            Severity::Error,
            "SQLite finds the database damaged; it was read page by page",
        )
        .file(name.clone())
        .list("messages", snapshot.damage().iter().cloned())
        .then(format!("{program} fails or answers with less"));
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
                "a log or journal lies beside the database; a private copy was read with it",
            )
            .file(name)
            .list("companions", companions.iter().cloned())
            .then(format!(
                "{program} takes it in when it opens the database; keep both together"
            )),
        );
    }
    findings
}

/// Importing repairs everything that is worse than a note.
pub(crate) fn fixed_by_import(path: &Path, findings: &mut [Finding]) {
    for finding in findings {
        if finding.severity > Severity::Note && finding.fix.is_none() {
            finding.fix = Some(Fix::import(path));
        }
    }
}

//! ChromaDB directories that are repaired in place, for users who keep using ChromaDB.

mod models;

use std::path::Path;

pub use loci_chroma::{
    Change, CollectionRepair, QuarantineOptions, QuarantineReport, Quarantined, RenamedDirectory,
    RepairOptions, RepairReport, quarantine, require_directory,
};
use loci_core::Result;
use loci_core::finding::Finding;
use loci_foreign::Kind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnosis::diagnose;
use crate::{ForeignFinding, Severity};

/// The result of repairing a ChromaDB directory, and the problems that remain.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RepairAnswer {
    /// The report of the repair.
    #[serde(flatten)]
    pub report: RepairReport,
    /// The remaining problems, without notes. Empty in a dry run that would change something.
    pub remaining: Vec<ForeignFinding>,
}

impl RepairAnswer {
    /// Diagnoses the directory again.
    pub(crate) fn of(report: RepairReport) -> Self {
        let found = match (report.changed, report.dry_run) {
            (true, true) => Vec::new(),
            (false, _) => report.findings.clone(),
            (true, false) => match diagnose(&report.path, Some(Kind::Chroma)) {
                Ok(diagnosis) => diagnosis.findings,
                Err(error) => vec![Finding::new(
                    "unreadable",
                    Severity::Error,
                    error.to_string(),
                )],
            },
        };
        let is_wrong = |finding: &Finding| finding.severity > Severity::Note;
        Self {
            remaining: found.into_iter().filter(is_wrong).collect(),
            report,
        }
    }

    /// Whether every record has its vector and its metadata.
    pub fn has_all_records(&self) -> bool {
        self.report.collections.iter().all(|of| {
            of.needs_embedding.is_empty() && of.lost.is_empty() && of.metadata_lost.is_empty()
        }) && self.report.candidates == 0
    }

    /// Whether no problem remains.
    pub fn ok(&self) -> bool {
        self.has_all_records() && self.remaining.is_empty()
    }
}

/// Repairs a ChromaDB directory without embedding anything.
pub fn repair(path: &Path, options: &RepairOptions) -> Result<RepairAnswer> {
    loci_chroma::repair(path, options).map(RepairAnswer::of)
}

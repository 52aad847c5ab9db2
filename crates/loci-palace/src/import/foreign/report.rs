//! The report of an import of a foreign palace: numbers, hashes and names.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::Warning;
use loci_core::finding::{Finding, FindingCode, Severity};
use loci_foreign::{ForeignPalace, Kind, VectorOrigin};
use schemars::JsonSchema;
use serde::Serialize;

use crate::secrets::Tally;

/// The maximum number of ids in a list of the report. The count beside it is exact. Losses are
/// always listed completely.
pub(super) const LISTED: usize = 1_000;

/// How many findings the warning about a damaged source names.
const NAMED_FINDINGS: usize = 3;

/// Findings that mean that data is missing or uncertain. All others affect only the program that
/// owns the files.
const LOSSES: [FindingCode; 35] = [
    FindingCode::CheckpointAltered,
    FindingCode::CheckpointDamaged,
    FindingCode::CollectionLost,
    FindingCode::CompanionDamaged,
    FindingCode::ContentAltered,
    FindingCode::DataShort,
    FindingCode::DatabaseDamaged,
    FindingCode::DocumentMissing,
    FindingCode::DocumentsOrphaned,
    FindingCode::GraphDamaged,
    FindingCode::IndexForeign,
    FindingCode::IndexMissing,
    FindingCode::LabelsUnknown,
    FindingCode::LengthShort,
    FindingCode::MetadataDamaged,
    FindingCode::MetadataLost,
    FindingCode::OrderContradicted,
    FindingCode::PickleDamaged,
    FindingCode::PickleDisputed,
    FindingCode::PickleMissing,
    FindingCode::QueueGap,
    FindingCode::QueueUnreadable,
    FindingCode::RecordsLost,
    FindingCode::RowsUncertain,
    FindingCode::SegmentDamaged,
    FindingCode::SegmentsOnly,
    FindingCode::SqliteDamaged,
    FindingCode::TablesMissing,
    FindingCode::TunnelsDamaged,
    FindingCode::TwoWriters,
    FindingCode::VectorsDamaged,
    FindingCode::VectorsLost,
    FindingCode::WalDamaged,
    FindingCode::WalMissing,
    FindingCode::WalTailCut,
];

/// The phase of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Records are read and written.
    Records,
    /// Written drawers are read back and compared.
    Proof,
    /// Facts are read and written.
    Facts,
    /// Links are read and written.
    Links,
}

/// The progress of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportProgress<'a> {
    /// The current phase.
    pub phase: Phase,
    /// The source collection; empty for facts and links.
    pub collection: &'a str,
    /// The number of items done.
    pub done: u64,
    /// The total number of items, as far as it is known.
    pub total: u64,
}

/// The result of an import of a foreign palace.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The kind of the source.
    pub source: Kind,
    /// The program and version that wrote it, as far as its files show.
    pub writer: String,
    /// The path of the source.
    pub path: String,
    /// Whether this was a dry run, which writes nothing.
    pub dry_run: bool,
    /// The number of problems of the source.
    pub findings: FindingCounts,
    /// The collections.
    pub collections: Vec<ImportedCollection>,
    /// Facts.
    pub facts: RelationsReport,
    /// Links.
    pub links: RelationsReport,
    /// Everything that existed in the source and was not imported, with the reasons.
    pub lost: Vec<LostPiece>,
    /// Fields and tables that have no place in Loci, with their number of occurrences.
    pub unmapped: BTreeMap<String, u64>,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
    /// The number of lines in the file of candidates: texts that may belong to records whose id is
    /// lost, and ids of uncertain text.
    pub candidates: u64,
    /// The number of candidates that are a row without an id. Each was one record.
    pub candidate_texts: u64,
    /// The JSON Lines file with the candidates.
    pub candidates_file: Option<String>,
}

/// Findings by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingCounts {
    /// Worth knowing.
    pub note: u64,
    /// Answers are or will be wrong or incomplete.
    pub warning: u64,
    /// The program that owns the files refuses them, crashes or loses data.
    pub error: u64,
}

/// The result for one collection. `added + updated + known + forgotten + failed` is `records`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportedCollection {
    /// Its name in the source.
    pub name: String,
    /// Its name in this palace.
    pub target: String,
    /// Records that were read.
    pub records: u64,
    /// New drawers.
    pub added: u64,
    /// Records whose drawer already existed.
    pub known: u64,
    /// Drawers changed.
    pub updated: u64,
    /// Records that were skipped because their text was forgotten in this palace.
    pub forgotten: u64,
    /// Records that could not be read or were refused. `lost` names each.
    pub failed: u64,
    /// Records with the same text and place as another. Each becomes a separate drawer with its own
    /// `part`.
    pub twins: u64,
    /// Records whose text is too long for one drawer. Each became several drawers, which `records`
    /// counts.
    pub split: u64,
    /// Records that were added under a new id because theirs was taken.
    pub renamed: u64,
    /// Vectors in the source, by origin.
    pub vectors: BTreeMap<&'static str, u64>,
    /// Vectors in the source that do not fit the collection.
    pub vectors_not_taken: u64,
    /// Drawers that the collection's own embedder embedded again.
    pub re_embedded: u64,
    /// The ids of the first of them.
    pub re_embedded_ids: Vec<String>,
    /// Drawers that have a vector of the built-in table until `loci reembed`.
    pub stand_in: u64,
    /// The ids of the first of them.
    pub stand_in_ids: Vec<String>,
    /// Drawers without a vector. They are found by words only.
    pub without_vector: u64,
    /// The ids of the first of them.
    pub without_vector_ids: Vec<String>,
    /// The sum of the hashes of what was read: id, text, metadata and, if it was imported, the
    /// vector. It does not depend on the order.
    pub digest_source: String,
    /// The same sum for the drawers with these ids; absent in a dry run, and if there are none.
    pub digest_palace: Option<String>,
    /// Whether both sums agree; absent in a dry run, and if nothing was compared.
    pub verified: Option<bool>,
    /// Drawers that differ from what was read: existing ones that were left alone, and `broken`
    /// ones.
    pub differing: u64,
    /// The number of differing drawers that this run wrote.
    pub broken: u64,
    /// The ids of the first differing drawers.
    pub differing_ids: Vec<String>,
}

/// The result for facts or links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RelationsReport {
    /// The number read.
    pub read: u64,
    /// The number of new ones.
    pub added: u64,
    /// The number that already existed.
    pub known: u64,
    /// The number skipped because the text of their drawer was forgotten in this palace.
    pub forgotten: u64,
    /// The number refused. `lost` names each.
    pub failed: u64,
}

/// An item of the source that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostPiece {
    /// The source collection, or `facts` or `links`.
    pub of: String,
    /// Its id, if it is known.
    pub id: Option<String>,
    /// Why it was not imported.
    pub reason: String,
}

impl Answer {
    pub(super) fn of(source: &dyn ForeignPalace, dry_run: bool) -> Self {
        let mut findings = FindingCounts::default();
        for finding in source.findings() {
            match finding.severity {
                Severity::Note => findings.note += 1,
                Severity::Warning => findings.warning += 1,
                Severity::Error => findings.error += 1,
            }
        }
        let warnings = damage(source).into_iter().collect();
        Self {
            source: source.kind(),
            writer: source.writer(),
            path: loci_core::path_text(source.path()),
            dry_run,
            findings,
            collections: Vec::new(),
            facts: RelationsReport::default(),
            links: RelationsReport::default(),
            lost: Vec::new(),
            unmapped: BTreeMap::new(),
            warnings,
            masked: Tally::new(),
            candidates: 0,
            candidate_texts: 0,
            candidates_file: None,
        }
    }

    /// Whether nothing was lost and everything that this run wrote matches what it read.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty()
            && self.candidates == 0
            && self.collections.iter().all(|of| of.broken == 0)
    }

    /// Reports records that belong to no collection. They are imported under an invented name.
    pub(super) fn lose_names(&mut self, findings: &[Finding]) {
        let lost = findings
            .iter()
            .filter(|of| of.code == FindingCode::CollectionLost);
        for name in lost.filter_map(|finding| finding.collection.as_deref()) {
            let came = self.collections.iter();
            if came.filter(|of| of.name == name).any(|of| of.records > 0) {
                self.lose(
                    name,
                    None,
                    "it is not certain which collection its records belong to; they are under this name",
                );
            }
        }
    }

    /// Reports a total loss if the source is damaged and gave no record.
    pub(super) fn lose_all_if_nothing_was_read(&mut self) {
        let read = self.collections.iter().any(|of| of.records > 0);
        if !read && self.findings.error > 0 && self.lost.is_empty() {
            self.lose("records", None, "no record could be read");
        }
    }

    /// Whether this run wrote nothing new.
    pub fn added_nothing(&self) -> bool {
        let relations = self.facts.added + self.links.added;
        let drawers: u64 = self
            .collections
            .iter()
            .map(|collection| collection.added + collection.updated)
            .sum();
        relations + drawers == 0
    }

    pub(super) fn lose(&mut self, of: &str, id: Option<String>, reason: impl Into<String>) {
        self.lost.push(LostPiece {
            of: of.to_owned(),
            id,
            reason: reason.into(),
        });
    }

    pub(super) fn leave_out(&mut self, field: impl Into<String>, count: u64) {
        *self.unmapped.entry(field.into()).or_default() += count;
    }

    /// Adds a warning, once.
    pub(super) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// A warning that the source is damaged, so that some of its data may be missing.
fn damage(source: &dyn ForeignPalace) -> Option<Warning> {
    let mut findings: Vec<&Finding> = source
        .findings()
        .iter()
        .filter(|finding| finding.severity > Severity::Note && LOSSES.contains(&finding.code))
        .collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let more = findings.len().saturating_sub(NAMED_FINDINGS);
    let named = findings.iter().take(NAMED_FINDINGS);
    (!findings.is_empty()).then(|| Warning::SourceDamaged {
        path: source.path().to_owned(),
        findings: named.map(|finding| finding.message.clone()).collect(),
        more,
    })
}

/// The stable name of an origin.
pub(super) fn origin_name(origin: VectorOrigin) -> &'static str {
    match origin {
        VectorOrigin::Exact => "exact",
        VectorOrigin::Scaled => "scaled",
        VectorOrigin::Direction => "direction",
        VectorOrigin::Quarantined => "set_aside",
        VectorOrigin::Missing => "missing",
    }
}

/// Counts an id and lists it, up to a limit.
pub(super) fn count(count: &mut u64, ids: &mut Vec<String>, limit: usize, id: &str) {
    *count += 1;
    if ids.len() < limit {
        ids.push(id.to_owned());
    }
}

//! What an import of a foreign palace did, in numbers, hashes and names.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_chroma::{Finding, FindingCode, Severity};
use loci_core::Warning;
use loci_foreign::{ForeignPalace, Kind, VectorOrigin};
use schemars::JsonSchema;
use serde::Serialize;

use crate::secrets::Tally;

/// Ids in a list of the report at most; the count beside it is exact. Losses are always listed whole.
pub(super) const LISTED: usize = 1_000;

/// Findings that the warning about a damaged source names.
const NAMED_FINDINGS: usize = 3;

/// Findings after which less comes than was there, or not all of it is sure. The others are troubles of the program that owns the
/// files alone.
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

/// What an import is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Records are read and written.
    Records,
    /// What was written is read back and compared.
    Proof,
    /// Facts are read and written.
    Facts,
    /// Links are read and written.
    Links,
}

/// How far an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportProgress<'a> {
    /// What it is doing.
    pub phase: Phase,
    /// The collection there; empty for facts and links.
    pub collection: &'a str,
    /// How many are done.
    pub done: u64,
    /// How many there are, as far as known.
    pub total: u64,
}

/// What an import of a foreign palace did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Whose palace it was.
    pub source: Kind,
    /// The program and version that wrote it, as far as its files tell.
    pub writer: String,
    /// Where it is.
    pub path: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// What is wrong with the source, counted.
    pub findings: FindingCounts,
    /// Each collection.
    pub collections: Vec<ImportedCollection>,
    /// Facts.
    pub facts: RelationsReport,
    /// Links.
    pub links: RelationsReport,
    /// Everything that is known to have been there and is not here, each with its reason.
    pub lost: Vec<LostPiece>,
    /// Fields and tables that have no place here, with how often they occur.
    pub unmapped: BTreeMap<String, u64>,
    /// What else is to be known.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked in what was read, by kind.
    pub masked: Tally,
    /// Lines in the file of candidates: texts that may belong to records whose id is lost, and ids whose text is not certain.
    pub candidates: u64,
    /// Those of them that are a row without an id. Each is one record that was there.
    pub candidate_texts: u64,
    /// The file of JSON lines that they were written to.
    pub candidates_file: Option<String>,
}

/// Findings by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingCounts {
    /// Worth knowing.
    pub note: u64,
    /// Answers are or will be wrong or incomplete.
    pub warning: u64,
    /// The owning program refuses, crashes or loses data.
    pub error: u64,
}

/// What became of one collection. `added + updated + known + forgotten + failed` is `records`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportedCollection {
    /// Its name there.
    pub name: String,
    /// Its name here.
    pub target: String,
    /// Records that were read.
    pub records: u64,
    /// New drawers.
    pub added: u64,
    /// Records whose drawer was there.
    pub known: u64,
    /// Drawers changed.
    pub updated: u64,
    /// Records left out because their text was forgotten here.
    pub forgotten: u64,
    /// Records that could not be read or were refused; `lost` names each.
    pub failed: u64,
    /// Records that say the same as another from the same place; each is a drawer of its own, told apart by its `part`.
    pub twins: u64,
    /// Records whose text is longer than a drawer's may be: each became several drawers, which `records` counts.
    pub split: u64,
    /// Records that were added under a new id because theirs was taken.
    pub renamed: u64,
    /// Vectors there, by origin.
    pub vectors: BTreeMap<&'static str, u64>,
    /// Vectors that were there and do not fit the collection here.
    pub vectors_not_taken: u64,
    /// Drawers whose vector was made anew by the collection's own embedder.
    pub re_embedded: u64,
    /// The first of them.
    pub re_embedded_ids: Vec<String>,
    /// Drawers that the built-in table stands in for until `loci reembed`.
    pub stand_in: u64,
    /// The first of them.
    pub stand_in_ids: Vec<String>,
    /// Drawers that have no vector: they are found by words.
    pub without_vector: u64,
    /// The first of them.
    pub without_vector_ids: Vec<String>,
    /// Sum of the hashes of what was read: id, text, metadata and, where it was taken, vector. Order does not matter.
    pub digest_source: String,
    /// The same of what the palace holds under these ids; absent in a dry run.
    pub digest_palace: Option<String>,
    /// Whether both agree; absent in a dry run.
    pub verified: Option<bool>,
    /// Drawers that differ from what was read: those that were there and were left alone, and `broken` ones.
    pub differing: u64,
    /// Of them, those that this run wrote.
    pub broken: u64,
    /// The first of them.
    pub differing_ids: Vec<String>,
}

/// What became of facts or links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RelationsReport {
    /// Read.
    pub read: u64,
    /// New.
    pub added: u64,
    /// There already.
    pub known: u64,
    /// Left out because the text of their drawer was forgotten here.
    pub forgotten: u64,
    /// Refused; `lost` names each.
    pub failed: u64,
}

/// Something that was there and is not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostPiece {
    /// The collection there, or `facts` or `links`.
    pub of: String,
    /// Its id, where that is known.
    pub id: Option<String>,
    /// Why.
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

    /// Whether nothing was lost and what this run wrote is what it read.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty()
            && self.candidates == 0
            && self.collections.iter().all(|of| of.broken == 0)
    }

    /// Records that belong to no collection any more are here, under a name that was made up.
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
                    "which collection its records belong to is not certain; they are under this name",
                );
            }
        }
    }

    /// A source that is damaged and gave no record has lost them all.
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

    /// Says something once.
    pub(super) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// Says that the source is damaged: what was read from it is here, what was in it may not be.
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

/// Stable name of an origin.
pub(super) fn origin_name(origin: VectorOrigin) -> &'static str {
    match origin {
        VectorOrigin::Exact => "exact",
        VectorOrigin::Scaled => "scaled",
        VectorOrigin::Direction => "direction",
        VectorOrigin::SetAside => "set_aside",
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

//! Decides from the files alone what each collection needs.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use loci_core::Result;
use loci_core::finding::{Finding, FindingCode, Severity, counted};
use loci_foreign::chroma::{CollectionRow, Directory, LiveRecord, Origin, SeqId, Survey};
use loci_salvage::Access;

use super::models::Models;
use super::report::{CollectionRepair, RepairReport};
use super::spool::Spool;

/// Findings about a collection that a new index does not fix.
const NOT_OF_THE_INDEX: [FindingCode; 13] = [
    FindingCode::DimensionNull,
    FindingCode::DimensionWrong,
    FindingCode::IndexMissing,
    FindingCode::MetricForgotten,
    FindingCode::QueueGap,
    FindingCode::QueueNullDocument,
    FindingCode::QueueOperation,
    FindingCode::RowsMissing,
    FindingCode::RowsUncertain,
    FindingCode::SeqIdBeyond,
    FindingCode::SeqIdBlob,
    FindingCode::SeqIdMissing,
    FindingCode::SeqIdPoisoned,
];
/// Findings that a new index fixes only if the vectors can be found.
const OF_MISSING_VECTORS: [FindingCode; 5] = [
    FindingCode::IndexStale,
    FindingCode::LabelsMissing,
    FindingCode::SegmentRowMissing,
    FindingCode::VectorsLost,
    FindingCode::VectorsUnreachable,
];

/// Index files are ahead of their labels. ChromaDB applies the queue again and loses ids that were
/// deleted and then added again.
const INTERRUPTED: FindingCode = FindingCode::LabelsUnknown;

/// The collections whose vectors are written into the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice<'a> {
    /// Collections whose index does not serve what the files hold. Records without a vector are
    /// embedded by their model, or moved into a file.
    Damaged(&'a Models),
    /// Collections whose index is in one of these directories. Nothing else is repaired.
    Segments(&'a [String]),
}

/// Everything to write, independent of the files that it was read from.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) path: PathBuf,
    pub(crate) plans: Vec<Plan>,
    /// Whether sequence numbers are 8-byte blobs that ChromaDB will convert itself.
    pub(super) blob_ids_pending: bool,
    pub(super) full_text_damaged: bool,
    /// No write ever got a number above this one.
    pub(super) highest_credible: i64,
    /// Whether vectors are written back and nothing else is repaired.
    pub(super) only_vectors: bool,
}

/// The plan for one collection.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) row: CollectionRow,
    /// The position among the collections of the directory.
    pub(super) index: usize,
    pub(crate) live: Vec<LiveRecord>,
    /// Positions in `live` of the records without a vector. They are moved into a file.
    pub(super) moved: Vec<usize>,
    /// How far the records have consumed the queue, according to the survey.
    pub(super) mark: u64,
    /// How far the index files have consumed it.
    pub(super) vector_watermark: Option<u64>,
    /// The actual length of the vectors.
    pub(super) dimension: Option<usize>,
    /// The segment of the records, even if the catalog has lost it.
    pub(super) metadata_segment: Option<String>,
    /// Whether a watermark is missing without which ChromaDB 0.6 cannot load the index.
    pub(super) watermark_missing: bool,
    /// Whether ChromaDB would use another metric than the metadata names.
    pub(super) metric_forgotten: bool,
    /// Vectors to write into the queue. Afterwards the segment is quarantined.
    pub(super) spool: Option<Spool>,
    pub(crate) outcome: CollectionRepair,
}

impl Work {
    pub(crate) fn prepare(
        directory: &Directory,
        surveys: Vec<Survey>,
        choice: Choice<'_>,
    ) -> Result<Self> {
        let plans = directory
            .collections()
            .iter()
            .zip(surveys)
            .enumerate()
            // A collection that is lost from the catalog has no row to write back to.
            .filter(|(_, (row, _))| !row.lost)
            .map(|(index, (row, survey))| Plan::prepare(directory, (index, row), survey, choice))
            .collect::<Result<_>>()?;
        Ok(Self {
            path: directory.path().to_owned(),
            plans,
            blob_ids_pending: directory.version().blob_ids_pending(),
            full_text_damaged: !directory.snapshot().index_damage().is_empty(),
            highest_credible: i64::try_from(directory.highest_credible()).unwrap_or(i64::MAX),
            only_vectors: matches!(choice, Choice::Segments(_)),
        })
    }

    /// A message about the records that stay without a vector.
    fn without_vectors(&self) -> Option<String> {
        let count: usize = self
            .plans
            .iter()
            .map(|plan| plan.outcome.needs_embedding.len() - plan.moved.len())
            .sum();
        (count > 0).then(|| {
            format!(
                "{} still without a vector, because the index files cannot be read",
                counted(count as u64, "record is", "records are")
            )
        })
    }

    pub(super) fn report(&self, findings: Vec<Finding>, dry_run: bool) -> RepairReport {
        let notes = self.blob_ids_pending.then(|| {
            "sequence ids are stored as blobs; ChromaDB converts them when it next opens the directory".to_owned()
        });
        RepairReport {
            path: self.path.clone(),
            dry_run,
            findings,
            collections: self.plans.iter().map(|plan| plan.outcome.clone()).collect(),
            notes: notes.into_iter().chain(self.without_vectors()).collect(),
            ..RepairReport::default()
        }
    }
}

impl Plan {
    fn prepare(
        directory: &Directory,
        (index, row): (usize, &CollectionRow),
        survey: Survey,
        choice: Choice<'_>,
    ) -> Result<Self> {
        let path = directory.path();
        let chosen = match choice {
            // The index must not name records that are moved, and must include those that are
            // embedded.
            Choice::Damaged(models) => {
                let needs_index = models.has(index) || !is_written_back(path, row, &survey);
                is_damaged(path, row, &survey) || survey.counts.missing > 0 && needs_index
            }
            Choice::Segments(names) => row
                .vector_segment
                .as_ref()
                .is_some_and(|segment| names.contains(segment)),
        };
        let made = match choice {
            Choice::Damaged(models) if chosen => models.embed(directory, index, &survey)?,
            Choice::Damaged(_) | Choice::Segments(_) => HashMap::new(),
        };
        let spool = if chosen {
            Some(Spool::fill(directory, &survey, row.metric, &made)?)
        } else {
            None
        };
        let (mut outcome, without) = outcome(row, &survey, spool.as_ref());
        // Vectors in files that cannot be read are not counted as lost.
        let readable = survey
            .findings
            .iter()
            .all(|finding| finding.code != FindingCode::IndexUnreadable);
        let moved = match choice {
            Choice::Damaged(_) if readable => without,
            Choice::Damaged(_) | Choice::Segments(_) => Vec::new(),
        };
        outcome.moved = moved.len() as u64;
        if matches!(choice, Choice::Damaged(_)) {
            outcome.metadata_lost = directory.without_metadata(index, &survey)?;
        }
        let has = |code| survey.findings.iter().any(|finding| finding.code == code);
        let gone = survey.ghosts.clone();
        if matches!(directory.snapshot().access(), Access::Salvaged(_)) {
            outcome.lost = gone;
        } else {
            outcome.ghosts = gone;
        }
        Ok(Self {
            row: row.clone(),
            index,
            moved,
            mark: survey.metadata_watermark,
            vector_watermark: survey.vector_watermark,
            dimension: survey.dimension,
            metadata_segment: survey.metadata_segment,
            watermark_missing: has(FindingCode::SeqIdMissing),
            metric_forgotten: has(FindingCode::MetricForgotten),
            live: survey.live,
            spool,
            outcome,
        })
    }

    /// How far the records have consumed the queue, as a number that SQLite can store.
    pub(super) fn watermark(&self) -> i64 {
        i64::try_from(self.mark).unwrap_or(0)
    }

    /// The records that are moved into a file.
    pub(super) fn moved(&self) -> impl Iterator<Item = &LiveRecord> {
        self.moved
            .iter()
            .filter_map(|position| self.live.get(*position))
    }

    /// The segment directory that ChromaDB must not load again.
    pub(crate) fn directory_to_rename(&self) -> Option<&str> {
        self.spool.as_ref()?;
        self.row.vector_segment.as_deref()
    }
}

/// Whether writing the vectors back makes more of them reachable for ChromaDB.
pub(crate) fn is_damaged(path: &Path, row: &CollectionRow, survey: &Survey) -> bool {
    if is_written_back(path, row, survey) {
        return false;
    }
    let broken = survey.findings.iter().any(|finding| {
        finding.code == INTERRUPTED
            || finding.severity > Severity::Note
                && !NOT_OF_THE_INDEX.contains(&finding.code)
                && !OF_MISSING_VECTORS.contains(&finding.code)
    });
    let unreachable: HashSet<&str> = survey.unreachable.iter().map(String::as_str).collect();
    broken
        || survey.live.iter().any(|live| match live.origin {
            Origin::Sibling { .. } => true,
            Origin::Queue(_) | Origin::Segment { .. } => unreachable.contains(live.id.as_str()),
            Origin::Missing => false,
        })
}

/// Whether the collection is in the state that a repair leaves: no index, no watermark for it, and
/// every available vector in the queue. Writing the same again fixes none of the remaining
/// findings.
fn is_written_back(path: &Path, row: &CollectionRow, survey: &Survey) -> bool {
    let has_index = row
        .vector_segment
        .as_ref()
        .is_none_or(|segment| path.join(segment).exists());
    let marked = row.vector_seq.as_ref().and_then(SeqId::value) > Some(0);
    let elsewhere = survey
        .live
        .iter()
        .any(|live| !matches!(live.origin, Origin::Queue(_) | Origin::Missing));
    !has_index && !marked && !elsewhere && survey.ghosts.is_empty()
}

/// The report about the vectors, and the positions of the records without one.
fn outcome(
    row: &CollectionRow,
    survey: &Survey,
    spool: Option<&Spool>,
) -> (CollectionRepair, Vec<usize>) {
    let taken: Option<HashSet<usize>> = spool.map(|spool| spool.records.iter().copied().collect());
    let mut outcome = CollectionRepair {
        name: row.name.clone(),
        records: survey.live.len() as u64,
        written_back: spool.is_some(),
        ..CollectionRepair::default()
    };
    let mut without = Vec::new();
    for (position, live) in survey.live.iter().enumerate() {
        outcome.restored += u64::from(live.restored.is_some());
        let left_out = live.is_stored()
            && taken
                .as_ref()
                .is_some_and(|taken| !taken.contains(&position));
        match live.origin {
            Origin::Missing
                if taken
                    .as_ref()
                    .is_some_and(|taken| taken.contains(&position)) =>
            {
                outcome.embedded += 1;
            }
            Origin::Segment { .. } if !left_out => outcome.from_segment += 1,
            Origin::Queue(_) if !left_out => outcome.from_queue += 1,
            Origin::Sibling { .. } if !left_out => outcome.from_siblings += 1,
            Origin::Segment { .. }
            | Origin::Queue(_)
            | Origin::Sibling { .. }
            | Origin::Missing => {
                outcome.needs_embedding.push(live.id.clone());
                without.push(position);
            }
        }
    }
    (outcome, without)
}

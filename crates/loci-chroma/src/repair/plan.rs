//! What each collection needs, decided from the files alone.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use loci_core::Result;

use super::models::Models;
use super::report::{CollectionRepair, RepairReport};
use super::spool::Spool;
use crate::catalog::CollectionRow;
use crate::directory::Directory;
use crate::finding::{Finding, FindingCode, Severity, counted};
use crate::seq::SeqId;
use crate::snapshot::Access;
use crate::survey::{Live, Origin, Survey};

/// Findings about a collection that a new index does not mend.
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
/// Findings that a new index mends only as far as vectors can be found.
const OF_MISSING_VECTORS: [FindingCode; 5] = [
    FindingCode::IndexStale,
    FindingCode::LabelsMissing,
    FindingCode::SegmentRowMissing,
    FindingCode::VectorsLost,
    FindingCode::VectorsUnreachable,
];

/// Index files ahead of their labels. ChromaDB applies the queue again, which loses ids that were deleted and added again.
const INTERRUPTED: FindingCode = FindingCode::LabelsUnknown;

/// Which collections have their vectors written into the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice<'a> {
    /// Those whose index does not serve what the files hold. Records without a vector get one from their model, or are moved into a file.
    Damaged(&'a Models),
    /// Those whose index lies in one of these directories, and nothing else is mended.
    Segments(&'a [String]),
}

/// Everything that is to be written, independent of the files it was read from.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) path: PathBuf,
    pub(crate) plans: Vec<Plan>,
    /// Sequence numbers are still 8-byte blobs, and ChromaDB will convert them itself.
    pub(super) blob_ids_pending: bool,
    pub(super) full_text_damaged: bool,
    /// A number above this was never given to a write.
    pub(super) highest_credible: i64,
    /// Nothing but the write-back is done.
    pub(super) only_vectors: bool,
}

/// One collection.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) row: CollectionRow,
    /// Its place among the collections of the directory.
    pub(super) index: usize,
    pub(crate) live: Vec<Live>,
    /// Positions in `live` of records without a vector that are moved into a file.
    pub(super) moved: Vec<usize>,
    /// Up to where the records have taken the queue over, as the survey has it.
    pub(super) mark: u64,
    /// Up to where the index files have.
    pub(super) vector_watermark: Option<u64>,
    /// The length that its vectors really have.
    pub(super) dimension: Option<usize>,
    /// The segment of its records, also where the catalog has lost it.
    pub(super) metadata_segment: Option<String>,
    /// ChromaDB 0.6 cannot load the index without a watermark that is gone.
    pub(super) watermark_missing: bool,
    /// ChromaDB would measure distances otherwise than the metadata says.
    pub(super) metric_forgotten: bool,
    /// Vectors to write into the queue; then the segment is set aside.
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
            // What the catalog has lost has no place there to be written back to.
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

    /// Says which records stay without a vector.
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
            "sequence ids are blobs and stay so: ChromaDB converts them itself when it next opens the directory".to_owned()
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
            // An index must not name records that are moved away, and must get those that are embedded.
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
        // Vectors that are there and cannot be read are not lost.
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

    /// Up to where the records have taken the queue over, as the database holds numbers.
    pub(super) fn watermark(&self) -> i64 {
        i64::try_from(self.mark).unwrap_or(0)
    }

    /// Records that are moved into a file.
    pub(super) fn moved(&self) -> impl Iterator<Item = &Live> {
        self.moved
            .iter()
            .filter_map(|position| self.live.get(*position))
    }

    /// The segment directory that ChromaDB must not see again.
    pub(crate) fn directory_to_rename(&self) -> Option<&str> {
        self.spool.as_ref()?;
        self.row.vector_segment.as_deref()
    }
}

/// Whether writing the vectors back gives ChromaDB more, or anything at all.
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

/// The state that a repair leaves: no index, no watermark of it, and every vector there is in the queue.
/// Whatever is still said against it, writing the same again mends nothing.
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

/// What became of the vectors, and the positions of the records without one.
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

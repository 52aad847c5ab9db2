//! Surveys one collection: which records it has, where the vector of each is, and whether
//! ChromaDB's index agrees.
//!
//! The verdict compares two sets: the index at its watermark plus newer queue entries, and the
//! records at their watermark. File times are not used.

mod checks;
pub(crate) mod files;
mod foreign;
mod labels;
pub(crate) mod live;
mod replay;
mod siblings;

use std::collections::{HashMap, HashSet};

use loci_core::Result;
use loci_core::finding::{Finding, Severity};
use loci_salvage::snapshot::unreadable;
use serde::Serialize;

use crate::chroma::catalog::CollectionRow;
use crate::chroma::directory::Directory;
use crate::chroma::hnsw::{Segment, VectorState};
use crate::chroma::lost_rows::Evidence;
use crate::chroma::queue;
use crate::chroma::seq::SeqId;
use files::IndexFiles;

/// Where the vector of a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// In the queue, in its original form.
    Queue(u64),
    /// In the index files of the collection. Its length is known unless `direction` is set.
    Segment {
        /// The number of the element.
        element: u32,
        /// Whether only the direction is known.
        direction: bool,
    },
    /// In quarantined index files.
    Sibling {
        /// The position in [`Survey::siblings`].
        directory: u32,
        /// The number of the element.
        element: u32,
    },
    /// In no reliable place.
    Missing,
}

/// A record of the collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// `embeddings.id`; `None` for a record that is only in the queue.
    pub row: Option<i64>,
    /// Its id.
    pub id: String,
    /// Where its vector is.
    pub origin: Origin,
    /// The number of its last change.
    pub seq: Option<u64>,
    /// Whether the queue creates or changes it after the records' watermark.
    pub pending: bool,
    /// If its row of `embeddings` is lost, the evidence that it existed.
    pub restored: Option<Evidence>,
}

impl Live {
    /// Whether the record is in the tables or will be restored to them. All others are only in the
    /// queue.
    pub fn is_stored(&self) -> bool {
        self.row.is_some() || self.restored.is_some()
    }
}

/// The number of vectors by location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VectorCounts {
    /// Records.
    pub records: u64,
    /// Records with a vector in the queue.
    pub in_queue: u64,
    /// Records with a vector in the index files.
    pub in_segment: u64,
    /// Records with a vector in quarantined files.
    pub in_sibling: u64,
    /// Records without a vector.
    pub missing: u64,
}

/// The survey of one collection.
#[derive(Debug)]
pub struct Survey {
    /// Its records, in the order of insertion.
    pub live: Vec<Live>,
    /// Problems and notes.
    pub findings: Vec<Finding>,
    /// The number of vectors by location.
    pub counts: VectorCounts,
    /// The actual length of its vectors.
    pub dimension: Option<usize>,
    /// How far the records have consumed the queue.
    pub metadata_watermark: u64,
    /// How far the index files have consumed it; `None` if they were never written.
    pub vector_watermark: Option<u64>,
    /// Ids of records that ChromaDB's index lacks.
    pub unreachable: Vec<String>,
    /// Ids in ChromaDB's index whose records are gone.
    pub ghosts: Vec<String>,
    /// The segment of the records, even if the catalog has lost it.
    pub metadata_segment: Option<String>,
    /// Quarantined index directories that hold vectors which were missing.
    pub siblings: Vec<String>,
    /// Numbers of queue entries that are not yet applied to the records.
    pub pending: Vec<u64>,
    /// Ids whose row is lost. Their text, if it exists, is among the candidates.
    pub unresolved: Vec<String>,
    segment: Option<Segment>,
    aside: Vec<Segment>,
}

impl Survey {
    /// Whether ChromaDB can load this collection and answer from it.
    pub fn index_sound(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity == Severity::Note)
    }

    /// Whether the index files are unchanged since they were read.
    pub(crate) fn still_holds(&self) -> bool {
        self.segment
            .iter()
            .chain(&self.aside)
            .all(Segment::unchanged)
    }
}

impl Directory {
    /// Surveys a collection. Reads its index files once and does not load vectors.
    pub fn survey(&self, collection: usize) -> Result<Survey> {
        let Some(row) = self.collections().get(collection) else {
            return Err(loci_core::Error::invalid(
                "collection",
                format!("there is no number {collection}"),
            ));
        };
        let failed = |error: rusqlite::Error| unreadable(self.snapshot().path(), &error);
        let queue = queue::read(self.snapshot(), &row.id).map_err(failed)?;
        let metadata_segment = row.record_segment().map(str::to_owned);
        let mut records = match &metadata_segment {
            Some(segment) => live::rows(self.snapshot(), segment).map_err(failed)?,
            None => live::Records::default(),
        };
        let lost = self.lost_rows()?;
        if let Some(restored) = lost.restored.get(collection) {
            records.restore(restored);
        }
        let metadata_watermark = row
            .metadata_seq
            .as_ref()
            .and_then(SeqId::value)
            .filter(|mark| *mark <= self.highest_credible())
            .unwrap_or_else(|| records.highest(self.highest_credible()));

        let lengths = lengths(&queue);
        let files = self.index_files(row, &lengths);
        let foreign = foreign::judge(
            &files,
            row,
            most_common(&lengths),
            &queue,
            &records,
            |seq| queue::vector(self.snapshot().connection(), seq),
        )
        .map_err(failed)?;
        let IndexFiles {
            segment,
            map,
            problem,
        } = match foreign {
            Some(_) => IndexFiles::default(),
            None => files,
        };
        let dimension = segment
            .as_ref()
            .filter(|segment| segment.is_header_sound() && segment.count() > 0)
            .map(Segment::dimension)
            .or_else(|| most_common(&lengths))
            .or(row.dimension);
        // A watermark that no write can have means that the files were written, but not how far.
        // The index is then compared with everything that the records have consumed.
        let stored_watermark = row.vector_seq.as_ref().and_then(SeqId::value).map(|mark| {
            if mark <= self.highest_credible() {
                mark
            } else {
                metadata_watermark
            }
        });
        let vector_watermark =
            stored_watermark.or_else(|| map.as_ref().and_then(|map| map.max_seq_id));

        let others = match &metadata_segment {
            Some(segment) => live::other_rows(self.snapshot(), segment).map_err(failed)?,
            None => Vec::new(),
        };
        let base = replay::Base::new(
            segment.as_ref(),
            map.as_ref(),
            replay::Sight {
                records: &records,
                queue: &queue,
                watermark: vector_watermark.unwrap_or(0),
                ordered: self.version().is_one() && records.blob_ids == 0,
                others: &others,
            },
            |seq| queue::vector(self.snapshot().connection(), seq),
        )
        .map_err(failed)?;
        let exact = replay::exact_vectors(
            &base,
            &queue,
            &records,
            vector_watermark.unwrap_or(0),
            dimension,
        );
        let pending = records.replay(&queue, metadata_watermark);
        let index =
            replay::index_as_chroma_has_it(&base, &queue, vector_watermark.unwrap_or(0), dimension);

        let mut survey = Survey {
            live: Vec::with_capacity(records.stored.len()),
            findings: Vec::new(),
            counts: VectorCounts::default(),
            dimension,
            metadata_watermark,
            vector_watermark,
            unreachable: Vec::new(),
            ghosts: Vec::new(),
            metadata_segment,
            siblings: Vec::new(),
            pending,
            unresolved: match lost.unresolved.get(collection) {
                Some(ids) if !lost.candidates.is_empty() => ids.clone(),
                _ => Vec::new(),
            },
            segment: None,
            aside: Vec::new(),
        };
        let fits = segment
            .as_ref()
            .is_some_and(|segment| dimension.is_none_or(|length| length == segment.dimension()));
        for record in &records.stored {
            let origin = match (exact.get(record.id.as_str()), index.get(record.id.as_str())) {
                (Some(seq), _) => Origin::Queue(*seq),
                (None, Some(replay::VectorSource::Element(element))) if fits => {
                    let disputed = segment
                        .as_ref()
                        .is_some_and(|segment| base.resolved.is_contested(segment, *element));
                    if disputed {
                        Origin::Missing
                    } else {
                        usable(segment.as_ref(), *element)
                    }
                }
                _ => Origin::Missing,
            };
            survey.live.push(Live {
                row: record.row,
                id: record.id.clone(),
                origin,
                seq: record.seq,
                pending: record.pending,
                restored: record.restored,
            });
        }
        let ids: HashSet<&str> = records
            .stored
            .iter()
            .map(|record| record.id.as_str())
            .collect();
        survey.unreachable = records
            .stored
            .iter()
            .filter(|record| !index.contains_key(record.id.as_str()))
            .map(|record| record.id.clone())
            .collect();
        survey.ghosts = index
            .keys()
            .filter(|id| !ids.contains(**id))
            .map(|id| (*id).to_owned())
            .collect();
        survey.ghosts.sort_unstable();
        siblings::search(self, row, &mut survey);
        survey.count();
        let scene = checks::Scene {
            directory: self,
            row,
            queue: &queue,
            records: &records,
            segment: segment.as_ref(),
            map: map.as_ref(),
            problem: problem.as_deref(),
            foreign: foreign.as_ref(),
            base: &base,
            lengths: &lengths,
            lost,
            collection,
        };
        scene.check(&mut survey).map_err(failed)?;
        survey.segment = segment;
        Ok(survey)
    }

    /// The vector of a record of `survey`.
    pub fn vector(&self, survey: &Survey, live: &Live) -> Result<Option<Vec<f32>>> {
        match live.origin {
            Origin::Queue(seq) => queue::vector(self.snapshot().connection(), seq)
                .map_err(|error| unreadable(self.snapshot().path(), &error)),
            Origin::Segment { element, .. } => match &survey.segment {
                Some(segment) => segment.vector(element as usize),
                None => Ok(None),
            },
            Origin::Sibling { directory, element } => match survey.aside.get(directory as usize) {
                Some(segment) => segment.vector(element as usize),
                None => Ok(None),
            },
            Origin::Missing => Ok(None),
        }
    }

    /// The index files of a collection.
    fn index_files(&self, row: &CollectionRow, lengths: &HashMap<usize, u64>) -> IndexFiles {
        match &row.vector_segment {
            Some(name) => IndexFiles::open(
                &self.path().join(name),
                row.metric,
                most_common(lengths).or(row.dimension),
            ),
            None => IndexFiles::default(),
        }
    }
}

impl Survey {
    fn count(&mut self) {
        self.counts.records = self.live.len() as u64;
        for live in &self.live {
            let counter = match live.origin {
                Origin::Queue(_) => &mut self.counts.in_queue,
                Origin::Segment { .. } => &mut self.counts.in_segment,
                Origin::Sibling { .. } => &mut self.counts.in_sibling,
                Origin::Missing => &mut self.counts.missing,
            };
            *counter += 1;
        }
    }
}

/// The origin of an element, if its vector is reliable.
fn usable(segment: Option<&Segment>, element: u32) -> Origin {
    let state = segment
        .and_then(|segment| segment.elements().get(element as usize))
        .map(|found| found.vector);
    match state {
        Some(VectorState::Good) => Origin::Segment {
            element,
            direction: false,
        },
        Some(VectorState::LengthBad) => Origin::Segment {
            element,
            direction: true,
        },
        Some(VectorState::NotFinite | VectorState::NormOff) | None => Origin::Missing,
    }
}

/// How often each vector length occurs in the queue.
fn lengths(queue: &[queue::Entry]) -> HashMap<usize, u64> {
    let mut lengths = HashMap::new();
    for length in queue.iter().filter_map(|entry| entry.dimension) {
        *lengths.entry(length).or_default() += 1;
    }
    lengths
}

fn most_common(lengths: &HashMap<usize, u64>) -> Option<usize> {
    lengths
        .iter()
        .max_by_key(|(length, count)| (**count, **length))
        .map(|(length, _)| *length)
}

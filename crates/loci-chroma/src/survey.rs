//! One collection, looked at as a whole: which records it has, where the vector of each is, and whether ChromaDB's index agrees.
//!
//! The verdict is a comparison of sets: the index at its watermark with the queue's newer entries on top, against the records
//! at theirs. Times of files decide nothing.

mod checks;
pub(crate) mod files;
mod foreign;
mod labels;
pub(crate) mod live;
mod replay;
mod siblings;

use std::collections::{HashMap, HashSet};

use loci_core::Result;
use serde::Serialize;

use crate::catalog::CollectionRow;
use crate::directory::Directory;
use crate::finding::{Finding, Severity};
use crate::hnsw::{Segment, VectorState};
use crate::lost_rows::Evidence;
use crate::queue;
use crate::seq::SeqId;
use crate::snapshot::unreadable;

use files::IndexFiles;

/// Where the vector of a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// In the queue, as it was given.
    Queue(u64),
    /// In the index files of the collection; its length is known unless the flag says otherwise.
    Segment {
        /// Which element.
        element: u32,
        /// Only the direction is left.
        direction: bool,
    },
    /// In index files that were set aside.
    Sibling {
        /// Which directory of [`Survey::siblings`].
        directory: u32,
        /// Which element.
        element: u32,
    },
    /// Nowhere that could be relied on.
    Missing,
}

/// A record of the collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// `embeddings.id`; `None` for one that is only in the queue.
    pub row: Option<i64>,
    /// Its id.
    pub id: String,
    /// Where its vector is.
    pub origin: Origin,
    /// Number of its last change.
    pub seq: Option<u64>,
    /// The queue makes or changes it after the records' watermark.
    pub pending: bool,
    /// Its row of `embeddings` is gone; this tells that it was there.
    pub restored: Option<Evidence>,
}

impl Live {
    /// Whether the tables have it, or will have it again. All others are only in the queue.
    pub(crate) fn is_stored(&self) -> bool {
        self.row.is_some() || self.restored.is_some()
    }
}

/// Vectors by where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VectorCounts {
    /// Records.
    pub records: u64,
    /// With a vector in the queue.
    pub in_queue: u64,
    /// With a vector in the index files.
    pub in_segment: u64,
    /// With a vector in files that were set aside.
    pub in_sibling: u64,
    /// Without a vector.
    pub missing: u64,
}

/// What was found out about one collection.
#[derive(Debug)]
pub struct Survey {
    /// Its records, in the order in which they were first added.
    pub live: Vec<Live>,
    /// What is wrong, or worth knowing.
    pub findings: Vec<Finding>,
    /// Vectors by where they are.
    pub counts: VectorCounts,
    /// The length that its vectors really have.
    pub dimension: Option<usize>,
    /// Up to where the records have taken the queue over.
    pub metadata_watermark: u64,
    /// Up to where the index files have; `None` before they were first written.
    pub vector_watermark: Option<u64>,
    /// Ids that ChromaDB's index lacks although the records are there.
    pub unreachable: Vec<String>,
    /// Ids that ChromaDB's index has although the records are gone.
    pub ghosts: Vec<String>,
    /// The segment that holds the records, also where the catalog has lost it.
    pub metadata_segment: Option<String>,
    /// Directories of index files that were set aside and hold vectors that were missing.
    pub siblings: Vec<String>,
    /// Numbers of the queue's entries that wait to be applied to the records.
    pub pending: Vec<u64>,
    /// Ids whose row is gone and whose text is among the candidates, if it is anywhere.
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

    /// Whether the index files are as they were when they were read.
    pub(crate) fn still_holds(&self) -> bool {
        self.segment
            .iter()
            .chain(&self.aside)
            .all(Segment::unchanged)
    }
}

impl Directory {
    /// Looks at a collection as a whole. Reads its index files once; vectors stay where they are.
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
        // One that was never given out says that the files were written, and not up to where: the
        // index is compared with all that the records have taken over.
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

/// An element as an origin, if its vector can be relied on.
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

/// How often each length of vector occurs in the queue.
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

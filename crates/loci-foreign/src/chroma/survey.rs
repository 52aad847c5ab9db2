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
use std::io;
use std::path::{Path, PathBuf};

use loci_core::finding::{Finding, Severity};
use loci_core::{Error, Result};
use loci_salvage::snapshot::unreadable;
use serde::Serialize;

use crate::chroma::catalog::CollectionRow;
use crate::chroma::directory::Directory;
use crate::chroma::hnsw::{Segment, VectorState};
use crate::chroma::lost_rows::{Evidence, LostRows};
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
pub struct LiveRecord {
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

impl LiveRecord {
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
    pub live: Vec<LiveRecord>,
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
    /// Index files that exist and that this user may not read. They may be intact.
    denied: Vec<PathBuf>,
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

    /// Refuses if this user may not read an index file. Its vectors are not lost, and nothing may
    /// be changed or left out as if they were.
    pub fn require_readable(&self) -> Result<()> {
        match self.denied.first() {
            Some(file) => Err(Error::reading(
                file,
                io::Error::from(io::ErrorKind::PermissionDenied),
            )),
            None => Ok(()),
        }
    }

    /// Whether the index files are unchanged since they were read.
    pub(crate) fn is_unchanged(&self) -> bool {
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
        self.survey_row(collection, row)
            .map_err(|error| error.at(self.snapshot().path()))
    }

    fn survey_row(&self, collection: usize, row: &CollectionRow) -> Result<Survey, Problem> {
        let vector_of = |seq| queue::vector(self.snapshot().connection(), seq);
        let queue = queue::read(self.snapshot(), &row.id)?;
        let lost = self.lost_rows()?;
        let metadata_segment = row.record_segment().map(str::to_owned);
        let mut records = self.records(collection, metadata_segment.as_deref(), lost)?;
        let metadata_watermark = self.metadata_watermark(row, &records);

        let lengths = lengths(&queue);
        let files = self.index_files(row, &lengths);
        let usual_length = most_common(&lengths);
        let foreign = foreign::judge(&files, row, usual_length, &queue, &records, vector_of)?;
        let IndexFiles {
            segment,
            map,
            problem,
            denied,
        } = match foreign {
            Some(_) => IndexFiles::default(),
            None => files,
        };
        let dimension = segment
            .as_ref()
            .filter(|segment| segment.is_header_sound() && segment.count() > 0)
            .map(Segment::dimension)
            .or(usual_length)
            .or(row.dimension);
        let vector_watermark = self
            .stored_vector_watermark(row, metadata_watermark)
            .or_else(|| map.as_ref().and_then(|map| map.max_seq_id));
        let consumed = vector_watermark.unwrap_or(0);

        let others = match &metadata_segment {
            Some(segment) => live::other_rows(self.snapshot(), segment)?,
            None => Vec::new(),
        };
        let base = replay::Base::new(
            segment.as_ref(),
            map.as_ref(),
            replay::Sight {
                records: &records,
                queue: &queue,
                watermark: consumed,
                ordered: self.version().is_one() && records.blob_ids == 0,
                others: &others,
            },
            vector_of,
        )?;
        let exact = replay::exact_vectors(&base, &queue, &records, consumed, dimension);
        let pending = records.replay(&queue, metadata_watermark);
        let index = replay::index_as_chroma_has_it(&base, &queue, consumed, dimension);
        let sources = VectorSources {
            exact: &exact,
            index: &index,
            base: &base,
            segment: segment.as_ref(),
            fits: segment.as_ref().is_some_and(|segment| {
                dimension.is_none_or(|length| length == segment.dimension())
            }),
        };
        let mut survey = Survey {
            live: sources.live(&records),
            findings: Vec::new(),
            counts: VectorCounts::default(),
            dimension,
            metadata_watermark,
            vector_watermark,
            unreachable: sources.unreachable(&records),
            ghosts: sources.ghosts(&records),
            metadata_segment,
            siblings: Vec::new(),
            pending,
            unresolved: match lost.unresolved.get(collection) {
                Some(ids) if !lost.candidates.is_empty() => ids.clone(),
                _ => Vec::new(),
            },
            denied: denied.into_iter().collect(),
            segment: None,
            aside: Vec::new(),
        };
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
        scene.check(&mut survey)?;
        survey.segment = segment;
        Ok(survey)
    }

    /// The records of a collection in the tables, and those whose lost row can be restored.
    fn records(
        &self,
        collection: usize,
        segment: Option<&str>,
        lost: &LostRows,
    ) -> rusqlite::Result<live::Records> {
        let mut records = match segment {
            Some(segment) => live::rows(self.snapshot(), segment)?,
            None => live::Records::default(),
        };
        if let Some(restored) = lost.restored.get(collection) {
            records.restore(restored);
        }
        Ok(records)
    }

    /// How far the records have consumed the queue.
    fn metadata_watermark(&self, row: &CollectionRow, records: &live::Records) -> u64 {
        row.metadata_seq
            .as_ref()
            .and_then(SeqId::value)
            .filter(|mark| *mark <= self.highest_credible())
            .unwrap_or_else(|| records.highest(self.highest_credible()))
    }

    /// How far the index files have consumed the queue, according to the database. A watermark that
    /// no write can have means that the files were written, but not how far. The index is then
    /// compared with everything that the records have consumed.
    fn stored_vector_watermark(&self, row: &CollectionRow, metadata_watermark: u64) -> Option<u64> {
        let mark = row.vector_seq.as_ref().and_then(SeqId::value)?;
        if mark <= self.highest_credible() {
            Some(mark)
        } else {
            Some(metadata_watermark)
        }
    }

    /// The vector of a record of `survey`.
    pub fn vector(&self, survey: &Survey, live: &LiveRecord) -> Result<Option<Vec<f32>>> {
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

/// Why a survey failed: SQLite's error becomes one about the file, other errors stay.
enum Problem {
    Sqlite(rusqlite::Error),
    Other(loci_core::Error),
}

impl Problem {
    fn at(self, path: &Path) -> loci_core::Error {
        match self {
            Self::Sqlite(error) => unreadable(path, &error),
            Self::Other(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<loci_core::Error> for Problem {
    fn from(error: loci_core::Error) -> Self {
        Self::Other(error)
    }
}

/// Where the vectors of a collection are, by the ids of the records.
struct VectorSources<'a> {
    /// Vectors that the queue has in their original form.
    exact: &'a HashMap<&'a str, u64>,
    /// The vectors that ChromaDB's index has.
    index: &'a HashMap<&'a str, replay::VectorSource>,
    base: &'a replay::Base,
    segment: Option<&'a Segment>,
    /// Whether the vectors of the index files have the length of the collection's vectors.
    fits: bool,
}

impl VectorSources<'_> {
    fn live(&self, records: &live::Records) -> Vec<LiveRecord> {
        let records = records.stored.iter();
        records
            .map(|record| LiveRecord {
                row: record.row,
                id: record.id.clone(),
                origin: self.origin(&record.id),
                seq: record.seq,
                pending: record.pending,
                restored: record.restored,
            })
            .collect()
    }

    fn origin(&self, id: &str) -> Origin {
        match (self.exact.get(id), self.index.get(id)) {
            (Some(seq), _) => Origin::Queue(*seq),
            (None, Some(replay::VectorSource::Element(element))) if self.fits => {
                let disputed = self
                    .segment
                    .is_some_and(|segment| self.base.resolved.is_contested(segment, *element));
                if disputed {
                    Origin::Missing
                } else {
                    usable(self.segment, *element)
                }
            }
            _ => Origin::Missing,
        }
    }

    /// The ids of records that the index lacks.
    fn unreachable(&self, records: &live::Records) -> Vec<String> {
        let ids = records.stored.iter().map(|record| &record.id);
        ids.filter(|id| !self.index.contains_key(id.as_str()))
            .cloned()
            .collect()
    }

    /// The ids in the index that no record has, sorted.
    fn ghosts(&self, records: &live::Records) -> Vec<String> {
        let records = records.stored.iter().map(|record| record.id.as_str());
        let ids: HashSet<&str> = records.collect();
        let mut ghosts: Vec<String> = self
            .index
            .keys()
            .filter(|id| !ids.contains(**id))
            .map(|id| (*id).to_owned())
            .collect();
        ghosts.sort_unstable();
        ghosts
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

//! The findings about one collection.

use std::collections::HashMap;

use loci_core::Metric;

use super::live::Records;
use super::replay::Base;
use super::{Survey, most_common};
use crate::catalog::{self, CollectionRow};
use crate::directory::{Directory, INDEX_DATA};
use crate::finding::{Finding, Severity, counted};
use crate::hnsw::Segment;
use crate::pickle::LabelMap;
use crate::queue::{self, Entry, Operation};
use crate::seq::SeqId;
use crate::snapshot::Access;

/// What ChromaDB answers while an id is in the records and not in the index.
const UNREACHABLE: &str = "ChromaDB does not find these records by vector, and every filtered query or get with embeddings that \
                           touches one fails with \"Error finding id\"";

/// Everything a check may look at.
pub(super) struct Scene<'a> {
    pub(super) directory: &'a Directory,
    pub(super) row: &'a CollectionRow,
    pub(super) queue: &'a [Entry],
    pub(super) records: &'a Records,
    pub(super) segment: Option<&'a Segment>,
    pub(super) map: Option<&'a LabelMap>,
    /// Why the index files cannot be read although they are there.
    pub(super) problem: Option<&'a str>,
    pub(super) base: &'a Base,
    pub(super) lengths: &'a HashMap<usize, u64>,
}

impl Scene<'_> {
    /// Adds the findings to the survey.
    pub(super) fn check(&self, survey: &mut Survey) -> rusqlite::Result<()> {
        let mut found = Vec::new();
        self.segments(&mut found);
        self.sequence_ids(survey, &mut found)?;
        self.dimension(survey, &mut found);
        self.files(survey, &mut found);
        self.pickle(survey, &mut found);
        self.labels(survey, &mut found);
        self.queue(survey, &mut found);
        self.null_documents(survey, &mut found)?;
        self.metric(&mut found);
        self.sets(survey, &mut found);
        for finding in &mut found {
            finding.collection = Some(self.row.name.clone());
        }
        survey.findings.extend(found);
        Ok(())
    }

    fn repair(&self) -> String {
        format!("loci repair --chroma {}", self.directory.quoted_path())
    }

    fn import(&self) -> String {
        format!("loci import {}", self.directory.quoted_path())
    }

    fn name(&self) -> &str {
        self.row.vector_segment.as_deref().unwrap_or("")
    }

    fn segments(&self, found: &mut Vec<Finding>) {
        if self.row.lost {
            let records = self.records.stored.len() as u64;
            found.push(
                Finding::new(
                    "collection_lost",
                    Severity::Error,
                    format!(
                        "{} to no collection: the catalog has lost it, and its name with it",
                        counted(records, "record belongs", "records belong")
                    ),
                )
                .with("collection_id", self.row.id.as_str())
                .with("records", records)
                .then("ChromaDB does not know that they are there")
                .fix(self.import()),
            );
            return;
        }
        for (segment, scope) in [
            (&self.row.metadata_segment, "METADATA"),
            (&self.row.vector_segment, "VECTOR"),
        ] {
            if segment.is_none() {
                found.push(
                    Finding::new(
                        "segment_row_missing",
                        Severity::Error,
                        format!("the catalog has no {scope} segment for this collection"),
                    )
                    .with("scope", scope)
                    .with("collection_id", self.row.id.as_str())
                    .then("ChromaDB refuses every call on the collection (\"Missing field\")")
                    .fix(self.repair()),
                );
            }
        }
    }

    fn sequence_ids(&self, survey: &Survey, found: &mut Vec<Finding>) -> rusqlite::Result<()> {
        let pending = self.directory.version().blob_ids_pending();
        for (seq, what) in [
            (&self.row.metadata_seq, "records"),
            (&self.row.vector_seq, "index"),
        ] {
            match seq {
                Some(SeqId::Blob(value)) if pending => found.push(
                    Finding::new(
                        "seq_id_blob",
                        Severity::Note,
                        format!("the watermark of the {what} is a blob, as this version writes it; a newer ChromaDB converts it itself"),
                    )
                    .with("value", *value),
                ),
                Some(SeqId::Blob(value)) => found.push(
                    Finding::new(
                        "seq_id_blob",
                        Severity::Error,
                        format!("the watermark of the {what} is a blob although ChromaDB has recorded the conversion"),
                    )
                    .with("value", *value)
                    .then("ChromaDB refuses every call: \"mismatched types … BLOB\"")
                    .fix(self.repair()),
                ),
                Some(SeqId::Poisoned { stored, decoded }) => found.push(
                    Finding::new(
                        "seq_id_poisoned",
                        Severity::Error,
                        format!("the watermark of the {what} was converted twice: {stored} was {decoded}"),
                    )
                    .with("stored", *stored)
                    .with("decoded", *decoded)
                    .then("ChromaDB accepts writes and loses them; what waits in the queue stays invisible")
                    .fix(self.repair()),
                ),
                Some(SeqId::Unreadable(what_it_is)) => found.push(
                    Finding::new(
                        "seq_id_unreadable",
                        Severity::Error,
                        format!("the watermark of the {what} is {what_it_is}"),
                    )
                    .then("ChromaDB refuses the collection or applies the wrong part of the queue")
                    .fix(self.repair()),
                ),
                Some(SeqId::Integer(_)) | None => {}
            }
        }
        if self.records.odd_ids > 0 {
            found.push(
                Finding::new(
                    "record_seq_ids_odd",
                    Severity::Note,
                    "some records have a sequence id that cannot be read as one",
                )
                .with("records", self.records.odd_ids)
                .then("ChromaDB 1.x does not read it"),
            );
        }
        if self.records.blob_ids > 0 {
            found.push(
                Finding::new(
                    "record_seq_ids_blob",
                    Severity::Note,
                    "records carry sequence ids of ChromaDB 0.6 or older",
                )
                .with("records", self.records.blob_ids)
                .then("ChromaDB 1.x does not mind"),
            );
        }
        let issued = if self.directory.snapshot().has_table("embeddings_queue") {
            catalog::highest_in_queue(self.directory.snapshot().connection())?.unwrap_or(0)
        } else {
            0
        };
        let highest = survey
            .metadata_watermark
            .max(survey.vector_watermark.unwrap_or(0));
        if highest > issued {
            found.push(
                Finding::new(
                    "seq_id_beyond",
                    Severity::Error,
                    format!("the collection has taken over everything up to {highest}, but the queue ends at {issued}"),
                )
                .with("watermark", highest)
                .with("queue_end", issued)
                .then("the next writes get numbers that count as done: ChromaDB acknowledges and loses them")
                .fix(self.repair()),
            );
        }
        Ok(())
    }

    fn dimension(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let Some(real) = survey.dimension else {
            return;
        };
        match self.row.dimension {
            None if !self.records.stored.is_empty() => found.push(
                Finding::new(
                    "dimension_null",
                    Severity::Warning,
                    format!("the catalog does not know that vectors have {real} numbers"),
                )
                .with("real", real)
                .then("queries find nothing and embeddings are left out until the next write")
                .fix(self.repair()),
            ),
            Some(recorded) if recorded != real => found.push(
                Finding::new(
                    "dimension_wrong",
                    Severity::Error,
                    format!(
                        "the catalog says {recorded} numbers a vector, the vectors have {real}"
                    ),
                )
                .with("recorded", recorded)
                .with("real", real)
                .then(
                    "queries and writes are refused, and embeddings come back with a wrong length",
                )
                .fix(self.repair()),
            ),
            _ => {}
        }
        let odd: Vec<&Entry> = self
            .queue
            .iter()
            .filter(|entry| entry.dimension.is_some_and(|length| length != real))
            .collect();
        if !odd.is_empty() {
            found.push(
                Finding::new(
                    "queue_dimension",
                    Severity::Error,
                    format!(
                        "{} of the queue with vectors of another length",
                        counted(odd.len() as u64, "entry", "entries")
                    ),
                )
                .with("expected", real)
                .with("most_common", most_common(self.lengths).unwrap_or(real))
                .list("ids", odd.iter().map(|entry| entry.id.clone()))
                .then("ChromaDB cannot apply the queue to its index")
                .fix(self.repair()),
            );
        }
    }

    fn files(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let Some(name) = &self.row.vector_segment else {
            return;
        };
        if let Some(problem) = self.problem {
            found.push(
                Finding::new(
                    "index_unreadable",
                    Severity::Error,
                    "the index files are there and cannot be read",
                )
                .file(format!("{name}/{INDEX_DATA}"))
                .with("problem", problem)
                .then("ChromaDB refuses every call on the collection, or takes it for empty")
                .fix("make the files readable for you, then `loci doctor` again"),
            );
            return;
        }
        let Some(segment) = self.segment else {
            let lost = survey.unreachable.len();
            if survey.vector_watermark.is_some() && !survey.live.is_empty() {
                let (severity, then) = if lost == 0 {
                    (Severity::Note, "ChromaDB builds them anew from the queue")
                } else {
                    (Severity::Warning, UNREACHABLE)
                };
                found.push(
                    Finding::new(
                        "index_missing",
                        severity,
                        "the index files are gone, and the watermark says that they were written",
                    )
                    .file(format!("{name}/{INDEX_DATA}"))
                    .with("watermark", survey.vector_watermark.unwrap_or(0))
                    .with("unreachable", lost as u64)
                    .then(then)
                    .fix(self.repair()),
                );
            }
            return;
        };
        // Labels that stand twice are told once, as what they mean.
        let others = segment
            .findings()
            .iter()
            .filter(|finding| finding.code != "labels_duplicate");
        found.extend(others.map(|finding| {
            let fix = (finding.severity > Severity::Note).then(|| self.repair());
            Finding {
                fix: finding.fix.clone().or(fix),
                ..finding.clone()
            }
        }));
    }

    fn pickle(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let file = format!("{}/index_metadata.pickle", self.name());
        let Some(segment) = self.segment else {
            return;
        };
        let rebuilt = self.base.resolved.rebuilt.len();
        match self.map {
            None if segment.count() > 0 => found.push(
                Finding::new(
                    "pickle_missing",
                    Severity::Error,
                    "the file that says which vector is whose is gone",
                )
                .file(file)
                .with("elements", segment.count() as u64)
                .with("matched_by_order", rebuilt as u64)
                .then("opening the directory with ChromaDB destroys the vectors in data_level0.bin: do not")
                .fix(self.repair()),
            ),
            Some(map) if map.damage.is_some() => found.push(
                Finding::new(
                    "pickle_damaged",
                    Severity::Error,
                    "the file that says which vector is whose cannot be read to its end",
                )
                .file(file)
                .with("problem", map.damage.as_deref().unwrap_or_default())
                .with("read", map.pairs.len() as u64)
                .with("matched_by_order", rebuilt as u64)
                .then("ChromaDB refuses every call: \"Error deserializing pickle file\"")
                .fix(self.repair()),
            ),
            Some(map) if map.disputed > 0 => found.push(
                Finding::new(
                    "pickle_disputed",
                    Severity::Warning,
                    "the two tables of ids and labels contradict each other",
                )
                .file(file)
                .with("entries", map.disputed)
                .with("matched_by_order", rebuilt as u64)
                .then("ChromaDB finds some vectors under wrong ids, or not at all")
                .fix(self.repair()),
            ),
            _ => {}
        }
        if self.base.order_failed {
            found.push(
                Finding::new(
                    "order_contradicted",
                    Severity::Note,
                    "ids were matched with vectors by their order, and a vector in the queue proved that wrong; none of it was used",
                )
                .with("records", survey.live.len() as u64),
            );
        }
    }

    fn labels(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let Some(map) = self.map.filter(|map| map.damage.is_none()) else {
            return;
        };
        let highest = map.pairs.last().map_or(0, |(_, label)| *label);
        if map
            .total_elements_added
            .is_some_and(|total| total < highest)
        {
            found.push(
                Finding::new(
                    "labels_restart",
                    Severity::Error,
                    "the pickle counts fewer labels than it has given out",
                )
                .file(format!("{}/index_metadata.pickle", self.name()))
                .with("counted", map.total_elements_added.unwrap_or(0))
                .with("highest", highest)
                .then("ChromaDB gives labels out again and cannot apply its queue")
                .fix(self.repair()),
            );
        }
        let resolved = &self.base.resolved;
        if !resolved.missing.is_empty() {
            found.push(
                Finding::new(
                    "labels_missing",
                    Severity::Warning,
                    format!(
                        "{} of {} labels of the pickle have no vector in the index",
                        resolved.missing.len(),
                        map.pairs.len()
                    ),
                )
                .file(format!("{}/{INDEX_DATA}", self.name()))
                .list("labels", resolved.missing.iter().copied())
                .then(UNREACHABLE)
                .fix(self.repair()),
            );
        }
        if !resolved.unknown.is_empty() {
            let newer = self
                .queue
                .iter()
                .filter(|entry| entry.seq > survey.vector_watermark.unwrap_or(0))
                .filter(|entry| matches!(entry.operation, Operation::Add | Operation::Upsert))
                .count();
            let last = map.pairs.last().map_or(0, |(_, label)| *label);
            let next_in_line = resolved
                .unknown
                .last()
                .is_some_and(|highest| *highest <= last.saturating_add(newer as u64));
            let (severity, message, then) = if resolved.unknown.len() <= newer && next_in_line {
                (
                    Severity::Note,
                    "the index holds vectors that the pickle does not know yet: a write of the index was interrupted",
                    "ChromaDB applies the queue again, which mends it",
                )
            } else {
                (
                    Severity::Warning,
                    "the index holds vectors whose label belongs to no id",
                    "labels are damaged, two programs wrote at once, or files of two states were mixed; these vectors cannot be found",
                )
            };
            let finding = Finding::new("labels_unknown", severity, message)
                .list("labels", resolved.unknown.iter().copied())
                .then(then);
            found.push(if severity == Severity::Note {
                finding
            } else {
                finding.fix(self.repair())
            });
        }
        if !self.base.contradicted.is_empty() {
            found.push(
                Finding::new(
                    "vectors_contradict_queue",
                    Severity::Warning,
                    "vectors in the index are not those that the queue says were written there",
                )
                .list("ids", self.base.contradicted.iter().cloned())
                .then("ChromaDB answers with outdated or foreign vectors")
                .fix(self.repair()),
            );
        }
    }

    fn queue(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let watermark = survey.vector_watermark.unwrap_or(0);
        let unflushed = self
            .queue
            .iter()
            .filter(|entry| entry.seq > watermark)
            .count();
        if unflushed > 0 {
            found.push(
                Finding::new(
                    "queue_unflushed",
                    Severity::Note,
                    format!(
                        "{} not in the index files yet; that is normal",
                        counted(
                            unflushed as u64,
                            "entry of the queue is",
                            "entries of the queue are"
                        )
                    ),
                )
                .with("watermark", watermark)
                .with("entries", unflushed as u64)
                .then("ChromaDB applies them when it opens the collection"),
            );
        }
        if !survey.pending.is_empty() {
            found.push(
                Finding::new(
                    "queue_pending",
                    Severity::Note,
                    format!(
                        "{} in the queue to be applied",
                        counted(survey.pending.len() as u64, "acknowledged write waits", "acknowledged writes wait")
                    ),
                )
                .with("watermark", survey.metadata_watermark)
                .list("seq_ids", survey.pending.iter().copied())
                .then("ChromaDB applies them when it opens the collection, unless its watermark is wrong"),
            );
        }
        let first = self.queue.first().map(|entry| entry.seq);
        if let (Some(first), Some(watermark)) = (first, survey.vector_watermark)
            && watermark > 0
            && first > watermark
        {
            let severity = if survey.unreachable.is_empty() {
                Severity::Note
            } else {
                Severity::Warning
            };
            found.push(
                Finding::new(
                    "queue_gap",
                    severity,
                    format!("the queue begins at {first}, after the index's watermark {watermark}: entries between are gone"),
                )
                .with("first", first)
                .with("watermark", watermark)
                .then("what was written between the two is not in the index"),
            );
        }
        let unknown: Vec<&Entry> = self
            .queue
            .iter()
            .filter(|entry| matches!(entry.operation, Operation::Unknown(_)))
            .collect();
        if !unknown.is_empty() {
            found.push(
                Finding::new(
                    "queue_operation",
                    Severity::Warning,
                    "the queue holds operations of a kind that is not known here",
                )
                .list("seq_ids", unknown.iter().map(|entry| entry.seq))
                .then("they were left out; a newer ChromaDB may apply them"),
            );
        }
    }

    fn null_documents(&self, survey: &Survey, found: &mut Vec<Finding>) -> rusqlite::Result<()> {
        let seqs = queue::null_documents(
            self.directory.snapshot(),
            &self.row.id,
            survey.vector_watermark.unwrap_or(0),
        )?;
        let watermark = survey.vector_watermark.unwrap_or(0);
        let broken = queue::unreadable_entries(self.directory.snapshot(), &self.row.id, watermark)?;
        if !broken.is_empty() {
            found.push(
                Finding::new(
                    "queue_unreadable",
                    Severity::Error,
                    format!(
                        "{} of the queue with metadata, encoding or id that cannot be read",
                        counted(broken.len() as u64, "entry", "entries")
                    ),
                )
                .list("seq_ids", broken)
                .then("ChromaDB cannot read its queue and refuses every call, on other collections too")
                .fix(self.repair()),
            );
        }
        if !seqs.is_empty() {
            found.push(
                Finding::new(
                    "queue_null_document",
                    Severity::Error,
                    format!(
                        "{} of the queue where the text is null",
                        counted(seqs.len() as u64, "entry", "entries")
                    ),
                )
                .list("seq_ids", seqs)
                .then("ChromaDB up to 0.6 wrote them; 1.x panics when it reads one, at every call")
                .fix(self.repair()),
            );
        }
        Ok(())
    }

    fn metric(&self, found: &mut Vec<Finding>) {
        let lost = !self.row.metric_recorded && self.row.metric != Metric::L2;
        if self.directory.version().has_schema() && lost {
            found.push(
                Finding::new(
                    "metric_forgotten",
                    Severity::Warning,
                    format!(
                        "the catalog's description of the index is gone; the metadata says {}",
                        self.row.metric.as_str()
                    ),
                )
                .with("metric", self.row.metric.as_str())
                .then("ChromaDB 1.5 measures by l2 and returns vectors at length 1")
                .fix(self.repair()),
            );
        }
    }

    /// Vectors of files that were written before the watermark may be older than their records.
    fn age(&self, survey: &Survey, found: &mut Vec<Finding>) {
        if survey.counts.in_sibling > 0 {
            found.push(
                Finding::new(
                    "vectors_from_aside",
                    Severity::Note,
                    format!(
                        "{} only in files that were set aside",
                        counted(survey.counts.in_sibling, "vector is", "vectors are")
                    ),
                )
                .list("directories", survey.siblings.iter().cloned())
                .then("they are as of the day the files were set aside; records that were changed since have outdated ones"),
            );
        }
        let whole = self.map.is_some_and(|map| map.damage.is_none()) && self.segment.is_some();
        if whole && !survey.unreachable.is_empty() && survey.vector_watermark.is_some() {
            found.push(
                Finding::new(
                    "index_stale",
                    Severity::Warning,
                    "the index files are older than their watermark says: they were put back from a copy, or written by two programs",
                )
                .with("watermark", survey.vector_watermark.unwrap_or(0))
                .with("unreachable", survey.unreachable.len() as u64)
                .then("vectors of records that were changed since are outdated, and nothing tells which")
                .fix(self.import()),
            );
        }
    }

    fn sets(&self, survey: &Survey, found: &mut Vec<Finding>) {
        if !survey.unreachable.is_empty() {
            found.push(
                Finding::new(
                    "vectors_unreachable",
                    Severity::Error,
                    format!(
                        "{} not in the index, of {}",
                        counted(survey.unreachable.len() as u64, "record is", "records are"),
                        survey.live.len()
                    ),
                )
                .list("ids", survey.unreachable.iter().cloned())
                .with("recoverable", survey.counts.records - survey.counts.missing)
                .with("lost", survey.counts.missing)
                .then(UNREACHABLE)
                .fix(
                    if survey.counts.missing == survey.unreachable.len() as u64 {
                        self.import()
                    } else {
                        self.repair()
                    },
                ),
            );
        }
        let ghosts = survey.ghosts.len() as u64;
        let salvaged = matches!(self.directory.snapshot().access(), Access::Salvaged(_));
        if ghosts > 0 && salvaged {
            found.push(
                Finding::new(
                    "records_lost",
                    Severity::Error,
                    format!(
                        "{} gone with damaged pages of the database; only vectors are left of them",
                        counted(ghosts, "record is", "records are")
                    ),
                )
                .list("ids", survey.ghosts.iter().cloned())
                .then("their texts are in no file here; a backup of chroma.sqlite3 may have them")
                .fix(self.import()),
            );
        } else if ghosts > 0 {
            found.push(
                Finding::new(
                    "ghosts",
                    Severity::Warning,
                    format!(
                        "the index holds {} that no record has",
                        counted(ghosts, "id", "ids")
                    ),
                )
                .list("ids", survey.ghosts.iter().cloned())
                .then("queries return ids that get does not know, and other hits are pushed out")
                .fix(self.repair()),
            );
        }
        if survey.counts.missing > 0 {
            let ids = survey
                .live
                .iter()
                .filter(|live| live.origin == super::Origin::Missing)
                .map(|live| live.id.clone());
            found.push(
                Finding::new(
                    "vectors_lost",
                    Severity::Error,
                    format!(
                        "{} no vector that can be told to be theirs",
                        counted(survey.counts.missing, "record has", "records have")
                    ),
                )
                .list("ids", ids)
                .then("their texts and metadata are whole; their vectors must be made anew")
                .fix(self.import()),
            );
        }
        self.age(survey, found);
        let duplicates = &self.base.resolved.contested;
        if !duplicates.is_empty() {
            let mut labels: Vec<u64> = duplicates.iter().copied().collect();
            labels.sort_unstable();
            found.push(
                Finding::new(
                    "two_writers",
                    Severity::Error,
                    "several vectors carry the same label: two programs wrote this index in turns",
                )
                .list("labels", labels)
                .then("some vectors are found under the wrong id or not at all, for ever")
                .fix(self.repair()),
            );
        }
    }
}

//! The findings about one collection.

mod numbers;
mod rows;
mod sets;
mod waiting;

use std::collections::HashMap;

use loci_core::finding::{Finding, FindingCode, Fix, Severity, counted};
use loci_core::{Metric, path_text};

use super::foreign::Foreign;
use super::live::Records;
use super::replay::Base;
use super::{Survey, most_common};
use crate::chroma::catalog::CollectionRow;
use crate::chroma::directory::{Directory, INDEX_DATA};
use crate::chroma::hnsw::Segment;
use crate::chroma::lost_rows::LostRows;
use crate::chroma::pickle::LabelMap;
use crate::chroma::queue::Entry;

/// How ChromaDB behaves while an id is in the records and not in the index.
const UNREACHABLE: &str = "ChromaDB does not find these records by vector, and every filtered query or get with embeddings that \
                           touches one fails with \"Error finding id\"";

/// The input of all checks.
pub(super) struct Scene<'a> {
    pub(super) directory: &'a Directory,
    pub(super) row: &'a CollectionRow,
    pub(super) queue: &'a [Entry],
    pub(super) records: &'a Records,
    pub(super) segment: Option<&'a Segment>,
    pub(super) map: Option<&'a LabelMap>,
    /// Why the index files are unreadable although they exist.
    pub(super) problem: Option<&'a str>,
    /// Why the index files belong to another collection.
    pub(super) foreign: Option<&'a Foreign>,
    pub(super) base: &'a Base,
    pub(super) lengths: &'a HashMap<usize, u64>,
    pub(super) lost: &'a LostRows,
    /// The position among the collections.
    pub(super) collection: usize,
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
        self.rows(survey, &mut found);
        self.sets(survey, &mut found);
        for finding in &mut found {
            finding.collection = Some(self.row.name.clone());
        }
        survey.findings.extend(found);
        Ok(())
    }

    fn repair(&self) -> Fix {
        Fix::repair(self.directory.path())
    }

    fn import(&self) -> Fix {
        Fix::import(self.directory.path())
    }

    fn name(&self) -> &str {
        self.row.vector_segment.as_deref().unwrap_or("")
    }

    fn segments(&self, found: &mut Vec<Finding>) {
        if self.row.lost {
            let records = self.records.stored.len() as u64;
            let message = if self.row.is_stray_segment() {
                format!(
                    "{} a segment that is not in the catalog, so they belong to no collection",
                    counted(records, "record names", "records name")
                )
            } else {
                format!(
                    "{} to no collection; the catalog has lost the collection and its name",
                    counted(records, "record belongs", "records belong")
                )
            };
            found.push(
                Finding::new("collection_lost", Severity::Error, message)
                    .with("collection_id", self.row.id.as_str())
                    .with("records", records)
                    .then("ChromaDB does not know about them")
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

    fn dimension(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let Some(real) = survey.dimension else {
            return;
        };
        match self.row.dimension {
            None if !self.records.stored.is_empty() => found.push(
                Finding::new(
                    "dimension_null",
                    Severity::Warning,
                    format!("the catalog has no dimension; the vectors have {real} numbers"),
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
                        "the catalog records dimension {recorded}, but the vectors have {real} numbers"
                    ),
                )
                .with("recorded", recorded)
                .with("real", real)
                .then(
                    "queries and writes are refused, and embeddings are returned with a wrong length",
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
        let unreadable = |file: String, problem: &str| {
            Finding::new(
                "index_unreadable",
                Severity::Error,
                "the index files exist but cannot be read",
            )
            .file(file)
            .with("problem", problem)
            .then("ChromaDB refuses every call on the collection, or treats it as empty")
            .fix(Fix::MakeReadable)
        };
        for file in &survey.denied {
            let inside = file.strip_prefix(self.directory.path()).unwrap_or(file);
            found.push(unreadable(path_text(inside), "permission denied"));
        }
        let Some(name) = &self.row.vector_segment else {
            return;
        };
        if let Some(problem) = self.problem {
            if survey.denied.is_empty() {
                found.push(unreadable(format!("{name}/{INDEX_DATA}"), problem));
            }
            return;
        }
        if let Some(foreign) = self.foreign {
            found.push(
                foreign
                    .finding()
                    .file(format!("{name}/{INDEX_DATA}"))
                    .fix(self.repair()),
            );
            return;
        }
        let Some(segment) = self.segment else {
            let lost = survey.unreachable.len();
            if survey.vector_watermark.is_some() && !survey.live.is_empty() {
                let (severity, then) = if lost == 0 {
                    (Severity::Note, "ChromaDB rebuilds them from the queue")
                } else {
                    (Severity::Warning, UNREACHABLE)
                };
                found.push(
                    Finding::new(
                        "index_missing",
                        severity,
                        "the index files are missing, although the watermark says that they were written",
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
        // Duplicate labels are reported once, by their meaning.
        let others = segment
            .findings()
            .iter()
            .filter(|finding| finding.code != FindingCode::LabelsDuplicate);
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
                    "the file that maps ids to vectors is missing",
                )
                .file(file)
                .with("elements", segment.count() as u64)
                .with("matched_by_order", rebuilt as u64)
                .then("opening the directory with ChromaDB destroys the vectors in data_level0.bin; do not open it")
                .fix(self.repair()),
            ),
            Some(map) if map.damage.is_some() => found.push(
                Finding::new(
                    "pickle_damaged",
                    Severity::Error,
                    "the file that maps ids to vectors cannot be read completely",
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
                    "ids were matched with vectors by their order, but a vector in the queue contradicts that; these matches were not used",
                )
                .with("records", survey.live.len() as u64),
            );
        }
    }

    fn metric(&self, found: &mut Vec<Finding>) {
        let lost = !self.row.metric_recorded && self.row.metric != Metric::L2;
        if self.directory.version().has_schema() && lost {
            found.push(
                Finding::new(
                    "metric_forgotten",
                    Severity::Warning,
                    format!(
                        "the catalog has lost the description of the index; the metadata says {}",
                        self.row.metric.as_str()
                    ),
                )
                .with("metric", self.row.metric.as_str())
                .then("ChromaDB 1.5 uses the l2 metric and returns vectors of length 1")
                .fix(self.repair()),
            );
        }
    }
}

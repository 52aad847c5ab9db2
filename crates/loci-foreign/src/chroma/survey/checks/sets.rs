//! Compares labels with elements, and the index as ChromaDB will have it with the records.

use std::collections::BTreeMap;

use loci_core::finding::{Finding, Severity, counted};
use loci_salvage::Access;

use super::{Scene, UNREACHABLE};
use crate::chroma::directory::INDEX_DATA;
use crate::chroma::queue::Operation;
use crate::chroma::survey::{Origin, Survey};

impl Scene<'_> {
    pub(super) fn labels(&self, survey: &Survey, found: &mut Vec<Finding>) {
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
                .then("ChromaDB assigns labels a second time and cannot apply its queue")
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
                    "the index holds vectors that are not in the pickle yet; a write of the index was interrupted",
                    "ChromaDB applies the queue again, which fixes this",
                )
            } else {
                (
                    Severity::Warning,
                    "the index holds vectors whose label belongs to no id",
                    "labels are damaged, two programs wrote at the same time, or files from different times were mixed; these vectors cannot be found",
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
                    "vectors in the index differ from those that the queue wrote there",
                )
                .list("ids", self.base.contradicted.iter().cloned())
                .then("ChromaDB answers with outdated or foreign vectors")
                .fix(self.repair()),
            );
        }
    }

    pub(super) fn sets(&self, survey: &Survey, found: &mut Vec<Finding>) {
        self.unreachable(survey, found);
        self.ghosts(survey, found);
        self.lost_vectors(survey, found);
        self.age(survey, found);
        self.two_writers(found);
    }

    /// Records that ChromaDB's index lacks.
    fn unreachable(&self, survey: &Survey, found: &mut Vec<Finding>) {
        // Rows of a segment that is not in the catalog belong to no index.
        if !survey.unreachable.is_empty() && !self.row.is_stray_segment() {
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
    }

    /// Ids in ChromaDB's index that no record has.
    fn ghosts(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let ghosts = survey.ghosts.len() as u64;
        let salvaged = matches!(self.directory.snapshot().access(), Access::Salvaged(_));
        if ghosts > 0 && salvaged {
            found.push(
                Finding::new(
                    "records_lost",
                    Severity::Error,
                    format!(
                        "{} lost with damaged pages of the database; only their vectors are left",
                        counted(ghosts, "record is", "records are")
                    ),
                )
                .list("ids", survey.ghosts.iter().cloned())
                .then(if self.candidates() > 0 {
                    "import and repair write their ids, with the texts that may belong to them, to a file of candidates"
                } else {
                    "their texts are in none of the files; a backup of chroma.sqlite3 may have them"
                })
                .fix(self.import()),
            );
        } else if ghosts > 0 {
            let strays = self.stray_ids();
            let stray = survey
                .ghosts
                .iter()
                .filter(|id| strays.contains(id.as_str()));
            let stray = stray.count() as u64;
            let held = counted(ghosts, "id", "ids");
            let message = if stray == 0 {
                format!("the index holds {held} that no record has")
            } else if stray == ghosts {
                format!(
                    "the index holds {held} whose rows name a segment that is not in the catalog"
                )
            } else {
                format!(
                    "the index holds {held} that no record has; {stray} of them have rows that name \
                     a segment that is not in the catalog"
                )
            };
            found.push(
                Finding::new("ghosts", Severity::Warning, message)
                    .list("ids", survey.ghosts.iter().cloned())
                    .with("stray_rows", stray)
                    .then(
                        "queries return ids that `get` does not know, and these displace other hits",
                    )
                    .fix(self.repair()),
            );
        }
    }

    /// Records without a vector.
    fn lost_vectors(&self, survey: &Survey, found: &mut Vec<Finding>) {
        if survey.counts.missing > 0 {
            let ids = survey
                .live
                .iter()
                .filter(|live| live.origin == Origin::Missing)
                .map(|live| live.id.clone());
            let owners = self.owners();
            let (message, then) = if owners.is_empty() {
                (
                    format!(
                        "{} no vector that certainly belongs to them",
                        counted(survey.counts.missing, "record has", "records have")
                    ),
                    "their texts and metadata are intact; they must be embedded again",
                )
            } else {
                let owners: Vec<String> = owners
                    .iter()
                    .map(|(name, count)| format!("{count} in `{name}`"))
                    .collect();
                (
                    format!(
                        "{} no vector here; the index or the queue of a collection has their ids: {}",
                        counted(survey.counts.missing, "record has", "records have"),
                        owners.join(", ")
                    ),
                    "their texts and metadata are intact; only the id links them to a vector, so they must be embedded again",
                )
            };
            found.push(
                Finding::new("vectors_lost", Severity::Error, message)
                    .list("ids", ids)
                    .then(then)
                    .fix(self.import()),
            );
        }
    }

    /// Labels that several vectors have.
    fn two_writers(&self, found: &mut Vec<Finding>) {
        let duplicates = &self.base.resolved.contested;
        if !duplicates.is_empty() {
            let mut labels: Vec<u64> = duplicates.iter().copied().collect();
            labels.sort_unstable();
            found.push(
                Finding::new(
                    "two_writers",
                    Severity::Error,
                    "several vectors have the same label; two programs wrote this index in turns",
                )
                .list("labels", labels)
                .then("some vectors are found under the wrong id or not at all, permanently")
                .fix(self.repair()),
            );
        }
    }

    /// The collections that have ids of these records in their index or queue and lack the rows.
    fn owners(&self) -> BTreeMap<&str, u64> {
        let mut owners = BTreeMap::new();
        for stray in &self.lost.strays {
            let owner = self.directory.collections().get(stray.collection);
            if let Some(owner) = owner.filter(|_| stray.segment == self.collection) {
                *owners.entry(owner.name.as_str()).or_default() += 1;
            }
        }
        owners
    }

    /// Warns that vectors in files written before the watermark may be older than their records.
    pub(super) fn age(&self, survey: &Survey, found: &mut Vec<Finding>) {
        if survey.counts.in_sibling > 0 {
            found.push(
                Finding::new(
                    "vectors_from_aside",
                    Severity::Note,
                    format!(
                        "{} only in quarantined files",
                        counted(survey.counts.in_sibling, "vector is", "vectors are")
                    ),
                )
                .list("directories", survey.siblings.iter().cloned())
                .then("they date from the day of the quarantine; records that were changed since have outdated vectors"),
            );
        }
        let whole = self.map.is_some_and(|map| map.damage.is_none()) && self.segment.is_some();
        if whole && !survey.unreachable.is_empty() && survey.vector_watermark.is_some() {
            found.push(
                Finding::new(
                    "index_stale",
                    Severity::Warning,
                    "the index files are older than their watermark; they were restored from a copy, or written by two programs",
                )
                .with("watermark", survey.vector_watermark.unwrap_or(0))
                .with("unreachable", survey.unreachable.len() as u64)
                .then("vectors of records that were changed since are outdated, and it is unknown which ones")
                .fix(self.import()),
            );
        }
    }
}

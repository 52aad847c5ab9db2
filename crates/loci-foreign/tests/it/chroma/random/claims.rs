//! Invariants of everything that is read from a damaged directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use loci_foreign::chroma::{Diagnosis, Origin, Record};
use serde_json::Value;

use super::strike::Strike;
use super::subject::{Index, Records, Subject, is_database};
use crate::chroma_scenes::scene::{DATABASE, PICKLE};

/// The maximum distance of a length from 1 that rounding can cause.
const TOLERANCE: f64 = 1e-4;

/// A subject after one damage.
pub struct Damaged<'a> {
    pub subject: &'a Subject,
    pub file: &'a Path,
    pub strike: &'a Strike,
    pub files: &'a BTreeMap<PathBuf, Vec<u8>>,
}

impl Damaged<'_> {
    /// The problems of what was read.
    pub fn problems(&self, diagnosis: &Diagnosis, read: &Records) -> Vec<String> {
        let mut problems = Vec::new();
        if is_database(self.file) {
            self.database(diagnosis, &mut problems);
        } else {
            self.whole(read, &mut problems);
            self.verdict(diagnosis, &mut problems);
        }
        for (name, records) in read {
            let Some(known) = self.subject.records.get(name) else {
                continue;
            };
            let owners = Owners::of(known);
            for record in records
                .values()
                .filter(|record| known.contains_key(&record.id))
            {
                let problem = match (&record.vector, record.origin) {
                    (None, _) => None,
                    (Some(vector), Origin::Queue(_)) => {
                        self.queued(&known[&record.id], vector, &owners)
                    }
                    (Some(vector), _) => self.indexed(name, record, vector),
                };
                problems.extend(problem.map(|problem| format!("{name} {}: {problem}", record.id)));
            }
        }
        problems
    }

    /// A database with missing pages is not healthy.
    fn database(&self, diagnosis: &Diagnosis, problems: &mut Vec<String>) {
        let length = self.subject.files[self.file].len();
        if self.file == Path::new(DATABASE)
            && self.strike.cuts_pages(length)
            && diagnosis.is_healthy()
        {
            problems.push("a database without all its pages is called healthy".into());
        }
    }

    /// Damage to index files changes no text, no metadata, no vector in the queue and no set of
    /// records. Damage to files without vectors loses no vector.
    fn whole(&self, read: &Records, problems: &mut Vec<String>) {
        let name = self.file.file_name().unwrap_or_default();
        let harmless = ["header.bin", "length.bin", "link_lists.bin"]
            .iter()
            .any(|file| name == *file);
        for wanted in &self.subject.expected.collections {
            let Some(records) = read.get(&wanted.name) else {
                problems.push(format!("no collection {}", wanted.name));
                continue;
            };
            let ids: BTreeSet<String> = records.keys().cloned().collect();
            if ids != wanted.ids() {
                problems.push(format!("{}: other records", wanted.name));
            }
            for expected in &wanted.records {
                let Some(record) = records.get(&expected.id) else {
                    continue;
                };
                let metadata = serde_json::to_value(&record.metadata).unwrap();
                let none = metadata.as_object().is_some_and(serde_json::Map::is_empty);
                let metadata = if none { &Value::Null } else { &metadata };
                if record.document != expected.document
                    || metadata != expected.metadata.as_ref().unwrap_or(&Value::Null)
                {
                    problems.push(format!("{} {}: another text", wanted.name, expected.id));
                }
                if record.vector.is_none() && harmless {
                    problems.push(format!(
                        "{} {}: its vector is whole and was not given",
                        wanted.name, expected.id
                    ));
                }
            }
        }
    }

    /// A loss in the index is not reported as healthy.
    fn verdict(&self, diagnosis: &Diagnosis, problems: &mut Vec<String>) {
        if !diagnosis.is_healthy() {
            return;
        }
        for (name, index) in &self.subject.indexes {
            let why = [
                (self.changed(index, "header.bin", 20..28), "another count"),
                (self.changed(index, "header.bin", 28..52), "another layout"),
                (self.changed(index, "header.bin", 60..84), "another layout"),
                (
                    self.lacks_labels(index),
                    "labels that no element carries, or more than one",
                ),
                (
                    self.lacks_ids(name, index),
                    "ids that the pickle does not name any more",
                ),
                (
                    self.file == index.file(PICKLE) && matches!(self.strike, Strike::Append(_)),
                    "bytes behind the end of the pickle, which the real chromadb refuses",
                ),
            ];
            let why = why.into_iter().filter(|(is, _)| *is);
            problems.extend(why.map(|(_, why)| format!("{name} is called healthy with {why}")));
            let given = diagnosis
                .surveys
                .iter()
                .all(|survey| survey.counts.missing == 0);
            if !given {
                problems.push(format!("{name} is called healthy without all vectors"));
            }
        }
    }

    fn changed(&self, index: &Index, file: &str, range: std::ops::Range<usize>) -> bool {
        let [before, after] =
            [&self.subject.files, self.files].map(|files| files.get(&index.file(file)));
        before.and_then(|bytes| bytes.get(range.clone()))
            != after.and_then(|bytes| bytes.get(range))
    }

    fn lacks_labels(&self, index: &Index) -> bool {
        let elements = index.elements(self.files);
        let mut carried: BTreeMap<u64, usize> = BTreeMap::new();
        for element in elements.iter().filter(|element| !element.deleted) {
            *carried.entry(element.label).or_default() += 1;
        }
        index
            .labels
            .values()
            .any(|label| carried.get(label) != Some(&1))
    }

    fn lacks_ids(&self, name: &str, index: &Index) -> bool {
        let file = index.file(PICKLE);
        let (Some(before), Some(after)) = (self.subject.files.get(&file), self.files.get(&file))
        else {
            return false;
        };
        let count = |bytes: &[u8], id: &str| {
            bytes
                .windows(id.len())
                .filter(|part| *part == id.as_bytes())
                .count()
        };
        let ids = self.subject.records[name].keys();
        before != after
            && ids
                .into_iter()
                .any(|id| count(before, id) > count(after, id))
    }

    /// A vector in the queue is that of its id, bit for bit. Changed bytes cannot be detected, but
    /// it must not be the vector of another id.
    fn queued(&self, known: &Record, vector: &[f32], owners: &Owners) -> Option<String> {
        let bits = bits(vector);
        if known.vector.as_deref().map(self::bits).as_ref() == Some(&bits) {
            return None;
        }
        if !is_database(self.file) && matches!(known.origin, Origin::Queue(_)) {
            return Some("another vector out of a queue that nothing happened to".into());
        }
        let owner = owners.by_bits.get(&bits)?;
        Some(format!("the vector of {owner}, out of the queue"))
    }

    /// A vector of the index is the one that the files hold under the label of its id, with length
    /// 1 there.
    fn indexed(&self, name: &str, record: &Record, vector: &[f32]) -> Option<String> {
        let Some(index) = self.subject.indexes.get(name) else {
            return Some("a vector out of no index".into());
        };
        let elements = index.elements(self.files);
        let mut carrying = elements
            .iter()
            .filter(|element| element.is(vector, index.cosine) && !element.deleted);
        let right = match index.labels.get(&record.id) {
            Some(label) => carrying.find(|element| element.label == *label),
            None => {
                carrying.find(|element| index.labels.values().all(|label| *label != element.label))
            }
        };
        let Some(element) = right else {
            return Some(format!(
                "a vector that does not stand under its label: {:?}",
                record.origin
            ));
        };
        if index.cosine
            && element.off() > TOLERANCE
            && element.vector.iter().any(|value| *value != 0.0)
        {
            return Some(format!("a vector whose length is off by {}", element.off()));
        }
        let claimed = elements
            .iter()
            .filter(|other| other.label == element.label && !other.deleted);
        (claimed.count() > 1 && self.is_counted(index))
            .then(|| "a label that several elements carry".into())
    }

    /// Whether the header still shows which elements are in use.
    fn is_counted(&self, index: &Index) -> bool {
        !self.changed(index, "header.bin", 0..100)
    }
}

/// The owner of a vector, if there is only one.
struct Owners {
    by_bits: BTreeMap<Vec<u32>, String>,
}

impl Owners {
    fn of(records: &BTreeMap<String, Record>) -> Self {
        let owned = records
            .values()
            .filter_map(|record| Some((bits(record.vector.as_deref()?), record.id.clone())));
        Self {
            by_bits: owned.collect(),
        }
    }
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|value| value.to_bits()).collect()
}

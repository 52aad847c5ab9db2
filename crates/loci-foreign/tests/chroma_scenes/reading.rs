//! What Loci reads from a scene, compared with what chromadb wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use loci_foreign::chroma::{Diagnosis, Evidence, Record};
use serde_json::Value;

use super::expected::close;
use super::scene::Scene;

/// Collection → id → record.
pub fn read(path: &Path) -> BTreeMap<String, BTreeMap<String, Record>> {
    let diagnosis = Diagnosis::of(path).unwrap();
    let mut found = BTreeMap::new();
    for (at, row) in diagnosis.directory.collections().iter().enumerate() {
        let mut records = BTreeMap::new();
        let mut take = |batch: Vec<Record>| {
            records.extend(batch.into_iter().map(|record| (record.id.clone(), record)));
            Ok(())
        };
        let survey = &diagnosis.surveys[at];
        let directory = &diagnosis.directory;
        directory
            .for_each_record(at, survey, 100, &mut take)
            .unwrap();
        found.insert(row.name.clone(), records);
    }
    found
}

/// Everything that was read, and the diagnosis.
pub struct Reading {
    pub diagnosis: Diagnosis,
    pub records: BTreeMap<String, Record>,
}

impl Reading {
    pub fn of(scene: &Scene) -> Self {
        let diagnosis = Diagnosis::of(&scene.directory).unwrap();
        let name = &scene.expected.first().name;
        let rows = diagnosis.directory.collections();
        let at = rows.iter().position(|row| row.name == *name).unwrap();
        let mut records = BTreeMap::new();
        diagnosis
            .directory
            .for_each_record(at, &diagnosis.surveys[at], 100, &mut |batch| {
                records.extend(batch.into_iter().map(|record| (record.id.clone(), record)));
                Ok(())
            })
            .unwrap();
        Self { diagnosis, records }
    }

    pub fn evidence(&self, wanted: Evidence) -> usize {
        let live = self.diagnosis.surveys.iter().flat_map(|of| &of.live);
        live.filter(|live| live.restored == Some(wanted)).count()
    }

    /// A number of the finding about lost rows.
    pub fn told(&self, code: &str, name: &str) -> Option<u64> {
        let finding = self
            .diagnosis
            .all()
            .find(|finding| finding.code.as_str() == code)?;
        finding.evidence.get(name)?.as_u64()
    }

    /// The problems of the records that were read. Those in `spoiled` lost metadata, and must not
    /// have that of others.
    pub fn problems(&self, scene: &Scene, spoiled: &BTreeSet<String>) -> Vec<String> {
        let mut problems = Vec::new();
        for (id, read) in &self.records {
            let Some(record) = scene.expected.first().record(id) else {
                problems.push(format!("{id} was never there"));
                continue;
            };
            let metadata = match serde_json::to_value(&read.metadata).unwrap() {
                Value::Object(values) if values.is_empty() => None,
                values => Some(values),
            };
            let mut same = read.document == record.document && metadata == record.metadata;
            if spoiled.contains(id) {
                let own = record.metadata.clone().unwrap_or_default();
                let mut values = read.metadata.0.iter();
                same = (read.document.is_none() || read.document == record.document)
                    && values.all(|(key, value)| {
                        own.get(key) == serde_json::to_value(value).ok().as_ref()
                    });
            }
            if !same {
                problems.push(format!("{id} has the text {:?}", read.document));
            }
            let vector = record.embedding.as_ref().unwrap();
            if read
                .vector
                .as_ref()
                .is_some_and(|read| !close(read, vector))
            {
                problems.push(format!("{id} has another vector"));
            }
        }
        problems
    }

    /// Ids of records that are neither read nor among the candidates. Their text, if they had one,
    /// must be there.
    pub fn dropped(&self, scene: &Scene) -> Vec<String> {
        let candidates = self.diagnosis.directory.candidates().unwrap();
        let texts: BTreeSet<&str> = candidates
            .iter()
            .filter_map(|of| of.document.as_deref())
            .collect();
        let ids: BTreeSet<&str> = candidates
            .iter()
            .flat_map(|of| &of.ids)
            .map(String::as_str)
            .collect();
        let named: BTreeSet<String> = match scene.expected.labels.get(&scene.vector_segment()) {
            Some(labels) => labels.keys().cloned().collect(),
            None => BTreeSet::new(),
        };
        let records = scene.expected.first().records.iter();
        records
            .filter(|record| !self.records.contains_key(&record.id))
            .filter(|record| match &record.document {
                Some(text) => !texts.contains(text.as_str()),
                // A record without text is named nowhere if the damage removed its last entry.
                None => {
                    named.contains(&record.id)
                        && !ids.contains(record.id.as_str())
                        && record.metadata.is_none()
                }
            })
            .map(|record| record.id.clone())
            .collect()
    }
}

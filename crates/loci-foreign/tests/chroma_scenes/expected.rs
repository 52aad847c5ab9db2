//! The expected contents of a directory, according to the script that wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The contents of a directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expected {
    /// The release that wrote it.
    pub version: String,
    /// Ids that may exist, because their write was not acknowledged.
    pub uncertain: Vec<String>,
    /// Segment → id → label, for directories of 1.x.
    #[serde(default)]
    pub labels: BTreeMap<String, BTreeMap<String, u64>>,
    pub collections: Vec<ExpectedCollection>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExpectedCollection {
    pub name: String,
    pub metric: String,
    pub dimension: usize,
    /// In the order in which chromadb returns them.
    pub records: Vec<ExpectedRecord>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExpectedRecord {
    pub id: String,
    pub document: Option<String>,
    pub metadata: Option<Value>,
    /// As it was written. `None` tells the judge that the vector is lost.
    pub embedding: Option<Vec<f32>>,
    /// As chromadb returned it. Only in fixtures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<Vec<f32>>,
}

impl Expected {
    pub fn read(path: &Path) -> Self {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    pub fn collection(&self, name: &str) -> &ExpectedCollection {
        self.collections
            .iter()
            .find(|collection| collection.name == name)
            .unwrap()
    }

    /// The collection that is damaged.
    pub fn first(&self) -> &ExpectedCollection {
        self.collections.first().unwrap()
    }

    /// The same without the records of the first collection that are not in `kept`.
    #[must_use]
    pub fn with_records(&self, kept: &BTreeSet<String>) -> Self {
        let mut changed = self.clone();
        let first = changed.collections.first_mut().unwrap();
        first.records.retain(|record| kept.contains(&record.id));
        changed
    }

    /// The same, with only the `kept` records of the first collection having a vector.
    #[must_use]
    pub fn with_vectors(&self, kept: &BTreeSet<String>) -> Self {
        let mut changed = self.clone();
        for record in &mut changed.collections.first_mut().unwrap().records {
            if !kept.contains(&record.id) {
                record.embedding = None;
            }
        }
        changed
    }
}

impl ExpectedCollection {
    pub fn ids(&self) -> BTreeSet<String> {
        self.records
            .iter()
            .map(|record| record.id.clone())
            .collect()
    }

    pub fn record(&self, id: &str) -> Option<&ExpectedRecord> {
        self.records.iter().find(|record| record.id == id)
    }

    /// Id → vector as written.
    pub fn vectors(&self) -> BTreeMap<&str, &[f32]> {
        self.records
            .iter()
            .filter_map(|record| Some((record.id.as_str(), record.embedding.as_deref()?)))
            .collect()
    }
}

/// Equal up to the rounding of normalised × length.
pub fn close(one: &[f32], other: &[f32]) -> bool {
    let scale = other
        .iter()
        .fold(1.0_f32, |most, value| most.max(value.abs()));
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(a, b)| (a - b).abs() <= 1e-5 * scale)
}

/// Equal up to their length.
pub fn same_direction(one: &[f32], other: &[f32]) -> bool {
    let unit = |vector: &[f32]| -> Vec<f32> {
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    };
    close(&unit(one), &unit(other))
}

//! A palace after reading: checked, numbered, and ready for queries.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::{Row, Rows, SourceCollection};
use crate::backend::CollectionInfo;
use crate::batch::{validate_collection_name, validate_vector};
use crate::error::{Error, Result};
use crate::palace_ref::PalaceRef;
use crate::quote::quoted;

/// All collections of a palace as of one stamp.
#[derive(Debug)]
pub(super) struct LoadedPalace {
    pub(super) collections: BTreeMap<String, Arc<LoadedCollection>>,
}

/// A collection as of one stamp.
#[derive(Debug)]
pub(super) struct LoadedCollection {
    pub(super) number: u64,
    pub(super) info: CollectionInfo,
    /// The highest change number.
    pub(super) seq: u64,
    pub(super) rows: Rows,
}

impl LoadedPalace {
    /// Fails if the collections contradict each other or themselves.
    pub(super) fn new(palace: &PalaceRef, mut read: Vec<SourceCollection>) -> Result<Self> {
        number(&mut read);
        let mut records = HashSet::new();
        for collection in &read {
            check(collection, &mut records).map_err(|detail| Error::Corrupt {
                what: format!("collection {}", quoted(&collection.name)),
                path: palace.to_string().into(),
                detail,
            })?;
        }
        let made: Vec<(String, LoadedCollection)> = read.into_iter().map(collection).collect();
        let shared: Vec<_> = made
            .iter()
            .map(|(_, of)| Arc::clone(&of.rows.own))
            .collect();
        let mut collections = BTreeMap::new();
        for (at, (name, mut of)) in made.into_iter().enumerate() {
            let others = shared.iter().enumerate().filter(|(other, _)| *other != at);
            of.rows
                .beside_shared(others.map(|(_, rows)| Arc::clone(rows)).collect());
            if collections.insert(name.clone(), Arc::new(of)).is_some() {
                return Err(Error::Corrupt {
                    what: format!("collection {}", quoted(&name)),
                    path: palace.to_string().into(),
                    detail: "its name appears twice".into(),
                });
            }
        }
        Ok(Self { collections })
    }
}

/// Numbers the records if the format has no record numbers.
fn number(read: &mut [SourceCollection]) {
    let numbered = |of: &SourceCollection| of.rows.iter().any(|row| row.record != 0);
    if read.iter().any(numbered) {
        return;
    }
    let rows = read.iter_mut().flat_map(|of| &mut of.rows);
    for (row, record) in rows.zip(1..) {
        row.record = record;
    }
}

fn check(read: &SourceCollection, records: &mut HashSet<u64>) -> Result<(), String> {
    validate_collection_name(&read.name).map_err(|error| error.to_string())?;
    let dimension = dimension(read);
    let mut ids = HashSet::new();
    for row in &read.rows {
        let id = quoted(&row.id);
        if !ids.insert(row.id.as_str()) {
            return Err(format!("the id {id} appears twice"));
        }
        if !records.insert(row.record) {
            return Err(format!(
                "the record number {} of {id} appears twice",
                row.record
            ));
        }
        let Some(vector) = &row.vector else { continue };
        validate_vector(&format!("the vector of {id}"), vector)
            .map_err(|error| error.to_string())?;
        if dimension.is_some_and(|expected| expected != vector.len()) {
            return Err(format!(
                "the vector of {id} has dimension {}, others have {}",
                vector.len(),
                dimension.unwrap_or_default()
            ));
        }
    }
    Ok(())
}

/// The dimension that the format records, or that of the first vector.
fn dimension(read: &SourceCollection) -> Option<usize> {
    let first = || read.rows.iter().find_map(|row| row.vector.as_ref());
    read.dimension.or_else(|| first().map(Vec::len))
}

fn collection(read: SourceCollection) -> (String, LoadedCollection) {
    let dimension = dimension(&read);
    let with_vector = |row: &&Row| row.vector.is_some();
    let info = CollectionInfo {
        name: read.name.clone(),
        count: read.rows.len() as u64,
        vectors: read.rows.iter().filter(with_vector).count() as u64,
        dimension,
        metric: read.metric,
        embedder: read.embedder.clone(),
    };
    let seq = read.rows.iter().map(|row| row.seq).max();
    let rows = Rows::new(read.name.clone(), read.metric, read.rows)
        .dimension(dimension)
        .embedder(read.embedder);
    let made = LoadedCollection {
        number: read.number,
        info,
        seq: seq.unwrap_or_default(),
        rows,
    };
    (read.name, made)
}

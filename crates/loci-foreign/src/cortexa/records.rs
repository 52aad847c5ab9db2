//! Converts entries to foreign records.

use std::collections::HashMap;

use jiff::Timestamp;
use loci_core::{MetaValue, Metadata};

use super::decode::Entry;
use super::replay::State;
use crate::palace::{ForeignRecord, ReadSummary, VectorOrigin};
use crate::{fields, vector};

/// CortexaDB's default collection.
const DEFAULT: &str = "default";

/// The most common length of vectors.
pub(super) fn dimension(state: &State) -> Option<usize> {
    let mut counts: HashMap<usize, u64> = HashMap::new();
    for id in state.memories.keys() {
        if let Some(bytes) = state.entry(*id).and_then(|entry| entry.vector) {
            *counts.entry(bytes.len() / 4).or_default() += 1;
        }
    }
    counts.remove(&0);
    let most = counts
        .into_iter()
        .max_by_key(|(length, count)| (*count, *length));
    most.map(|(length, _)| length)
}

/// The record of an entry.
pub(super) fn record(
    entry: &Entry<'_>,
    recovered_from: Option<&str>,
    dimension: Option<usize>,
    summary: &mut ReadSummary,
) -> ForeignRecord {
    let id = entry.id.to_string();
    let vector = match entry.vector {
        None => None,
        Some(bytes) => match vector::read(bytes, dimension) {
            Ok(vector) => Some(vector),
            Err(problem) => {
                summary.lose(Some(id.clone()), format!("its vector {problem}"));
                None
            }
        },
    };
    let text = String::from_utf8_lossy(entry.content);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        summary.leave("content_encoding");
    }
    let metadata = metadata(entry, recovered_from, summary);
    ForeignRecord {
        id,
        document: Some(text.into_owned()),
        added: metadata.authored_at(),
        metadata,
        origin: match vector {
            Some(_) => VectorOrigin::Exact,
            None => VectorOrigin::Missing,
        },
        vector,
    }
}

/// The metadata of an entry. User keys are kept. CortexaDB's own fields get another key if theirs
/// is taken.
fn metadata(
    entry: &Entry<'_>,
    recovered_from: Option<&str>,
    summary: &mut ReadSummary,
) -> Metadata {
    let mut metadata = Metadata::default();
    for (key, value) in &entry.metadata {
        let value = MetaValue::Str((*value).to_owned());
        fields::put(&mut metadata, key, value, summary);
    }
    let mut add = |key: &str, value: MetaValue| {
        let key = if metadata.0.contains_key(key) {
            format!("cortexadb_{key}")
        } else {
            key.to_owned()
        };
        metadata.0.insert(key, value);
    };
    if entry.collection != DEFAULT {
        add("wing", MetaValue::Str(entry.collection.to_owned()));
    }
    let moment = i64::try_from(entry.created_at)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok());
    match moment {
        Some(moment) => add("authored_at", MetaValue::Str(moment.to_string())),
        None => summary.leave("created_at"),
    }
    if !entry.importance.is_finite() {
        summary.leave("importance");
    } else if entry.importance != 0.0 {
        add("importance", MetaValue::Float(f64::from(entry.importance)));
    }
    if let Some(from) = recovered_from {
        add("recovered_from", MetaValue::Str(from.to_owned()));
    }
    metadata
}

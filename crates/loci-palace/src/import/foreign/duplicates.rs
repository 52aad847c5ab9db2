//! Keeps duplicates apart. Loci keeps one drawer per wing, source file, text, line and part. A
//! foreign palace may hold several ids for the same combination, and none of them may be lost.
//!
//! Each later one gets a `part` that is derived from its id. So a second run creates the same
//! drawer, and a comparison recognises the part as generated.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use loci_core::{MetaValue, Metadata};
use loci_foreign::ForeignRecord;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

const PART: &str = "part";
/// The key that keeps the original `part`.
const PART_BEFORE: &str = "part_before_import";
/// The lowest generated part. No real text has this many parts.
const FIRST_PART: i64 = 1_000_000_000;

fn part_of(id: &str) -> i64 {
    FIRST_PART + (xxh3_64(id.as_bytes()) >> 24) as i64
}

/// Gives a record a unique part.
pub(super) fn make_unique(id: &str, metadata: &mut Metadata) {
    if let Some(before) = metadata.0.insert(PART.into(), MetaValue::Int(part_of(id))) {
        metadata.0.insert(PART_BEFORE.into(), before);
    }
}

/// The original metadata.
pub(super) fn original_metadata(id: &str, metadata: &Metadata) -> Metadata {
    let mut before = metadata.clone();
    if before.get(PART) == Some(&MetaValue::Int(part_of(id))) {
        before.0.remove(PART);
        if let Some(own) = before.0.remove(PART_BEFORE) {
            before.0.insert(PART.into(), own);
        }
    }
    before
}

/// The occupied places, for a dry run. They predict the outcome of writing a second record with the
/// same text and place.
#[derive(Default)]
pub(super) struct Places(HashMap<u128, Box<str>>);

impl Places {
    /// The id of an earlier record with the same text and place. If there is none, notes this
    /// record.
    pub(super) fn holder(&mut self, record: &ForeignRecord) -> Option<String> {
        let key = key_of(record)?;
        match self.0.entry(key) {
            Entry::Occupied(held) => Some(held.get().to_string()),
            Entry::Vacant(free) => {
                free.insert(record.id.as_str().into());
                None
            }
        }
    }
}

/// The hash of wing, source file, text, line and part; `None` without a source.
fn key_of(record: &ForeignRecord) -> Option<u128> {
    let metadata = &record.metadata;
    let text = record.document.as_deref()?;
    let source = metadata
        .get_str("source_file")
        .filter(|source| !source.is_empty())?;
    let part = metadata
        .get(PART)
        .filter(|part| matches!(part, MetaValue::Int(_)));
    let key = format!(
        "{:?}",
        (
            metadata.get("wing"),
            source,
            text,
            metadata.get("start_line"),
            part
        )
    );
    Some(xxh3_128(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_told_apart_becomes_again_what_it_was() {
        for before in [
            json!({}),
            json!({"part": 3, "wing": "w"}),
            json!({"part": "x"}),
        ] {
            let before = Metadata::from_json(&before).unwrap();
            let mut apart = before.clone();
            make_unique("a", &mut apart);
            assert!(matches!(apart.get("part"), Some(MetaValue::Int(part)) if *part >= FIRST_PART));
            assert_eq!(original_metadata("a", &apart), before);
            // The part belongs to this id only.
            assert_ne!(original_metadata("b", &apart), before);
        }
    }
}

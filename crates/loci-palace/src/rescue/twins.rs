//! Records that say the same from the same place. Loci keeps one drawer per wing, source file, text, line and part; a
//! foreign palace may hold several ids of that kind, and none of them may vanish.
//!
//! Each later one gets a `part` that follows from its id. So a second run makes the same drawer, and comparing knows that
//! the number is ours.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use loci_core::{MetaValue, Metadata};
use loci_foreign::ForeignRecord;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

const PART: &str = "part";
/// Where a `part` of its own is kept meanwhile.
const PART_BEFORE: &str = "part_before_import";
/// No real text has so many parts.
const FIRST_PART: i64 = 1_000_000_000;

fn part_of(id: &str) -> i64 {
    FIRST_PART + (xxh3_64(id.as_bytes()) >> 24) as i64
}

/// Makes a record one of its own.
pub(super) fn tell_apart(id: &str, metadata: &mut Metadata) {
    if let Some(before) = metadata.0.insert(PART.into(), MetaValue::Int(part_of(id))) {
        metadata.0.insert(PART_BEFORE.into(), before);
    }
}

/// The metadata as it was there.
pub(super) fn as_it_was(id: &str, metadata: &Metadata) -> Metadata {
    let mut before = metadata.clone();
    if before.get(PART) == Some(&MetaValue::Int(part_of(id))) {
        before.0.remove(PART);
        if let Some(own) = before.0.remove(PART_BEFORE) {
            before.0.insert(PART.into(), own);
        }
    }
    before
}

/// Who stands where, for a dry run: what a write would say of a second record from one place.
#[derive(Default)]
pub(super) struct Places(HashMap<u128, Box<str>>);

impl Places {
    /// Who said the same from the same place before; otherwise the record is noted.
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

/// Wing, source file, text, line and part; nothing for what has no source.
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
            tell_apart("a", &mut apart);
            assert!(matches!(apart.get("part"), Some(MetaValue::Int(part)) if *part >= FIRST_PART));
            assert_eq!(as_it_was("a", &apart), before);
            // The number is that of this id alone.
            assert_ne!(as_it_was("b", &apart), before);
        }
    }
}

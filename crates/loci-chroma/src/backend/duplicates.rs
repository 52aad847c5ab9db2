//! Keeps duplicates apart. Two records may have the same text and place under two ids. A Loci
//! collection holds both only if their `part` differs, so the later one gets a new part. Answers
//! show the original value.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{MetaValue, Metadata};
use xxhash_rust::xxh3::Xxh3;

use super::fitting::Fitted;

/// The metadata key that distinguishes pieces of one line.
pub(super) const PART: &str = "part";

/// The keys of all drawers so far.
#[derive(Default)]
pub(super) struct Duplicates {
    keys: HashSet<u128>,
    /// The next part to try, by the key without one.
    next: HashMap<u128, i64>,
    parts: BTreeMap<String, Option<MetaValue>>,
}

impl Duplicates {
    /// Gives a drawer a unique key.
    pub(super) fn make_unique(&mut self, fitted: &mut Fitted) {
        let Some(place) = place(fitted) else { return };
        let part = match fitted.metadata.get(PART) {
            Some(MetaValue::Int(part)) => Some(*part),
            _ => None,
        };
        if self.keys.insert(key(place, part)) {
            return;
        }
        let next = self.next.entry(place).or_insert(1);
        while !self.keys.insert(key(place, Some(*next))) {
            *next += 1;
        }
        let had = fitted.metadata.0.insert(PART.into(), (*next).into());
        self.parts.insert(fitted.id.clone(), had);
    }

    /// The drawers that got a new part, with their original value.
    pub(super) fn into_parts(self) -> BTreeMap<String, Option<MetaValue>> {
        self.parts
    }
}

/// Gives a drawer the part that it has in the source.
pub(super) fn restore(
    parts: &BTreeMap<String, Option<MetaValue>>,
    id: &str,
    metadata: &mut Metadata,
) {
    match parts.get(id) {
        None => {}
        Some(None) => {
            metadata.0.remove(PART);
        }
        Some(Some(had)) => {
            metadata.0.insert(PART.into(), had.clone());
        }
    }
}

/// The fields that make a mined drawer unique (docs/contract.md, chapter 5), without its part.
/// `None` for other drawers.
fn place(fitted: &Fitted) -> Option<u128> {
    let text = fitted.document.as_deref()?;
    let file = fitted.metadata.get_str("source_file")?;
    if file.is_empty() {
        return None;
    }
    let mut hash = Xxh3::new();
    let (wing, line) = (field_text(fitted, "wing"), field_text(fitted, "start_line"));
    for field in [wing.as_str(), file, text, line.as_str()] {
        hash.update(&(field.len() as u64).to_le_bytes());
        hash.update(field.as_bytes());
    }
    Some(hash.digest128())
}

fn key(place: u128, part: Option<i64>) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&place.to_le_bytes());
    if let Some(part) = part {
        hash.update(&part.to_le_bytes());
    }
    hash.digest128()
}

fn field_text(fitted: &Fitted, key: &str) -> String {
    match fitted.metadata.get(key) {
        None => String::new(),
        Some(MetaValue::Str(text)) => text.clone(),
        Some(value) => serde_json::to_string(value).unwrap_or_default(),
    }
}

//! Validates facts and links before a backend touches its store, and derives the id of a fact that
//! has none.

use std::borrow::Cow;

use super::names::same_name;
use super::{DrawerRef, Fact, Link, LinkEnd};
use crate::batch::{
    MAX_BATCH_RECORDS, MAX_BATCH_TEXT_BYTES, validate_collection_name, validate_id,
    validate_metadata, validate_patch,
};
use crate::error::{Error, Result};
use crate::metadata::Metadata;

/// Maximum bytes of a fact's subject, predicate or object and of a link's label, wing or room.
pub const MAX_ENTITY_BYTES: usize = 16 << 10;
/// Maximum bytes of `valid_from` and `valid_to`.
pub const MAX_VALIDITY_BYTES: usize = 256;

impl Fact {
    /// The id that it is stored under: its own, or one derived from subject, predicate, object,
    /// `valid_from` and source. A derived id is 32 hexadecimal digits, the first half of a BLAKE3
    /// hash, so it is the same in every palace.
    pub fn key(&self) -> Cow<'_, str> {
        if !self.id.is_empty() {
            return Cow::Borrowed(&self.id);
        }
        let source = self.source.as_ref();
        let mut hasher = blake3::Hasher::new();
        for part in [
            Some(self.subject.as_str()),
            Some(self.predicate.as_str()),
            Some(self.object.as_str()),
            self.valid_from.as_deref(),
            source.map(|drawer| drawer.collection.as_str()),
            source.map(|drawer| drawer.id.as_str()),
        ] {
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            hasher.update(&length.to_le_bytes());
            hasher.update(part.unwrap_or_default().as_bytes());
        }
        let hex = hasher.finalize().to_hex();
        Cow::Owned(hex.chars().take(32).collect())
    }

    /// Whether another fact has the same subject, predicate and object, except for letter case and
    /// surrounding space, the same `valid_from` and the same source.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.valid_from == other.valid_from
            && self.source == other.source
            && same_name(&self.subject, &other.subject)
            && same_name(&self.predicate, &other.predicate)
            && same_name(&self.object, &other.object)
    }

    /// Its size in bytes, which counts against `MAX_BATCH_TEXT_BYTES` of a call.
    pub fn bytes(&self) -> usize {
        let source = self.source.as_ref().map_or(0, DrawerRef::bytes);
        let validity = [&self.valid_from, &self.valid_to];
        let validity: usize = validity.into_iter().flatten().map(String::len).sum();
        let statement = self.subject.len() + self.predicate.len() + self.object.len();
        self.id.len() + statement + validity + source + self.metadata.to_json_text().len()
    }

    /// Checks everything that can be checked without the store.
    pub fn validate(&self) -> Result<()> {
        if !self.id.is_empty() {
            validate_id(&self.id)?;
        }
        let name = self.key();
        let what = |part: &str| format!("{part} of fact {}", crate::quote::quoted(&name));
        validate_name(&what("subject"), &self.subject)?;
        validate_name(&what("predicate"), &self.predicate)?;
        validate_part(&what("object"), &self.object)?;
        for (part, date) in [
            ("valid_from", &self.valid_from),
            ("valid_to", &self.valid_to),
        ] {
            date.as_ref()
                .map_or(Ok(()), |date| validate_date(&what(part), date))?;
        }
        if let Some(confidence) = self.confidence.filter(|value| !(0.0..=1.0).contains(value)) {
            return Err(Error::invalid(
                what("confidence"),
                format!("{confidence} is not a number from 0 to 1"),
            ));
        }
        self.source.as_ref().map_or(Ok(()), DrawerRef::validate)?;
        validate_all_metadata(&name, &self.metadata)
    }
}

impl Link {
    /// Its size in bytes, which counts against `MAX_BATCH_TEXT_BYTES` of a call.
    pub fn bytes(&self) -> usize {
        let ends = self.from.bytes() + self.to.bytes();
        ends + self.label.len() + self.metadata.to_json_text().len()
    }

    /// Checks everything that can be checked without the store.
    pub fn validate(&self) -> Result<()> {
        self.from.validate()?;
        self.to.validate()?;
        validate_part("label of a link", &self.label)?;
        validate_all_metadata(&format!("link {}", self.label), &self.metadata)
    }
}

impl LinkEnd {
    fn bytes(&self) -> usize {
        match self {
            Self::Drawer(drawer) => drawer.bytes(),
            Self::Room { wing, room } => wing.len() + room.len(),
        }
    }

    fn validate(&self) -> Result<()> {
        match self {
            Self::Drawer(drawer) => drawer.validate(),
            Self::Room { wing, room } => {
                validate_name("wing of a link", wing)?;
                validate_part("room of a link", room)
            }
        }
    }
}

impl DrawerRef {
    fn bytes(&self) -> usize {
        self.collection.len() + self.id.len()
    }

    fn validate(&self) -> Result<()> {
        validate_collection_name(&self.collection)?;
        validate_id(&self.id)
    }
}

/// Refuses the whole call if it is too large or one of its facts is invalid.
pub fn validate_facts(facts: &[Fact]) -> Result<()> {
    facts.iter().try_for_each(Fact::validate)?;
    validate_call("facts", facts.len(), facts.iter().map(Fact::bytes).sum())
}

/// Refuses the whole call if it is too large or one of its links is invalid.
pub fn validate_links(links: &[Link]) -> Result<()> {
    links.iter().try_for_each(Link::validate)?;
    validate_call("links", links.len(), links.iter().map(Link::bytes).sum())
}

fn validate_call(what: &str, count: usize, bytes: usize) -> Result<()> {
    if count > MAX_BATCH_RECORDS {
        return Err(Error::invalid(
            what,
            format!("{count} of them; one call takes at most {MAX_BATCH_RECORDS}, split it"),
        ));
    }
    if bytes > MAX_BATCH_TEXT_BYTES {
        return Err(Error::invalid(
            what,
            format!("{bytes} bytes; one call takes at most {MAX_BATCH_TEXT_BYTES}, split it"),
        ));
    }
    Ok(())
}

/// Checks a part that must not be empty.
fn validate_name(what: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(
            what,
            "is empty; give it at least one character",
        ));
    }
    validate_part(what, text)
}

fn validate_part(what: &str, text: &str) -> Result<()> {
    if text.len() > MAX_ENTITY_BYTES {
        return Err(Error::invalid(
            what,
            format!("{} bytes; at most {MAX_ENTITY_BYTES}", text.len()),
        ));
    }
    if text.contains('\0') {
        return Err(Error::invalid(what, "contains a NUL character"));
    }
    Ok(())
}

fn validate_date(what: &str, date: &str) -> Result<()> {
    if date.len() > MAX_VALIDITY_BYTES {
        return Err(Error::invalid(
            what,
            format!("{} bytes; at most {MAX_VALIDITY_BYTES}", date.len()),
        ));
    }
    validate_name(what, date)
}

fn validate_all_metadata(name: &str, metadata: &Metadata) -> Result<()> {
    validate_patch(name, &metadata.clone().into())?;
    validate_metadata(name, metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact() -> Fact {
        Fact {
            subject: "Alice".into(),
            predicate: "lives in".into(),
            object: "Lyon".into(),
            ..Fact::default()
        }
    }

    #[test]
    fn the_derived_id_is_pinned_because_files_hold_it() {
        assert_eq!(fact().key(), "a8ee0d3e2ab226619b1ea4ac23c3409d");
    }

    #[test]
    fn every_part_of_the_statement_and_its_source_makes_another_id() {
        let drawer = DrawerRef {
            collection: "drawers".into(),
            id: "a".into(),
        };
        let others = [
            fact(),
            Fact {
                object: "Paris".into(),
                ..fact()
            },
            Fact {
                subject: "Alicelives in".into(),
                predicate: String::new(),
                ..fact()
            },
            Fact {
                valid_from: Some(String::new()),
                ..fact()
            },
            Fact {
                source: Some(drawer),
                ..fact()
            },
        ];
        let ids: std::collections::BTreeSet<String> = others
            .iter()
            .map(|other| other.key().into_owned())
            .collect();
        assert_eq!(ids.len(), others.len());
        let same = Fact {
            valid_to: Some("2026".into()),
            confidence: Some(0.5),
            ..fact()
        };
        assert_eq!(same.key(), fact().key());
    }

    #[test]
    fn a_name_that_is_given_is_the_key() {
        let named = Fact {
            id: "mine".into(),
            ..fact()
        };
        assert_eq!(named.key(), "mine");
    }
}

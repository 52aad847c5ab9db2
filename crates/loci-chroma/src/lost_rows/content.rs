//! Text and metadata of a record, as the queue or the tables have them.

use loci_core::Metadata;
use rusqlite::Connection;

use super::expected::Missing;
use crate::queue;
use crate::records::{Reader, Record, merge};

/// What a record holds besides its vector.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Content {
    pub(super) document: Option<String>,
    pub(super) uri: Option<String>,
    pub(super) metadata: Metadata,
    /// Everything that the record ever got is in it.
    pub(super) whole: bool,
}

impl Content {
    /// What the queue says of a record; nothing if the queue does not name it.
    pub(super) fn of(connection: &Connection, missing: &Missing) -> rusqlite::Result<Option<Self>> {
        if missing.entries.is_empty() {
            return Ok(None);
        }
        let mut record = Record::empty(&missing.id);
        let mut whole = missing.made;
        for (at, entry) in missing.entries.iter().enumerate() {
            let json = queue::metadata(connection, entry.seq)?;
            let says_nothing = json.as_deref().is_none_or(|json| matches!(json, "" | "{}"));
            // A repair writes vectors back as upserts that say nothing: such an entry did not make the record.
            whole &= !(at == 0 && says_nothing && !entry.is_add);
            if let Some(json) = json {
                merge(&mut record, &json);
            }
        }
        whole &= record.unreadable.is_empty();
        Ok(Some(Self {
            whole,
            ..Self::from(record)
        }))
    }

    /// Whether a row with exactly this content can only be the record's own, or says the same as it.
    pub(super) fn is_telling(&self) -> bool {
        self.document.is_some() || self.whole && !self.metadata.0.is_empty()
    }

    /// The same for the same content.
    pub(super) fn key(&self) -> u128 {
        let content = format!("{:?} {:?} {:?}", self.document, self.uri, self.metadata.0);
        xxhash_rust::xxh3::xxh3_128(content.as_bytes())
    }

    /// Whether the tables can have come from these entries: what the entries set last is there.
    pub(super) fn agrees_with(&self, stored: &Self) -> bool {
        let text = self.document.is_none() || self.document == stored.document;
        text && self
            .metadata
            .0
            .iter()
            .all(|(key, value)| stored.metadata.0.get(key) == Some(value))
    }
}

impl From<Record> for Content {
    fn from(record: Record) -> Self {
        Self {
            document: record.document,
            uri: record.uri,
            metadata: record.metadata,
            whole: false,
        }
    }
}

impl Reader<'_> {
    /// What the tables have under a row number.
    pub(super) fn content(&mut self, row: i64) -> rusqlite::Result<Content> {
        let mut record = Record::empty("");
        self.stored(row, &mut record)?;
        Ok(Content::from(record))
    }
}

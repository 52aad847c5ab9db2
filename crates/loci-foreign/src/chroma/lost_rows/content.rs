//! The text and metadata of a record, from the queue or the tables.

use loci_core::Metadata;
use rusqlite::Connection;

use super::expected::Missing;
use crate::chroma::queue;
use crate::chroma::records::{Reader, Record, merge};

/// The content of a record besides its vector.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Content {
    pub(super) document: Option<String>,
    pub(super) uri: Option<String>,
    pub(super) metadata: Metadata,
    /// Whether this is the complete content of the record.
    pub(super) whole: bool,
}

impl Content {
    /// The content of a record according to the queue; `None` if the queue does not name it.
    pub(super) fn of(connection: &Connection, missing: &Missing) -> rusqlite::Result<Option<Self>> {
        if missing.entries.is_empty() {
            return Ok(None);
        }
        let mut record = Record::empty(&missing.id);
        let mut whole = missing.made;
        for (at, entry) in missing.entries.iter().enumerate() {
            let json = queue::metadata(connection, entry.seq)?;
            let says_nothing = json.as_deref().is_none_or(|json| matches!(json, "" | "{}"));
            // A repair writes vectors back as upserts without content. Such an entry did not create
            // the record.
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

    /// Whether a row with exactly this content must belong to the record or be identical to it.
    pub(super) fn is_telling(&self) -> bool {
        self.document.is_some() || self.whole && !self.metadata.0.is_empty()
    }

    /// A hash of the content.
    pub(super) fn key(&self) -> u128 {
        let content = format!("{:?} {:?} {:?}", self.document, self.uri, self.metadata.0);
        xxhash_rust::xxh3::xxh3_128(content.as_bytes())
    }

    /// Whether these entries can have produced the content of the tables, which must include the
    /// values set last.
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
    /// The content of the tables under a row number.
    pub(super) fn content(&mut self, row: i64) -> rusqlite::Result<Content> {
        let mut record = Record::empty("");
        self.stored(row, &mut record)?;
        Ok(Content::from(record))
    }
}

//! The data of a palace, as plain values with lookups only.

use std::collections::BTreeMap;

use loci_core::{
    CollectionInfo, CollectionOptions, DrawerRef, EmbedderIdentity, Error, Fact, History, Link,
    LinkEnd, MetaValue, Metadata, Metric, Origin, ProjectRecord, Result, Selection,
};

use super::ledger::{Mined, origin_row};
use super::maintenance::Fresh;

#[derive(Clone, Default)]
pub(super) struct Palace {
    /// The last sequence number in use.
    pub(super) seq: u64,
    /// The last record number in use.
    pub(super) records: u64,
    /// The last collection number in use.
    pub(super) numbers: u64,
    pub(super) collections: BTreeMap<String, State>,
    /// In insertion order.
    pub(super) facts: Vec<Fact>,
    /// In insertion order.
    pub(super) links: Vec<Link>,
    /// The number of the last run.
    pub(super) runs: u64,
    /// Key of the hashes of forgotten texts.
    pub(super) forget_key: [u8; 32],
}

/// One collection.
#[derive(Clone)]
pub(super) struct State {
    /// Distinguishes a collection from an earlier one with the same name.
    pub(super) number: u64,
    pub(super) metric: Metric,
    pub(super) dimension: Option<usize>,
    pub(super) embedder: Option<EmbedderIdentity>,
    /// Sequence number of the last change.
    pub(super) seq: u64,
    /// By record number, which is the insertion order.
    pub(super) drawers: BTreeMap<u64, Drawer>,
    /// Record numbers of deleted drawers, by the sequence number of the delete.
    pub(super) tombstones: BTreeMap<u64, u64>,
    /// In the order in which they were recorded.
    pub(super) projects: Vec<ProjectRecord>,
    pub(super) mined: Mined,
    /// A re-embedding that is not complete.
    pub(super) fresh: Option<Fresh>,
}

#[derive(Clone, PartialEq)]
pub(super) struct Drawer {
    pub(super) id: String,
    pub(super) document: Option<String>,
    pub(super) metadata: Metadata,
    pub(super) embedding: Option<Vec<f32>>,
    /// Sequence number of its last change.
    pub(super) seq: u64,
    /// When it was added, in milliseconds since 1970.
    pub(super) created_at: i64,
    /// When it was last changed, in milliseconds since 1970.
    pub(super) updated_at: i64,
    /// The ledger row that filed it, or 0.
    pub(super) origin: u64,
    /// How often it was shown.
    pub(super) accesses: u64,
}

impl Palace {
    /// An empty palace with its own key.
    pub(super) fn new() -> Self {
        let mut forget_key = [0; 32];
        for (to, from) in forget_key
            .iter_mut()
            .zip(loci_core::clock::new_id().bytes())
        {
            *to = from;
        }
        Self {
            forget_key,
            ..Self::default()
        }
    }

    pub(super) fn create(&mut self, name: &str, options: &CollectionOptions) {
        self.numbers += 1;
        let embedder = options
            .embedder
            .as_ref()
            .map(|embedder| embedder.identity());
        let state = State {
            number: self.numbers,
            metric: options.metric.unwrap_or_default(),
            dimension: embedder.as_ref().map(|identity| identity.dimension),
            embedder,
            seq: 0,
            drawers: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            projects: Vec::new(),
            mined: Mined::default(),
            fresh: None,
        };
        self.collections.insert(name.into(), state);
    }

    /// Removes the links that start or end at removed drawers.
    pub(super) fn unlink(&mut self, is_removed: impl Fn(&DrawerRef) -> bool) {
        let is_there = |end: &LinkEnd| match end {
            LinkEnd::Drawer(drawer) => !is_removed(drawer),
            LinkEnd::Room { .. } => true,
        };
        self.links
            .retain(|link| is_there(&link.from) && is_there(&link.to));
    }
}

impl State {
    pub(super) fn check_options(&self, name: &str, options: &CollectionOptions) -> Result<()> {
        if let Some(metric) = options.metric.filter(|metric| *metric != self.metric) {
            return Err(Error::Conflict {
                what: format!(
                    "collection `{name}` has metric {}, not {}",
                    self.metric.as_str(),
                    metric.as_str()
                ),
            });
        }
        match &options.embedder {
            Some(embedder) => self.check_embedder(name, &embedder.identity()),
            None => Ok(()),
        }
    }

    pub(super) fn check_embedder(&self, name: &str, identity: &EmbedderIdentity) -> Result<()> {
        match &self.embedder {
            Some(pinned) if pinned != identity => Err(Error::EmbedderMismatch {
                collection: name.into(),
                pinned: pinned.to_string(),
                given: identity.to_string(),
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn check_dimension(&self, name: &str, got: usize) -> Result<()> {
        match self.dimension {
            Some(expected) if expected != got => Err(Error::DimensionMismatch {
                collection: name.into(),
                expected,
                got,
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn info(&self, name: &str) -> CollectionInfo {
        CollectionInfo {
            name: name.into(),
            count: self.drawers.len() as u64,
            vectors: self.vectors(),
            dimension: self.dimension,
            metric: self.metric,
            embedder: self.embedder.clone(),
        }
    }

    pub(super) fn vectors(&self) -> u64 {
        self.drawers
            .values()
            .filter(|drawer| drawer.embedding.is_some())
            .count() as u64
    }

    pub(super) fn record_of(&self, id: &str) -> Option<u64> {
        self.drawers
            .iter()
            .find(|(_, drawer)| drawer.id == id)
            .map(|(record, _)| *record)
    }

    pub(super) fn drawer(&self, id: &str) -> Option<&Drawer> {
        self.drawers.values().find(|drawer| drawer.id == id)
    }

    /// The id of another drawer with the mined key of `drawer`.
    pub(super) fn duplicate_of(&self, drawer: &Drawer) -> Option<String> {
        let key = drawer.mined_key()?;
        self.drawers
            .values()
            .find(|other| other.id != drawer.id && other.mined_key().as_ref() == Some(&key))
            .map(|other| other.id.clone())
    }
}

impl State {
    pub(super) fn history(&self, drawer: &Drawer) -> History {
        let row = self.mined.sources.get(&drawer.origin);
        History {
            created_at: Some(drawer.created_at),
            updated_at: Some(drawer.updated_at),
            accesses: drawer.accesses,
            origin: row.map(|row| Origin {
                name: row.name.clone(),
                section: row.section,
                machine: row.machine.id.clone(),
            }),
        }
    }

    /// Sets the history of an imported drawer.
    pub(super) fn take_history(&mut self, id: &str, history: &History) {
        let origin = match &history.origin {
            Some(origin) => origin_row(self, origin),
            None => 0,
        };
        let record = self.record_of(id);
        if let Some(drawer) = record.and_then(|record| self.drawers.get_mut(&record)) {
            drawer.origin = origin;
            drawer.accesses = history.accesses;
            drawer.created_at = history.created_at.unwrap_or(drawer.created_at);
            drawer.updated_at = history.updated_at.unwrap_or(drawer.updated_at);
        }
    }
}

impl Drawer {
    pub(super) fn is_in(&self, selection: &Selection) -> bool {
        let document = self.document.as_deref();
        selection.holds(&self.id, document, &self.metadata, self.created_at)
    }

    /// The unique key of a mined drawer: wing, source file, text, start line with part.
    fn mined_key(&self) -> Option<[String; 4]> {
        let document = self.document.clone()?;
        let source = self
            .metadata
            .get_str("source_file")
            .filter(|file| !file.is_empty())?;
        Some([
            self.key_part("wing"),
            source.into(),
            document,
            self.line_key(),
        ])
    }

    pub(super) fn line_key(&self) -> String {
        let line = self.key_part("start_line");
        match self.metadata.get("part") {
            Some(MetaValue::Int(part)) => format!("{line}.{part}"),
            _ => line,
        }
    }

    fn key_part(&self, key: &str) -> String {
        match self.metadata.get(key) {
            None => String::new(),
            Some(MetaValue::Str(text)) => text.clone(),
            Some(value) => serde_json::to_string(value).unwrap_or_default(),
        }
    }
}

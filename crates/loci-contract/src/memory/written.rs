//! The content of a palace in memory as plain values, for tests that write it in another format.

use loci_core::{EmbedderIdentity, Metadata, Metric, PalaceRef};

use super::state::State;
use super::{MemoryBackend, lock};

/// A palace as of its last write.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Its collections, sorted by name.
    pub collections: Vec<WrittenCollection>,
}

/// A collection as of its last write.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCollection {
    /// Its name.
    pub name: String,
    /// Distinguishes it from an earlier collection with the same name.
    pub number: u64,
    /// Its metric.
    pub metric: Metric,
    /// Its dimension, if it is fixed.
    pub dimension: Option<usize>,
    /// The pinned embedder.
    pub embedder: Option<EmbedderIdentity>,
    /// Its drawers in insertion order.
    pub drawers: Vec<WrittenDrawer>,
}

/// One drawer.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenDrawer {
    /// Its id.
    pub id: String,
    /// Its record number: unique in the palace, in insertion order.
    pub record: u64,
    /// The number of its last change, unique in the palace.
    pub seq: u64,
    /// Its text.
    pub document: Option<String>,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its vector.
    pub embedding: Option<Vec<f32>>,
    /// When it was added, in milliseconds since 1970.
    pub created_at: i64,
    /// When it was last changed, in milliseconds since 1970.
    pub updated_at: i64,
}

impl MemoryBackend {
    /// The content of a palace; `None` if it does not exist.
    pub fn written(&self, palace: &PalaceRef) -> Option<Written> {
        let store = lock(&self.store);
        let palace = store.palaces.get(palace)?;
        Some(Written {
            collections: palace
                .collections
                .iter()
                .map(|(name, state)| written(name, state))
                .collect(),
        })
    }
}

fn written(name: &str, state: &State) -> WrittenCollection {
    let drawers = state.drawers.iter().map(|(record, drawer)| WrittenDrawer {
        id: drawer.id.clone(),
        record: *record,
        seq: drawer.seq,
        document: drawer.document.clone(),
        metadata: drawer.metadata.clone(),
        embedding: drawer.embedding.clone(),
        created_at: drawer.created_at,
        updated_at: drawer.updated_at,
    });
    WrittenCollection {
        name: name.into(),
        number: state.number,
        metric: state.metric,
        dimension: state.dimension,
        embedder: state.embedder.clone(),
        drawers: drawers.collect(),
    }
}

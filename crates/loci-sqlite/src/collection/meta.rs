//! The row of a collection, read inside the transaction that uses it. It is never cached between
//! transactions.

use loci_core::{CollectionInfo, EmbedderIdentity, Error, Metric};
use loci_index::stored_dimension;
use rusqlite::Connection;

use crate::fault::Attempt;
use crate::store::Head;

/// A collection as of the running transaction.
#[derive(Debug, Clone)]
pub(crate) struct CollectionRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) metric: Metric,
    pub(crate) dimension: Option<usize>,
    pub(crate) embedder: Option<EmbedderIdentity>,
    pub(crate) drawers: u64,
    pub(crate) vectors: u64,
    /// Sequence number of its last change.
    pub(crate) seq: u64,
    /// Sum of the term counts of its drawers.
    pub(crate) terms: u64,
    /// Generation of the palace it was read from.
    pub(crate) generation: u64,
}

const COLUMNS: &str = "id, name, metric, dimension, embedder, drawers, vectors, seq, terms";

impl CollectionRow {
    /// The collection with this name, if there is one.
    pub(crate) fn find(db: &Connection, head: &Head, name: &str) -> Attempt<Option<Self>> {
        let mut statement = db.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM collections WHERE name = ?1 AND dropped = 0"
        ))?;
        let mut rows = statement.query([name])?;
        match rows.next()? {
            Some(row) => Ok(Some(Self::decode(row, head)?)),
            None => Ok(None),
        }
    }

    /// The collection with this name, or an error if there is none.
    pub(crate) fn require(db: &Connection, head: &Head, name: &str) -> Attempt<Self> {
        Self::find(db, head, name)?.ok_or_else(|| {
            Error::CollectionNotInitialized {
                collection: name.into(),
            }
            .into()
        })
    }

    /// All collections by name.
    pub(crate) fn all(db: &Connection, head: &Head) -> Attempt<Vec<Self>> {
        let mut statement = db.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM collections WHERE dropped = 0 ORDER BY name"
        ))?;
        let mut rows = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(Self::decode(row, head)?);
        }
        Ok(all)
    }

    fn decode(row: &rusqlite::Row<'_>, head: &Head) -> Attempt<Self> {
        let embedder: Option<String> = row.get(4)?;
        Ok(Self {
            id: row.get(0)?,
            name: row.get(1)?,
            metric: Metric::parse(&row.get::<_, String>(2)?)?,
            dimension: row
                .get::<_, Option<i64>>(3)?
                .map(|dimension| dimension as usize),
            embedder: embedder.and_then(|json| serde_json::from_str(&json).ok()),
            drawers: row.get::<_, i64>(5)? as u64,
            vectors: row.get::<_, i64>(6)? as u64,
            seq: row.get::<_, i64>(7)? as u64,
            terms: row.get_ref(8)?.as_i64().unwrap_or_default().max(0) as u64,
            generation: head.generation,
        })
    }

    /// The public description of the collection.
    pub(crate) fn info(&self) -> CollectionInfo {
        CollectionInfo {
            name: self.name.clone(),
            count: self.drawers,
            vectors: self.vectors,
            dimension: self.dimension,
            metric: self.metric,
            embedder: self.embedder.clone(),
        }
    }

    /// The dimension of its vectors, if it is known.
    pub(crate) fn vector_dimension(&self) -> Option<usize> {
        let pinned = self.embedder.as_ref().map(|embedder| embedder.dimension);
        self.dimension.or(pinned)
    }

    /// Whether stored bytes are a vector of its dimension.
    pub(crate) fn is_vector(&self, bytes: &[u8]) -> bool {
        stored_dimension(bytes).is_some_and(|dimension| self.dimension == Some(dimension))
    }

    /// Refuses vectors of another length.
    pub(crate) fn check_dimension(&self, got: usize) -> Attempt<()> {
        match self.vector_dimension() {
            Some(expected) if expected != got => Err(Error::DimensionMismatch {
                collection: self.name.clone(),
                expected,
                got,
            }
            .into()),
            _ => Ok(()),
        }
    }
}

/// The error if another embedder replaced the vectors between embedding a question and searching
/// with it.
pub(crate) fn changed_embedder(row: &CollectionRow, before: Option<&EmbedderIdentity>) -> Error {
    let name = |embedder: Option<&EmbedderIdentity>| {
        embedder.map_or_else(|| "unknown".to_owned(), ToString::to_string)
    };
    Error::EmbedderMismatch {
        collection: row.name.clone(),
        pinned: name(row.embedder.as_ref()),
        given: name(before),
    }
}

/// The error if an embedder's vectors cannot be compared with those of a collection.
pub(crate) fn mismatch(row: &CollectionRow, given: &EmbedderIdentity) -> Error {
    Error::EmbedderMismatch {
        collection: row.name.clone(),
        pinned: row
            .embedder
            .as_ref()
            .map_or_else(String::new, ToString::to_string),
        given: given.to_string(),
    }
}

//! The records of a write call, and the checks that run before a backend touches its store.

use std::collections::HashSet;

use crate::embedder::EmbedderIdentity;
use crate::error::{Error, Result};
use crate::metadata::{MetaValue, Metadata, MetadataPatch};
use crate::quote::quoted;

/// Records per write call. A call is one transaction, so other writers wait for it.
pub const MAX_BATCH_RECORDS: usize = 500;
/// Bytes of text per write call, all documents together.
pub const MAX_BATCH_TEXT_BYTES: usize = 1 << 20;
/// Bytes of vectors per write call.
pub const MAX_BATCH_VECTOR_BYTES: usize = 8 << 20;
/// Bytes of text in one drawer.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// Bytes of an id.
pub const MAX_ID_BYTES: usize = 1_024;
/// Bytes of a metadata key.
pub const MAX_KEY_BYTES: usize = 256;
/// Bytes of the serialised metadata of one drawer.
pub const MAX_METADATA_BYTES: usize = 64 << 10;
/// Length of a vector.
pub const MAX_DIMENSION: usize = 8_192;
/// Results per query.
pub const MAX_RESULTS: usize = 10_000;

/// A write in columns: `ids`, and one optional column per field. Each column that is present has as
/// many entries as `ids`. In `update` and `upsert`, an absent field keeps its value.
///
/// ```
/// use loci_core::Batch;
/// let batch = Batch::new(["a", "b"]).documents(["first text", "second text"]);
/// assert!(batch.validate().is_ok());
/// assert!(Batch::new(["a", "a"]).validate().is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// One unique id per record.
    pub ids: Vec<String>,
    /// The verbatim texts.
    pub documents: Option<Vec<Option<String>>>,
    /// Metadata to merge. In `add`, null values are ignored.
    pub metadatas: Option<Vec<MetadataPatch>>,
    /// The vectors.
    pub embeddings: Option<Vec<Option<Vec<f32>>>>,
    /// Vectors of the documents, computed in advance. If the collection is open with the same
    /// embedder, a backend may use them instead of calling it.
    pub embedded: Option<EmbeddedTexts>,
}

/// Vectors of the documents of a batch, and the embedder that made them.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedTexts {
    /// The embedder.
    pub embedder: EmbedderIdentity,
    /// One vector per record.
    pub vectors: Vec<Vec<f32>>,
}

impl Batch {
    /// A batch of these ids without other columns.
    pub fn new<I: Into<String>>(ids: impl IntoIterator<Item = I>) -> Self {
        Self {
            ids: ids.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Adds one text per id.
    #[must_use]
    pub fn documents<D: Into<String>>(mut self, documents: impl IntoIterator<Item = D>) -> Self {
        self.documents = Some(
            documents
                .into_iter()
                .map(|document| Some(document.into()))
                .collect(),
        );
        self
    }

    /// Adds one metadata map per id.
    #[must_use]
    pub fn metadatas<M: Into<MetadataPatch>>(
        mut self,
        metadatas: impl IntoIterator<Item = M>,
    ) -> Self {
        self.metadatas = Some(metadatas.into_iter().map(Into::into).collect());
        self
    }

    /// Adds one vector per id.
    #[must_use]
    pub fn embeddings(mut self, embeddings: impl IntoIterator<Item = Vec<f32>>) -> Self {
        self.embeddings = Some(embeddings.into_iter().map(Some).collect());
        self
    }

    /// Adds vectors that an embedder made of the documents.
    #[must_use]
    pub fn embedded(mut self, embedder: EmbedderIdentity, vectors: Vec<Vec<f32>>) -> Self {
        self.embedded = Some(EmbeddedTexts { embedder, vectors });
        self
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The document of record `at`, if it has one.
    pub fn document(&self, at: usize) -> Option<&str> {
        self.documents.as_ref()?.get(at)?.as_deref()
    }

    /// The metadata patch of record `at`, if it has one.
    pub fn metadata(&self, at: usize) -> Option<&MetadataPatch> {
        self.metadatas.as_ref()?.get(at)
    }

    /// The vector of record `at`, if it has one.
    pub fn embedding(&self, at: usize) -> Option<&[f32]> {
        self.embeddings.as_ref()?.get(at)?.as_deref()
    }

    /// Checks everything that can be checked without the store: column lengths, duplicate ids,
    /// empty or overlong fields, non-finite vectors, and vectors of different lengths.
    pub fn validate(&self) -> Result<()> {
        if self.len() > MAX_BATCH_RECORDS {
            return Err(Error::invalid(
                "batch",
                format!(
                    "{} records; one call takes at most {MAX_BATCH_RECORDS}, split it",
                    self.len()
                ),
            ));
        }
        self.check_column("documents", self.documents.as_ref().map(Vec::len))?;
        self.check_column("metadatas", self.metadatas.as_ref().map(Vec::len))?;
        self.check_column("embeddings", self.embeddings.as_ref().map(Vec::len))?;
        let embedded = self.embedded.as_ref();
        self.check_column("embedded", embedded.map(|made| made.vectors.len()))?;
        let mut seen = HashSet::with_capacity(self.len());
        for id in &self.ids {
            validate_id(id)?;
            if !seen.insert(id.as_str()) {
                return Err(Error::invalid(
                    "ids",
                    format!("{} appears twice in one call", quoted(id)),
                ));
            }
        }
        self.validate_documents()?;
        for (id, patch) in self.ids.iter().zip(self.metadatas.iter().flatten()) {
            validate_patch(id, patch)?;
        }
        self.validate_embeddings()
    }

    /// [`Batch::validate`], and requires at least one column besides the ids, as `update` does.
    pub fn validate_update(&self) -> Result<()> {
        let columns = [
            self.documents.is_some(),
            self.metadatas.is_some(),
            self.embeddings.is_some(),
        ];
        if !self.is_empty() && !columns.contains(&true) {
            return Err(Error::invalid(
                "update",
                "needs at least one of documents, metadatas, embeddings",
            ));
        }
        self.validate()
    }

    fn check_column(&self, name: &str, length: Option<usize>) -> Result<()> {
        match length {
            Some(length) if length != self.len() => Err(Error::invalid(
                name,
                format!("{length} entries for {} ids", self.len()),
            )),
            _ => Ok(()),
        }
    }

    fn validate_documents(&self) -> Result<()> {
        let mut total = 0;
        for (id, document) in self.ids.iter().zip(self.documents.iter().flatten()) {
            let length = document.as_deref().map_or(0, str::len);
            total += length;
            if length > MAX_DOCUMENT_BYTES {
                return Err(Error::invalid(
                    format!("document of {}", quoted(id)),
                    format!(
                        "{length} bytes; one drawer holds at most {MAX_DOCUMENT_BYTES}, split it"
                    ),
                ));
            }
        }
        if total > MAX_BATCH_TEXT_BYTES {
            return Err(Error::invalid(
                "documents",
                format!(
                    "{total} bytes of text; one call takes at most {MAX_BATCH_TEXT_BYTES}, split it"
                ),
            ));
        }
        Ok(())
    }

    fn validate_embeddings(&self) -> Result<()> {
        let bytes: usize = self
            .embeddings
            .iter()
            .flatten()
            .flatten()
            .map(|vector| vector.len() * 4)
            .sum();
        if bytes > MAX_BATCH_VECTOR_BYTES {
            return Err(Error::invalid(
                "embeddings",
                format!(
                    "{bytes} bytes of vectors; one call takes at most {MAX_BATCH_VECTOR_BYTES}, split it"
                ),
            ));
        }
        let mut dimension = None;
        for (id, vector) in self.ids.iter().zip(self.embeddings.iter().flatten()) {
            let Some(vector) = vector else { continue };
            validate_vector(&format!("embedding of {}", quoted(id)), vector)?;
            if *dimension.get_or_insert(vector.len()) != vector.len() {
                return Err(Error::invalid(
                    format!("embedding of {}", quoted(id)),
                    format!(
                        "{} numbers, others in this call have {}",
                        vector.len(),
                        dimension.unwrap_or(0)
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The common length of the vectors in this batch; `None` without vectors.
    pub fn dimension(&self) -> Option<usize> {
        self.embeddings
            .iter()
            .flatten()
            .flatten()
            .map(Vec::len)
            .next()
    }
}

/// Refuses ids that are empty, too long, or contain NUL.
pub fn validate_id(id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::invalid(
            "id",
            "is empty; an id has at least one character",
        ));
    }
    if id.len() > MAX_ID_BYTES {
        return Err(Error::invalid(
            "id",
            format!("{} bytes; at most {MAX_ID_BYTES}", id.len()),
        ));
    }
    if id.contains('\0') {
        return Err(Error::invalid("id", "contains a NUL character"));
    }
    Ok(())
}

/// Refuses vectors that are empty, too long, or not finite.
pub fn validate_vector(what: &str, vector: &[f32]) -> Result<()> {
    if vector.is_empty() || vector.len() > MAX_DIMENSION {
        return Err(Error::invalid(
            what,
            format!(
                "{} numbers; a vector has 1 to {MAX_DIMENSION}",
                vector.len()
            ),
        ));
    }
    match vector.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(Error::invalid(
            what,
            format!("the number at position {at} is not finite"),
        )),
        None => Ok(()),
    }
}

/// Refuses collection names that a backend could not store or print unambiguously.
pub fn validate_collection_name(name: &str) -> Result<()> {
    let refuse = |problem: &str| {
        Err(Error::invalid(
            "collection name",
            format!("{} {problem}", quoted(name)),
        ))
    };
    if name.is_empty() || name.len() > 512 {
        return refuse("must have 1 to 512 bytes");
    }
    if name.trim() != name || name.chars().any(char::is_control) {
        return refuse("may not contain control characters or begin or end with a space");
    }
    Ok(())
}

/// Refuses merged metadata that is too large to store.
pub fn validate_metadata(id: &str, metadata: &Metadata) -> Result<()> {
    let length = metadata.to_json_text().len();
    if length > MAX_METADATA_BYTES {
        return Err(Error::invalid(
            format!("metadata of {}", quoted(id)),
            format!("{length} bytes as JSON; at most {MAX_METADATA_BYTES}"),
        ));
    }
    Ok(())
}

/// Refuses keys and values that no backend can store.
pub(crate) fn validate_patch(id: &str, patch: &MetadataPatch) -> Result<()> {
    let mut size = 0;
    for (key, value) in &patch.0 {
        let what = || format!("metadata of {}, key {}", quoted(id), quoted(key));
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(Error::invalid(
                what(),
                format!("a key has 1 to {MAX_KEY_BYTES} bytes"),
            ));
        }
        if key.starts_with(['$', '#']) || key.contains('\0') {
            return Err(Error::invalid(
                what(),
                "a key may not begin with `$` or `#` or contain NUL",
            ));
        }
        if let Some(value) = value {
            value.validate(key)?;
            size += key.len() + size_of_value(value);
        }
    }
    if size > MAX_METADATA_BYTES {
        return Err(Error::invalid(
            format!("metadata of {}", quoted(id)),
            format!("over {MAX_METADATA_BYTES} bytes"),
        ));
    }
    Ok(())
}

fn size_of_value(value: &MetaValue) -> usize {
    match value {
        MetaValue::Str(text) => text.len(),
        MetaValue::List(items) => items.iter().map(size_of_value).sum(),
        MetaValue::Bool(_) | MetaValue::Int(_) | MetaValue::Float(_) => 8,
    }
}

//! Makes records fit into a Loci collection. ChromaDB has hardly any limits.

use loci_core::{
    Batch, MAX_DOCUMENT_BYTES, MAX_KEY_BYTES, MAX_METADATA_BYTES, MetaValue, Metadata, validate_id,
    validate_metadata, validate_vector,
};
use loci_foreign::chroma::Record;

/// The key under which ChromaDB keeps the URI of a record.
const URI: &str = "chroma:uri";
/// Space in the metadata that is reserved for what the mirror adds.
const RESERVE: usize = 2 * MAX_KEY_BYTES;

/// A record that a collection accepts.
pub(super) struct Fitted {
    pub(super) id: String,
    pub(super) document: Option<String>,
    pub(super) metadata: Metadata,
    pub(super) vector: Option<Vec<f32>>,
    /// When it was added, in milliseconds since 1970, from its metadata or else from its row. An
    /// import of the directory uses the same date.
    pub(super) added: Option<i64>,
}

/// Counts of what did not fit.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pub(super) records: u64,
    texts: u64,
    values: u64,
    vectors: u64,
}

impl Losses {
    /// A sentence about what the mirror lacks; `None` if it is complete.
    pub(super) fn sentence(&self, collection: &str) -> Option<String> {
        let parts: Vec<String> = [
            (self.records, "records are left out"),
            (self.texts, "texts are truncated"),
            (self.values, "metadata values are left out"),
            (self.vectors, "vectors are left out"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        (!parts.is_empty()).then(|| {
            format!(
                "collection `{collection}` exceeds the limits of a Loci palace: {}",
                parts.join(", ")
            )
        })
    }
}

impl Fitted {
    /// Returns `None` if even the id does not fit.
    pub(super) fn of(
        record: Record,
        dimension: Option<usize>,
        losses: &mut Losses,
    ) -> Option<Self> {
        if validate_id(&record.id).is_err() {
            losses.records += 1;
            return None;
        }
        losses.values += record.unreadable.len() as u64;
        let mut metadata = record.metadata;
        if let Some(uri) = record.uri {
            metadata.0.entry(URI.into()).or_insert(MetaValue::Str(uri));
        }
        Some(Self {
            added: metadata.added_at().or(record.added),
            document: record.document.map(|text| cut(text, losses)),
            metadata: kept(&record.id, metadata, losses),
            vector: record
                .vector
                .filter(|vector| fits(vector, dimension, losses)),
            id: record.id,
        })
    }

    pub(super) fn text_bytes(&self) -> usize {
        self.document.as_ref().map_or(0, String::len)
    }

    pub(super) fn vector_bytes(&self) -> usize {
        self.vector.as_ref().map_or(0, |vector| vector.len() * 4)
    }
}

fn cut(mut text: String, losses: &mut Losses) -> String {
    if text.len() > MAX_DOCUMENT_BYTES {
        let mut end = MAX_DOCUMENT_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        losses.texts += 1;
    }
    text
}

fn fits(vector: &[f32], dimension: Option<usize>, losses: &mut Losses) -> bool {
    let fits = validate_vector("vector", vector).is_ok()
        && dimension.is_none_or(|dimension| dimension == vector.len());
    losses.vectors += u64::from(!fits);
    fits
}

/// The metadata without values that no collection accepts. If the rest is too long together, the
/// longest values are dropped first.
fn kept(id: &str, metadata: Metadata, losses: &mut Losses) -> Metadata {
    if is_taken(id, &metadata) && metadata.to_json_text().len() + RESERVE <= MAX_METADATA_BYTES {
        return metadata;
    }
    let before = metadata.0.len();
    let mut sized: Vec<(usize, String, MetaValue)> = metadata
        .0
        .into_iter()
        .filter_map(|(key, value)| {
            let alone = Metadata([(key.clone(), value.clone())].into());
            is_taken(id, &alone).then(|| (alone.to_json_text().len(), key, value))
        })
        .collect();
    sized.sort_by_key(|(length, _, _)| *length);
    let mut room = MAX_METADATA_BYTES - RESERVE;
    let kept: Metadata = Metadata(
        sized
            .into_iter()
            .map_while(|(length, key, value)| {
                room = room.checked_sub(length)?;
                Some((key, value))
            })
            .collect(),
    );
    losses.values += (before - kept.0.len()) as u64;
    kept
}

/// Whether a collection accepts this metadata.
fn is_taken(id: &str, metadata: &Metadata) -> bool {
    Batch::new([id])
        .metadatas([metadata.clone()])
        .validate()
        .is_ok()
        && validate_metadata(id, metadata).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_foreign::chroma::Origin;

    fn record(vector: &[f32]) -> Record {
        Record {
            id: "a".into(),
            document: None,
            uri: Some("file:///a".into()),
            metadata: Metadata::default(),
            vector: Some(vector.to_vec()),
            origin: Origin::Missing,
            added: None,
            unreadable: vec!["lost".into()],
            metadata_loss: None,
        }
    }

    #[test]
    fn a_vector_of_another_length_or_without_meaning_is_left_out() {
        for (vector, kept) in [
            (&[1.0, 2.0][..], true),
            (&[1.0], false),
            (&[1.0, f32::NAN], false),
            (&[], false),
        ] {
            let mut losses = Losses::default();
            let fitted = Fitted::of(record(vector), Some(2), &mut losses).unwrap();
            assert_eq!(fitted.vector.is_some(), kept, "{vector:?}");
            assert_eq!(losses.vectors, u64::from(!kept));
        }
    }

    #[test]
    fn an_address_becomes_metadata_and_unreadable_values_are_counted() {
        let mut losses = Losses::default();
        let fitted = Fitted::of(record(&[1.0]), None, &mut losses).unwrap();
        assert_eq!(fitted.metadata.get_str(URI), Some("file:///a"));
        assert_eq!(losses.values, 1);
    }
}

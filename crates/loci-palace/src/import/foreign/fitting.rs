//! Makes records fit into drawers: splits long texts, finds metadata that cannot be kept, and
//! builds batches.

use loci_core::{Batch, MAX_DOCUMENT_BYTES, MetaValue, Metadata, MetadataPatch};
use loci_foreign::ForeignRecord;

use crate::record::columns;

/// The record, or its pieces if the text is too long for one drawer. The first piece keeps the id
/// and the vector.
pub(super) fn pieces_of(mut record: ForeignRecord) -> Vec<ForeignRecord> {
    let Some(text) = record
        .document
        .take_if(|text| text.len() > MAX_DOCUMENT_BYTES)
    else {
        return vec![record];
    };
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(drawerful(rest));
        rest = after;
        let number = pieces.len() as i64 + 1;
        let mut next = ForeignRecord {
            id: record.id.clone(),
            document: Some(piece.to_owned()),
            metadata: record.metadata.clone(),
            vector: record.vector.take(),
            origin: record.origin,
            added: record.added,
        };
        if number > 1 {
            next.id = format!("{}~{number}", record.id);
            let of = MetaValue::Str(record.id.clone());
            next.metadata.0.insert("piece_of".into(), of);
        }
        next.metadata
            .0
            .insert("piece".into(), MetaValue::Int(number));
        pieces.push(next);
    }
    pieces
}

/// How many bytes of a text fit into a drawer, up to a character boundary.
fn drawerful(text: &str) -> usize {
    (0..=MAX_DOCUMENT_BYTES.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}

/// Metadata keys that are invalid or have an invalid value.
pub(super) fn refused_keys(metadata: &Metadata) -> Vec<String> {
    let refused = |key: &String, value: &MetaValue| {
        let one = MetadataPatch([(key.clone(), Some(value.clone()))].into());
        Batch::new(["id"]).metadatas([one]).validate().is_err()
    };
    metadata
        .0
        .iter()
        .filter(|(key, value)| refused(key, value))
        .map(|(key, _)| key.clone())
        .collect()
}

/// A batch with every column.
pub(super) fn columns_of(records: &[ForeignRecord]) -> Batch {
    let mut batch = columns();
    for record in records {
        batch.ids.push(record.id.clone());
        let documents = batch.documents.get_or_insert_default();
        documents.push(record.document.clone());
        let metadatas = batch.metadatas.get_or_insert_default();
        metadatas.push(record.metadata.clone().into());
        let embeddings = batch.embeddings.get_or_insert_default();
        embeddings.push(record.vector.clone());
    }
    batch
}

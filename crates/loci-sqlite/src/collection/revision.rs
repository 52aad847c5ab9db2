//! What a change makes of a stored drawer: the new values, and which of them differ. Computed before
//! anything is written.

use loci_core::{Error, Metadata, validate_metadata};

use super::passage;
use super::record::{MinedKey, Stored, vector_to_bytes};
use super::writer::Change;
use crate::fault::{Attempt, Fault};

/// The new values of a drawer, next to the stored ones.
pub(super) struct Revision<'a> {
    pub(super) old: &'a Stored,
    pub(super) old_metadata: Metadata,
    pub(super) text: Option<&'a str>,
    pub(super) metadata: Metadata,
    pub(super) metadata_text: String,
    /// The new text at the new place.
    pub(super) key: MinedKey,
    pub(super) text_changed: bool,
    /// Whether other words must find the drawer.
    pub(super) terms_changed: bool,
    pub(super) vector: VectorChange,
}

/// What happens to the vector of the collection's own embedder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum VectorChange {
    Keep,
    /// The text has changed, and there is no vector for the new one. A vector of another text is
    /// worse than none.
    Drop,
    Replace(Vec<u8>),
}

impl<'a> Revision<'a> {
    /// Fails on a damaged drawer, on invalid metadata, and if a vector is missing that the caller
    /// can compute.
    pub(super) fn of(old: &'a Stored, change: &Change<'a>) -> Attempt<Self> {
        // A new checksum over a damaged row would hide the damage.
        let Some(old_metadata) = old.metadata().filter(|_| old.is_intact()) else {
            return Err(damaged(&old.id));
        };
        let text = change.text.or(old.text.as_deref());
        let metadata = change
            .patch
            .map_or_else(|| old_metadata.clone(), |patch| old_metadata.merged(patch));
        validate_metadata(change.id, &metadata)?;
        let text_changed = text != old.text.as_deref();
        // The text was unchanged when the caller embedded, and has changed since. The transaction
        // is rolled back, and the caller embeds again.
        if text_changed
            && change.vector.is_none()
            && change.other.is_none()
            && change.has_embedder
            && text.is_some()
        {
            return Err(Fault::EmbedAgain);
        }
        let vector = match change.vector {
            Some(vector) if old.has_vector(vector) => VectorChange::Keep,
            Some(vector) => VectorChange::Replace(vector_to_bytes(vector)),
            None if text_changed && old.vector.is_some() => VectorChange::Drop,
            None => VectorChange::Keep,
        };
        Ok(Self {
            old,
            text,
            metadata_text: metadata.to_json_text(),
            key: MinedKey::of(text, &metadata),
            text_changed,
            terms_changed: text_changed
                || passage::context(&metadata) != passage::context(&old_metadata),
            vector,
            metadata,
            old_metadata,
        })
    }

    /// Whether the stored row stays as it is.
    pub(super) fn changes_nothing(&self) -> bool {
        !self.text_changed && self.vector == VectorChange::Keep && !self.metadata_changed()
    }

    pub(super) fn metadata_changed(&self) -> bool {
        self.metadata_text != self.old.metadata_text
    }

    /// The vector that the drawer has afterwards.
    pub(super) fn vector_bytes(&self) -> Option<&[u8]> {
        match &self.vector {
            VectorChange::Keep => self.old.vector.as_deref(),
            VectorChange::Drop => None,
            VectorChange::Replace(bytes) => Some(bytes),
        }
    }
}

fn damaged(id: &str) -> Fault {
    Error::Corrupt {
        what: format!("drawer `{id}`"),
        path: crate::store::palace_files::DATABASE.into(),
        detail: "its checksum does not match".into(),
    }
    .into()
}

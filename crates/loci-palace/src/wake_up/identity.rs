//! The identity: a text about the owner of the memory, in the owner's words.

use loci_core::{Batch, Get, MetaValue, MetadataPatch, Result, Selection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::secrets::Tally;

/// Id and room of the drawer that holds it.
pub(super) const IDENTITY: &str = "identity";

/// The text to set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The text; empty to remove it.
    pub text: String,
}

/// The text that was set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The stored text, with its secrets masked; `None` if it was removed.
    pub identity: Option<String>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
}

impl Palace {
    /// The text about the owner of the memory, from the drawer `identity`; `None` if it was
    /// never set.
    pub fn identity(&self) -> Result<Option<String>> {
        let Some(collection) = self.kept(DEFAULT_COLLECTION)? else {
            return Ok(None);
        };
        let found = collection.get(&Get::new(Selection::ids([IDENTITY])))?;
        Ok(found
            .documents
            .into_iter()
            .next()
            .filter(|text| !text.trim().is_empty()))
    }

    /// Sets the identity; an empty text removes it.
    pub fn set_identity(&self, request: &Request) -> Result<Answer> {
        if request.text.trim().is_empty() {
            if let Some(collection) = self.kept(DEFAULT_COLLECTION)? {
                collection.delete(&Selection::ids([IDENTITY]))?;
            }
            return Ok(Answer::default());
        }
        let place = [("room", IDENTITY), ("type", IDENTITY)]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), Some(MetaValue::from(value))))
            .collect();
        let batch = Batch::new([IDENTITY])
            .documents([&request.text])
            .metadatas([MetadataPatch(place)]);
        batch.validate()?;
        let (memory, _) = self.memory(DEFAULT_COLLECTION, true)?;
        let masked = memory.collection.upsert(&batch)?.masked;
        Ok(Answer {
            identity: self.identity()?,
            masked,
        })
    }
}

//! The verb `rewrite`: changes a text that is stored in several drawers.
//!
//! The tools that emulate MemPalace store a long text in parts. Such a text has one id for its
//! users and a drawer for each part, so changing it changes several drawers at once.

use loci_core::{Batch, MetadataPatch, OutcomeKind, Result, Selection, Warning};
use schemars::JsonSchema;
use serde::Serialize;

use crate::forget;
use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::secrets::Tally;

/// A drawer of the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Its id.
    pub id: String,
    /// Changes to its metadata; other keys are kept.
    pub metadata: MetadataPatch,
}

/// The changes to the parts.
#[derive(Debug, Clone, PartialEq)]
pub enum Parts {
    /// The texts stay; metadata changes. A part that does not exist is not created.
    Moved(Vec<Part>),
    /// Each part gets this text. Parts that do not exist are created.
    Replaced(Vec<(Part, String)>),
}

/// The request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The collection.
    pub collection: String,
    /// The changes, which are written in one transaction.
    pub parts: Parts,
    /// Parts that are removed from the text. They are forgotten after the others are written; until
    /// then a reader must be able to distinguish them from the new ones.
    pub gone: Vec<String>,
}

impl Request {
    /// New parts in the default collection.
    pub fn new(parts: Parts) -> Self {
        Self {
            collection: DEFAULT_COLLECTION.to_owned(),
            parts,
            gone: Vec::new(),
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The outcome for each part, in order.
    pub outcomes: Vec<OutcomeKind>,
    /// Parts that were forgotten.
    pub forgotten: usize,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
}

impl Palace {
    /// Changes the drawers of one text, and forgets those that are removed from it.
    pub fn rewrite(&self, request: &Request) -> Result<Answer> {
        let (memory, about_embedder) = self.memory(&request.collection, false)?;
        let collection = memory.collection.as_ref();
        let written = match &request.parts {
            Parts::Moved(parts) => collection.update(&batch_of(parts.iter()))?,
            Parts::Replaced(parts) => {
                let texts = parts.iter().map(|(_, text)| text.as_str());
                let batch = batch_of(parts.iter().map(|(part, _)| part)).documents(texts);
                collection.upsert(&batch)?
            }
        };
        let mut answer = Answer {
            outcomes: written
                .outcomes
                .iter()
                .map(loci_core::Outcome::kind)
                .collect(),
            warnings: written.warnings,
            masked: written.masked,
            forgotten: 0,
        };
        // The embedder is needed only if a text needs a vector.
        if matches!(request.parts, Parts::Replaced(_)) {
            answer.warnings.extend(about_embedder);
        }
        if !request.gone.is_empty() {
            let gone = Selection::ids(request.gone.iter().cloned());
            let gone = forget::Request::in_collection(&request.collection, gone);
            answer.forgotten = self.forget(&gone)?.forgotten;
        }
        Ok(answer)
    }
}

fn batch_of<'a>(parts: impl Iterator<Item = &'a Part> + Clone) -> Batch {
    let ids = parts.clone().map(|part| part.id.as_str());
    Batch::new(ids).metadatas(parts.map(|part| part.metadata.clone()))
}

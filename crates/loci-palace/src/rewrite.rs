//! The verb `rewrite`: other parts for a text that is kept in several drawers.
//!
//! The emulated tools of MemPalace keep a long text in parts. Such a text has one id for its users and
//! a drawer for each part, so a change of it is a change of several drawers at once.

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
    /// Its metadata; what the drawer holds besides stays.
    pub metadata: MetadataPatch,
}

/// What the parts become.
#[derive(Debug, Clone, PartialEq)]
pub enum Parts {
    /// The texts stay; metadata changes. A part that does not exist is not created.
    Moved(Vec<Part>),
    /// Each part gets this text. Parts that do not exist are created.
    Replaced(Vec<(Part, String)>),
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The collection.
    pub collection: String,
    /// What is written, in one transaction.
    pub parts: Parts,
    /// Parts that the text no longer has. They are forgotten after the others are written; a reader
    /// must be able to tell them from the new ones until then.
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
    /// What became of each part, in order.
    pub outcomes: Vec<OutcomeKind>,
    /// Parts that were forgotten.
    pub forgotten: usize,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
}

impl Palace {
    /// Changes the drawers of one text, and forgets those that it no longer has.
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
        // What embeds matters only where a text needs a vector.
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

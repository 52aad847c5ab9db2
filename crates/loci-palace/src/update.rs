//! The verb `update`: changes the text, metadata or vector of a drawer.

use loci_core::{Batch, MetadataPatch, Outcome, OutcomeKind, Result, Selection, Warning};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::secrets::Tally;

/// The request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The drawer.
    pub id: String,
    /// Its collection; `None` means the first one that contains the drawer.
    pub collection: Option<String>,
    /// Its new text.
    pub text: Option<String>,
    /// Changes to its metadata.
    pub metadata: Option<MetadataPatch>,
    /// Its new vector. New text without a vector gets one from the collection's embedder.
    pub vector: Option<Vec<f32>>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The drawer.
    pub id: String,
    /// Its collection; the default one if no drawer has the id.
    pub collection: String,
    /// Updated, unchanged, or unknown if no drawer has the id.
    pub outcome: OutcomeKind,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
}

impl Request {
    /// Checks everything that can be checked without opening the palace.
    pub fn validate(&self) -> Result<()> {
        self.batch().validate_update()
    }

    fn batch(&self) -> Batch {
        let mut batch = Batch::new([self.id.clone()]);
        if let Some(metadata) = &self.metadata {
            batch = batch.metadatas([metadata.clone()]);
        }
        if let Some(vector) = &self.vector {
            batch = batch.embeddings([vector.clone()]);
        }
        if let Some(text) = &self.text {
            batch = batch.documents([text.clone()]);
        }
        batch
    }
}

impl Palace {
    /// Changes a drawer. Metadata is merged.
    pub fn update(&self, request: &Request) -> Result<Answer> {
        let batch = request.batch();
        batch.validate_update()?;
        let collection = match &request.collection {
            Some(name) => Some(name.clone()),
            None => self.holder_of(&request.id)?,
        };
        let Some(collection) = collection else {
            return Ok(Answer {
                id: request.id.clone(),
                collection: DEFAULT_COLLECTION.to_owned(),
                outcome: OutcomeKind::Unknown,
                warnings: Vec::new(),
                masked: Tally::new(),
            });
        };
        let (memory, about_embedder) = self.memory(&collection, false)?;
        let written = memory.collection.update(&batch)?;
        let mut warnings = written.warnings;
        // The embedder is needed only if a text needs a vector.
        if request.text.is_some() && request.vector.is_none() {
            warnings.extend(about_embedder);
        }
        let outcome = written.outcomes.first().map(Outcome::kind);
        Ok(Answer {
            id: request.id.clone(),
            collection,
            outcome: outcome.unwrap_or(OutcomeKind::Unchanged),
            warnings,
            masked: written.masked,
        })
    }

    /// The first collection that contains a drawer.
    fn holder_of(&self, id: &str) -> Result<Option<String>> {
        let selection = Selection::ids([id]);
        for collection in self.scope(None)? {
            if collection.count_selected(&selection)? > 0 {
                return Ok(Some(collection.name().to_owned()));
            }
        }
        Ok(None)
    }
}

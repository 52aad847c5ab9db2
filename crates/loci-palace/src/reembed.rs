//! New vectors for a collection.

use loci_core::{Embedder, EmbedderIdentity, ReembedProgress, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;

/// Which collection gets vectors of which embedder.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The collection.
    pub collection: &'a str,
    /// The embedder that makes them.
    pub embedder: &'a dyn Embedder,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The collection.
    pub collection: String,
    /// The embedder that made the vectors.
    pub embedder: EmbedderIdentity,
    /// Who made the old vectors, if that was known.
    pub before: Option<EmbedderIdentity>,
    /// Drawers that have a vector of the new embedder.
    pub drawers: u64,
    /// Vectors that this run made.
    pub made: u64,
    /// Vectors that an earlier run had made.
    pub resumed: u64,
}

impl Palace {
    /// Makes all vectors of a collection anew. Answers come from the old ones until all new ones
    /// are there; a run that was interrupted is taken up again.
    pub fn reembed(
        &self,
        request: &Request<'_>,
        progress: &mut dyn FnMut(ReembedProgress),
    ) -> Result<Answer> {
        let Request {
            collection,
            embedder,
        } = *request;
        let done = self
            .backend
            .reembed(&self.reference, collection, embedder, progress)?;
        Ok(Answer {
            collection: collection.to_owned(),
            embedder: embedder.identity(),
            before: done.before,
            drawers: done.drawers,
            made: done.made,
            resumed: done.resumed,
        })
    }
}

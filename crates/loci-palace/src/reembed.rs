//! The verb `reembed`: recomputes the vectors of a collection.

use loci_core::{Embedder, EmbedderIdentity, ReembedProgress, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;

/// The collection and the embedder.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The collection.
    pub collection: &'a str,
    /// The embedder of the new vectors.
    pub embedder: &'a dyn Embedder,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The collection.
    pub collection: String,
    /// The embedder of the new vectors.
    pub embedder: EmbedderIdentity,
    /// The embedder of the old vectors, if known.
    pub before: Option<EmbedderIdentity>,
    /// Drawers that have a vector of the new embedder.
    pub drawers: u64,
    /// Vectors that this run computed.
    pub made: u64,
    /// Vectors that an earlier run had computed.
    pub resumed: u64,
}

impl Palace {
    /// Recomputes all vectors of a collection. Searches use the old ones until all new ones are
    /// complete. An interrupted run is continued.
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

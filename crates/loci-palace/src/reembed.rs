//! New vectors for a collection.

use loci_core::{Embedder, ReembedProgress, Reembedded, Result};

use crate::palace::Palace;

impl Palace {
    /// Makes all vectors of a collection anew. Answers come from the old ones until all new ones are there; a run that
    /// was interrupted is taken up again.
    pub fn reembed(
        &self,
        collection: &str,
        embedder: &dyn Embedder,
        progress: &mut dyn FnMut(ReembedProgress),
    ) -> Result<Reembedded> {
        self.backend
            .reembed(&self.reference, collection, embedder, progress)
    }
}

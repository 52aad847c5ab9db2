//! The verb `why_not`: where a drawer fell out of a search, and what would bring it in.

use loci_core::Result;

use crate::palace::Palace;
use crate::search;

pub use loci_recall::{Stage, WhyNot as Answer};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The drawer.
    pub id: String,
    /// The search that should have found it.
    pub search: search::Request,
}

impl Palace {
    /// Follows a drawer through a search.
    pub fn why_not(&self, request: &Request) -> Result<Answer> {
        let (handle, _) = self.reading(&request.search.collection)?;
        loci_recall::why_not(
            handle.collection.as_ref(),
            handle.embedder.as_deref(),
            &request.search.question(),
            &request.id,
        )
    }
}

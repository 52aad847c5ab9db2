//! The interface of embedders, and the identity of the one that made the vectors of a collection.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Identifies an embedder. Pinned in the collection by the first write that uses one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedderIdentity {
    /// Name, for example `minilm`.
    pub name: String,
    /// Length of its vectors.
    pub dimension: usize,
    /// Digest of its weights; empty if it has none.
    pub digest: String,
}

impl fmt::Display for EmbedderIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}-d", self.name, self.dimension)?;
        if !self.digest.is_empty() {
            write!(f, ", {}", self.digest.get(..16).unwrap_or(&self.digest))?;
        }
        write!(f, ")")
    }
}

/// How the vectors of one embedder relate to those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compatibility {
    /// It makes the same vectors for the same text, or vectors that differ as little as those of
    /// two versions of the built-in table. They can be mixed.
    Same,
    /// Its query vectors find the other's vectors with lower quality. Its own vectors must not be
    /// mixed with them.
    Compatible,
    /// The vectors cannot be compared.
    Foreign,
}

/// Turns texts into vectors. Never called inside a transaction.
pub trait Embedder: Send + Sync {
    /// Its identity.
    fn identity(&self) -> EmbedderIdentity;
    /// One vector per text, each with the dimension of the identity.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// How its vectors relate to those of `other`.
    fn compatibility(&self, other: &EmbedderIdentity) -> Compatibility {
        if self.identity() == *other {
            Compatibility::Same
        } else {
            Compatibility::Foreign
        }
    }

    /// One query vector per text, for a search in vectors that `space` made. Called only if
    /// [`Embedder::compatibility`] is not foreign.
    fn embed_queries(&self, texts: &[&str], space: &EmbedderIdentity) -> Result<Vec<Vec<f32>>> {
        let _ = space;
        self.embed(texts)
    }
}

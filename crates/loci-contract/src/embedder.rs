//! An embedder for tests. It does not capture meaning: equal words give equal vectors, and nothing
//! else holds.

use loci_core::{Embedder, EmbedderIdentity, Result};

/// Hashes every word to a position and a sign, and sums them. Deterministic; needs no files.
///
/// ```
/// use loci_contract::WordEmbedder;
/// use loci_core::Embedder;
/// let embedder = WordEmbedder::new("words", 16);
/// assert_eq!(embedder.embed(&["red fox"])?, embedder.embed(&["Red, fox!"])?);
/// # Ok::<(), loci_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct WordEmbedder {
    identity: EmbedderIdentity,
}

impl WordEmbedder {
    /// An embedder with this name and dimension, and an empty digest.
    pub fn new(name: &str, dimension: usize) -> Self {
        Self::with_digest(name, dimension, "")
    }

    /// An embedder that reports this digest of its weights.
    pub fn with_digest(name: &str, dimension: usize, digest: &str) -> Self {
        Self {
            identity: EmbedderIdentity {
                name: name.into(),
                dimension,
                digest: digest.into(),
            },
        }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; self.identity.dimension];
        for word in crate::words(text) {
            let hash = fnv1a(word.as_bytes());
            let at = (hash >> 1) as usize % vector.len();
            vector[at] += if hash & 1 == 0 { 1.0 } else { -1.0 };
        }
        vector
    }
}

impl Embedder for WordEmbedder {
    fn identity(&self) -> EmbedderIdentity {
        self.identity.clone()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

//! The digest that compares an index with the vectors in the palace without reading either twice.

use xxhash_rust::xxh3::xxh3_128;

/// Digest of a set of rows and their vectors. The order of rows does not matter.
#[derive(Debug, Clone, Default)]
pub struct ContentDigest {
    sum: u128,
    buffer: Vec<u8>,
}

impl ContentDigest {
    /// The digest of the empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one row with the bytes of its vector as stored.
    pub fn add(&mut self, row: u64, vector_bytes: &[u8]) {
        self.buffer.clear();
        self.buffer.extend_from_slice(&row.to_le_bytes());
        self.buffer.extend_from_slice(vector_bytes);
        self.sum = self.sum.wrapping_add(xxh3_128(&self.buffer));
    }

    /// The digest of all added rows.
    pub fn finish(&self) -> [u8; 16] {
        self.sum.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_but_row_and_vector_do() {
        let of = |rows: &[(u64, &[u8])]| {
            let mut digest = ContentDigest::new();
            for (row, bytes) in rows {
                digest.add(*row, bytes);
            }
            digest.finish()
        };
        assert_eq!(
            of(&[(1, b"aaaa"), (2, b"bbbb")]),
            of(&[(2, b"bbbb"), (1, b"aaaa")])
        );
        assert_ne!(
            of(&[(1, b"aaaa"), (2, b"bbbb")]),
            of(&[(1, b"bbbb"), (2, b"aaaa")])
        );
        assert_ne!(of(&[(1, b"aaaa")]), of(&[(1, b"aaaa"), (1, b"aaaa")]));
    }
}

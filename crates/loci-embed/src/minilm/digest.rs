//! The digest of a model's weights, which does not depend on the file format.
//!
//! It is blake3 over each tensor of the encoder, in loading order: its name, a zero byte, the
//! number of its sides and each side as 64-bit numbers, and its values as half-precision numbers,
//! all little-endian. A file in f32, its copy in f16 and its ONNX export therefore have the same
//! digest. Tensors that the encoder does not use do not count.

use crate::kernels;

/// Number of values that are rounded at a time, so that the buffer stays in the cache.
const BLOCK: usize = 32 << 10;

#[derive(Debug, Default)]
pub(super) struct Digest {
    hasher: blake3::Hasher,
    block: Vec<u8>,
}

impl Digest {
    pub(super) fn name(&mut self, name: &str, shape: &[usize]) {
        self.hasher.update(name.as_bytes());
        self.hasher.update(&[0]);
        for side in std::iter::once(&shape.len()).chain(shape) {
            self.hasher.update(&(*side as u64).to_le_bytes());
        }
    }

    pub(super) fn singles(&mut self, values: &[f32]) {
        for values in values.chunks(BLOCK) {
            self.block.resize(values.len() * 2, 0);
            kernels::round_to_halves(values, &mut self.block);
            self.hasher.update(&self.block);
        }
    }

    /// Adds values that already are half-precision numbers.
    pub(super) fn halves(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    pub(super) fn finish(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }
}

//! The inner loops. Each has a portable version in `scalar` and, for processors with AVX2, a faster
//! version in `x86` with bit-identical results. Apart from `memory`, this is the only module with unsafe code.
//!
//! Sums of floats use a fixed number of lanes in a fixed order and no fused multiply-add, so that a
//! distance or a code does not depend on the machine.
#![expect(unsafe_code, reason = "calls into functions compiled for AVX2")]

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use scalar::{dot_wide, magnitude_sum, square_wide};

/// Rows per block of 1-bit codes.
pub(crate) const BLOCK_ROWS: usize = 32;

/// The sum of this many table entries of at most [`MAX_TABLE_ENTRY`] fits into a byte.
const ENTRIES_PER_BYTE: usize = 4;

/// Largest entry of a lookup table.
pub(crate) const MAX_TABLE_ENTRY: u8 = 63;

/// Largest magnitude of a query number as an integer. With this limit, 8,192 products with an 8-bit
/// code, spread over 8 lanes, cannot overflow 32 bits.
pub(crate) const MAX_QUERY_INTEGER: f32 = 16_383.0;

/// A number of a vector, in memory or in its stored form.
pub(crate) trait Component: Copy {
    fn value(self) -> f32;
}

impl Component for f32 {
    #[inline]
    fn value(self) -> f32 {
        self
    }
}

impl Component for [u8; 4] {
    #[inline]
    fn value(self) -> f32 {
        f32::from_le_bytes(self)
    }
}

/// The data of a query for the 1-bit scan. Each entry of `table` has, for two groups of four
/// dimensions, the weight of each of the 16 sign patterns.
pub(crate) struct SignTable {
    pub(crate) entries: Vec<[u8; 32]>,
    pub(crate) step: f32,
    pub(crate) offset: f32,
}

/// Correction terms of the rows of one block: `score = factor * signs + addend`.
pub(crate) struct BlockTerms<'a> {
    pub(crate) factors: &'a [f32; BLOCK_ROWS],
    pub(crate) addends: &'a [f32; BLOCK_ROWS],
}

macro_rules! dispatch {
    ($name:ident ( $($argument:expr),* )) => {{
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: AVX2 was detected.
            return unsafe { x86::$name($($argument),*) };
        }
        scalar::$name($($argument),*)
    }};
}

/// Inner product, and the square of `other`.
pub(crate) fn dot_and_square<T: Component>(query: &[f32], other: &[T]) -> (f32, f32) {
    dispatch!(dot_and_square(query, other))
}

/// Inner product.
pub(crate) fn dot<T: Component>(query: &[f32], other: &[T]) -> f32 {
    dispatch!(dot(query, other))
}

/// Squared Euclidean distance.
pub(crate) fn squared_distance<T: Component>(query: &[f32], other: &[T]) -> f32 {
    dispatch!(squared_distance(query, other))
}

/// Inner product of 8-bit codes (two's complement) with an integer query.
pub(crate) fn dot_codes(codes: &[u8], query: &[i16]) -> i64 {
    dispatch!(dot_codes(codes, query))
}

/// Scores the rows of one block. Bit `i` of the result is set if row `i` is above `threshold`.
pub(crate) fn score_block(
    block: &[u8],
    table: &SignTable,
    terms: &BlockTerms<'_>,
    threshold: f32,
    scores: &mut [f32; BLOCK_ROWS],
) -> u32 {
    dispatch!(score_block(block, table, terms, threshold, scores))
}

/// Asks the processor to load the bytes. Does not affect results.
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    x86::prefetch(bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// A score with a total order: NaN and minus infinity become the lowest finite number.
#[inline]
pub(crate) fn orderly(score: f32) -> f32 {
    if score > -f32::MAX { score } else { -f32::MAX }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

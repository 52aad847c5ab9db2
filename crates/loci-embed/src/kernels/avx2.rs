//! Products of 4-bit codes that portable code does not compile to the fastest instructions.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi16, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
    _mm256_set1_epi16, _mm256_setzero_si256, _mm256_storeu_si256,
};

use super::codes::{MOST_CODES, numbers};
use crate::table::CODE_OFFSET;

/// Codes in a register.
const LANES: usize = 32;

/// A number of one byte.
trait Code {}
impl Code for u8 {}
impl Code for i8 {}

/// Whether [`dots`] can read a row: its codes fill registers.
pub(super) fn can_read(row: &[u8]) -> bool {
    row.len() <= MOST_CODES / 2 && (2 * row.len()).is_multiple_of(LANES)
}

/// As `codes::dots`. A lane adds at most 2 · 15 · 8 for each register of a row, so that 16 bits are
/// enough for the 16 registers of the longest row.
#[target_feature(enable = "avx2")]
pub(super) fn dots(row: &[u8], unpacked: &[u8], out: &mut [i32]) {
    let mut codes = [0; MOST_CODES];
    let codes = numbers(row, &mut codes);
    // Stored codes are above their numbers by the offset.
    let mut excess = 0;
    for code in codes {
        excess += i32::from(*code) * i32::from(CODE_OFFSET);
    }
    let (codes, _) = codes.as_chunks::<LANES>();
    let (others, _) = unpacked.as_chunks::<LANES>();
    for (out, other) in out.iter_mut().zip(others.chunks_exact(codes.len().max(1))) {
        let mut sums = _mm256_setzero_si256();
        for (codes, other) in codes.iter().zip(other) {
            sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(load(other), load(codes)));
        }
        *out = total(_mm256_madd_epi16(sums, _mm256_set1_epi16(1))) - excess;
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load<Byte: Code>(bytes: &[Byte; LANES]) -> __m256i {
    // SAFETY: the array has 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// The sum of eight numbers.
#[target_feature(enable = "avx2")]
#[inline]
fn total(numbers: __m256i) -> i32 {
    let mut lanes = [0_i32; 8];
    // SAFETY: the array has 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), numbers) };
    let mut sum = 0;
    for lane in lanes {
        sum += lane;
    }
    sum
}

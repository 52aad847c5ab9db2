//! The AVX2 versions. Loads go through arrays of exactly the size of a register, so the pointers
//! are always valid.

use std::arch::x86_64::{
    __m128i, __m256, __m256i, _CMP_GT_OQ, _MM_HINT_T0, _mm_add_epi16, _mm_loadu_si128,
    _mm_prefetch, _mm_unpackhi_epi16, _mm_unpacklo_epi16, _mm256_add_epi8, _mm256_add_epi16,
    _mm256_add_epi32, _mm256_add_ps, _mm256_and_si256, _mm256_castsi256_si128, _mm256_cmp_ps,
    _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps, _mm256_cvtepu16_epi32, _mm256_extracti128_si256,
    _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_max_ps, _mm256_movemask_ps,
    _mm256_mul_ps, _mm256_set1_epi8, _mm256_set1_ps, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi16, _mm256_srli_epi16, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_epi16,
    _mm256_sub_ps,
};

use super::{BLOCK_ROWS, BlockTerms, Component, ENTRIES_PER_BYTE, SignTable, scalar};

#[target_feature(enable = "avx2")]
pub(super) fn dot_and_square<T: Component>(query: &[f32], other: &[T]) -> (f32, f32) {
    scalar::dot_and_square(query, other)
}

#[target_feature(enable = "avx2")]
pub(super) fn dot<T: Component>(query: &[f32], other: &[T]) -> f32 {
    scalar::dot(query, other)
}

#[target_feature(enable = "avx2")]
pub(super) fn squared_distance<T: Component>(query: &[f32], other: &[T]) -> f32 {
    scalar::squared_distance(query, other)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has 16 readable bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_32(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_numbers(numbers: &[i16; 16]) -> __m256i {
    // SAFETY: the array has 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_floats(floats: &[f32; 8]) -> __m256 {
    // SAFETY: the array has 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(floats.as_ptr()) }
}

#[target_feature(enable = "avx2")]
pub(super) fn dot_codes(codes: &[u8], query: &[i16]) -> i64 {
    let shorter = codes.len().min(query.len());
    let codes = codes.get(..shorter).unwrap_or_default();
    let query = query.get(..shorter).unwrap_or_default();
    let (code_chunks, code_rest) = codes.as_chunks::<16>();
    let (query_chunks, query_rest) = query.as_chunks::<16>();
    let (code_pairs, code_last) = code_chunks.as_chunks::<2>();
    let (query_pairs, query_last) = query_chunks.as_chunks::<2>();
    let mut even = _mm256_setzero_si256();
    let mut odd = _mm256_setzero_si256();
    for ([code_a, code_b], [query_a, query_b]) in code_pairs.iter().zip(query_pairs) {
        let wide_a = _mm256_cvtepi8_epi16(load_16(code_a));
        let wide_b = _mm256_cvtepi8_epi16(load_16(code_b));
        even = _mm256_add_epi32(even, _mm256_madd_epi16(wide_a, load_numbers(query_a)));
        odd = _mm256_add_epi32(odd, _mm256_madd_epi16(wide_b, load_numbers(query_b)));
    }
    for (code, query) in code_last.iter().zip(query_last) {
        let wide = _mm256_cvtepi8_epi16(load_16(code));
        even = _mm256_add_epi32(even, _mm256_madd_epi16(wide, load_numbers(query)));
    }
    let mut lanes = [0_i32; 8];
    // SAFETY: the array has 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), _mm256_add_epi32(even, odd)) };
    let sum: i64 = lanes.iter().map(|&lane| i64::from(lane)).sum();
    sum + scalar::dot_codes(code_rest, query_rest)
}

/// Sums of table entries for the even and the odd bytes of 16 rows. `even` also collects the odd
/// bytes in its high halves; [`Sums::rows`] subtracts them.
#[derive(Clone, Copy)]
struct Sums {
    even: __m256i,
    odd: __m256i,
}

impl Sums {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn zero() -> Self {
        Self {
            even: _mm256_setzero_si256(),
            odd: _mm256_setzero_si256(),
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn add(&mut self, bytes: __m256i) {
        self.even = _mm256_add_epi16(self.even, bytes);
        self.odd = _mm256_add_epi16(self.odd, _mm256_srli_epi16::<8>(bytes));
    }

    /// Rows 0 to 7 and 8 to 15 as 16-bit sums.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn rows(self) -> [__m128i; 2] {
        let even = _mm256_sub_epi16(self.even, _mm256_slli_epi16::<8>(self.odd));
        let fold = |sums| {
            _mm_add_epi16(
                _mm256_castsi256_si128(sums),
                _mm256_extracti128_si256::<1>(sums),
            )
        };
        let (even, odd) = (fold(even), fold(self.odd));
        [_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd)]
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn score_block(
    block: &[u8],
    table: &SignTable,
    terms: &BlockTerms<'_>,
    threshold: f32,
    scores: &mut [f32; BLOCK_ROWS],
) -> u32 {
    let nibble = _mm256_set1_epi8(15);
    let mut low = Sums::zero();
    let mut high = Sums::zero();
    let (block, _) = block.as_chunks::<32>();
    let (block, _) = block.as_chunks::<ENTRIES_PER_BYTE>();
    let (entries, _) = table.entries.as_chunks::<ENTRIES_PER_BYTE>();
    for (codes, weights) in block.iter().zip(entries) {
        let mut low_bytes = _mm256_setzero_si256();
        let mut high_bytes = _mm256_setzero_si256();
        let mut add = |codes: &[u8; 32], weights: &[u8; 32]| {
            let (codes, weights) = (load_32(codes), load_32(weights));
            let low_nibbles = _mm256_and_si256(codes, nibble);
            let high_nibbles = _mm256_and_si256(_mm256_srli_epi16::<4>(codes), nibble);
            low_bytes = _mm256_add_epi8(low_bytes, _mm256_shuffle_epi8(weights, low_nibbles));
            high_bytes = _mm256_add_epi8(high_bytes, _mm256_shuffle_epi8(weights, high_nibbles));
        };
        // Written out, because an iterator over four arrays is not always inlined.
        let ([first, second, third, fourth], [a, b, c, d]) = (codes, weights);
        add(first, a);
        add(second, b);
        add(third, c);
        add(fourth, d);
        low.add(low_bytes);
        high.add(high_bytes);
    }
    let [a, b] = low.rows();
    let [c, d] = high.rows();
    let step = _mm256_set1_ps(table.step);
    let offset = _mm256_set1_ps(table.offset);
    let limit = _mm256_set1_ps(threshold);
    let mut above = 0;
    let factors = terms.factors.as_chunks::<8>().0;
    let addends = terms.addends.as_chunks::<8>().0;
    let scores = scores.as_chunks_mut::<8>().0;
    for (at, (((sums, factor), addend), out)) in [a, b, c, d]
        .into_iter()
        .zip(factors)
        .zip(addends)
        .zip(scores)
        .enumerate()
    {
        let sums = _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(sums));
        let signs = _mm256_sub_ps(_mm256_mul_ps(sums, step), offset);
        let score = _mm256_add_ps(
            _mm256_mul_ps(load_floats(factor), signs),
            load_floats(addend),
        );
        // If the first operand is NaN, the result is the second one.
        let score = _mm256_max_ps(score, _mm256_set1_ps(-f32::MAX));
        // SAFETY: the array has 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), score) };
        let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(score, limit)) as u32;
        above |= mask << (8 * at);
    }
    above
}

pub(super) fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(64) {
        // SAFETY: a prefetch reads nothing; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}

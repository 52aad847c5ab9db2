//! The portable versions. The AVX2 versions of the float functions compile the same code; the lanes
//! fix the order of additions.

use super::{BLOCK_ROWS, BlockTerms, Component, SignTable, orderly};

const LANES: usize = 32;

/// The sum of a term for each pair of numbers. Several sums are several passes: lanes of two sums
/// beside each other would not be vectorised.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn sum<T: Component>(query: &[f32], other: &[T], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (query_chunks, query_rest) = query.as_chunks::<LANES>();
    let (other_chunks, other_rest) = other.as_chunks::<LANES>();
    for (a, b) in query_chunks.iter().zip(other_chunks) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += term(*a, b.value());
        }
    }
    for (lane, (a, b)) in lanes.iter_mut().zip(query_rest.iter().zip(other_rest)) {
        *lane += term(*a, b.value());
    }
    let mut width = LANES / 2;
    while width > 0 {
        let (low, high) = lanes.split_at_mut(width);
        for (low, high) in low.iter_mut().zip(high.iter()) {
            *low += *high;
        }
        width /= 2;
    }
    let [sum, ..] = lanes;
    sum
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn dot_and_square<T: Component>(query: &[f32], other: &[T]) -> (f32, f32) {
    (dot(query, other), sum(query, other, |_, b| b * b))
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn dot<T: Component>(query: &[f32], other: &[T]) -> f32 {
    sum(query, other, |a, b| a * b)
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn squared_distance<T: Component>(query: &[f32], other: &[T]) -> f32 {
    sum(query, other, |a, b| (a - b) * (a - b))
}

pub(super) fn dot_codes(codes: &[u8], query: &[i16]) -> i64 {
    codes
        .chunks(64)
        .zip(query.chunks(64))
        .map(|(codes, query)| {
            let products = codes
                .iter()
                .zip(query)
                .map(|(&code, &number)| i32::from(code as i8) * i32::from(number));
            i64::from(products.sum::<i32>())
        })
        .sum()
}

pub(super) fn score_block(
    block: &[u8],
    table: &SignTable,
    terms: &BlockTerms<'_>,
    threshold: f32,
    scores: &mut [f32; BLOCK_ROWS],
) -> u32 {
    let mut sums = [0_u32; BLOCK_ROWS];
    let (low, high) = sums.split_at_mut(BLOCK_ROWS / 2);
    let (groups, _) = block.as_chunks::<16>();
    let weights = table
        .entries
        .iter()
        .flat_map(|pair| pair.as_chunks::<16>().0);
    for (group, weights) in groups.iter().zip(weights) {
        for (byte, (low, high)) in group.iter().zip(low.iter_mut().zip(high.iter_mut())) {
            // A nibble is below 16, the length of `weights`.
            *low += weights
                .get(usize::from(byte & 15))
                .map_or(0, |&w| u32::from(w));
            *high += weights
                .get(usize::from(byte >> 4))
                .map_or(0, |&w| u32::from(w));
        }
    }
    let mut above = 0;
    let terms = terms.factors.iter().zip(terms.addends);
    for (row, ((score, sum), (factor, addend))) in
        scores.iter_mut().zip(sums).zip(terms).enumerate()
    {
        *score = orderly(factor * (sum as f32 * table.step - table.offset) + addend);
        above |= u32::from(*score > threshold) << row;
    }
    above
}

fn sum_wide(products: impl Fn(usize, &mut [f64; 8]), chunks: usize) -> f64 {
    let mut lanes = [0.0_f64; 8];
    for chunk in 0..chunks {
        products(chunk, &mut lanes);
    }
    lanes.iter().sum()
}

/// Inner product in f64 over the shorter length, for values that are computed once per row or
/// query.
pub(crate) fn dot_wide(a: &[f32], b: &[f32]) -> f64 {
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    let sum = sum_wide(
        |at, lanes| {
            if let (Some(a), Some(b)) = (a_chunks.get(at), b_chunks.get(at)) {
                for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
                    *lane += f64::from(*a) * f64::from(*b);
                }
            }
        },
        a_chunks.len(),
    );
    let rest: f64 = a_rest
        .iter()
        .zip(b_rest)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum();
    sum + rest
}

/// Sum of squares in f64.
pub(crate) fn square_wide(a: &[f32]) -> f64 {
    dot_wide(a, a)
}

/// Sum of magnitudes in f64.
pub(crate) fn magnitude_sum(a: &[f32]) -> f64 {
    let (chunks, rest) = a.as_chunks::<8>();
    let sum = sum_wide(
        |at, lanes| {
            for (lane, a) in lanes.iter_mut().zip(chunks.get(at).into_iter().flatten()) {
                *lane += f64::from(a.abs());
            }
        },
        chunks.len(),
    );
    sum + rest.iter().map(|a| f64::from(a.abs())).sum::<f64>()
}

//! Loops over rows of 4-bit codes, as in the static table. [`crate::table`] describes them.

use super::fma;
use crate::table::CODE_OFFSET;

/// Bytes whose products are added in 16 bits. Each byte adds at most 2 · 8², so that 240 of them add
/// at most 30,720.
const BLOCK_BYTES: usize = 240;

/// The most codes of a row that [`dots`] compares.
pub(crate) const MOST_CODES: usize = 512;

/// The code in the lower four bits.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn low(byte: i16) -> i16 {
    (byte & 15) - i16::from(CODE_OFFSET)
}

/// The code in the upper four bits.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn high(byte: i16) -> i16 {
    (byte >> 4) - i16::from(CODE_OFFSET)
}

/// A stored code as a number.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn number(stored: i32) -> f32 {
    (stored - i32::from(CODE_OFFSET)) as f32
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn add_scaled<const FUSED: bool>(sum: &mut [f32], row: &[u8], factor: f32) {
    let (first, second) = sum.split_at_mut(row.len().min(sum.len()));
    // Both halves in one loop, so that each byte is read once.
    for ((first, second), &byte) in first.iter_mut().zip(second.iter_mut()).zip(row) {
        let byte = i32::from(byte);
        *first = fma::<FUSED>(factor, number(byte & 15), *first);
        *second = fma::<FUSED>(factor, number(byte >> 4), *second);
    }
    // The second half of an odd dimension is shorter.
    for (first, &byte) in first.iter_mut().zip(row).skip(second.len()) {
        *first = fma::<FUSED>(factor, number(i32::from(byte & 15)), *first);
    }
}

/// The product of the codes of two bytes.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn product(a: u8, b: u8) -> i16 {
    let (a, b) = (i16::from(a), i16::from(b));
    low(a) * low(b) + high(a) * high(b)
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn dot<const FUSED: bool>(a: &[u8], b: &[u8]) -> i32 {
    let of_block = |(a, b): (&[u8], &[u8])| {
        let products = a.iter().zip(b).map(|(&a, &b)| product(a, b));
        // Without a check in every step, it is vectorised. It never wraps.
        i32::from(products.fold(0, i16::wrapping_add))
    };
    a.chunks(BLOCK_BYTES)
        .zip(b.chunks(BLOCK_BYTES))
        .map(of_block)
        .sum()
}

/// The codes of a row as they are stored: those of the lower four bits, then those of the upper.
pub(crate) fn unpack(row: &[u8]) -> Vec<u8> {
    let lower = row.iter().map(|byte| byte & 15);
    let upper = row.iter().map(|byte| byte >> 4);
    lower.chain(upper).collect()
}

/// The codes of a row as numbers, in the order of [`unpack`].
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn numbers<'a>(row: &[u8], codes: &'a mut [i8; MOST_CODES]) -> &'a [i8] {
    let (first, second) = codes.split_at_mut(row.len().min(MOST_CODES / 2));
    for ((first, second), byte) in first.iter_mut().zip(second.iter_mut()).zip(row) {
        *first = (byte & 15).wrapping_sub(CODE_OFFSET).cast_signed();
        *second = (byte >> 4).wrapping_sub(CODE_OFFSET).cast_signed();
    }
    codes.get(..2 * row.len()).unwrap_or_default()
}

/// Inner products of a row with several rows that are unpacked, one after the other.
pub(super) fn dots(row: &[u8], unpacked: &[u8], out: &mut [i32]) {
    let mut codes = [0; MOST_CODES];
    let codes = numbers(row, &mut codes);
    let others = unpacked.chunks_exact(codes.len().max(1));
    for (out, other) in out.iter_mut().zip(others) {
        let products = codes.iter().zip(other);
        *out = products
            .map(|(a, b)| i32::from(*a) * (i32::from(*b) - i32::from(CODE_OFFSET)))
            .fold(0, i32::wrapping_add);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_CODES, unpack};
    use crate::kernels::{add_scaled, dot_codes, dots};

    #[test]
    fn products_with_several_rows_are_those_with_each() {
        let row = |length: usize, step: usize| -> Vec<u8> {
            (0..length).map(|at| (at * step % 256) as u8).collect()
        };
        for length in [1, 16, 17, 192, MOST_CODES / 2] {
            let one = row(length, 7);
            let others: Vec<Vec<u8>> = [1, 3, 11].map(|step| row(length, step)).into();
            let unpacked: Vec<u8> = others.iter().flat_map(|other| unpack(other)).collect();
            let mut products = [0; 3];
            dots(&one, &unpacked, &mut products);
            let mut portable = [0; 3];
            super::dots(&one, &unpacked, &mut portable);
            assert_eq!(products, portable, "{length}");
            assert_eq!(
                products.as_slice(),
                others
                    .iter()
                    .map(|other| dot_codes(&one, other))
                    .collect::<Vec<_>>(),
                "{length}"
            );
        }
    }

    #[test]
    fn rows_are_read_as_two_halves_of_signed_codes() {
        let row: Vec<u8> = (0..=255).collect();
        let codes = |shift: u32| {
            let stored = row.iter().map(move |byte| byte >> shift & 15);
            stored.map(|stored| i32::from(stored) - 8)
        };
        let codes: Vec<i32> = codes(0).chain(codes(4)).collect();
        for dimension in [512, 511] {
            let mut sum = vec![1.0; dimension];
            add_scaled(&mut sum, &row, 0.5);
            for (code, sum) in codes.iter().zip(&sum) {
                assert!((sum - 1.0 - 0.5 * *code as f32).abs() < 1e-6);
            }
        }
        let expected: i32 = codes.iter().map(|code| code.pow(2)).sum();
        assert_eq!(dot_codes(&row, &row), expected);
        assert_eq!(dot_codes(&row, &[]), 0);
    }

    #[test]
    fn long_rows_and_rows_of_any_length_have_exact_products() {
        // Stored zeros are codes of −8: the largest product there is.
        for length in [1, 15, 16, 17, 192, 240, 241, 100_003] {
            let row = vec![0; length];
            assert_eq!(dot_codes(&row, &row), 128 * length as i32);
        }
    }
}

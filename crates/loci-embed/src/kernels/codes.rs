//! Loops over rows of 4-bit codes, as in the static table. [`crate::table`] describes them.

use super::fma;
use crate::table::CODE_OFFSET;

/// The code in the lower four bits.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn low(byte: u8) -> i16 {
    i16::from(byte & 15) - i16::from(CODE_OFFSET)
}

/// The code in the upper four bits.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn high(byte: u8) -> i16 {
    i16::from(byte >> 4) - i16::from(CODE_OFFSET)
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn add_scaled<const FUSED: bool>(sum: &mut [f32], row: &[u8], factor: f32) {
    let (first, second) = sum.split_at_mut(row.len().min(sum.len()));
    for (sum, &byte) in first.iter_mut().zip(row) {
        *sum = fma::<FUSED>(factor, f32::from(low(byte)), *sum);
    }
    for (sum, &byte) in second.iter_mut().zip(row) {
        *sum = fma::<FUSED>(factor, f32::from(high(byte)), *sum);
    }
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn dot<const FUSED: bool>(a: &[u8], b: &[u8]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(&a, &b)| i32::from(low(a) * low(b) + high(a) * high(b)))
        .sum()
}

#[cfg(test)]
mod tests {
    use crate::kernels::{add_scaled, dot_codes};

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
    }
}

//! Loops over rows of signed bytes, as in the static table.

use super::fma;

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn add_scaled<const FUSED: bool>(sum: &mut [f32], row: &[u8], factor: f32) {
    for (sum, &byte) in sum.iter_mut().zip(row) {
        *sum = fma::<FUSED>(factor, f32::from(byte.cast_signed()), *sum);
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
        .map(|(a, b)| i32::from(i16::from(a.cast_signed()) * i16::from(b.cast_signed())))
        .sum()
}

#[cfg(test)]
mod tests {
    use crate::kernels::{add_scaled, dot_bytes};

    #[test]
    fn byte_rows_are_read_as_signed() {
        let row: Vec<u8> = (0..=255).collect();
        let mut sum = vec![1.0; 256];
        add_scaled(&mut sum, &row, 0.5);
        for (byte, sum) in row.iter().zip(&sum) {
            assert!((sum - 1.0 - 0.5 * f32::from(*byte as i8)).abs() < 1e-6);
        }
        let expected: i32 = row.iter().map(|&b| i32::from(b as i8).pow(2)).sum();
        assert_eq!(dot_bytes(&row, &row), expected);
    }
}

//! Loops over rows of activations: layer norm, GELU, softmax, and their exponential.
//!
//! The exponential and the error function are our own polynomials instead of the platform's, so
//! that vectors do not depend on a C library.

use super::fma;

const LANES: usize = 16;

/// Folds a row into sixteen lanes, then the lanes from first to last.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn fold(
    row: &[f32],
    start: f32,
    step: impl Fn(f32, f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, *value);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane = step(*lane, *value);
    }
    lanes.into_iter().fold(start, join)
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn add_and_normalise<const FUSED: bool>(
    rows: &mut [f32],
    residual: &[f32],
    weight: &[f32],
    bias: &[f32],
    epsilon: f32,
) {
    let length = weight.len().max(1);
    for (row, residual) in rows
        .chunks_exact_mut(length)
        .zip(residual.chunks_exact(length))
    {
        for (value, residual) in row.iter_mut().zip(residual) {
            *value += *residual;
        }
        let mean = fold(row, 0.0, |a, b| a + b, |a, b| a + b) / length as f32;
        for value in row.iter_mut() {
            *value -= mean;
        }
        let square = fold(row, 0.0, |a, b| fma::<FUSED>(b, b, a), |a, b| a + b);
        let factor = 1.0 / (square / length as f32 + epsilon).sqrt();
        for (value, (weight, bias)) in row.iter_mut().zip(weight.iter().zip(bias)) {
            *value = fma::<FUSED>(*value * factor, *weight, *bias);
        }
    }
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn gelu<const FUSED: bool>(values: &mut [f32]) {
    for value in values {
        let x = *value;
        *value = 0.5 * x * (1.0 + erf::<FUSED>(x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn softmax<const FUSED: bool>(values: &mut [f32], length: usize, scale: f32) {
    for row in values.chunks_exact_mut(length.max(1)) {
        let highest = fold(row, f32::NEG_INFINITY, larger, larger);
        for value in row.iter_mut() {
            *value = exponential::<FUSED>((*value - highest) * scale);
        }
        let factor = 1.0 / fold(row, 0.0, |a, b| a + b, |a, b| a + b);
        for value in row.iter_mut() {
            *value *= factor;
        }
    }
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// e^x for x ≤ 0, within 2 units in the last place. Below -87 the result is the smallest normal
/// number.
#[inline(always)]
fn exponential<const FUSED: bool>(x: f32) -> f32 {
    // Adding 1.5 · 2^23 rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = if x > -87.0 { x } else { -87.0 };
    let shifted = fma::<FUSED>(x, std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    let rest = fma::<FUSED>(whole, -0.693_359_4, x);
    let rest = fma::<FUSED>(whole, 2.121_944_4e-4, rest);
    let mut sum = 1.987_569_1e-4;
    sum = fma::<FUSED>(sum, rest, 1.398_2e-3);
    sum = fma::<FUSED>(sum, rest, 8.333_452e-3);
    sum = fma::<FUSED>(sum, rest, 4.166_579_6e-2);
    sum = fma::<FUSED>(sum, rest, 1.666_666_5e-1);
    sum = fma::<FUSED>(sum, rest, 0.5);
    sum = fma::<FUSED>(sum * rest, rest, rest) + 1.0;
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    f32::from_bits(exponent.wrapping_add(127) << 23) * sum
}

/// The error function within 2e-7 (Abramowitz and Stegun 7.1.26).
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn erf<const FUSED: bool>(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / fma::<FUSED>(size, 0.327_591_1, 1.0);
    let mut sum = 1.061_405_4;
    sum = fma::<FUSED>(sum, t, -1.453_152_1);
    sum = fma::<FUSED>(sum, t, 1.421_413_8);
    sum = fma::<FUSED>(sum, t, -0.284_496_72);
    sum = fma::<FUSED>(sum, t, 0.254_829_6);
    let value = 1.0 - sum * t * exponential::<FUSED>(-size * size);
    value.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::{erf, exponential};

    #[test]
    fn exponential_and_error_function_are_accurate() {
        for step in 0..8_000 {
            let x = -(step as f32) / 100.0;
            let exact = f64::from(x).exp();
            assert!(
                (f64::from(exponential::<false>(x)) / exact - 1.0).abs() < 3e-7,
                "exp({x})"
            );
            assert!(
                (f64::from(exponential::<true>(x)) / exact - 1.0).abs() < 3e-7,
                "exp({x})"
            );
        }
        for (x, exact) in [
            (0.0_f32, 0.0_f32),
            (0.1, 0.112_462_92),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (5.0, 1.0),
        ] {
            assert!((erf::<false>(x) - exact).abs() < 3e-7, "erf({x})");
            assert!((erf::<false>(-x) + exact).abs() < 3e-7, "erf(-{x})");
        }
    }

    #[test]
    fn softmax_of_extreme_scores_stays_finite() {
        let mut row = [1e30, -1e30, 1e30, f32::MIN];
        crate::kernels::softmax(&mut row, 4, 1.0);
        assert!((row[0] - 0.5).abs() < 1e-6 && (row[2] - 0.5).abs() < 1e-6);
        assert!(row[3] < 1e-30);
        assert!(row[1] < 1e-30);
    }
}

//! Converts between single and half precision.

/// The bytes of `values`, each rounded to the nearest half-precision number, ties to even. Too
/// large values become infinity. The caller must refuse NaN.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn round<const FUSED: bool>(values: &[f32], out: &mut [u8]) {
    for (value, out) in values.iter().zip(out.as_chunks_mut::<2>().0) {
        let bits = value.to_bits();
        let size = bits & 0x7fff_ffff;
        // The exponent is 112 smaller in half precision, and thirteen bits of the fraction are
        // dropped.
        let normal = size
            .wrapping_sub(112 << 23)
            .wrapping_add(0xfff + (size >> 13 & 1))
            >> 13;
        // The last bit of a number just above one half has the same weight as the last bit of a
        // subnormal half.
        let subnormal = (f32::from_bits(size) + 0.5)
            .to_bits()
            .wrapping_sub(0.5_f32.to_bits());
        let rounded = if size < SMALLEST_NORMAL {
            subnormal
        } else if size < TOO_LARGE {
            normal
        } else {
            INFINITY
        };
        *out = ((rounded | bits >> 16 & 0x8000) as u16).to_le_bytes();
    }
}

/// Bits of 2⁻¹⁴.
const SMALLEST_NORMAL: u32 = 0x3880_0000;
/// Bits of 65,520, halfway between the largest half and the next number.
const TOO_LARGE: u32 = 0x477f_f000;
const INFINITY: u32 = 0x7c00;

/// Converts a half-precision number. After the shift its exponent is 112 too small, which one exact
/// multiplication corrects.
pub(crate) fn half(bits: u16) -> f32 {
    let size = f32::from_bits(u32::from(bits & 0x7fff) << 13) * 2.0_f32.powi(112);
    // This exponent is reserved for infinity and NaN.
    let size = if size < 65_536.0 { size } else { f32::NAN };
    f32::from_bits(size.to_bits() | u32::from(bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::half;
    use crate::kernels::round_to_halves;

    #[test]
    fn half_precision_numbers_are_read_exactly() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x7bff, 65_504.0),
            (0x0000, 0.0),
        ] {
            assert!(
                (half(bits) - value).abs() <= f32::EPSILON * value.abs(),
                "{bits:#x}"
            );
        }
        assert!(half(0x7c00).is_nan() && half(0x7e00).is_nan() && half(0xfc00).is_nan());
        assert!(half(0x8000).is_sign_negative());
    }

    fn rounded(values: &[f32]) -> Vec<u16> {
        let mut bytes = vec![0; values.len() * 2];
        round_to_halves(values, &mut bytes);
        let (pairs, _) = bytes.as_chunks::<2>();
        pairs.iter().map(|&pair| u16::from_le_bytes(pair)).collect()
    }

    #[test]
    fn every_half_rounds_to_itself_and_every_middle_to_the_even_neighbour() {
        for sign in [0, 0x8000_u16] {
            let all: Vec<u16> = (0..0x7c00_u16).map(|bits| bits | sign).collect();
            let values: Vec<f32> = all.iter().map(|&bits| half(bits)).collect();
            assert_eq!(rounded(&values), all);

            let next = |bits: u16| {
                if bits & 0x7fff == 0x7bff {
                    65_536.0
                } else {
                    half(bits + 1).abs()
                }
            };
            let middles: Vec<f32> = all
                .iter()
                .map(|&bits| half(bits).abs().midpoint(next(bits)))
                .map(|size| if sign == 0 { size } else { -size })
                .collect();
            let even: Vec<u16> = all.iter().map(|bits| bits + (bits & 1)).collect();
            assert_eq!(rounded(&middles), even);
            let nudged = |by: i32| -> Vec<f32> {
                let nudge = |value: &f32| f32::from_bits(value.to_bits().wrapping_add_signed(by));
                middles.iter().map(nudge).collect()
            };
            assert_eq!(rounded(&nudged(-1)), all);
            let above: Vec<u16> = all.iter().map(|bits| bits + 1).collect();
            assert_eq!(rounded(&nudged(1)), above);
        }
        assert_eq!(
            rounded(&[f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-30]),
            [0x7c00, 0xfc00, 0, 0]
        );
    }
}

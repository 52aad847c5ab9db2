//! Vectors whose numbers fit into a byte each: whole multiples, from -127 to 127, of one scale.
//!
//! An embedder may round its vectors to this form ([`round_to_bytes`]). A backend can then store
//! them in a quarter of the space without loss ([`ByteCodes::exact`]). A vector of any other form is
//! never changed, so a caller's vector is returned bit for bit.

/// The largest code.
const MOST: f32 = 127.0;

/// The lowest bits of a scale are zero. A product with a code then has at most 24 significant bits,
/// so f32 holds it exactly, and dividing the largest number by [`MOST`] gives the scale back.
const UNUSED_BITS: u32 = 7;

/// A vector as a scale and one code per number.
#[derive(Debug, Clone, PartialEq)]
pub struct ByteCodes {
    /// The difference between two codes; 0 for a vector of zeros.
    pub scale: f32,
    /// Two's complement, one per number.
    pub codes: Vec<u8>,
}

impl ByteCodes {
    /// The codes of a vector, if they give exactly the same numbers again, bit for bit.
    pub fn exact(vector: &[f32]) -> Option<Self> {
        let scale = largest(vector) / MOST;
        let inverse = inverse(scale)?;
        let mut codes = Vec::with_capacity(vector.len());
        for number in vector {
            let code = nearest(number * inverse);
            if value(code, scale).to_bits() != number.to_bits() {
                return None;
            }
            codes.push(code.cast_unsigned());
        }
        Some(Self { scale, codes })
    }
}

/// The number that a code stands for.
#[inline]
pub fn value(code: i8, scale: f32) -> f32 {
    f32::from(code) * scale
}

/// Rounds each number to the nearest of 255 multiples of one scale. An error is at most a 254th of
/// the largest magnitude. A vector that was rounded is not changed again. Vectors with numbers that
/// are not finite, or too small to have codes, stay as they are.
pub fn round_to_bytes(vector: &mut [f32]) {
    let exact = largest(vector) / MOST;
    let unused = (1_u32 << UNUSED_BITS) - 1;
    // Rounded up, so that no code is above the largest one.
    let scale = f32::from_bits(exact.to_bits().saturating_add(unused) & !unused);
    let Some(inverse) = inverse(scale).filter(|_| vector.iter().all(|number| number.is_finite()))
    else {
        return;
    };
    for number in vector {
        *number = value(nearest(*number * inverse), scale);
    }
}

/// The inverse of a scale that vectors can have.
fn inverse(scale: f32) -> Option<f32> {
    if scale == 0.0 {
        return Some(0.0);
    }
    Some(scale.recip()).filter(|inverse| scale.is_normal() && inverse.is_normal())
}

/// Rounds a number between -127.5 and 127.5. The sum with 1.5 · 2^23 has no fraction bits, and its
/// lowest bits are the integer.
#[inline]
fn nearest(number: f32) -> i8 {
    (number + 12_582_912.0).to_bits() as i8
}

fn largest(vector: &[f32]) -> f32 {
    vector
        .iter()
        .fold(0.0, |most, number| number.abs().max(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(codes: &ByteCodes) -> Vec<f32> {
        let code = |code: &u8| value(code.cast_signed(), codes.scale);
        codes.codes.iter().map(code).collect()
    }

    fn bits(vector: &[f32]) -> Vec<u32> {
        vector.iter().map(|number| number.to_bits()).collect()
    }

    #[test]
    fn a_vector_that_no_codes_give_exactly_has_none() {
        for vector in [
            [1.0, 0.3],
            [1.0, -0.0],
            [0.0, -0.0],
            [f32::NAN, 1.0],
            [f32::INFINITY, 1.0],
            [f32::MIN_POSITIVE / 4.0, 0.0],
            [1.0, f32::MIN_POSITIVE],
        ] {
            assert_eq!(ByteCodes::exact(&vector), None, "{vector:?}");
        }
    }

    #[test]
    fn plain_vectors_have_codes() {
        for (vector, codes) in [
            (vec![0.0, 0.0], [0, 0]),
            (vec![1.0, 0.0], [127, 0]),
            (vec![-1.0, 1.0], [0x81, 127]),
            (vec![127.0, -3.0], [127, 0xfd]),
        ] {
            let found = ByteCodes::exact(&vector);
            assert_eq!(found.map(|found| found.codes), Some(codes.to_vec()));
        }
    }

    #[test]
    fn a_vector_that_cannot_be_rounded_stays() {
        for vector in [
            [f32::NAN, 1.0],
            [1.0, f32::INFINITY],
            [1e-40, 0.0],
            [1e-37, 3e-38],
        ] {
            let mut rounded = vector;
            round_to_bytes(&mut rounded);
            assert_eq!(bits(&rounded), bits(&vector));
        }
    }

    proptest! {
        #[test]
        fn a_rounded_vector_has_exact_codes_and_is_near(
            vector in prop::collection::vec(-1.0_f32..1.0, 1..100), exponent in -30_i32..30,
        ) {
            let vector: Vec<f32> = vector.iter().map(|x| x * 10_f32.powi(exponent)).collect();
            let mut rounded = vector.clone();
            round_to_bytes(&mut rounded);
            let codes = ByteCodes::exact(&rounded).unwrap();
            prop_assert_eq!(bits(&decoded(&codes)), bits(&rounded));
            let most = largest(&vector);
            for (number, rounded) in vector.iter().zip(&rounded) {
                prop_assert!((number - rounded).abs() <= most / 253.9);
            }
            let mut twice = rounded.clone();
            round_to_bytes(&mut twice);
            prop_assert_eq!(bits(&twice), bits(&rounded));
        }

        #[test]
        fn codes_give_the_same_bits_or_there_are_none(
            vector in prop::collection::vec(prop::num::f32::ANY, 1..20),
        ) {
            if let Some(codes) = ByteCodes::exact(&vector) {
                prop_assert_eq!(bits(&decoded(&codes)), bits(&vector));
            }
        }

        #[test]
        fn the_numbers_of_a_rounded_vector_are_exact_products(
            mut vector in prop::collection::vec(-1.0_f32..1.0, 1..50),
        ) {
            vector.push(0.7);
            round_to_bytes(&mut vector);
            let found = ByteCodes::exact(&vector).unwrap();
            for (number, code) in vector.iter().zip(&found.codes) {
                let product = f64::from(found.scale) * f64::from(code.cast_signed());
                prop_assert_eq!(f64::from(*number).to_bits(), product.to_bits());
            }
        }

        #[test]
        fn every_set_of_codes_is_found_again(
            codes in prop::collection::vec(-127_i8..=127, 1..50), scale in 0_u32..0x7e_0000,
        ) {
            let scale = f32::from_bits((scale + 0x1_0000) << UNUSED_BITS);
            let mut codes = codes;
            codes.push(127);
            let vector: Vec<f32> = codes.iter().map(|code| value(*code, scale)).collect();
            let found = ByteCodes::exact(&vector);
            if vector.iter().all(|x| x.is_finite()) && scale.recip().is_finite() && scale.is_normal() {
                let codes: Vec<u8> = codes.iter().map(|code| code.cast_unsigned()).collect();
                prop_assert_eq!(found, Some(ByteCodes { scale, codes }));
            }
        }
    }
}

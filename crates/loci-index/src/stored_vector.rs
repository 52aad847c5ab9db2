//! The bytes of a vector in the truth. docs/format.md describes both forms.
//!
//! A vector that fits into a byte per number has codes. Every other vector has little-endian f32.
//! Both give the same numbers back, bit for bit. The length alone tells them apart: f32 have a
//! multiple of four bytes, codes have one byte more than a multiple of four.

use loci_core::byte_vector::{ByteCodes, value};

/// The first byte of codes.
const CODES: u8 = 8;

/// The stored form of a vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StoredVector<'a> {
    Numbers(&'a [[u8; 4]]),
    Codes { scale: f32, codes: &'a [u8] },
}

impl<'a> StoredVector<'a> {
    /// `None` for bytes of neither form.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        match (rest, bytes) {
            ([], _) => Some(Self::Numbers(numbers)),
            ([_], [CODES, a, b, c, d, codes @ ..]) => Some(Self::Codes {
                scale: f32::from_le_bytes([*a, *b, *c, *d]),
                codes,
            }),
            _ => None,
        }
    }

    pub(crate) fn dimension(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Codes { codes, .. } => codes.len(),
        }
    }

    /// Appends the numbers.
    pub(crate) fn read_into(&self, vector: &mut Vec<f32>) {
        match self {
            Self::Numbers(numbers) => {
                vector.extend(numbers.iter().map(|number| f32::from_le_bytes(*number)));
            }
            Self::Codes { scale, codes } => {
                vector.extend(codes.iter().map(|code| value(code.cast_signed(), *scale)));
            }
        }
    }
}

/// The bytes that are stored for a vector.
pub fn vector_to_bytes(vector: &[f32]) -> Vec<u8> {
    let codes = if vector.len().is_multiple_of(4) {
        ByteCodes::exact(vector)
    } else {
        None
    };
    match codes {
        Some(ByteCodes { scale, codes }) => [&[CODES], &scale.to_le_bytes()[..], &codes].concat(),
        None => vector
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect(),
    }
}

/// The vector that bytes stand for, or `None` if no vector has such bytes.
pub fn vector_from_bytes(bytes: &[u8]) -> Option<Vec<f32>> {
    let stored = StoredVector::parse(bytes)?;
    let mut vector = Vec::with_capacity(stored.dimension());
    stored.read_into(&mut vector);
    Some(vector)
}

/// How many numbers the stored vector has, or `None` if no vector has such bytes.
pub fn stored_dimension(bytes: &[u8]) -> Option<usize> {
    StoredVector::parse(bytes).map(|stored| stored.dimension())
}

#[cfg(test)]
mod tests {
    use loci_core::byte_vector::round_to_bytes;
    use proptest::prelude::*;

    use super::*;

    fn bits(vector: &[f32]) -> Vec<u32> {
        vector.iter().map(|number| number.to_bits()).collect()
    }

    #[test]
    fn bytes_stand_where_the_format_says() {
        assert_eq!(
            vector_to_bytes(&[127.0, -127.0, 3.0, 0.0]),
            [8, 0, 0, 0x80, 0x3f, 127, 0x81, 3, 0]
        );
        assert_eq!(vector_to_bytes(&[1.0, 0.3]).len(), 8);
        assert_eq!(vector_to_bytes(&[1.0, 0.3, 0.0, 0.0]).len(), 16);
        // Five codes would have ten bytes, which no form has.
        assert_eq!(vector_to_bytes(&[1.0; 5]).len(), 20);
    }

    #[test]
    fn bytes_of_neither_form_are_no_vector() {
        let codes = vector_to_bytes(&[1.0; 8]);
        assert_eq!(stored_dimension(&codes), Some(8));
        for length in [1, 2, 3, 6, 7, 10, 11] {
            let cut = &codes[..length];
            assert_eq!(
                (vector_from_bytes(cut), stored_dimension(cut)),
                (None, None)
            );
        }
        // Four bytes are one number, nine are codes of four: another dimension, which is refused.
        assert_eq!(stored_dimension(&codes[..4]), Some(1));
        assert_eq!(stored_dimension(&codes[..9]), Some(4));
        let mut marked = codes;
        marked[0] = 9;
        assert_eq!(vector_from_bytes(&marked), None);
    }

    proptest! {
        #[test]
        fn every_vector_comes_back_bit_for_bit(
            vector in prop::collection::vec(prop::num::f32::ANY, 1..40),
        ) {
            let bytes = vector_to_bytes(&vector);
            prop_assert_eq!(stored_dimension(&bytes), Some(vector.len()));
            prop_assert_eq!(bits(&vector_from_bytes(&bytes).unwrap()), bits(&vector));
        }

        #[test]
        fn a_rounded_vector_takes_a_byte_per_number(
            vector in prop::collection::vec(-1.0_f32..1.0, 4..100),
        ) {
            let mut vector = vector;
            vector.truncate(vector.len() / 4 * 4);
            round_to_bytes(&mut vector);
            let bytes = vector_to_bytes(&vector);
            prop_assert_eq!(bytes.len(), vector.len() + 5);
            prop_assert_eq!(bits(&vector_from_bytes(&bytes).unwrap()), bits(&vector));
        }
    }
}

//! Computes the codes of a vector.
//!
//! Everything is relative to the centre of the data. With `x` the vector (normalised for cosine),
//! `c` the centre and `x' = x - c`, every metric ranks by `<x', q'> + addend`. The addend is
//! `<x, c>`, or `-|x'|² / 2` for l2. A row stores the addend and two approximations of `x'`: 4 or 8
//! bits per dimension, and 1 bit per rotated dimension.

use loci_core::Metric;

use crate::kernels::{dot_wide, magnitude_sum, square_wide};
use crate::rotation::Rotation;

/// Shorter vectors have no 1-bit codes, because so few bits do not distinguish rows.
const MIN_BITS: usize = 64;

/// Numbers are clamped to this magnitude, so that no sum over them overflows f32.
const LARGEST: f32 = 1e30;

/// A vector closer to the centre than this counts as equal to it.
const SMALLEST: f32 = 1e-30;

/// Number of 1-bit codes for vectors of this dimension: a multiple of 64, or 0 if there are none.
pub(crate) fn bit_dimension(dimension: usize) -> usize {
    if dimension < MIN_BITS {
        0
    } else {
        dimension.next_multiple_of(64)
    }
}

/// The number of bits of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// Two codes in a byte: byte `j` has code `j` in its low half, and code `j + m` in its high
    /// half, where `m` is half of the dimension, rounded up.
    Four,
    Eight,
}

impl Width {
    /// The largest code.
    fn most(self) -> f32 {
        match self {
            Self::Four => 7.0,
            Self::Eight => 127.0,
        }
    }

    /// Bytes of the codes of a row.
    pub(crate) fn row_bytes(self, dimension: usize) -> usize {
        match self {
            Self::Four => dimension.div_ceil(2),
            Self::Eight => dimension,
        }
    }

    /// Packs codes in place.
    fn pack(self, codes: &mut Vec<u8>) {
        if self == Self::Eight {
            return;
        }
        let half = self.row_bytes(codes.len());
        let (low, high) = codes.split_at_mut(half);
        for code in low.iter_mut() {
            *code &= 15;
        }
        for (low, high) in low.iter_mut().zip(high) {
            *low |= *high << 4;
        }
        codes.truncate(half);
    }

    /// Codes of 8 bits each. An odd dimension gets one more, which is 0.
    pub(crate) fn unpack<'a>(self, packed: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        if self == Self::Eight {
            return packed;
        }
        let signed = |nibble: u8| ((nibble << 4).cast_signed() >> 4).cast_unsigned();
        buffer.clear();
        buffer.extend(packed.iter().map(|byte| signed(*byte)));
        buffer.extend(packed.iter().map(|byte| signed(byte >> 4)));
        buffer
    }
}

/// The codes of one row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RowCodes {
    /// Two's complement, as stored; `x' ≈ scale * codes`.
    pub(crate) codes: Vec<u8>,
    pub(crate) scale: f32,
    pub(crate) addend: f32,
    /// Signs of the rotated `x'`, four per byte, lowest bit first.
    pub(crate) nibbles: Vec<u8>,
    /// `<x', q'> ≈ factor * <signs, rotated q'>`, without bias.
    pub(crate) factor: f32,
}

/// Computes the codes of the vectors of one collection.
#[derive(Debug, Clone)]
pub(crate) struct Encoder {
    metric: Metric,
    width: Width,
    centre: Vec<f32>,
    rotation: Option<Rotation>,
}

impl Encoder {
    pub(crate) fn new(metric: Metric, width: Width, centre: Vec<f32>) -> Self {
        let bits = bit_dimension(centre.len());
        Self {
            metric,
            width,
            rotation: (bits > 0).then(|| Rotation::new(bits)),
            centre,
        }
    }

    /// An encoder whose centre is the mean of the finite vectors of the sample.
    pub(crate) fn from_sample(
        metric: Metric,
        width: Width,
        dimension: usize,
        sample: &[f32],
    ) -> Self {
        let mut sums = vec![0.0_f64; dimension];
        let mut count = 0_u32;
        let mut prepared = Vec::new();
        for vector in sample.chunks_exact(dimension.max(1)) {
            if vector.iter().all(|number| number.is_finite()) {
                prepare(metric, vector, &mut prepared);
                for (sum, number) in sums.iter_mut().zip(&prepared) {
                    *sum += f64::from(*number);
                }
                count += 1;
            }
        }
        let mean = |sum: &f64| (sum / f64::from(count.max(1))) as f32;
        Self::new(metric, width, sums.iter().map(mean).collect())
    }

    pub(crate) fn width(&self) -> Width {
        self.width
    }

    pub(crate) fn centre(&self) -> &[f32] {
        &self.centre
    }

    /// Encodes a vector of the right length. `vector` is overwritten with intermediate results.
    pub(crate) fn encode(&self, vector: &mut Vec<f32>, row: &mut RowCodes) {
        let mut relative = std::mem::take(vector);
        let product = self.centred(&mut relative);
        let square = square_wide(&relative);
        let addend = match self.metric {
            Metric::Cosine | Metric::Ip => product,
            Metric::L2 => -square / 2.0,
        };
        row.addend = (addend as f32).clamp(-f32::MAX, f32::MAX);

        let largest = relative
            .iter()
            .fold(0.0_f32, |most, number| most.max(number.abs()));
        let (scale, inverse) = if largest < SMALLEST {
            (0.0, 0.0)
        } else {
            (largest / self.width.most(), self.width.most() / largest)
        };
        row.scale = scale;
        row.codes.clear();
        row.codes
            .extend(relative.iter().map(|number| nearest_byte(number * inverse)));
        self.width.pack(&mut row.codes);

        row.factor = 0.0;
        row.nibbles.clear();
        if self.rotate(&mut relative) {
            let magnitudes = magnitude_sum(&relative);
            if magnitudes > 0.0 {
                row.factor = (square / magnitudes) as f32;
            }
            row.nibbles
                .extend(relative.as_chunks::<4>().0.iter().map(|[a, b, c, d]| {
                    let bit = |number: &f32, at: u8| u8::from(*number >= 0.0) << at;
                    bit(a, 0) | bit(b, 1) | bit(c, 2) | bit(d, 3)
                }));
        }
        *vector = relative;
    }

    /// Prepares a vector and subtracts the centre. Returns the product of the prepared vector with
    /// the centre.
    pub(crate) fn centred(&self, vector: &mut Vec<f32>) -> f64 {
        let original = vector.clone();
        prepare(self.metric, &original, vector);
        let product = dot_wide(vector, &self.centre);
        for (number, centre) in vector.iter_mut().zip(&self.centre) {
            *number = (*number - centre).clamp(-LARGEST, LARGEST);
        }
        product
    }

    /// Pads and rotates in place. False if there are no 1-bit codes.
    pub(crate) fn rotate(&self, vector: &mut Vec<f32>) -> bool {
        let Some(rotation) = &self.rotation else {
            return false;
        };
        vector.resize(bit_dimension(self.centre.len()), 0.0);
        rotation.apply(vector);
        true
    }
}

/// The vector in the form that the metric uses: normalised for cosine (zero stays zero), otherwise
/// unchanged.
fn prepare(metric: Metric, vector: &[f32], out: &mut Vec<f32>) {
    out.clear();
    match metric {
        Metric::L2 | Metric::Ip => out.extend_from_slice(vector),
        Metric::Cosine => {
            let square = square_wide(vector);
            let inverse = if square > 0.0 {
                square.sqrt().recip()
            } else {
                0.0
            };
            out.extend(
                vector
                    .iter()
                    .map(|number| (f64::from(*number) * inverse) as f32),
            );
        }
    }
}

/// Rounds a number between -127 and 127 to the nearest integer, as a two's complement byte. The sum
/// with 1.5 · 2^23 has no fraction bits, and its lowest bits are the integer.
fn nearest_byte(number: f32) -> u8 {
    (number + 12_582_912.0).to_bits() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_to_nearest() {
        for (number, byte) in [
            (0.0, 0),
            (0.4, 0),
            (0.6, 1),
            (-0.6, -1),
            (126.7, 127),
            (-127.0, -127),
        ] {
            assert_eq!(nearest_byte(number) as i8, byte, "{number}");
        }
    }

    #[test]
    fn codes_of_four_bits_are_packed_in_halves_and_unpacked_again() {
        for codes in [vec![7_i8, -7, 0, -1, 3], vec![-7, 7, 1, -2]] {
            let codes: Vec<u8> = codes.iter().map(|code| code.cast_unsigned()).collect();
            let mut packed = codes.clone();
            Width::Four.pack(&mut packed);
            assert_eq!(packed.len(), Width::Four.row_bytes(codes.len()));
            let mut buffer = Vec::new();
            let unpacked = Width::Four.unpack(&packed, &mut buffer);
            assert_eq!(unpacked.get(..codes.len()), Some(codes.as_slice()));
            assert!(unpacked.iter().skip(codes.len()).all(|code| *code == 0));
        }
        let mut packed = vec![7, 0xf9, 0, 0xff, 3];
        Width::Four.pack(&mut packed);
        assert_eq!(packed, [0xf7, 0x39, 0]);
    }

    #[test]
    fn codes_stay_finite_on_extreme_vectors() {
        for metric in [Metric::Cosine, Metric::L2, Metric::Ip] {
            for size in [0.0, 1e-45, 1e-38, 1e-19, 1.0, 1e19, 3e38] {
                let width = Width::Four;
                let encoder = Encoder::from_sample(metric, width, 70, &[size / 2.0; 140]);
                for sign in [1.0, -1.0] {
                    let mut row = RowCodes::default();
                    let mut vector: Vec<f32> = (0..70)
                        .map(|at| if at % 2 == 0 { size } else { sign * size })
                        .collect();
                    encoder.encode(&mut vector, &mut row);
                    assert!(
                        row.scale.is_finite() && row.factor.is_finite() && row.addend.is_finite(),
                        "{metric:?} {size} {row:?}"
                    );
                    assert_eq!((row.codes.len(), row.nibbles.len()), (35, 32));
                }
            }
        }
    }

    #[test]
    fn the_centre_is_the_mean_of_finite_vectors() {
        let sample = [1.0, 2.0, f32::NAN, 9.0, 3.0, 4.0, 77.0];
        assert_eq!(
            Encoder::from_sample(Metric::L2, Width::Eight, 2, &sample).centre(),
            [2.0, 3.0]
        );
        assert_eq!(
            Encoder::from_sample(Metric::L2, Width::Eight, 2, &[]).centre(),
            [0.0, 0.0]
        );
    }
}

//! The file of the static table: one row of 4-bit codes per token, and the data to average them.
//!
//! Little-endian, no padding. `half` is the dimension / 2, rounded up:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `LOCISTAT` |
//! | 4 | version, 2 |
//! | 4 | tokens |
//! | 4 | dimension |
//! | 4 | zero |
//! | 32 | blake3 of everything else, in order |
//! | 4 · dimension | the mean of the rows, f32 |
//! | 4 · tokens | weight of a token in an average, f32 |
//! | 4 · tokens | scale: a row is scale × codes, the mean left out, f32 |
//! | 4 · tokens | 1 / length of the row of codes, f32 |
//! | tokens · half | the rows |
//!
//! A code is a whole number from −7 to 7, stored plus 8 in four bits. Byte `j` of a row has the code
//! of dimension `j` in its lower four bits and that of dimension `j + half` in its upper four. So
//! both halves of a row are read in order. An odd dimension leaves the last four bits of a row
//! unused; they hold a zero code.
//!
//! [`Table`] borrows the bytes and reads only the header.

use loci_text::TokenId;

const MAGIC: &[u8; 8] = b"LOCISTAT";
const VERSION: u32 = 2;
const HEADER_BYTES: usize = 56;
/// The largest code.
const MAX_CODE: f32 = 7.0;
/// What is added to a code to store it.
pub(crate) const CODE_OFFSET: u8 = 8;
/// How many scales are tried for a row.
const SCALES: u8 = 32;
/// The smallest scale that is tried, as a fraction of the one that maps the largest value to the
/// largest code. A smaller scale cuts off large values and rounds all others less.
const SMALLEST_SCALE: f32 = 0.4;

/// A view of a static table.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    bytes: &'a [u8],
    dimension: usize,
    digest: &'a [u8; 32],
    mean: &'a [[u8; 4]],
    weights: &'a [[u8; 4]],
    scales: &'a [[u8; 4]],
    inverses: &'a [[u8; 4]],
    rows: &'a [u8],
}

/// Why bytes are not a static table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The header is not that of a static table, or has a version that this build does not read.
    #[error("not a static table of version {VERSION}")]
    Foreign,
    /// The length differs from the header.
    #[error("static table of {got} bytes; its header says {expected}")]
    Length {
        /// The length according to the header.
        expected: usize,
        /// The actual length.
        got: usize,
    },
    /// The content does not match its digest.
    #[error("static table does not match its digest")]
    Digest,
}

impl<'a> Table<'a> {
    /// Parses the header and checks the length. [`Table::verify`] checks the content.
    pub fn new(bytes: &'a [u8]) -> Result<Self, TableError> {
        let (header, body) = bytes
            .split_at_checked(HEADER_BYTES)
            .ok_or(TableError::Foreign)?;
        let number = |at: usize| {
            let field = header.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*field))
        };
        if header.first_chunk() != Some(MAGIC)
            || number(8) != Some(VERSION)
            || number(20) != Some(0)
        {
            return Err(TableError::Foreign);
        }
        let tokens = number(12).ok_or(TableError::Foreign)? as usize;
        let dimension = number(16).ok_or(TableError::Foreign)? as usize;
        let digest = header.last_chunk().ok_or(TableError::Foreign)?;
        let expected = tokens
            .checked_mul(dimension.div_ceil(2))
            .and_then(|rows| rows.checked_add(dimension.checked_mul(4)?))
            .and_then(|sum| sum.checked_add(tokens.checked_mul(12)?))
            .ok_or(TableError::Foreign)?;
        let wrong = TableError::Length {
            expected: expected.saturating_add(HEADER_BYTES),
            got: bytes.len(),
        };
        if body.len() != expected || dimension == 0 {
            return Err(wrong);
        }
        let mut rest = body;
        let mut floats = |count: usize| {
            let (part, after) = rest.split_at_checked(count * 4)?;
            rest = after;
            Some(part.as_chunks::<4>().0)
        };
        let (Some(mean), Some(weights), Some(scales), Some(inverses)) = (
            floats(dimension),
            floats(tokens),
            floats(tokens),
            floats(tokens),
        ) else {
            return Err(wrong);
        };
        Ok(Self {
            bytes,
            dimension,
            digest,
            mean,
            weights,
            scales,
            inverses,
            rows: rest,
        })
    }

    /// Checks that the content matches its digest. Reads everything.
    pub fn verify(&self) -> Result<(), TableError> {
        if digest(self.bytes) == *self.digest {
            Ok(())
        } else {
            Err(TableError::Digest)
        }
    }

    /// Length of a row.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of rows.
    pub fn tokens(&self) -> usize {
        self.weights.len()
    }

    /// The digest in hexadecimal.
    pub fn digest(&self) -> String {
        blake3::Hash::from_bytes(*self.digest).to_hex().to_string()
    }

    /// The mean, which was subtracted from every row.
    pub fn mean(&self) -> impl Iterator<Item = f32> + 'a {
        self.mean.iter().map(|&bytes| f32::from_le_bytes(bytes))
    }

    /// Weight of a token in an average; 0 for a token that is not in the table.
    pub fn weight(&self, token: TokenId) -> f32 {
        float(self.weights, token)
    }

    /// The factor of a row's codes.
    pub(crate) fn scale(&self, token: TokenId) -> f32 {
        float(self.scales, token)
    }

    /// 1 / length of the row of codes.
    pub(crate) fn inverse(&self, token: TokenId) -> f32 {
        float(self.inverses, token)
    }

    /// The codes of a row, two per byte; empty for a token that is not in the table.
    pub(crate) fn row(&self, token: TokenId) -> &'a [u8] {
        let half = self.dimension.div_ceil(2);
        let start = usize::from(token) * half;
        self.rows.get(start..start + half).unwrap_or_default()
    }
}

fn float(of: &[[u8; 4]], token: TokenId) -> f32 {
    of.get(usize::from(token))
        .map_or(0.0, |&bytes| f32::from_le_bytes(bytes))
}

fn digest(table: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(table.get(..HEADER_BYTES - 32).unwrap_or_default());
    hasher.update(table.get(HEADER_BYTES..).unwrap_or_default());
    *hasher.finalize().as_bytes()
}

/// Codes of a row with their scale.
struct Quantised {
    scale: f32,
    codes: Vec<i8>,
}

impl Quantised {
    /// The codes with the smallest squared error among several scales. The result is the same on
    /// every machine.
    fn of(row: &[f32]) -> Self {
        let largest = row
            .iter()
            .fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let mut best = Self {
            scale: 1.0,
            codes: vec![0; row.len()],
        };
        let mut least = f64::INFINITY;
        for step in 0..SCALES {
            let share = f32::from(step) / f32::from(SCALES - 1);
            let scale = largest / MAX_CODE * (1.0 - share * (1.0 - SMALLEST_SCALE));
            // Fails for a row of zeros and for one with a value that is not a number.
            if !scale.is_normal() {
                break;
            }
            let tried = Self::rounded(row, scale);
            let error = tried.error(row);
            if error < least {
                least = error;
                best = tried;
            }
        }
        best
    }

    /// The codes of one scale, with the scale that fits them best.
    fn rounded(row: &[f32], scale: f32) -> Self {
        let code = |value: &f32| (value / scale).round().clamp(-MAX_CODE, MAX_CODE) as i8;
        let codes: Vec<i8> = row.iter().map(code).collect();
        let (mut product, mut square) = (0.0_f64, 0.0_f64);
        for (value, code) in row.iter().zip(&codes) {
            product += f64::from(*value) * f64::from(*code);
            square += f64::from(*code) * f64::from(*code);
        }
        let scale = if square > 0.0 {
            (product / square) as f32
        } else {
            scale
        };
        Self { scale, codes }
    }

    fn error(&self, row: &[f32]) -> f64 {
        row.iter()
            .zip(&self.codes)
            .map(|(value, code)| {
                let error = f64::from(*value) - f64::from(self.scale) * f64::from(*code);
                error * error
            })
            .sum()
    }

    /// 1 / length of the codes, or 0.
    fn inverse(&self) -> f32 {
        let square: i32 = self.codes.iter().map(|code| i32::from(*code).pow(2)).sum();
        if square > 0 {
            1.0 / (square as f32).sqrt()
        } else {
            0.0
        }
    }

    /// The codes, two per byte.
    fn packed(&self) -> impl Iterator<Item = u8> {
        let (low, high) = self.codes.split_at(self.codes.len().div_ceil(2));
        let stored = |code: &i8| code.cast_unsigned().wrapping_add(CODE_OFFSET);
        let high = high.iter().chain(std::iter::repeat(&0));
        low.iter()
            .zip(high)
            .map(move |(low, high)| stored(low) | stored(high) << 4)
    }
}

/// Writes the bytes of a table: each row minus `mean`, in 4-bit codes with its own scale.
///
/// Rows that differ in length from `mean` are truncated or padded with zeros.
pub fn write_table<'r>(mean: &[f32], rows: impl IntoIterator<Item = (f32, &'r [f32])>) -> Vec<u8> {
    let (mut weights, mut scales, mut inverses, mut codes) = (vec![], vec![], vec![], vec![]);
    for (weight, row) in rows {
        let filled = row.iter().copied().chain(std::iter::repeat(0.0));
        let centred: Vec<f32> = mean
            .iter()
            .zip(filled)
            .map(|(mean, value)| value - mean)
            .collect();
        let quantised = Quantised::of(&centred);
        weights.extend(weight.to_le_bytes());
        scales.extend(quantised.scale.to_le_bytes());
        inverses.extend(quantised.inverse().to_le_bytes());
        codes.extend(quantised.packed());
    }
    let tokens = (weights.len() / 4) as u32;
    let mut table = MAGIC.to_vec();
    for field in [VERSION, tokens, mean.len() as u32, 0] {
        table.extend(field.to_le_bytes());
    }
    table.extend([0; 32]);
    table.extend(mean.iter().flat_map(|value| value.to_le_bytes()));
    for part in [weights, scales, inverses, codes] {
        table.extend(part);
    }
    let made = digest(&table);
    if let Some(place) = table.get_mut(HEADER_BYTES - 32..HEADER_BYTES) {
        place.copy_from_slice(&made);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Vec<u8> {
        let rows = [[1.0, 2.0, 3.0], [0.5, 0.5, 0.5], [-4.0, 0.0, 9.0]];
        write_table(
            &[0.5, 0.5, 0.5],
            rows.iter().map(|row| (2.0, row.as_slice())),
        )
    }

    /// The codes of a row, in the order of the dimensions.
    fn codes(table: &Table<'_>, token: TokenId) -> Vec<f32> {
        let row = table.row(token);
        let low = row.iter().map(|byte| byte & 15);
        let high = row.iter().map(|byte| byte >> 4);
        low.chain(high)
            .map(|stored| f32::from(stored) - f32::from(CODE_OFFSET))
            .take(table.dimension())
            .collect()
    }

    #[test]
    fn rows_come_back_within_half_a_step() {
        let bytes = small();
        let table = Table::new(&bytes).unwrap();
        table.verify().unwrap();
        let mean: Vec<f32> = table.mean().collect();
        for (token, row) in [
            (0, [1.0, 2.0, 3.0]),
            (1, [0.5, 0.5, 0.5]),
            (2, [-4.0, 0.0, 9.0]),
        ] {
            let scale = table.scale(token);
            for ((code, mean), value) in codes(&table, token).iter().zip(&mean).zip(row) {
                assert!((code * scale + mean - value).abs() <= scale * 0.5001);
            }
        }
        assert_eq!(
            (table.weight(2), table.weight(3), table.row(3).len()),
            (2.0, 0.0, 0)
        );
    }

    #[test]
    fn two_codes_share_a_byte_and_half_a_row_lies_between_them() {
        let row = [7.0, -7.0, 1.0, -2.0, 3.0];
        let bytes = write_table(&[0.0; 5], [(1.0, row.as_slice())]);
        let table = Table::new(&bytes).unwrap();
        assert_eq!(codes(&table, 0), row);
        // 7 and −2, −7 and 3, 1 and nothing.
        assert_eq!(table.row(0), [0x6f, 0xb1, 0x89]);
        assert!((table.scale(0) - 1.0).abs() < 1e-6);
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        assert!((table.inverse(0) * length - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_scale_that_cuts_off_the_largest_value_is_taken_if_the_error_is_smaller() {
        let mut row: Vec<f32> = (0..96)
            .map(|at| ((at * 37 % 96) as f32 - 47.5) / 48.0)
            .collect();
        row.push(1.6);
        let error = |scale: f32| Quantised::rounded(&row, scale).error(&row);
        let chosen = Quantised::of(&row);
        assert!(chosen.error(&row) < 0.9 * error(1.6 / MAX_CODE));
        assert!(chosen.scale * MAX_CODE < 1.5, "{}", chosen.scale);
    }

    #[test]
    fn a_row_without_a_length_gets_zero_codes() {
        for row in [[0.0; 4], [f32::MIN_POSITIVE / 4.0; 4]] {
            let quantised = Quantised::of(&row);
            assert!(quantised.inverse().abs() < f32::EPSILON && quantised.codes == [0; 4]);
        }
    }

    #[test]
    fn a_damaged_table_is_an_error() {
        let bytes = small();
        for length in 0..bytes.len() {
            assert!(Table::new(&bytes[..length]).is_err());
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x40;
            assert!(
                Table::new(&damaged)
                    .and_then(|table| table.verify())
                    .is_err(),
                "byte {place}"
            );
        }
    }
}

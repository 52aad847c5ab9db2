//! The file of the static table: one row of signed bytes per token, and the data to average them.
//!
//! Little-endian, no padding:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `LOCISTAT` |
//! | 4 | version, 1 |
//! | 4 | tokens |
//! | 4 | dimension |
//! | 4 | zero |
//! | 32 | blake3 of everything else, in order |
//! | 4 · dimension | the mean of the rows, f32 |
//! | 4 · tokens | weight of a token in an average, f32 |
//! | 4 · tokens | scale: a row is scale × bytes, the mean left out, f32 |
//! | 4 · tokens | 1 / length of the row of bytes, f32 |
//! | tokens · dimension | the rows |
//!
//! [`Table`] borrows the bytes and reads only the header.

use loci_text::TokenId;

const MAGIC: &[u8; 8] = b"LOCISTAT";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 56;

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
            .checked_mul(dimension)
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

    /// The factor of a row's bytes.
    pub(crate) fn scale(&self, token: TokenId) -> f32 {
        float(self.scales, token)
    }

    /// 1 / length of the row of bytes.
    pub(crate) fn inverse(&self, token: TokenId) -> f32 {
        float(self.inverses, token)
    }

    /// The bytes of a row; empty for a token that is not in the table.
    pub(crate) fn row(&self, token: TokenId) -> &'a [u8] {
        let start = usize::from(token) * self.dimension;
        self.rows
            .get(start..start + self.dimension)
            .unwrap_or_default()
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

/// Writes the bytes of a table: each row minus `mean`, in signed bytes with its own scale.
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
        let largest = centred
            .iter()
            .fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        let quantised = centred
            .iter()
            .map(|value| (value / scale).round().clamp(-127.0, 127.0) as i8);
        let start = codes.len();
        codes.extend(quantised.map(i8::cast_unsigned));
        let square: i32 = codes
            .iter()
            .skip(start)
            .map(|code: &u8| i32::from(code.cast_signed()).pow(2))
            .sum();
        let inverse = if square > 0 {
            1.0 / (square as f32).sqrt()
        } else {
            0.0
        };
        weights.extend(weight.to_le_bytes());
        scales.extend(scale.to_le_bytes());
        inverses.extend(inverse.to_le_bytes());
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
            for ((code, mean), value) in table.row(token).iter().zip(&mean).zip(row) {
                assert!((f32::from(*code as i8) * scale + mean - value).abs() <= scale * 0.5001);
            }
        }
        assert_eq!(
            (table.weight(2), table.weight(3), table.row(3).len()),
            (2.0, 0.0, 0)
        );
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

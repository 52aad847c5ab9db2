//! The header of a snapshot file. To check it, the decoded fields are encoded again and must give
//! the same 4,096 bytes. Offsets, lengths and reserved bytes in a file are therefore never used.

use loci_core::{MAX_DIMENSION, Metric};
use xxhash_rust::xxh3::xxh3_64;

use crate::codes::{Width, bit_dimension};
use crate::kernels::BLOCK_ROWS;
use crate::registration::Identity;

/// Length of the header, and offset of the first section.
pub(crate) const HEADER_BYTES: usize = 4096;
pub(crate) const SECTIONS: usize = 5;
/// In file order. The positions are the indices of [`Layout::lengths`] and [`Header::checksums`].
pub(crate) const SECTION_NAMES: [&str; SECTIONS] = ["codes", "terms", "rows", "centre", "bits"];

const MAGIC: [u8; 8] = *b"LOCI-IDX";
const KIND_FLAT: u32 = 1;
const CHECKSUM_AT: usize = HEADER_BYTES - 8;

/// A version of the file. They differ in the width of the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    One = 1,
    Two = 2,
}

impl Version {
    /// The version that is written.
    pub(crate) const NEWEST: Self = Self::Two;
    /// The versions that are read.
    const ALL: [Self; 2] = [Self::Two, Self::One];

    fn of(number: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| *version as u32 == number)
    }

    /// The width of the codes of vectors. Few numbers of 4 bits do not distinguish rows.
    pub(crate) fn width(self, dimension: usize) -> Width {
        match self {
            Self::Two if bit_dimension(dimension) > 0 => Width::Four,
            Self::One | Self::Two => Width::Eight,
        }
    }
}

/// The positions of the sections, which follow from version, count and dimension alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) offsets: [u64; SECTIONS],
    pub(crate) lengths: [u64; SECTIONS],
    pub(crate) bytes: u64,
}

impl Layout {
    /// `None` if no file can have this many rows of this dimension.
    pub(crate) fn new(version: Version, count: u64, dimension: usize) -> Option<Self> {
        // Slots are 32-bit numbers.
        if count > u64::from(u32::MAX) || dimension == 0 || dimension > MAX_DIMENSION {
            return None;
        }
        let dimension_bytes = dimension as u64;
        let block_bytes = (bit_dimension(dimension) * BLOCK_ROWS / 8) as u64;
        let lengths = [
            count.checked_mul(version.width(dimension).row_bytes(dimension) as u64)?,
            count.checked_mul(12)?,
            count.checked_mul(8)?,
            dimension_bytes.checked_mul(4)?,
            count.div_ceil(BLOCK_ROWS as u64).checked_mul(block_bytes)?,
        ];
        let mut offsets = [0; SECTIONS];
        let mut end = HEADER_BYTES as u64;
        for (offset, length) in offsets.iter_mut().zip(lengths) {
            *offset = end;
            end = end.checked_add(length)?;
        }
        Some(Self {
            offsets,
            lengths,
            bytes: end,
        })
    }
}

/// Whether a file of any version has this many bytes.
pub(crate) fn is_length(bytes: u64, count: u64, dimension: usize) -> bool {
    Version::ALL
        .into_iter()
        .filter_map(|version| Layout::new(version, count, dimension))
        .any(|layout| layout.bytes == bytes)
}

/// The fields of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: Version,
    pub(crate) identity: Identity,
    pub(crate) covered: u64,
    pub(crate) count: u64,
    pub(crate) dimension: usize,
    pub(crate) metric: Metric,
    pub(crate) digest: [u8; 16],
    pub(crate) checksums: [u64; SECTIONS],
}

impl Header {
    /// The positions of its sections; `None` if [`Layout::new`] is.
    pub(crate) fn layout(&self) -> Option<Layout> {
        Layout::new(self.version, self.count, self.dimension)
    }

    /// `None` if [`Layout::new`] is.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let layout = self.layout()?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend(MAGIC);
        for number in [
            self.version as u32,
            HEADER_BYTES as u32,
            KIND_FLAT,
            metric_number(self.metric),
        ] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.identity.palace);
        for number in [
            self.identity.generation,
            self.identity.collection,
            self.covered,
            self.count,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.dimension as u32, bit_dimension(self.dimension) as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.digest);
        bytes.extend((SECTIONS as u64).to_le_bytes());
        for ((offset, length), checksum) in layout
            .offsets
            .into_iter()
            .zip(layout.lengths)
            .zip(self.checksums)
        {
            for number in [offset, length, checksum] {
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes.resize(CHECKSUM_AT, 0);
        let checksum = xxh3_64(&bytes);
        bytes.extend(checksum.to_le_bytes());
        Some(bytes)
    }

    /// The error completes "its header …".
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "is cut off";
        if bytes.get(..8) != Some(MAGIC.as_slice()) {
            return Err("is not that of a Loci index");
        }
        if u64_at(bytes, CHECKSUM_AT).ok_or(SHORT)?
            != xxh3_64(bytes.get(..CHECKSUM_AT).ok_or(SHORT)?)
        {
            return Err("does not match its checksum");
        }
        let Some(version) = u32_at(bytes, 8).and_then(Version::of) else {
            return Err("names a format version that this build does not read");
        };
        let read = |at| u64_at(bytes, at).ok_or(SHORT);
        let mut checksums = [0; SECTIONS];
        for (number, checksum) in checksums.iter_mut().enumerate() {
            *checksum = read(104 + 24 * number + 16)?;
        }
        let header = Self {
            version,
            identity: Identity {
                palace: array_at(bytes, 24).ok_or(SHORT)?,
                generation: read(40)?,
                collection: read(48)?,
            },
            covered: read(56)?,
            count: read(64)?,
            dimension: u32_at(bytes, 72).ok_or(SHORT)? as usize,
            metric: u32_at(bytes, 20)
                .and_then(metric_of)
                .ok_or("names an unknown metric")?,
            digest: array_at(bytes, 80).ok_or(SHORT)?,
            checksums,
        };
        if header.encode().as_deref() == Some(bytes) {
            Ok(header)
        } else {
            Err("contradicts itself")
        }
    }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}

fn metric_number(metric: Metric) -> u32 {
    match metric {
        Metric::Cosine => 1,
        Metric::L2 => 2,
        Metric::Ip => 3,
    }
}

fn metric_of(number: u32) -> Option<Metric> {
    [Metric::Cosine, Metric::L2, Metric::Ip]
        .into_iter()
        .find(|metric| metric_number(*metric) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            version: Version::NEWEST,
            identity: Identity {
                palace: *b"0123456789abcdef",
                generation: 2,
                collection: 3,
            },
            covered: 4,
            count: 1000,
            dimension: 384,
            metric: Metric::Ip,
            digest: [9; 16],
            checksums: [11, 12, 13, 14, 15],
        }
    }

    /// Sets bytes and updates the header's own checksum, as a forger would.
    fn forged(at: usize, value: &[u8]) -> Vec<u8> {
        let mut bytes = header().encode().unwrap();
        bytes[at..at + value.len()].copy_from_slice(value);
        let checksum = xxh3_64(&bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    #[test]
    fn fields_stand_where_the_format_says() {
        let bytes = header().encode().unwrap();
        assert_eq!(bytes.len(), HEADER_BYTES);
        assert_eq!(&bytes[..8], b"LOCI-IDX");
        assert_eq!(u32_at(&bytes, 16), Some(KIND_FLAT));
        assert_eq!(u32_at(&bytes, 76), Some(384));
        assert_eq!(u64_at(&bytes, 96), Some(5));
        assert_eq!(u64_at(&bytes, 104), Some(4096));
        assert_eq!(u64_at(&bytes, 104 + 8), Some(192_000));
        assert_eq!(u64_at(&bytes, 104 + 24 * 4 + 16), Some(15));
        assert_eq!(Header::decode(&bytes), Ok(header()));
    }

    #[test]
    fn a_header_that_claims_other_sections_than_its_count_gives_is_refused() {
        for at in [104, 112, 96, 76, 12, 16, 300, 4000] {
            assert_eq!(
                Header::decode(&forged(at, &[77])),
                Err("contradicts itself"),
                "byte {at}"
            );
        }
        assert!(
            Header::decode(&forged(8, &[3]))
                .unwrap_err()
                .contains("version")
        );
        assert!(
            Header::decode(&forged(20, &[4]))
                .unwrap_err()
                .contains("metric")
        );
        assert_eq!(
            Header::decode(&forged(64, &u64::MAX.to_le_bytes())),
            Err("contradicts itself")
        );
    }

    #[test]
    fn no_length_overflows() {
        for version in Version::ALL {
            assert_eq!(Layout::new(version, u64::MAX, 384), None);
            assert_eq!(Layout::new(version, 1, 0), None);
            assert_eq!(Layout::new(version, 1, MAX_DIMENSION + 1), None);
            assert!(Layout::new(version, u64::from(u32::MAX), MAX_DIMENSION).is_some());
        }
        for length in 0..HEADER_BYTES {
            assert!(Header::decode(&header().encode().unwrap()[..length]).is_err());
        }
    }
}

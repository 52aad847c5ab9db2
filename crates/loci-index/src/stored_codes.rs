//! The codes of an open snapshot. If there are few, they are in memory. Otherwise they stay in
//! the file, and a query reads those of its shortlist.
//!
//! Bytes of the file are never trusted. When the codes are loaded, the whole section is compared
//! with its checksum, and a checksum of each row is kept in memory. A row that is read later must
//! match it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::xxh3_64;

use crate::damage::Damage;
use crate::open::Sections;

/// Codes of at most this size are kept in memory: 260,000 rows of 384 dimensions.
pub(crate) const MOST_IN_MEMORY: u64 = 50_000_000;

/// The number of the section of the codes.
const SECTION: usize = 0;

pub(crate) enum StoredCodes {
    InMemory { bytes: Vec<u8>, row_bytes: usize },
    InFile(CodeFile),
}

/// The codes in the file.
pub(crate) struct CodeFile {
    file: File,
    offset: u64,
    row_bytes: usize,
    checksums: Vec<u32>,
}

impl StoredCodes {
    /// Reads and checks the codes. `most_in_memory` bytes of them are kept.
    pub(crate) fn load(
        sections: &mut Sections,
        row_bytes: usize,
        most_in_memory: u64,
    ) -> Result<Self, Damage> {
        let (offset, length) = sections.place(SECTION)?;
        if length <= most_in_memory {
            let bytes = sections.read(SECTION)?;
            return Ok(Self::InMemory { bytes, row_bytes });
        }
        let mut checksums = Vec::new();
        sections.scan(SECTION, row_bytes, |rows| {
            checksums.extend(rows.chunks_exact(row_bytes).map(checksum));
        })?;
        Ok(Self::InFile(CodeFile {
            file: sections.file()?,
            offset,
            row_bytes,
            checksums,
        }))
    }

    /// Whether reading a row costs a call to the system.
    pub(crate) fn is_in_file(&self) -> bool {
        matches!(self, Self::InFile(_))
    }

    /// The codes of a row; empty if they are in the file.
    pub(crate) fn in_memory(&self, slot: u32) -> &[u8] {
        match self {
            Self::InMemory { bytes, row_bytes } => {
                let start = slot as usize * row_bytes;
                bytes.get(start..start + row_bytes).unwrap_or_default()
            }
            Self::InFile(_) => &[],
        }
    }

    /// The codes of a row. `None` if the file has changed since they were loaded.
    pub(crate) fn read<'a>(&'a self, slot: u32, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        match self {
            Self::InMemory { .. } => Some(self.in_memory(slot)),
            Self::InFile(codes) => codes.read(slot, buffer),
        }
    }
}

impl CodeFile {
    fn read<'a>(&self, slot: u32, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        buffer.resize(self.row_bytes, 0);
        let start = u64::from(slot) * self.row_bytes as u64;
        self.file.read_exact_at(buffer, self.offset + start).ok()?;
        let expected = self.checksums.get(slot as usize)?;
        (checksum(buffer) == *expected).then_some(buffer.as_slice())
    }
}

fn checksum(codes: &[u8]) -> u32 {
    xxh3_64(codes) as u32
}

//! Opens a snapshot file. Nothing in it is trusted until it has been compared with the
//! registration.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::codes::Encoder;
use crate::damage::Damage;
use crate::flat::{Flat, Parts};
use crate::index::VectorIndex;
use crate::kernels::BLOCK_ROWS;
use crate::layout::{HEADER_BYTES, Header, Layout, SECTION_NAMES, is_length};
use crate::memory;
use crate::registration::{Identity, Registration, is_snapshot_name};

/// The number of the section of scales, addends and factors.
const TERMS: usize = 1;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 128 << 10;

/// Opens the registered file and reads what a first query needs (about 70 of 260 bytes per row at
/// 384 dimensions) into memory. Never blocks, even if a FIFO has its name, and never follows a
/// symlink.
pub fn open(directory: &Path, registration: &Registration) -> Result<Arc<dyn VectorIndex>, Damage> {
    Ok(Arc::new(open_flat(directory, registration)?))
}

pub(crate) fn open_flat(directory: &Path, registration: &Registration) -> Result<Flat, Damage> {
    if !is_snapshot_name(&registration.name) {
        return Err(Damage::Name(registration.name.clone()));
    }
    if !is_length(
        registration.bytes,
        registration.count,
        registration.dimension,
    ) {
        return Err(Damage::Header(
            "was registered with a count that does not match its length",
        ));
    }
    let mut file = open_file(&directory.join(&registration.name))?;
    let metadata = file.metadata().map_err(Damage::Unreadable)?;
    if !metadata.is_file() {
        return Err(Damage::NotAFile);
    }
    let wrong_length = Damage::Length {
        expected: registration.bytes,
        found: metadata.len(),
    };
    if metadata.len() < HEADER_BYTES as u64 {
        return Err(wrong_length);
    }
    let header = read_at(&mut file, 0, HEADER_BYTES as u64)?;
    let header = check_header(&header, registration)?;
    let layout = header
        .layout()
        .filter(|layout| layout.bytes == registration.bytes)
        .ok_or(Damage::Header("does not match the registered length"))?;
    if metadata.len() != registration.bytes {
        return Err(wrong_length);
    }

    let mut sections = Sections {
        file,
        layout,
        checksums: header.checksums,
    };
    let [scales, addends, factors] = sections.terms()?;
    let rows = sections.numbers(2, u64::from_le_bytes)?;
    if !rows.is_sorted_by(|a, b| a < b) {
        return Err(Damage::Section { name: "rows" });
    }
    let centre = sections.numbers(3, f32::from_le_bytes)?;
    let bits = sections.read(4)?;
    let flat = Flat::new(Parts {
        registration: registration.clone(),
        encoder: Encoder::new(
            registration.metric,
            header.version.width(registration.dimension),
            centre,
        ),
        rows,
        scales,
        addends,
        factors,
        bits,
        sections,
    });
    if !flat.has_bits() {
        flat.warm()?;
    }
    Ok(flat)
}

/// The content of a snapshot file according to its own header, whether or not it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRows {
    /// The palace and collection of its vectors.
    pub identity: Identity,
    /// The last sequence number that it covers.
    pub covered: u64,
    /// Its rows.
    pub rows: Vec<u64>,
}

/// Reads the rows of a snapshot file, for a palace whose registrations are lost. Header and rows
/// must match their checksums.
pub fn snapshot_rows(path: &Path) -> Result<SnapshotRows, Damage> {
    let mut file = open_file(path)?;
    let metadata = file.metadata().map_err(Damage::Unreadable)?;
    if !metadata.is_file() {
        return Err(Damage::NotAFile);
    }
    let bytes = read_at(&mut file, 0, (HEADER_BYTES as u64).min(metadata.len()))?;
    let header = Header::decode(&bytes).map_err(Damage::Header)?;
    let layout = header
        .layout()
        .filter(|layout| layout.bytes == metadata.len())
        .ok_or(Damage::Header("does not match the length of the file"))?;
    let mut sections = Sections {
        file,
        layout,
        checksums: header.checksums,
    };
    Ok(SnapshotRows {
        identity: header.identity,
        covered: header.covered,
        rows: sections.numbers(2, u64::from_le_bytes)?,
    })
}

fn open_file(path: &Path) -> Result<File, Damage> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    loci_files::own::open_with(path, &options).map_err(Damage::from_open)
}

fn check_header(bytes: &[u8], registration: &Registration) -> Result<Header, Damage> {
    let header = Header::decode(bytes).map_err(Damage::Header)?;
    let (expected, found) = (&registration.identity, &header.identity);
    if found.palace != expected.palace {
        return Err(Damage::ForeignPalace);
    }
    if found.generation != expected.generation {
        return Err(Damage::OtherGeneration {
            expected: expected.generation,
            found: found.generation,
        });
    }
    if found.collection != expected.collection {
        return Err(Damage::OtherCollection {
            expected: expected.collection,
            found: found.collection,
        });
    }
    if header.covered != registration.covered {
        return Err(Damage::OtherCoverage {
            expected: registration.covered,
            found: header.covered,
        });
    }
    let same = header.count == registration.count
        && header.dimension == registration.dimension
        && header.metric == registration.metric
        && header.digest == registration.digest
        && xxh3_64(bytes) == registration.checksum;
    if same {
        Ok(header)
    } else {
        Err(Damage::Header("is not the registered one"))
    }
}

/// The sections of an open file whose header was checked.
#[derive(Debug)]
pub(crate) struct Sections {
    file: File,
    layout: Layout,
    checksums: [u64; SECTION_NAMES.len()],
}

impl Sections {
    /// The offset and the length of a section.
    pub(crate) fn place(&self, number: usize) -> Result<(u64, u64), Damage> {
        let name = SECTION_NAMES.get(number).copied().unwrap_or_default();
        let offset = self.layout.offsets.get(number).copied();
        let place = offset.zip(self.layout.lengths.get(number).copied());
        place.ok_or(Damage::Section { name })
    }

    /// Reads and checks a section. Its length was checked against the length of the file, so a
    /// damaged count cannot allocate more memory than the file has bytes.
    pub(crate) fn read(&mut self, number: usize) -> Result<Vec<u8>, Damage> {
        let (offset, length) = self.place(number)?;
        let bytes = read_at(&mut self.file, offset, length)?;
        self.check(number, xxh3_64(&bytes))?;
        Ok(bytes)
    }

    /// Reads and checks a section in pieces, each of them a multiple of `unit` bytes except the
    /// last. What is done with a piece does not count before all of them are checked.
    pub(crate) fn scan(
        &mut self,
        number: usize,
        unit: usize,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<(), Damage> {
        let (mut offset, mut length) = self.place(number)?;
        let unit = unit.max(1);
        let mut buffer = vec![0; (PIECE_BYTES / unit).max(1) * unit];
        let mut digest = Xxh3::new();
        while length > 0 {
            let here = usize::try_from(length).map_or(buffer.len(), |left| left.min(buffer.len()));
            let bytes = buffer.get_mut(..here).unwrap_or_default();
            self.file
                .read_exact_at(bytes, offset)
                .map_err(|error| match error.kind() {
                    ErrorKind::UnexpectedEof => Damage::Length {
                        expected: self.layout.bytes,
                        found: offset,
                    },
                    _ => Damage::Unreadable(error),
                })?;
            digest.update(bytes);
            visit(bytes);
            offset += here as u64;
            length -= here as u64;
        }
        self.check(number, digest.digest())
    }

    /// Reads and checks a section of numbers.
    fn numbers<T, const N: usize>(
        &mut self,
        number: usize,
        from: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, Damage> {
        let (_, length) = self.place(number)?;
        let mut numbers = Vec::new();
        let count = usize::try_from(length / N as u64).map_err(|_| too_large())?;
        numbers.try_reserve_exact(count).map_err(|_| too_large())?;
        self.scan(number, N, |bytes| {
            let read = bytes.as_chunks::<N>().0.iter();
            numbers.extend(read.map(|bytes| from(*bytes)));
        })?;
        Ok(numbers)
    }

    /// Reads and checks what the scan needs of each row: scales, addends and factors. The last two
    /// are filled up with zeros, because the scan works on whole blocks.
    fn terms(&mut self) -> Result<[Vec<f32>; 3], Damage> {
        let (_, length) = self.place(TERMS)?;
        let count = usize::try_from(length / 12).map_err(|_| too_large())?;
        let mut terms = [const { Vec::new() }; 3];
        for term in &mut terms {
            let whole = count.next_multiple_of(BLOCK_ROWS);
            term.try_reserve_exact(whole).map_err(|_| too_large())?;
        }
        let (mut read, each) = (0, count.max(1));
        self.scan(TERMS, size_of::<f32>(), |bytes| {
            let mut numbers = bytes.as_chunks::<4>().0;
            while !numbers.is_empty() {
                let Some(term) = terms.get_mut(read / each) else {
                    break;
                };
                let here = numbers.len().min(each - read % each);
                let (these, rest) = numbers.split_at(here);
                term.extend(these.iter().map(|bytes| f32::from_le_bytes(*bytes)));
                numbers = rest;
                read += here;
            }
        })?;
        let [_, addends, factors] = &mut terms;
        for term in [addends, factors] {
            term.resize(count.next_multiple_of(BLOCK_ROWS), 0.0);
        }
        Ok(terms)
    }

    /// Another descriptor of the same file.
    pub(crate) fn file(&self) -> Result<File, Damage> {
        self.file.try_clone().map_err(Damage::Unreadable)
    }

    fn check(&self, number: usize, checksum: u64) -> Result<(), Damage> {
        let name = SECTION_NAMES.get(number).copied().unwrap_or_default();
        if self.checksums.get(number) == Some(&checksum) {
            Ok(())
        } else {
            Err(Damage::Section { name })
        }
    }
}

fn too_large() -> Damage {
    Damage::Unreadable(std::io::ErrorKind::OutOfMemory.into())
}

fn read_at(file: &mut File, offset: u64, length: u64) -> Result<Vec<u8>, Damage> {
    let capacity = usize::try_from(length).map_err(|_| too_large())?;
    let mut bytes = memory::reserve(capacity)?;
    file.seek(SeekFrom::Start(offset))
        .map_err(Damage::Unreadable)?;
    let read = file
        .take(length)
        .read_to_end(&mut bytes)
        .map_err(Damage::Unreadable)?;
    if read == capacity {
        Ok(bytes)
    } else {
        Err(Damage::Length {
            expected: offset + length,
            found: offset + read as u64,
        })
    }
}

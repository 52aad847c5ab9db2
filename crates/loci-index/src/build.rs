//! Writes a snapshot file. The codes stream to disk, and the rest (about 70 bytes per row at
//! 384 dimensions) stays in memory until the end. The header is written last, so an unfinished file
//! has none.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use loci_core::{Error, MAX_DIMENSION, Metric, Result};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::codes::{Encoder, RowCodes, bit_dimension};
use crate::digest::ContentDigest;
use crate::kernels::BLOCK_ROWS;
use crate::layout::{HEADER_BYTES, Header, Version};
use crate::registration::{Identity, Registration, new_name, temporary_name};
use crate::stored_vector::StoredVector;

const BUFFER_BYTES: usize = 256 << 10;

/// The parameters of a new snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildSpec {
    /// The palace and collection of the vectors.
    pub identity: Identity,
    /// The last sequence number that the pushed rows include.
    pub covered: u64,
    /// Length of the vectors.
    pub dimension: usize,
    /// How distances are measured.
    pub metric: Metric,
}

/// A snapshot that is being written. If it is dropped before [`finish`](Self::finish), its file is
/// removed.
#[derive(Debug)]
pub struct Builder {
    directory: PathBuf,
    name: String,
    temporary: Temporary,
    spec: BuildSpec,
    version: Version,
    encoder: Encoder,
    digest: ContentDigest,
    codes: Sink,
    rows: Vec<u64>,
    scales: Vec<f32>,
    addends: Vec<f32>,
    factors: Vec<f32>,
    bits: Vec<u8>,
    vector: Vec<f32>,
    row: RowCodes,
}

impl Builder {
    /// Creates a file in `directory` under a temporary name, readable by the owner only. `sample`
    /// is any number of vectors, concatenated. The codes are relative to their mean. A few thousand
    /// vectors are enough; without any, recall is lower.
    pub fn create(directory: &Path, spec: BuildSpec, sample: &[f32]) -> Result<Self> {
        Self::of_version(Version::NEWEST, directory, spec, sample)
    }

    /// Creates a file of one of the versions that are read.
    pub(crate) fn of_version(
        version: Version,
        directory: &Path,
        spec: BuildSpec,
        sample: &[f32],
    ) -> Result<Self> {
        if spec.dimension == 0 || spec.dimension > MAX_DIMENSION {
            return Err(Error::invalid(
                "dimension",
                format!("{} is not between 1 and {MAX_DIMENSION}", spec.dimension),
            ));
        }
        let name = new_name(spec.identity.collection, spec.covered);
        let path = directory.join(temporary_name(&name));
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600);
        let file = loci_files::own::create_with(&path, &options)
            .map_err(|source| Error::io("cannot create", &path, source))?;
        let mut builder = Self {
            directory: directory.to_path_buf(),
            name,
            temporary: Temporary {
                path,
                renamed: false,
            },
            spec,
            version,
            encoder: Encoder::from_sample(
                spec.metric,
                version.width(spec.dimension),
                spec.dimension,
                sample,
            ),
            digest: ContentDigest::new(),
            codes: Sink::new(file),
            rows: Vec::new(),
            scales: Vec::new(),
            addends: Vec::new(),
            factors: Vec::new(),
            bits: Vec::new(),
            vector: Vec::with_capacity(spec.dimension),
            row: RowCodes::default(),
        };
        let outcome = builder.codes.file.write_all(&[0; HEADER_BYTES]);
        outcome.map_err(|source| builder.write_error(source))?;
        Ok(builder)
    }

    /// Adds a row with its vector as stored ([`vector_to_bytes`](crate::vector_to_bytes)). Rows must
    /// be strictly ascending.
    pub fn push(&mut self, row: u64, vector_bytes: &[u8]) -> Result<()> {
        let refuse = |problem: String| Err(Error::invalid(format!("vector of row {row}"), problem));
        if let Some(last) = self.rows.last()
            && *last >= row
        {
            return refuse(format!("it must be greater than row {last}"));
        }
        let stored = StoredVector::parse(vector_bytes)
            .filter(|stored| stored.dimension() == self.spec.dimension);
        let Some(stored) = stored else {
            return refuse(format!(
                "{} bytes are not {} numbers",
                vector_bytes.len(),
                self.spec.dimension
            ));
        };
        self.vector.clear();
        stored.read_into(&mut self.vector);
        if let Some(at) = self.vector.iter().position(|number| !number.is_finite()) {
            return refuse(format!("the number at position {at} is not finite"));
        }
        self.encoder.encode(&mut self.vector, &mut self.row);
        let outcome = self.codes.write(&self.row.codes);
        outcome.map_err(|source| self.write_error(source))?;
        self.digest.add(row, vector_bytes);
        self.push_bits();
        self.rows.push(row);
        self.scales.push(self.row.scale);
        self.addends.push(self.row.addend);
        self.factors.push(self.row.factor);
        Ok(())
    }

    fn push_bits(&mut self) {
        let block_bytes = bit_dimension(self.spec.dimension) * BLOCK_ROWS / 8;
        let slot = self.rows.len();
        let start = slot / BLOCK_ROWS * block_bytes;
        self.bits.resize(start + block_bytes, 0);
        let block = self.bits.get_mut(start..).unwrap_or_default();
        for (byte, nibble) in nibble_bytes(slot, block).zip(&self.row.nibbles) {
            *byte |= nibble << nibble_shift(slot);
        }
    }

    /// Flushes everything to disk and renames the file to its final name. Nothing uses the file
    /// until its registration is committed in the palace.
    pub fn finish(mut self) -> Result<Registration> {
        let terms: Vec<u8> = [&self.scales, &self.addends, &self.factors]
            .into_iter()
            .flatten()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        let rows: Vec<u8> = self.rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        let centre: Vec<u8> = self
            .encoder
            .centre()
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        let header = Header {
            version: self.version,
            identity: self.spec.identity,
            covered: self.spec.covered,
            count: self.rows.len() as u64,
            dimension: self.spec.dimension,
            metric: self.spec.metric,
            digest: self.digest.finish(),
            checksums: [0; 5],
        };
        let outcome = self
            .codes
            .finish([&terms, &rows, &centre, &self.bits], header);
        let (header, header_bytes) = outcome.map_err(|source| self.write_error(source))?;
        self.publish()?;
        Ok(Registration {
            bytes: header.layout().map_or(0, |layout| layout.bytes),
            checksum: xxh3_64(&header_bytes),
            name: self.name,
            identity: header.identity,
            covered: header.covered,
            count: header.count,
            dimension: header.dimension,
            metric: header.metric,
            digest: header.digest,
        })
    }

    fn publish(&mut self) -> Result<()> {
        let path = self.directory.join(&self.name);
        // The file is complete and synced. A crash before the rename leaves a temporary file, one
        // after it a snapshot that is not registered; the next builder removes either. The caller
        // registers the file after the sync below, so a registration never names a file that a
        // power cut can take away.
        fs::rename(&self.temporary.path, &path)
            .map_err(|source| Error::io("cannot create", &path, source))?;
        // From here on, drop removes the renamed file, until the rename is durable too.
        self.temporary.path = path;
        sync_directory(&self.directory)?;
        self.temporary.renamed = true;
        Ok(())
    }

    fn write_error(&self, source: std::io::Error) -> Error {
        Error::io("cannot write", &self.temporary.path, source)
    }
}

/// Makes renames in the directory durable.
pub(crate) fn sync_directory(directory: &Path) -> Result<()> {
    loci_files::sync_directory(directory)
        .map_err(|source| Error::io("cannot sync", directory, source))
}

/// The bytes of a block that contain the nibbles of a slot, one per group of four dimensions.
pub(crate) fn nibble_bytes(slot: usize, block: &mut [u8]) -> impl Iterator<Item = &mut u8> {
    block
        .iter_mut()
        .skip(slot % (BLOCK_ROWS / 2))
        .step_by(BLOCK_ROWS / 2)
}

/// The position of the slot's nibble in such a byte.
pub(crate) fn nibble_shift(slot: usize) -> u32 {
    if slot % BLOCK_ROWS < BLOCK_ROWS / 2 {
        0
    } else {
        4
    }
}

#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // If the removal fails, the next builder removes the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file, with the running checksum of the section that streams into it.
struct Sink {
    file: File,
    buffer: Vec<u8>,
    hasher: Xxh3,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Sink").field(&self.file).finish()
    }
}

impl Sink {
    fn new(file: File) -> Self {
        Self {
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            hasher: Xxh3::new(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.hasher.update(&self.buffer);
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(
        &mut self,
        sections: [&[u8]; 4],
        mut header: Header,
    ) -> std::io::Result<(Header, Vec<u8>)> {
        self.flush()?;
        for section in sections {
            self.file.write_all(section)?;
        }
        let [terms, rows, centre, bits] = sections.map(xxh3_64);
        header.checksums = [self.hasher.digest(), terms, rows, centre, bits];
        let bytes = header
            .encode()
            .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::FileTooLarge))?;
        // The header is written last, so an interrupted build leaves a file without a valid header.
        // The sync comes before the rename, so the final name never refers to incomplete data.
        self.file.write_all_at(&bytes, 0)?;
        self.file.sync_all()?;
        Ok((header, bytes))
    }
}

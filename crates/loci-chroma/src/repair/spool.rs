//! The vectors of one collection, read from the files before anything is written.
//!
//! They are kept in a temporary file, because the database that they come from is rewritten while
//! they are inserted, and memory use must not grow with their number.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use loci_core::{Error, Metric, Result};
use loci_foreign::chroma::{Directory, LiveRecord, Survey};

/// Plausible norms of vectors.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// Vectors of one length, in the order of the records.
#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    bytes: usize,
    /// Positions in the live records of the survey.
    pub(super) records: Vec<usize>,
    pub(super) digest: Digest,
}

/// A summary of the recovered vectors, independent of their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Digest {
    pub(super) count: u64,
    sum: u128,
}

impl Digest {
    /// The digest of the vectors of the stored records among `ids`.
    pub(super) fn of(
        directory: &Directory,
        survey: &Survey,
        metric: Metric,
        ids: &HashSet<&str>,
    ) -> Result<Self> {
        let mut digest = Self::default();
        for live in survey
            .live
            .iter()
            .filter(|live| ids.contains(live.id.as_str()))
        {
            if let Some(vector) = bytes_of(directory, survey, live, metric)? {
                digest.add(&live.id, &vector);
            }
        }
        Ok(digest)
    }

    fn add(&mut self, id: &str, vector: &[u8]) {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        hasher.update(&(id.len() as u64).to_le_bytes());
        hasher.update(id.as_bytes());
        hasher.update(vector);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.digest128());
    }
}

impl Spool {
    /// Reads every vector of the right length that a stored record has, and adds the vectors in
    /// `made`. Records that are only in the queue stay there.
    pub(super) fn fill(
        directory: &Directory,
        survey: &Survey,
        metric: Metric,
        made: &HashMap<usize, Vec<f32>>,
    ) -> Result<Self> {
        let file = tempfile::tempfile().map_err(unspooled)?;
        let mut writer = BufWriter::new(file);
        let mut records = Vec::new();
        let mut digest = Digest::default();
        for (position, live) in survey.live.iter().enumerate() {
            let vector = match made.get(&position) {
                Some(vector) => Some(stored(vector, metric)),
                None => bytes_of(directory, survey, live, metric)?,
            };
            if let Some(vector) = vector {
                writer.write_all(&vector).map_err(unspooled)?;
                digest.add(&live.id, &vector);
                records.push(position);
            }
        }
        let file = writer
            .into_inner()
            .map_err(|error| unspooled(error.into_error()))?;
        Ok(Self {
            file,
            bytes: survey.dimension.unwrap_or(0) * size_of::<f32>(),
            records,
            digest,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Passes each vector in order to `each`, as the position of its record and its bytes.
    pub(super) fn for_each(&self, each: &mut dyn FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let mut reader = BufReader::new(&self.file);
        reader.rewind().map_err(unspooled)?;
        let mut vector = vec![0; self.bytes];
        for position in &self.records {
            reader.read_exact(&mut vector).map_err(unspooled)?;
            each(*position, &vector)?;
        }
        Ok(())
    }
}

/// The vector of a stored record, as the queue stores it. `None` if there is none of the right
/// length.
fn bytes_of(
    directory: &Directory,
    survey: &Survey,
    live: &LiveRecord,
    metric: Metric,
) -> Result<Option<Vec<u8>>> {
    if !live.is_stored() {
        return Ok(None);
    }
    Ok(directory
        .vector(survey, live)?
        .filter(|vector| Some(vector.len()) == survey.dimension)
        .map(|vector| stored(&vector, metric)))
}

/// A vector as the queue stores it.
fn stored(vector: &[f32], metric: Metric) -> Vec<u8> {
    let scale = scale(vector, metric);
    vector
        .iter()
        .flat_map(|value| ((f64::from(*value) * scale) as f32).to_le_bytes())
        .collect()
}

/// The factor to apply to a vector. It is 1, except for a cosine vector of a norm that no embedder
/// produces. Such a norm is garbage, and ChromaDB would lose the direction when it divides by it,
/// so the factor makes the norm 1.
fn scale(vector: &[f32], metric: Metric) -> f64 {
    let length = vector
        .iter()
        .map(|value| f64::from(*value).powi(2))
        .sum::<f64>()
        .sqrt();
    if metric == Metric::Cosine && length > 0.0 && !PLAUSIBLE.contains(&length) {
        1.0 / length
    } else {
        1.0
    }
}

fn unspooled(source: io::Error) -> Error {
    Error::io(
        "cannot write temporary vectors to",
        std::env::temp_dir(),
        source,
    )
}

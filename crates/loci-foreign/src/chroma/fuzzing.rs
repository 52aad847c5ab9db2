//! The parsers of foreign bytes, for the fuzz targets in `loci-fuzz`. Compiled only with the
//! feature `fuzzing`.

use std::path::Path;

use loci_core::{Metric, Result};

use crate::chroma::hnsw::Segment;
use crate::chroma::pickle;

/// A label map as the reader of `index_metadata.pickle` returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Ids with their labels, ascending by label.
    pub pairs: Vec<(String, u64)>,
    /// Pairs that share an id or a label with another one.
    pub disputed: u64,
    /// Labels of pairs that are in both maps.
    pub confirmed: Vec<u64>,
    /// The first problem.
    pub damage: Option<String>,
    /// Whether the only problem is that the file is truncated.
    pub is_cut_short: bool,
}

/// Reads the bytes of an `index_metadata.pickle`.
pub fn read_pickle(bytes: &[u8]) -> Labels {
    let map = pickle::read(bytes);
    let mut confirmed: Vec<u64> = map.confirmed.iter().copied().collect();
    confirmed.sort_unstable();
    Labels {
        is_cut_short: map.is_cut_short(),
        pairs: map.pairs,
        disputed: map.disputed,
        confirmed,
        damage: map.damage,
    }
}

/// A vector segment after reading.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentFacts {
    /// The numbers per vector; 0 if no layout fits.
    pub dimension: usize,
    /// The number of elements in use.
    pub count: usize,
    /// The label of every record.
    pub labels: Vec<u64>,
    /// The vector of every record; `None` if it is damaged.
    pub vectors: Vec<Option<Vec<f32>>>,
    /// Codes of the findings.
    pub findings: Vec<&'static str>,
    /// Whether the header is consistent with itself and with the records.
    pub is_header_sound: bool,
}

/// Reads the segment in a directory, with all its vectors.
pub fn read_segment(
    directory: &Path,
    metric: Metric,
    dimension: Option<usize>,
) -> Result<Option<SegmentFacts>> {
    let Some(segment) = Segment::open(directory, metric, dimension)? else {
        return Ok(None);
    };
    let elements = segment.elements();
    let vectors = (0..elements.len())
        .map(|index| segment.vector(index))
        .collect::<Result<_>>()?;
    Ok(Some(SegmentFacts {
        dimension: segment.dimension(),
        count: segment.count(),
        labels: elements.iter().map(|element| element.label).collect(),
        vectors,
        findings: segment
            .findings()
            .iter()
            .map(|found| found.code.as_str())
            .collect(),
        is_header_sound: segment.is_header_sound(),
    }))
}

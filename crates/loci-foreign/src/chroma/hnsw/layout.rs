//! The layout of a record in `data_level0.bin`, and the search for one that fits a file with an
//! untrusted header.

use std::collections::HashSet;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use loci_core::Metric;
use loci_files::foreign::ForeignFile;

use super::lengths::LENGTHS;
use super::{VectorState, judge};

/// The largest plausible dimension.
const DIMENSIONS: u64 = 1 << 20;
/// The largest plausible number of neighbours. Their count is a 16-bit number.
const NEIGHBOURS: u64 = 1 << 16;
/// Values of M to try, the default first.
const USUAL: [u64; 11] = [16, 8, 12, 24, 32, 48, 64, 100, 128, 200, 256];
/// The number of records that are probed per layout.
const PROBES: u64 = 256;

/// The offsets in a record. All numbers are small enough that no sum can overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) dimension: usize,
    /// The maximum number of neighbours above the lowest level.
    pub(super) neighbours: usize,
    /// The maximum number of neighbours at the lowest level.
    pub(super) neighbours_0: usize,
}

impl Layout {
    pub(super) fn new(dimension: u64, neighbours_0: u64) -> Option<Self> {
        let believable = (1..=DIMENSIONS).contains(&dimension)
            && (2..=NEIGHBOURS).contains(&neighbours_0)
            && neighbours_0.is_multiple_of(2);
        believable.then_some(Self {
            dimension: dimension as usize,
            neighbours: neighbours_0 as usize / 2,
            neighbours_0: neighbours_0 as usize,
        })
    }

    pub(super) fn data_offset(self) -> usize {
        4 + 4 * self.neighbours_0
    }

    pub(super) fn label_offset(self) -> usize {
        self.data_offset() + 4 * self.dimension
    }

    pub(super) fn record_bytes(self) -> usize {
        self.label_offset() + 8
    }

    /// The bytes of one level of one element in `link_lists.bin`.
    pub(super) fn level_bytes(self) -> usize {
        4 + 4 * self.neighbours
    }

    /// Parses a record. `None` if the bytes are not exactly one record.
    pub(super) fn record(self, bytes: &[u8]) -> Option<Record<'_>> {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let (links, rest) = rest.split_at_checked(4 * self.neighbours_0)?;
        let (vector, label) = rest.split_at_checked(4 * self.dimension)?;
        let [low, high, flags, rest] = *head;
        Some(Record {
            neighbour_count: usize::from(u16::from_le_bytes([low, high])),
            deleted: flags & 1 == 1,
            odd_flags: flags > 1 || rest != 0,
            links,
            vector,
            label: u64::from_le_bytes(label.try_into().ok()?),
        })
    }
}

/// A parsed record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) neighbour_count: usize,
    pub(super) deleted: bool,
    /// Whether undefined bits are set.
    pub(super) odd_flags: bool,
    links: &'a [u8],
    pub(super) vector: &'a [u8],
    pub(super) label: u64,
}

impl Record<'_> {
    /// The neighbours in use, limited to the available space.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = u32> {
        numbers(self.links).take(self.neighbour_count)
    }
}

/// The 32-bit numbers in some bytes.
pub(super) fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word))
}

/// The layout under which most records are plausible; `None` if no record is under any layout. The
/// `preferred` layouts are tried first and win a tie.
pub(super) fn fitting(
    data: &mut ForeignFile,
    data_bytes: u64,
    metric: Metric,
    preferred: Vec<Layout>,
    dimension: Option<usize>,
) -> io::Result<Option<Layout>> {
    let usual = dimension.into_iter().flat_map(|dimension| {
        USUAL
            .iter()
            .filter_map(move |m| Layout::new(dimension as u64, 2 * m))
    });
    let mut candidates = preferred;
    candidates.extend(usual);
    let mut tried = Vec::new();
    let mut best: Option<(Layout, (u64, bool))> = None;
    for layout in candidates {
        if tried.contains(&layout) {
            continue;
        }
        tried.push(layout);
        let sane = probe(data, data_bytes, metric, layout)?;
        let score = (
            sane,
            data_bytes.is_multiple_of(layout.record_bytes() as u64),
        );
        if sane > 0 && best.is_none_or(|(_, so_far)| score > so_far) {
            best = Some((layout, score));
        }
    }
    Ok(best.map(|(layout, _)| layout))
}

/// How many of 1024 records are plausible, estimated from a sample that is spread over the file.
fn probe(
    data: &mut ForeignFile,
    data_bytes: u64,
    metric: Metric,
    layout: Layout,
) -> io::Result<u64> {
    let size = layout.record_bytes() as u64;
    let records = data_bytes / size;
    let probes = records.min(PROBES);
    let mut buffer = vec![0; layout.record_bytes()];
    let mut labels = HashSet::new();
    for index in 0..probes {
        data.seek(SeekFrom::Start(index * records / probes * size))?;
        match data.read_exact(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            read => read?,
        }
        if let Some(record) = layout.record(&buffer)
            && is_sane(&record, metric, layout, records)
        {
            labels.insert(record.label);
        }
    }
    Ok((labels.len() as u64 * 1024)
        .checked_div(probes)
        .unwrap_or(0))
}

fn is_sane(record: &Record<'_>, metric: Metric, layout: Layout, records: u64) -> bool {
    !record.odd_flags
        && record.neighbour_count <= layout.neighbours_0
        && record.neighbours().all(|id| u64::from(id) < records)
        && record.label < 1 << 40
        && matches!(
            judge(record.vector, metric, None, &LENGTHS),
            VectorState::Good | VectorState::LengthBad
        )
}

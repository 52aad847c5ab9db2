//! Reads a vector segment: `header.bin`, `data_level0.bin`, `length.bin` and `link_lists.bin` of
//! one directory.
//!
//! Never writes. A number from a file is used only after it was compared with the others and with
//! the length of the file. Memory grows with what the files hold, never with what they claim. Each
//! problem is a finding of its own.

mod header;
mod layout;
mod lengths;
mod links;
mod report;
mod scan;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use loci_core::finding::Finding;
use loci_core::{Error, Metric, Result};
use loci_files::Stamp;
use loci_files::foreign::ForeignFile;

use header::HEADER_BYTES;
pub(crate) use header::Header;
use layout::{Layout, fitting};
use links::Links;
use scan::{Scan, Terms};

/// The files, in the order in which ChromaDB writes them.
pub(crate) const FILES: [&str; 4] = [
    "header.bin",
    "data_level0.bin",
    "length.bin",
    "link_lists.bin",
];
/// How far the norm of a normalised vector may be from 1. ChromaDB sums in single precision, so the
/// tolerance grows for long vectors. A hundred thousand real vectors of 384 numbers were off by
/// 7e-7 at most.
const TOLERANCE: f64 = 1e-5;
const TOLERANCE_PER_NUMBER: f64 = 5e-8;
/// The number of link list entries that are read even if the data file is short. A truncated file
/// has more entries than data.
const FEW_ENTRIES: u64 = 1 << 20;
/// How many bytes are read at once when vectors are requested in order.
const READ_AHEAD: usize = 256 << 10;

/// The quality of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorState {
    /// The vector as it was added. This includes a zero vector with a recorded length of zero.
    Good,
    /// A number in it is infinite or NaN.
    NotFinite,
    /// Cosine: its norm should be 1 and is not.
    NormOff,
    /// Cosine: the direction is intact, but the original length is unknown.
    LengthBad,
}

/// One record of `data_level0.bin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) label: u64,
    pub(crate) deleted: bool,
    pub(crate) vector: VectorState,
}

/// A segment after one scan, open for reading vectors.
#[derive(Debug)]
pub(crate) struct Segment {
    directory: PathBuf,
    stamps: Vec<Option<Stamp>>,
    metric: Metric,
    sound: bool,
    layout: Option<Layout>,
    count: usize,
    elements: Vec<Element>,
    lengths: Vec<f32>,
    /// The plausible lengths.
    plausible: RangeInclusive<f32>,
    findings: Vec<Finding>,
    window: Mutex<Window>,
}

/// A range of records that was read at once.
#[derive(Debug)]
struct Window {
    data: ForeignFile,
    first: usize,
    bytes: Vec<u8>,
}

/// The files with their lengths.
#[derive(Debug)]
struct SegmentFiles {
    header: Option<(ForeignFile, u64)>,
    data: (ForeignFile, u64),
    lengths: Option<(ForeignFile, u64)>,
    links: Option<(ForeignFile, u64)>,
}

impl Segment {
    /// Scans the segment in `directory`. `None` if there is no such directory or no
    /// `data_level0.bin` in it.
    pub(crate) fn open(
        directory: &Path,
        metric: Metric,
        dimension: Option<usize>,
    ) -> Result<Option<Self>> {
        if !directory.is_dir() {
            return Ok(None);
        }
        let failed = |source| Error::io("cannot read the segment", directory, source);
        let stamps = stamps(directory).map_err(failed)?;
        let Some(found) = SegmentFiles::at(directory).map_err(failed)? else {
            return Ok(None);
        };
        let dimension = dimension.filter(|dimension| *dimension > 0);
        let mut segment =
            Self::look(directory, found, stamps, metric, dimension).map_err(failed)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        for finding in &mut segment.findings {
            if let Some(file) = &mut finding.file {
                *file = format!("{name}/{file}");
            }
        }
        Ok(Some(segment))
    }

    /// Whether the header is consistent with itself and with the layout of the records.
    pub(crate) fn is_header_sound(&self) -> bool {
        self.sound
    }

    /// The dimension of the layout in use; 0 if none fits.
    pub(crate) fn dimension(&self) -> usize {
        self.layout.map_or(0, |layout| layout.dimension)
    }

    /// Every whole record, by internal id. Records from [`count`](Self::count) on may hold
    /// anything.
    pub(crate) fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// The number of elements according to the header. If the header is unsound, `link_lists.bin`
    /// decides. If that is inconsistent too, all records count.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The problems of the segment.
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The vector as it was added, or with norm 1 if only its direction is known. `None` if it is
    /// damaged. Reading in ascending order is cheapest.
    pub(crate) fn vector(&self, index: usize) -> Result<Option<Vec<f32>>> {
        let (Some(layout), Some(element)) = (self.layout, self.elements.get(index)) else {
            return Ok(None);
        };
        if !matches!(element.vector, VectorState::Good | VectorState::LengthBad) {
            return Ok(None);
        }
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = window
            .record(index, layout.record_bytes())
            .map_err(|source| Error::io("cannot read", self.directory.join(FILES[1]), source))?;
        let length = self.lengths.get(index).copied();
        // Check it again: another program may have written in the meantime.
        let Some(record) = layout.record(bytes).filter(|record| {
            judge(record.vector, self.metric, length, &self.plausible) == element.vector
        }) else {
            return Ok(None);
        };
        let scale = match (self.metric, element.vector) {
            (Metric::Cosine, VectorState::Good) => length.unwrap_or(1.0),
            _ => 1.0,
        };
        Ok(Some(
            floats(record.vector).map(|value| value * scale).collect(),
        ))
    }

    /// Whether all four files are unchanged since they were opened.
    pub(crate) fn unchanged(&self) -> bool {
        stamps(&self.directory).is_ok_and(|now| now == self.stamps)
    }

    fn look(
        directory: &Path,
        mut found: SegmentFiles,
        stamps: Vec<Option<Stamp>>,
        metric: Metric,
        dimension: Option<usize>,
    ) -> io::Result<Self> {
        let header = found.read_header()?;
        let (layout, trusted) = found.choose_layout(header.as_ref(), metric, dimension)?;
        let sound = trusted && header.is_some_and(|header| header.is_count_possible());
        let certain = header.map(|header| header.count).filter(|_| sound);
        let (scan, links, count) = match layout {
            Some(layout) => found.walk(layout, metric, certain)?,
            None => (Scan::default(), None, 0),
        };
        let facts = report::Facts {
            header: header.as_ref(),
            header_bytes: found.header.as_ref().map(|(_, bytes)| *bytes),
            data_bytes: found.data.1,
            length_bytes: found.lengths.as_ref().map(|(_, bytes)| *bytes),
            links_bytes: found.links.as_ref().map(|(_, bytes)| *bytes),
            dimension,
            metric,
            layout,
            sound,
            count,
            scan: &scan,
            links: links.as_ref(),
        };
        let findings = report::findings(&facts);
        Ok(Self {
            directory: directory.to_owned(),
            stamps,
            metric,
            sound,
            layout,
            count,
            elements: scan.elements,
            lengths: scan.lengths,
            plausible: scan.plausible,
            findings,
            window: Mutex::new(Window {
                data: found.data.0,
                first: 0,
                bytes: Vec::new(),
            }),
        })
    }
}

impl SegmentFiles {
    fn at(directory: &Path) -> io::Result<Option<Self>> {
        let [header, data, lengths, links] = FILES.map(|name| regular(&directory.join(name)));
        let Some(data) = data? else {
            return Ok(None);
        };
        Ok(Some(Self {
            // Vectors can be read without these files. A missing file is a finding.
            header: header.unwrap_or(None),
            data,
            lengths: lengths.unwrap_or(None),
            links: links.unwrap_or(None),
        }))
    }

    fn read_header(&mut self) -> io::Result<Option<Header>> {
        let mut bytes = Vec::new();
        if let Some((file, _)) = &mut self.header {
            file.take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
        }
        Ok(Header::parse(&bytes))
    }

    /// The layout to read with, and whether it comes from the header.
    fn choose_layout(
        &mut self,
        header: Option<&Header>,
        metric: Metric,
        dimension: Option<usize>,
    ) -> io::Result<(Option<Layout>, bool)> {
        let from_header = header.and_then(Header::layout);
        if let Some(from_header) = from_header
            && dimension.is_none_or(|dimension| dimension == from_header.dimension)
        {
            return Ok((Some(from_header), true));
        }
        let preferred = match from_header {
            Some(from_header) => vec![from_header],
            None => header.map_or_else(Vec::new, Header::guesses),
        };
        let (data, bytes) = &mut self.data;
        let best = fitting(data, *bytes, metric, preferred, dimension)?.or(from_header);
        Ok((best, best.is_some() && best == from_header))
    }

    /// Reads links and records. `certain` is the count of a trusted header.
    fn walk(
        &mut self,
        layout: Layout,
        metric: Metric,
        certain: Option<u64>,
    ) -> io::Result<(Scan, Option<Links>, usize)> {
        let (data, data_bytes) = &mut self.data;
        let records = *data_bytes / layout.record_bytes() as u64;
        let links = match &mut self.links {
            Some((file, _)) => {
                let limit = certain.map_or(records, |certain| {
                    certain.min(records.saturating_mul(4).saturating_add(FEW_ENTRIES))
                });
                Some(Links::read(
                    &mut BufReader::new(file),
                    layout,
                    limit,
                    certain,
                )?)
            }
            None => None,
        };
        let counted = self.links.as_ref().zip(links.as_ref());
        let count = certain.or_else(|| {
            counted
                .filter(|((_, bytes), links)| *bytes > 0 && links.fills(*bytes))
                .map(|(_, links)| links.levels.len() as u64)
        });
        data.seek(SeekFrom::Start(0))?;
        let lengths = match &self.lengths {
            Some((file, _)) => Some(file.try_clone()?),
            None => None,
        };
        let terms = Terms {
            layout,
            metric,
            count: count.unwrap_or(u64::MAX),
            certain: count.unwrap_or(0),
            bound: count.unwrap_or(records),
        };
        let scan = Scan::run(data, lengths, terms)?;
        let all = scan.elements.len();
        let count = count.map_or(all, |count| {
            usize::try_from(count).map_or(all, |count| count.min(all))
        });
        Ok((scan, links, count))
    }
}

impl Window {
    /// The bytes of a record. Fewer if the file has become shorter.
    fn record(&mut self, index: usize, size: usize) -> io::Result<&[u8]> {
        let end = self.first + self.bytes.len() / size;
        if !(self.first..end).contains(&index) {
            let ahead = if index == end { READ_AHEAD / size } else { 1 };
            self.bytes.clear();
            self.first = index;
            self.data
                .seek(SeekFrom::Start(index as u64 * size as u64))?;
            (&self.data)
                .take((ahead.max(1) * size) as u64)
                .read_to_end(&mut self.bytes)?;
        }
        let start = (index - self.first) * size;
        Ok(self.bytes.get(start..start + size).unwrap_or_default())
    }
}

/// Judges a vector by its recorded original length.
fn judge(
    vector: &[u8],
    metric: Metric,
    length: Option<f32>,
    plausible: &RangeInclusive<f32>,
) -> VectorState {
    let squares: f64 = floats(vector)
        .map(|value| f64::from(value) * f64::from(value))
        .sum();
    if !squares.is_finite() {
        return VectorState::NotFinite;
    }
    if metric != Metric::Cosine {
        return VectorState::Good;
    }
    if squares == 0.0 {
        return match length {
            Some(0.0) => VectorState::Good,
            _ => VectorState::NormOff,
        };
    }
    let numbers = (vector.len() / size_of::<f32>()) as f64;
    if (squares.sqrt() - 1.0).abs() >= TOLERANCE.max(numbers * TOLERANCE_PER_NUMBER) {
        return VectorState::NormOff;
    }
    match length {
        Some(length) if plausible.contains(&length) => VectorState::Good,
        _ => VectorState::LengthBad,
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| f32::from_le_bytes(*word))
}

fn stamps(directory: &Path) -> io::Result<Vec<Option<Stamp>>> {
    FILES
        .iter()
        .map(|name| Ok(Stamp::of(&directory.join(name)).unwrap_or(None)))
        .collect()
}

/// A regular file with its length. Anything else counts as missing, because opening a pipe could
/// block forever.
fn regular(path: &Path) -> io::Result<Option<(ForeignFile, u64)>> {
    match std::fs::metadata(path) {
        Ok(info) if info.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = loci_files::foreign::open(path)?;
    let length = file.metadata()?.len();
    Ok(Some((file, length)))
}

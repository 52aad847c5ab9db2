//! One pass over `data_level0.bin` that examines every record together with its entry in
//! `length.bin`.

use std::io::{self, BufReader, Read as _};
use std::ops::RangeInclusive;

use loci_core::Metric;
use loci_core::finding::SAMPLE;
use loci_files::foreign::ForeignFile;

use super::layout::{Layout, Record};
use super::lengths::{LENGTHS, plausible};
use super::links::filled;
use super::{Element, VectorState, judge};

/// How many bytes are read at once.
const BUFFER: usize = 1 << 20;
/// After this many bytes of empty records beyond the elements, the rest of the file is treated as a
/// hole.
const HOLE: usize = 64 << 20;

/// A count, and the first few items.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) count: u64,
    pub(super) first: Vec<u64>,
}

impl Sample {
    pub(super) fn add(&mut self, id: u64) {
        self.count += 1;
        if self.first.len() < SAMPLE {
            self.first.push(id);
        }
    }
}

/// The result of the pass. The samples are numbers of elements in use.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) elements: Vec<Element>,
    /// For the cosine metric, the original length of each element, as far as the file goes.
    pub(super) lengths: Vec<f32>,
    /// Elements with more neighbours than fit, or with one that does not exist.
    pub(super) wrong_neighbours: Sample,
    /// The highest element number among the neighbours.
    pub(super) furthest: u32,
    /// Elements with at least one neighbour.
    pub(super) connected: u64,
    pub(super) not_finite: Sample,
    pub(super) norm_off: Sample,
    /// Elements whose recorded length is impossible.
    pub(super) length_bad: Sample,
    /// The plausible lengths.
    pub(super) plausible: RangeInclusive<f32>,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            elements: Vec::new(),
            lengths: Vec::new(),
            wrong_neighbours: Sample::default(),
            furthest: 0,
            connected: 0,
            not_finite: Sample::default(),
            norm_off: Sample::default(),
            length_bad: Sample::default(),
            plausible: LENGTHS,
        }
    }
}

/// The parameters of the pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) layout: Layout,
    pub(super) metric: Metric,
    /// The number of elements in use.
    pub(super) count: u64,
    /// The number of elements that are certainly in use. An empty record is damage among them and a
    /// hole after them.
    pub(super) certain: u64,
    /// The upper bound of neighbour numbers, exclusive.
    pub(super) bound: u64,
}

impl Scan {
    pub(super) fn run(
        data: &mut ForeignFile,
        lengths: Option<ForeignFile>,
        terms: Terms,
    ) -> io::Result<Self> {
        let mut scan = Self::default();
        let mut lengths = lengths
            .filter(|_| terms.metric == Metric::Cosine)
            .map(BufReader::new);
        let size = terms.layout.record_bytes();
        let mut buffer = vec![0; (BUFFER / size).max(1) * size];
        let mut empty = 0;
        loop {
            let read = fill(data, &mut buffer)?;
            let whole = buffer.get(..read).unwrap_or_default();
            for record in whole
                .chunks_exact(size)
                .filter_map(|bytes| terms.layout.record(bytes))
            {
                let length = next_length(&mut lengths)?;
                let is_empty = scan.look(&record, length, terms);
                empty = if is_empty { empty + 1 } else { 0 };
            }
            if empty * size >= HOLE {
                scan.elements.truncate(scan.elements.len() - empty);
                scan.lengths.truncate(scan.elements.len());
                break;
            }
            if read < buffer.len() {
                break;
            }
        }
        if terms.metric == Metric::Cosine {
            scan.compare_lengths(terms.count);
        }
        Ok(scan)
    }

    /// Treats lengths as lost that are implausible compared with the others.
    fn compare_lengths(&mut self, count: u64) {
        let counted = usize::try_from(count).unwrap_or(usize::MAX);
        let elements = self.elements.iter().zip(&self.lengths).take(counted);
        let good =
            elements.filter(|(element, _)| !element.deleted && element.vector == VectorState::Good);
        self.plausible = plausible(good.map(|(_, length)| *length));
        for (index, (element, length)) in self.elements.iter_mut().zip(&self.lengths).enumerate() {
            // A vector of zeros has the length 0.
            let true_length = *length == 0.0 || self.plausible.contains(length);
            if element.vector == VectorState::Good && !true_length {
                element.vector = VectorState::LengthBad;
                if index < counted && !element.deleted {
                    self.length_bad.add(index as u64);
                }
            }
        }
    }

    /// Adds one record. Returns true if it is empty. A long run of empty records is a hole,
    /// whatever the header says.
    fn look(&mut self, record: &Record<'_>, length: Option<f32>, terms: Terms) -> bool {
        let index = self.elements.len() as u64;
        let vector = judge(record.vector, terms.metric, length, &LENGTHS);
        self.elements.push(Element {
            label: record.label,
            deleted: record.deleted,
            vector,
        });
        self.lengths.extend(length);
        let is_empty = record.label == 0
            && record.neighbour_count == 0
            && record.vector.iter().all(|byte| *byte == 0);
        if is_empty && index >= terms.certain {
            return true;
        }
        if index >= terms.count {
            return is_empty;
        }
        let furthest = record.neighbours().max();
        self.furthest = self.furthest.max(furthest.unwrap_or(0));
        if record.neighbour_count > terms.layout.neighbours_0
            || furthest.is_some_and(|furthest| u64::from(furthest) >= terms.bound)
        {
            self.wrong_neighbours.add(index);
        }
        self.connected += u64::from(record.neighbour_count > 0);
        if !record.deleted {
            match vector {
                VectorState::NotFinite => self.not_finite.add(index),
                VectorState::NormOff => self.norm_off.add(index),
                VectorState::LengthBad if length.is_some() => self.length_bad.add(index),
                VectorState::Good | VectorState::LengthBad => {}
            }
        }
        is_empty
    }
}

/// The next entry of `length.bin`; `None` at its end.
fn next_length(lengths: &mut Option<BufReader<ForeignFile>>) -> io::Result<Option<f32>> {
    let mut bytes = [0; 4];
    if let Some(reader) = lengths {
        if filled(reader, &mut bytes)? {
            return Ok(Some(f32::from_le_bytes(bytes)));
        }
        *lengths = None;
    }
    Ok(None)
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut ForeignFile, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

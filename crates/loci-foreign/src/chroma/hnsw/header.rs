//! `header.bin`: 100 bytes that hold the layout and the number of the records in the other files.

use super::layout::Layout;

/// The length of the file.
pub(super) const HEADER_BYTES: usize = 100;
/// The entry point of an index without elements.
const NO_ENTRY: u32 = u32::MAX;

/// The numbers of the file, unchecked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Header {
    pub(crate) version: i32,
    pub(crate) offset_level0: u64,
    pub(crate) max_elements: u64,
    pub(crate) count: u64,
    pub(crate) element_bytes: u64,
    pub(crate) label_offset: u64,
    pub(crate) data_offset: u64,
    pub(crate) max_level: i32,
    pub(crate) entry_point: u32,
    /// Neighbours per element and level above the lowest.
    pub(crate) max_neighbours: u64,
    /// Neighbours per element at the lowest level.
    pub(crate) max_neighbours_0: u64,
    pub(crate) m: u64,
    pub(crate) mult: f64,
    pub(crate) ef_construction: u64,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<HEADER_BYTES>()?;
        let word = |at| u64::from_le_bytes(array(bytes, at));
        Some(Self {
            version: i32::from_le_bytes(array(bytes, 0)),
            offset_level0: word(4),
            max_elements: word(12),
            count: word(20),
            element_bytes: word(28),
            label_offset: word(36),
            data_offset: word(44),
            max_level: i32::from_le_bytes(array(bytes, 52)),
            entry_point: u32::from_le_bytes(array(bytes, 56)),
            max_neighbours: word(60),
            max_neighbours_0: word(68),
            m: word(76),
            mult: f64::from_le_bytes(array(bytes, 84)),
            ef_construction: word(92),
        })
    }

    /// The layout, if all of its numbers are consistent.
    pub(super) fn layout(&self) -> Option<Layout> {
        let vector_bytes = self.label_offset.checked_sub(self.data_offset)?;
        let layout = Layout::new(vector_bytes / 4, self.max_neighbours_0)?;
        let fits = self.offset_level0 == 0
            && self.data_offset == layout.data_offset() as u64
            && self.label_offset == layout.label_offset() as u64
            && self.element_bytes == layout.record_bytes() as u64
            && self.max_neighbours == layout.neighbours as u64
            && self.m == self.max_neighbours;
        fits.then_some(layout)
    }

    /// Layouts that some of the numbers allow.
    pub(super) fn guesses(&self) -> Vec<Layout> {
        let links = [
            self.max_neighbours_0,
            self.m.saturating_mul(2),
            self.max_neighbours.saturating_mul(2),
            self.data_offset.saturating_sub(4) / 4,
        ];
        let vectors = [
            self.label_offset.saturating_sub(self.data_offset),
            self.element_bytes
                .saturating_sub(8)
                .saturating_sub(self.data_offset),
            self.element_bytes
                .saturating_sub(12)
                .saturating_sub(self.m.saturating_mul(8)),
        ];
        links
            .iter()
            .flat_map(|links| {
                vectors
                    .iter()
                    .filter_map(|bytes| Layout::new(bytes / 4, *links))
            })
            .collect()
    }

    /// Whether the count is possible: it fits the capacity, and an index with an entry point has
    /// elements.
    pub(super) fn is_count_possible(&self) -> bool {
        self.count <= self.max_elements
            && (self.count > 0 || (self.entry_point == NO_ENTRY && self.max_level < 0))
    }

    /// Whether new elements would get reasonable levels.
    pub(super) fn is_mult_right(&self) -> bool {
        (self.mult - 1.0 / (self.m as f64).ln()).abs() < 1e-6
    }
}

/// The bytes at an offset that is known to be inside the header.
fn array<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or([0; N])
}

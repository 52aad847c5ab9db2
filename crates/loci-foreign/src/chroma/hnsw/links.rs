//! Reads `link_lists.bin`: the upper levels of the graph, one entry per element in the order of the
//! elements.
//!
//! The file is read as a stream, and only as far as there are elements. The rest may be gigabytes
//! of zeros.

use std::io::{self, Read};

use super::layout::{Layout, numbers};
use super::scan::Sample;

/// The maximum plausible number of levels. M = 2 with a billion elements has thirty.
const LEVELS: usize = 64;

/// The contents of the file.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The level of each element whose entry could be read.
    pub(super) levels: Vec<u8>,
    /// The size of these entries.
    pub(super) bytes: u64,
    /// The first entry with an impossible length: the element, its offset, the length.
    pub(super) absurd: Option<(u64, u64, u32)>,
    /// Elements with more neighbours than fit, with a neighbour that does not exist, or with one
    /// that is not at that level.
    pub(super) wrong: Sample,
}

impl Links {
    /// Reads at most `limit` entries. `count` is the number of elements, if it is known.
    pub(super) fn read(
        file: &mut impl Read,
        layout: Layout,
        limit: u64,
        count: Option<u64>,
    ) -> io::Result<Self> {
        let mut links = Self::default();
        let mut entry = Vec::new();
        // Elements that are named as a neighbour at a level that they must reach: (element, level,
        // named by).
        let mut named: Vec<(u32, u8, u64)> = Vec::new();
        while (links.levels.len() as u64) < limit {
            let mut head = [0; 4];
            if !filled(file, &mut head)? {
                break;
            }
            let size = u32::from_le_bytes(head);
            let element = links.levels.len() as u64;
            let level = size as usize / layout.level_bytes();
            if !(size as usize).is_multiple_of(layout.level_bytes()) || level > LEVELS {
                links.absurd = Some((element, links.bytes, size));
                break;
            }
            entry.resize(size as usize, 0);
            if !filled(file, &mut entry)? {
                break;
            }
            let before = named.len();
            if !named_by(&entry, layout, element, count, &mut named) {
                links.wrong.add(element);
                named.truncate(before);
            }
            links.levels.push(level as u8);
            links.bytes += 4 + u64::from(size);
        }
        links.check_levels(&named);
        Ok(links)
    }

    /// Whether the entries fill a file of this length.
    pub(super) fn fills(&self, file_bytes: u64) -> bool {
        self.absurd.is_none() && self.bytes == file_bytes
    }

    fn check_levels(&mut self, named: &[(u32, u8, u64)]) {
        let mut last = None;
        for (neighbour, level, element) in named {
            let reached = self.levels.get(*neighbour as usize);
            if reached.is_some_and(|reached| reached < level) && last != Some(*element) {
                self.wrong.add(*element);
                last = Some(*element);
            }
        }
    }
}

/// Collects the neighbours in an entry. Returns false if a level has too many neighbours, or one
/// that does not exist.
fn named_by(
    entry: &[u8],
    layout: Layout,
    element: u64,
    count: Option<u64>,
    named: &mut Vec<(u32, u8, u64)>,
) -> bool {
    let mut right = true;
    for (level, bytes) in entry.chunks_exact(layout.level_bytes()).enumerate() {
        let Some((head, neighbours)) = bytes.split_first_chunk::<4>() else {
            continue;
        };
        let [low, high, ..] = *head;
        let length = usize::from(u16::from_le_bytes([low, high]));
        right &= length <= layout.neighbours;
        for neighbour in numbers(neighbours).take(length) {
            if count.is_some_and(|count| u64::from(neighbour) >= count) {
                right = false;
            } else {
                named.push((neighbour, level as u8 + 1, element));
            }
        }
    }
    right
}

/// Fills the buffer. Returns false if the file ends first.
pub(super) fn filled(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

//! Reads consecutive records with length and checksum, from a file that may be damaged anywhere.
//!
//! After a damaged record, the scan searches for the next offset where length, structure and
//! checksum fit. The bytes in between are a gap. A gap is still read if a checksum proves that it
//! is one record with a damaged header or with one damaged byte.

use std::ops::Range;

/// The length and the checksum.
pub(super) const HEADER: usize = 8;
/// The payload length of a `Delete`, the shortest command.
pub(super) const SHORTEST: usize = 17;
/// The maximum length of a payload that is repaired by trying every byte.
const REPAIRABLE: usize = 64;
/// How many bytes the search for the next record may checksum, in multiples of the file.
const WORK: usize = 32;
/// When that budget is used up, the search covers only records up to this length.
const SMALL: usize = 4096;

/// A record with a valid checksum and structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its offset in the file.
    pub(super) offset: usize,
    /// Its payload.
    pub(super) payload: Range<usize>,
    /// The repaired payload, if it was damaged.
    pub(super) repaired: Option<Vec<u8>>,
}

impl Frame {
    /// The payload as it was written.
    pub(super) fn bytes<'a>(&'a self, file: &'a [u8]) -> &'a [u8] {
        match &self.repaired {
            Some(repaired) => repaired,
            None => file.get(self.payload.clone()).unwrap_or_default(),
        }
    }
}

/// The contents of a file of records.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) frames: Vec<Frame>,
    /// Ranges that could not be read.
    pub(super) gaps: Vec<Range<usize>>,
    /// Whether the last gap is a record that extends beyond the end of the file.
    pub(super) tail_cut: bool,
}

/// Reads every readable record. `fits` checks the structure of a payload.
pub(super) fn scan(file: &[u8], fits: fn(&[u8]) -> bool) -> Scan {
    let mut scan = Scan::default();
    let mut work = file.len().saturating_mul(WORK);
    let mut offset = 0;
    while offset < file.len() {
        if let Some(payload) = fitting(file, offset, fits, None) {
            let next = payload.end;
            scan.frames.push(Frame {
                offset,
                payload,
                repaired: None,
            });
            offset = next;
            continue;
        }
        let next = (offset + 1..file.len())
            .find(|at| fitting(file, *at, fits, Some(&mut work)).is_some())
            .unwrap_or(file.len());
        gap(file, offset..next, fits, &mut scan);
        offset = next;
    }
    scan.tail_cut = scan.gaps.last().is_some_and(|last| {
        last.end == file.len()
            && (last.len() < HEADER
                || length_at(file, last.start).is_some_and(|length| {
                    length.saturating_add(HEADER).saturating_add(last.start) > file.len()
                }))
    });
    scan
}

/// Tries to read a gap, first as one record, then record by record as far as their lengths are
/// readable.
fn gap(file: &[u8], mut range: Range<usize>, fits: fn(&[u8]) -> bool, scan: &mut Scan) {
    let start = range.start;
    while !range.is_empty() {
        // The whole range is tried once. Otherwise a gap of many records would be checksummed again
        // for each of them.
        let whole = (range.start == start || range.len() <= SMALL).then_some(range.end);
        let declared = length_at(file, range.start)
            .and_then(|length| range.start.checked_add(HEADER)?.checked_add(length))
            .filter(|end| *end < range.end && range.end - end >= HEADER + SHORTEST);
        let read = [whole, declared].into_iter().flatten().find_map(|end| {
            let payload = repair(file.get(range.start..end)?, fits)?;
            Some((payload, end))
        });
        let end = match read {
            Some((payload, end)) => {
                scan.frames.push(Frame {
                    offset: range.start,
                    payload: range.start + HEADER..end,
                    repaired: Some(payload),
                });
                end
            }
            None => {
                let end = declared.unwrap_or(range.end);
                scan.gaps.push(range.start..end);
                end
            }
        };
        range.start = end;
    }
}

/// The payload of the record at `offset`, if it is valid.
fn fitting(
    file: &[u8],
    offset: usize,
    fits: fn(&[u8]) -> bool,
    work: Option<&mut usize>,
) -> Option<Range<usize>> {
    let length = length_at(file, offset)?;
    let start = offset.checked_add(HEADER)?;
    let range = start..start.checked_add(length)?;
    let payload = file.get(range.clone())?;
    if length < SHORTEST || !fits(payload) {
        return None;
    }
    if let Some(work) = work {
        if *work < length && length > SMALL {
            return None;
        }
        *work = work.saturating_sub(length);
    }
    (checksum(payload) == stored_checksum(file, offset)?).then_some(range)
}

fn number_at(file: &[u8], offset: usize) -> Option<u32> {
    let bytes = file.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn length_at(file: &[u8], offset: usize) -> Option<usize> {
    number_at(file, offset).map(|length| length as usize)
}

fn stored_checksum(file: &[u8], offset: usize) -> Option<u32> {
    number_at(file, offset.checked_add(4)?)
}

/// The original payload of these bytes, if the checksum proves it.
fn repair(bytes: &[u8], fits: fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let payload = bytes.get(HEADER..)?;
    if payload.len() < SHORTEST {
        return None;
    }
    let stored = stored_checksum(bytes, 0)?;
    let difference = checksum(payload) ^ stored;
    // Either the length was damaged and the checksum is intact, or one byte of the checksum was
    // damaged.
    let whole = difference == 0
        || (length_at(bytes, 0)? == payload.len()
            && difference
                .to_le_bytes()
                .iter()
                .filter(|byte| **byte != 0)
                .count()
                == 1);
    if whole {
        return fits(payload).then(|| payload.to_vec());
    }
    if payload.len() > REPAIRABLE || length_at(bytes, 0)? != payload.len() {
        return None;
    }
    single_byte(payload, difference).filter(|repaired| fits(repaired))
}

/// The payload with one byte corrected, if exactly one correction explains the difference of the
/// checksums.
fn single_byte(payload: &[u8], difference: u32) -> Option<Vec<u8>> {
    let mut found = None;
    for change in 1..=u8::MAX {
        // The checksum is linear. This is the effect of the change on it, from the last byte to the
        // first.
        let mut effect = step(0, change);
        for position in (0..payload.len()).rev() {
            if effect == difference {
                if found.is_some() {
                    return None;
                }
                found = Some((position, change));
            }
            effect = step(effect, 0);
        }
    }
    let (position, change) = found?;
    let mut repaired = payload.to_vec();
    *repaired.get_mut(position)? ^= change;
    Some(repaired)
}

/// CRC-32/CKSUM: polynomial 04C11DB7, not reflected, initial value 0, inverted at the end.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(0, |state, byte| step(state, *byte))
}

fn step(state: u32, byte: u8) -> u32 {
    let index = (state >> 24) as u8 ^ byte;
    (state << 8) ^ TABLE.get(usize::from(index)).copied().unwrap_or_default()
}

const TABLE: [u32; 256] = table();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time; the index is below 256"
)]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = (index as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 0x8000_0000 == 0 {
                value << 1
            } else {
                (value << 1) ^ 0x04C1_1DB7
            };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(payload: &[u8]) -> bool {
        payload.first() == Some(&0xFF)
    }

    fn written(payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut file = Vec::new();
        for payload in payloads {
            file.extend((payload.len() as u32).to_le_bytes());
            file.extend(checksum(payload).to_le_bytes());
            file.extend(payload);
        }
        file
    }

    fn payload(fill: u8, length: usize) -> Vec<u8> {
        let mut payload = vec![fill; length];
        if let Some(first) = payload.first_mut() {
            *first = 0xFF;
        }
        payload
    }

    #[test]
    fn the_checksum_is_the_one_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0x765E_7680);
    }

    #[test]
    fn a_damaged_record_costs_no_other() {
        let payloads: Vec<_> = (1..6).map(|fill| payload(fill, 200)).collect();
        let mut file = written(&payloads);
        for position in [208 * 2 + 50, 208 * 2 + 51] {
            if let Some(byte) = file.get_mut(position) {
                *byte ^= 0x55;
            }
        }
        let scan = scan(&file, any);
        let read: Vec<_> = scan.frames.iter().map(|frame| frame.bytes(&file)).collect();
        assert_eq!(read.len(), 4);
        assert!(!read.contains(&payloads.get(2).map(Vec::as_slice).unwrap_or_default()));
        assert_eq!(scan.gaps, vec![416..624]);
        assert!(!scan.tail_cut);
    }

    #[test]
    fn one_damaged_byte_of_a_short_record_is_undone() {
        let payloads: Vec<_> = (1..6).map(|fill| payload(fill, 17)).collect();
        let whole = written(&payloads);
        for position in 0..whole.len() {
            let mut file = whole.clone();
            if let Some(byte) = file.get_mut(position) {
                *byte ^= 0x40;
            }
            let scan = scan(&file, any);
            let read: Vec<_> = scan
                .frames
                .iter()
                .map(|frame| frame.bytes(&file).to_vec())
                .collect();
            assert_eq!(read, payloads, "at {position}");
        }
    }

    #[test]
    fn a_cut_file_says_so() {
        let file = written(&[payload(1, 100), payload(2, 100)]);
        let cut = file.get(..150).unwrap_or_default();
        let scan = scan(cut, any);
        assert_eq!(scan.frames.len(), 1);
        assert!(scan.tail_cut);
    }
}

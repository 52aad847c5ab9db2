//! Decodes the list of rows that FTS5 stores for a term.
//!
//! A doclist is a sequence of rows, each with the size and the bytes of its positions. It may go on
//! over any number of pages. A page that continues it begins with the rest of the positions of the
//! last row; the first row that begins on a page is stored as a number, the others as differences.
//!
//! The bytes are checked, not trusted. Anything unexpected is [`Malformed`], and the caller reads
//! the term through FTS5 instead.

/// Bytes that this reader does not understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// The offset of the first byte of a page after its header.
pub(super) const HEADER: usize = 4;

/// One leaf page of a segment.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    bytes: &'a [u8],
    /// Where the first row begins that belongs to the last term of an earlier page; 0 if none does.
    pub(super) first_row: usize,
    /// Where terms and rows end, and the offsets of the terms begin.
    pub(super) end: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
            bytes.map(|two| usize::from(u16::from_be_bytes(two)))
        };
        let (first_row, end) = number(0).zip(number(2)).ok_or(Malformed)?;
        let fits = (HEADER..=bytes.len()).contains(&end);
        let rows_fit = first_row == 0 || (HEADER..end).contains(&first_row);
        if fits && rows_fit {
            Ok(Self {
                bytes,
                first_row,
                end,
            })
        } else {
            Err(Malformed)
        }
    }

    /// A number between `at` and the end of the rows, and the offset after it.
    pub(super) fn number(&self, at: usize) -> Result<(u64, usize), Malformed> {
        let bytes = self.bytes.get(at..self.end).ok_or(Malformed)?;
        let (number, length) = varint(bytes).ok_or(Malformed)?;
        Ok((number, at + length))
    }

    /// Bytes between two offsets.
    pub(super) fn slice(&self, from: usize, length: usize) -> Result<&'a [u8], Malformed> {
        let to = from.checked_add(length).filter(|to| *to <= self.end);
        to.and_then(|to| self.bytes.get(from..to)).ok_or(Malformed)
    }

    /// The offsets of the terms, ascending.
    pub(super) fn terms(&self) -> Terms<'a> {
        Terms {
            rest: self.bytes.get(self.end..).unwrap_or_default(),
            at: 0,
            end: self.end,
        }
    }
}

/// The offsets of the terms of a page.
pub(super) struct Terms<'a> {
    rest: &'a [u8],
    at: usize,
    end: usize,
}

impl Iterator for Terms<'_> {
    type Item = Result<usize, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let read = varint(self.rest).and_then(|(step, length)| {
            let at = self.at.checked_add(usize::try_from(step).ok()?)?;
            let fits = at > self.at && (HEADER..self.end).contains(&at);
            fits.then_some((at, length))
        });
        let Some((at, length)) = read else {
            self.rest = &[];
            return Some(Err(Malformed));
        };
        self.at = at;
        self.rest = self.rest.get(length..).unwrap_or_default();
        Some(Ok(at))
    }
}

/// Reads the rows of one term in one segment. They are appended to a vector with how often each
/// contains the term, ascending; 0 for a row that was deleted.
pub(super) struct Doclist<'a> {
    rows: &'a mut Vec<(u64, u32)>,
    /// How many rows are appended at most, and how many were.
    keep: usize,
    kept: usize,
    summary: Summary,
    /// Bytes of the positions of the last row that follow on the next page.
    left: usize,
}

/// What is known about the rows of one term in one segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// The first row and the last.
    pub(super) first: u64,
    pub(super) last: u64,
    /// How many rows contain the term.
    pub(super) live: u64,
    /// How many rows there are, with those that were deleted.
    found: u64,
    /// Whether all of them were kept.
    pub(super) is_complete: bool,
}

impl<'a> Doclist<'a> {
    pub(super) fn new(keep: usize, rows: &'a mut Vec<(u64, u32)>) -> Self {
        Self {
            rows,
            keep,
            kept: 0,
            summary: Summary::default(),
            left: 0,
        }
    }

    /// Reads the rows between two offsets of a page on which the doclist begins.
    pub(super) fn begin(&mut self, page: &Page<'_>, at: usize, to: usize) -> Result<(), Malformed> {
        if at >= to {
            return Ok(());
        }
        let at = self.absolute(page, at)?;
        self.rows(page, at, to)
    }

    /// Reads the rows of a later page. Returns whether the doclist may go on after it.
    pub(super) fn resume(&mut self, page: &Page<'_>) -> Result<bool, Malformed> {
        let first_term = page.terms().next().transpose()?;
        let to = first_term.unwrap_or(page.end);
        let at = self.positions(page, HEADER, to)?;
        if page.first_row == 0 {
            if at != to {
                return Err(Malformed);
            }
        } else if at == page.first_row && at < to {
            let at = self.absolute(page, at)?;
            self.rows(page, at, to)?;
        } else {
            return Err(Malformed);
        }
        Ok(first_term.is_none())
    }

    /// Ends the list. All positions must have been read.
    pub(super) fn finish(self) -> Result<Summary, Malformed> {
        if self.left == 0 {
            Ok(Summary {
                is_complete: self.summary.found == self.kept as u64,
                ..self.summary
            })
        } else {
            Err(Malformed)
        }
    }

    /// Reads a row that is stored as a number, with its positions.
    fn absolute(&mut self, page: &Page<'_>, at: usize) -> Result<usize, Malformed> {
        let before = page.slice(at, page.end - at)?;
        let mut bytes = before;
        let row = number(&mut bytes)?;
        self.entry(row, &mut bytes)?;
        Ok(at + before.len() - bytes.len())
    }

    fn rows(&mut self, page: &Page<'_>, at: usize, to: usize) -> Result<(), Malformed> {
        let length = to.checked_sub(at).ok_or(Malformed)?;
        let mut bytes = page.slice(at, length)?;
        while !bytes.is_empty() {
            let step = number(&mut bytes)?;
            let row = self.summary.last.checked_add(step).ok_or(Malformed)?;
            self.entry(row, &mut bytes)?;
        }
        Ok(())
    }

    /// Reads the size of the positions of a row, and as many of them as there are.
    fn entry(&mut self, row: u64, bytes: &mut &[u8]) -> Result<(), Malformed> {
        if self.summary.found > 0 && row <= self.summary.last {
            return Err(Malformed);
        }
        let size = number(bytes)?;
        if self.summary.found == 0 {
            self.summary.first = row;
        }
        self.summary.last = row;
        // The lowest bit says that the row replaces one of an older segment.
        self.left = usize::try_from(size / 2).map_err(|_| Malformed)?;
        self.summary.live += u64::from(self.left > 0);
        self.summary.found += 1;
        if self.kept < self.keep {
            self.rows.push((row, 0));
            self.kept += 1;
        }
        self.count(bytes);
        Ok(())
    }

    /// Counts the positions of the last row up to an offset.
    fn positions(&mut self, page: &Page<'_>, at: usize, to: usize) -> Result<usize, Malformed> {
        let length = to.checked_sub(at).ok_or(Malformed)?;
        let before = page.slice(at, length)?;
        let mut bytes = before;
        self.count(&mut bytes);
        Ok(at + before.len() - bytes.len())
    }

    /// Counts the positions of the last row, as far as they are here. Each ends with a byte below
    /// 128.
    fn count(&mut self, bytes: &mut &[u8]) {
        let here = self.left.min(bytes.len());
        let (positions, rest) = bytes.split_at(here);
        *bytes = rest;
        self.left -= here;
        if self.summary.found <= self.keep as u64
            && let Some(last) = self.rows.last_mut()
        {
            // Most rows contain a term once, at a position of one byte or two.
            last.1 += match positions {
                [_] | [128..=255, 0..=127] => 1,
                _ => positions.iter().filter(|byte| **byte < 128).count() as u32,
            };
        }
    }
}

/// Takes a number. Most are short.
fn number(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let (number, rest) = match *bytes {
        [one, rest @ ..] if *one < 128 => (u64::from(*one), rest),
        [one, two, rest @ ..] if *two < 128 => (u64::from(one & 127) << 7 | u64::from(*two), rest),
        _ => {
            let (number, length) = varint(bytes).ok_or(Malformed)?;
            (number, bytes.get(length..).unwrap_or_default())
        }
    };
    *bytes = rest;
    Ok(number)
}

/// A number in SQLite's format, big-endian with seven bits per byte, and its length. The ninth byte
/// has eight bits.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(9) {
        if at == 8 {
            return Some((number << 8 | u64::from(*byte), 9));
        }
        number = number << 7 | u64::from(byte & 127);
        if *byte < 128 {
            return Some((number, at + 1));
        }
    }
    None
}

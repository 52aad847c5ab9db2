//! The non-blank lines of a text, each with its position and the cost of a cut before it.
//!
//! Every later stage works on rows, so a chunk begins and ends at non-blank lines.

use crate::noise::Span;

/// The cost of a cut before a row; smaller is better. Values below [`Cut::PARAGRAPH`] begin a
/// section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cut(pub(super) u8);

impl Cut {
    pub(super) const PARAGRAPH: Cut = Cut(20);
    pub(super) const ITEM: Cut = Cut(40);
    pub(super) const LINE: Cut = Cut(60);
    /// A line in the middle of a sentence.
    pub(super) const WRAPPED: Cut = Cut(80);
    /// Between a heading and its text. This cut is the last resort.
    pub(super) const AVOID: Cut = Cut(200);
    /// Inside a block that stays whole.
    pub(super) const NEVER: Cut = Cut(255);

    /// The start of a section at `level`; 1 is the outermost.
    pub(super) fn section(level: u8) -> Cut {
        Cut(level.min(Cut::PARAGRAPH.0 - 1))
    }

    /// The same kind of cut, which costs more the deeper the row is indented.
    pub(super) fn at(self, column: u16) -> Cut {
        Cut(self.0 + (column / 2).min(15) as u8)
    }

    pub(super) fn is_section(self) -> bool {
        self < Cut::PARAGRAPH
    }
}

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) start: usize,
    /// The end, without the terminator.
    pub(super) end: usize,
    pub(super) line: u32,
    /// The indentation. A tab extends to the next multiple of four.
    pub(super) column: u16,
    /// Whether a blank line, or the start of the text, is directly before it.
    pub(super) gap: bool,
    pub(super) cut: Cut,
    /// One more than the index in `Outline::opens` of the block around this row; 0 is none.
    pub(super) inside: u32,
    /// Whether no chunk may reach over the start of this row, because noise is before it.
    pub(super) apart: bool,
    /// Whether a part of the row is noise.
    pub(super) torn: bool,
}

impl Row {
    pub(super) fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or("")
    }

    /// The row without indentation and trailing white space.
    pub(super) fn trimmed<'a>(&self, text: &'a str) -> &'a str {
        self.text(text).trim()
    }
}

/// Returns the rows of `text`; line numbers begin at `first_line`. All cuts follow from indentation
/// and blank lines alone.
pub(super) fn rows(text: &str, first_line: u32) -> Vec<Row> {
    let bytes = text.as_bytes();
    let mut rows = Vec::with_capacity(bytes.len() / 32);
    let mut line = first_line;
    let mut gap = true;
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', bytes).map(|newline| (newline, newline + 1));
    for (newline, next) in ends.chain(std::iter::once((bytes.len(), bytes.len()))) {
        let mut end = newline;
        if next > newline && end > start && bytes.get(end - 1) == Some(&b'\r') {
            end -= 1;
        }
        let content = text.get(start..end).unwrap_or("");
        match column(content) {
            Some(column) => {
                let kind = if gap { Cut::PARAGRAPH } else { Cut::LINE };
                rows.push(Row {
                    start,
                    end,
                    line,
                    column,
                    gap,
                    cut: kind.at(column),
                    inside: 0,
                    apart: false,
                    torn: false,
                });
                gap = false;
            }
            None => gap = true,
        }
        start = next;
        line = line.saturating_add(1);
    }
    rows
}

/// Removes the rows that are noise, and marks those with noise in them and those after it. The spans
/// are sorted.
pub(super) fn leave_out(rows: &mut Vec<Row>, noise: &[Span]) {
    let mut noise = noise.iter().map(|span| &span.bytes).peekable();
    let mut apart = false;
    rows.retain_mut(|row| {
        while noise.next_if(|span| span.end <= row.start).is_some() {}
        let here = noise.peek().filter(|span| span.start < row.end);
        if here.is_some_and(|span| span.start <= row.start && row.end <= span.end) {
            apart = true;
            return false;
        }
        row.torn = here.is_some();
        row.apart = apart || row.torn;
        row.gap |= apart;
        apart = row.torn;
        true
    });
}

/// Returns the indentation of a line; `None` if it is blank.
fn column(line: &str) -> Option<u16> {
    let mut column = 0u16;
    for &byte in line.as_bytes() {
        match byte {
            b' ' => column = column.saturating_add(1),
            b'\t' => column = (column & !3).saturating_add(4),
            b'\r' | 0x0b | 0x0c => {}
            _ => break,
        }
    }
    let first = line.trim_start_matches([' ', '\t', '\r', '\x0b', '\x0c']);
    match first.as_bytes().first() {
        None => None,
        // White space beyond ASCII makes a line blank too.
        Some(byte) if !byte.is_ascii() && first.trim_start().is_empty() => None,
        Some(_) => Some(column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_feeds_end_lines() {
        let text = "a\r\n\r\n\tb\rc\n\u{3000}\n  d\r";
        let rows = rows(text, 5);
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.line, row.text(text), row.column, row.gap))
            .collect();
        assert_eq!(
            seen,
            [
                (5, "a", 0, true),
                (7, "\tb\rc", 4, true),
                (9, "  d\r", 2, true)
            ]
        );
    }
}

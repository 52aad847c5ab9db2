//! Packs the rows of an outline into chunks.
//!
//! Packing restarts at every section that is long enough to stand alone. Among equally good cut
//! points it takes the one whose line has the smallest hash. An edit therefore changes only the
//! chunks around it.

use std::collections::HashSet;
use std::ops::Range;

use super::outline::Outline;
use super::pieces::pieces;
use super::rows::{Cut, Row};
use super::{Chunk, Size, Split};
use crate::noise::Span;

/// Sizes that are consistent with each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    target: usize,
    max: usize,
    min: usize,
    overlap: usize,
    /// A chunk smaller than this is only made if the structure requires it.
    low: usize,
}

impl Limits {
    pub(super) fn of(size: &Size) -> Limits {
        let max = size.max.max(1);
        let target = size.target.clamp(1, max);
        Limits {
            target,
            max,
            min: size.min.min(target),
            overlap: size.overlap,
            low: target / 2,
        }
    }

    /// The largest block that stays whole.
    pub(super) fn whole(&self) -> usize {
        self.max.saturating_mul(8)
    }
}

/// Returns all chunks of the outline of `text`.
pub(super) fn pack(text: &str, outline: &Outline, limits: Limits, noise: &[Span]) -> Split {
    let mut packer = Packer {
        text,
        outline,
        limits,
        noise,
        chunks: Vec::new(),
        section: 0,
        from: 0,
        heading: 0,
    };
    let mut section = 0;
    while section < outline.sections.len() {
        let (next, heading) = packer.run(section);
        packer.heading = heading;
        let first = outline
            .sections
            .get(section)
            .map_or(0, |section| section.row);
        packer.pack_run(first, outline.section_end(next - 1));
        section = next;
    }
    let last_trail = outline.trail(packer.section, packer.from);
    Split {
        chunks: packer.chunks,
        last_trail,
        title: None,
    }
}

struct Packer<'a> {
    text: &'a str,
    outline: &'a Outline,
    limits: Limits,
    noise: &'a [Span],
    chunks: Vec<Chunk>,
    /// The section and row at which the last chunk starts.
    section: usize,
    from: usize,
    /// The section whose heading is used for a chunk that begins with titles above that section.
    heading: usize,
}

/// A possible end of a chunk, ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CutPoint {
    cut: Cut,
    zone: u8,
    order: u64,
    row: usize,
}

impl Packer<'_> {
    fn row(&self, row: usize) -> Option<&Row> {
        self.outline.rows.get(row)
    }

    fn level(&self, section: usize) -> u8 {
        self.outline
            .sections
            .get(section)
            .map_or(0, |section| section.level)
    }

    fn section_bytes(&self, first: usize, end: usize) -> usize {
        let start = self
            .outline
            .sections
            .get(first)
            .map_or(0, |section| section.row);
        self.outline.bytes(start, self.outline.section_end(end - 1))
    }

    /// Returns the first section after those that are packed together with `first`, and the one
    /// that gives them their heading.
    ///
    /// A long section takes in the short ones below it. Short sections are packed together up to
    /// the next long one. The last of these go with the long one if they are its parents and
    /// consist only of titles.
    fn run(&self, first: usize) -> (usize, usize) {
        let is_long = |section| self.section_bytes(section, section + 1) >= self.limits.min;
        let mut long = is_long(first).then(|| self.level(first));
        let (mut next, mut heading) = (first + 1, first);
        while next < self.outline.sections.len() {
            let level = self.level(next);
            if long.is_some_and(|long| level <= long) {
                break;
            }
            if is_long(next) {
                let titles = self.titles_above(first, next);
                if long.is_some() || titles > first {
                    next = titles.max(first + 1);
                    break;
                }
                heading = next;
                long = Some(level);
            }
            next += 1;
        }
        (next, heading)
    }

    /// Returns the first of the sections before `long` that are only titles above it. It searches
    /// back to `first`.
    fn titles_above(&self, first: usize, long: usize) -> usize {
        let mut titles = long;
        while titles > first
            && self.level(titles - 1) < self.level(titles)
            && self.section_bytes(titles - 1, long) <= self.limits.min / 4
        {
            titles -= 1;
        }
        titles
    }

    fn pack_run(&mut self, mut from: usize, end: usize) {
        while from < end {
            let to = self.apart_end(from, end);
            self.pack_rows(from, to);
            from = to;
        }
    }

    /// Returns the first row after `from` that no chunk may reach.
    fn apart_end(&self, from: usize, end: usize) -> usize {
        let rest = self.outline.rows.get(from + 1..end).unwrap_or_default();
        let inside = rest.iter().take_while(|row| !row.apart);
        from + 1 + inside.count()
    }

    fn pack_rows(&mut self, mut from: usize, end: usize) {
        let mut previous = None;
        while from < end {
            let to = self.choose(from, end);
            previous = Some(self.emit(from, to, previous));
            from = to;
        }
    }

    /// Returns the first row after a block that stays whole and starts at `row`.
    fn whole_end(&self, row: usize, end: usize) -> usize {
        let rest = self.outline.rows.get(row + 1..end).unwrap_or_default();
        let inside = rest.iter().take_while(|row| row.cut == Cut::NEVER);
        row + 1 + inside.count()
    }

    /// Returns the first row after the chunk that starts at `from`.
    fn choose(&mut self, from: usize, end: usize) -> usize {
        let Limits {
            target, max, min, ..
        } = self.limits;
        let unit = self.whole_end(from, end);
        if self.outline.bytes(from, unit) > max {
            return unit;
        }
        self.seek(from);
        let level = self.level(self.section);
        let at_section = self
            .outline
            .sections
            .get(self.section)
            .is_some_and(|section| section.row == from && section.level > 0);
        let start = self.row(from).map_or(0, |row| row.start);

        let mut best: Option<CutPoint> = None;
        let mut section = self.section;
        let mut size = 0;
        let mut row = unit;
        // Ends when everything fits, at a section that is not below the first one, or when no more
        // fits.
        let all = loop {
            size = self.row(row - 1).map_or(size, |row| row.end - start);
            if size > max {
                break None;
            }
            if row >= end {
                break Some(end);
            }
            let Some(here) = self.row(row) else {
                break Some(end);
            };
            if here.cut.is_section() {
                section += 1;
                if self.level(section) < level {
                    break Some(row);
                }
            }
            if here.cut != Cut::NEVER {
                let place = self.place(here, row, size, at_section);
                if best.is_none_or(|best| place.cut <= best.cut) {
                    let hash = || hash(here.text(self.text));
                    let place = CutPoint {
                        order: if place.zone == 0 { hash() } else { place.order },
                        ..place
                    };
                    best = best.map(|best| best.min(place)).or(Some(place));
                }
            }
            row += 1;
        };
        let Some(best) = best else {
            return all.unwrap_or(unit);
        };
        match all {
            Some(all) if size <= target => all,
            Some(all) if !best.cut.is_section() && (at_section || size <= target + min) => all,
            _ if at_section && !best.cut.is_section() => {
                self.section_within(from, end).unwrap_or(best.row)
            }
            _ => best.row,
        }
    }

    /// Rates the end of a chunk of `size` bytes before `row`. The hash is computed later.
    fn place(&self, here: &Row, row: usize, size: usize, at_section: bool) -> CutPoint {
        let Limits {
            target, min, low, ..
        } = self.limits;
        let mut cut = here.cut;
        let (zone, order) = if size > target {
            if !at_section {
                // Balancing the rest of a long section is preferred to keeping its end in one
                // chunk.
                cut = cut.max(Cut(Cut::ITEM.0 - 2));
            }
            (1, size as u64)
        } else if size >= low {
            (0, 0)
        } else if size >= min {
            (2, u64::MAX - size as u64)
        } else {
            cut = if cut < Cut::ITEM && size >= min / 4 {
                Cut(Cut::ITEM.0 - 1)
            } else {
                Cut(cut.0.saturating_add(100).min(Cut::NEVER.0 - 1))
            };
            (3, u64::MAX - size as u64)
        };
        CutPoint {
            cut,
            zone,
            order,
            row,
        }
    }

    /// Returns the end of the section that starts at `from`, or of the one below it if this is only
    /// a title, if all of it fits in one chunk.
    fn section_within(&self, from: usize, end: usize) -> Option<usize> {
        let mut section = self.section;
        let mut to = self.outline.section_end(section);
        while to < end && self.outline.bytes(from, to) <= self.limits.min / 4 {
            section += 1;
            to = self.outline.section_end(section);
        }
        (self.outline.bytes(from, to) <= self.limits.max).then_some(to)
    }

    /// Moves to the section of `row`.
    fn seek(&mut self, row: usize) {
        while self
            .outline
            .sections
            .get(self.section + 1)
            .is_some_and(|next| next.row <= row)
        {
            self.section += 1;
        }
    }

    /// Adds the chunk of these rows and returns the row at which it starts.
    fn emit(&mut self, from: usize, to: usize, previous: Option<usize>) -> usize {
        self.seek(from);
        let first = self.section;
        let mut last = first;
        while self
            .outline
            .sections
            .get(last + 1)
            .is_some_and(|next| next.row < to)
        {
            last += 1;
        }
        let under = if (first..=last).contains(&self.heading) {
            self.heading
        } else {
            first
        };
        let heading = self.outline.heading(under, last);
        let from = self.overlapped(from, to, previous);
        self.from = from;
        let (Some(head), Some(tail)) = (self.row(from), self.row(to - 1)) else {
            return from;
        };
        if from + 1 == to && (head.torn || head.end - head.start > self.limits.max) {
            let line = head.line;
            let parts = self.parts(head);
            let count = parts.len() as u32;
            for ((bytes, is_left_out), number) in parts.into_iter().zip(1..) {
                if is_left_out {
                    continue;
                }
                self.chunks.push(Chunk {
                    start_line: line,
                    end_line: line,
                    bytes,
                    part: (count > 1).then_some((number, count)),
                    heading: heading.clone(),
                });
            }
        } else {
            self.chunks.push(Chunk {
                start_line: head.line,
                end_line: tail.line,
                bytes: head.start..tail.end,
                part: None,
                heading,
            });
        }
        from
    }

    /// Returns the parts of a line, and whether they are left out. They join to the line.
    fn parts(&self, row: &Row) -> Vec<(Range<usize>, bool)> {
        let first = self
            .noise
            .partition_point(|span| span.bytes.end <= row.start);
        let noise = self.noise.get(first..).unwrap_or_default().iter();
        let mut parts = Vec::new();
        let mut seen = HashSet::new();
        let mut start = row.start;
        let mut text = |from: usize, to: usize, parts: &mut Vec<_>| {
            let mut start = from;
            for part in pieces(self.text.get(from..to).unwrap_or_default(), self.limits.max) {
                // A source has one drawer per line and text.
                let is_left_out = part.trim().is_empty() || !seen.insert(part);
                parts.push((start..start + part.len(), is_left_out));
                start += part.len();
            }
        };
        for span in noise
            .map(|span| &span.bytes)
            .take_while(|span| span.start < row.end)
        {
            let (from, to) = (span.start.max(start), span.end.min(row.end));
            text(start, from, &mut parts);
            parts.push((from..to, true));
            start = to;
        }
        text(start, row.end, &mut parts);
        parts
    }

    /// Returns the start of the chunk including repeated lines of the one before, which starts at
    /// `previous`.
    fn overlapped(&self, from: usize, to: usize, previous: Option<usize>) -> usize {
        let (Some(previous), Some(head)) = (previous, self.row(from)) else {
            return from;
        };
        let section = self
            .outline
            .sections
            .get(self.section)
            .map_or(0, |section| section.row);
        let mut best = from;
        for row in (previous + 1..from).rev() {
            let Some(here) = self.row(row) else { break };
            if row < section
                || head.start - here.start > self.limits.overlap
                || self.outline.bytes(row, to) > self.limits.max
            {
                break;
            }
            if here.cut != Cut::NEVER {
                best = row;
            }
        }
        best
    }
}

/// Hashes the beginning of a line. The chunks of a text depend on this hash, so it must never
/// change.
fn hash(line: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for word in line.as_bytes().chunks(8).take(8) {
        let mut value = [0; 8];
        for (to, from) in value.iter_mut().zip(word) {
            *to = *from;
        }
        hash = (hash ^ u64::from_le_bytes(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    }
    hash
}

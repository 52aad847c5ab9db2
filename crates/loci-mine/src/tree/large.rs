//! A large file of text: read and filed in sections. Memory holds one section at a time.

use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::Path;

use loci_core::{Error, Result, SourceHash};
use serde::{Deserialize, Serialize};

use super::document::{Text, drops};
use super::stat::Opened;
use super::{FILE, Tree, base};
use crate::document::Format;
use crate::intake::{Intake, first_half, hash_of};
use crate::source::{Before, Item, Read, Section};
use crate::split::Trail;

/// Bytes of a section, up to the end of a line.
const SECTION_BYTES: usize = 2 << 20;
/// A line is not read further than this; the rest of it counts as a line of its own.
const LINE_BYTES: usize = 4 << 20;

/// Where a section lies and what was in force where it begins.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Mark {
    start: u64,
    end: u64,
    line: u32,
    trail: Trail,
}

/// Ranges of bytes whose hashes are known, and the hash of the whole file.
pub(super) struct Survey {
    pub(super) whole: SourceHash,
    /// How many ranges, from the first on, are as they were.
    pub(super) same: usize,
}

/// Reads a file once, up to `size`: what of it is as it was?
pub(super) fn survey(
    opened: &mut Opened,
    known: &[(u64, u64, SourceHash)],
) -> std::io::Result<Survey> {
    opened.file.seek(SeekFrom::Start(0))?;
    let size = opened.stat.size;
    let mut reader = BufReader::with_capacity(1 << 20, (&mut opened.file).take(size));
    let mut whole = blake3::Hasher::new();
    let mut part = blake3::Hasher::new();
    let (mut at, mut same, mut matching) = (0_u64, 0_usize, true);
    loop {
        let range = known.get(same).filter(|_| matching).copied();
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(Survey {
                whole: first_half(&whole.finalize()),
                same,
            });
        }
        let wanted = match range {
            Some((start, end, _)) if start == at || part.count() > 0 => {
                (end - at).min(bytes.len() as u64) as usize
            }
            // Ranges follow each other without a gap; another order is not ours.
            Some(_) => {
                matching = false;
                bytes.len()
            }
            None => bytes.len(),
        };
        let taken = bytes.get(..wanted).unwrap_or(bytes);
        whole.update(taken);
        if matching {
            part.update(taken);
        }
        let length = taken.len();
        at += length as u64;
        reader.consume(length);
        if let Some((_, end, hash)) = range.filter(|_| matching)
            && at == end
        {
            if first_half(&part.finalize()) == hash {
                same += 1;
            } else {
                matching = false;
            }
            part.reset();
        }
    }
}

pub(super) fn read(
    tree: &Tree,
    item: &Item,
    format: &Format,
    mut opened: Opened,
    intake: &mut Intake<'_>,
) -> Result<Read> {
    let path = Path::new(&item.name);
    let fail = |error| Error::io("cannot read", path, error);
    let before = intake.before(&item.name)?;
    let marks = marks(&before, intake.recipe());
    let ranges: Vec<_> = marks
        .iter()
        .map(|(mark, hash)| (mark.start, mark.end, *hash))
        .collect();
    let survey = survey(&mut opened, &ranges).map_err(fail)?;
    intake.bytes(opened.stat.size);
    let place = intake.place(&before, tree.place(item)?);
    if intake.is_current(&before, &survey.whole, &place) {
        intake.touch(&before);
        return Ok(Read::Unchanged);
    }
    if before.head().is_none() && intake.moved(&survey.whole, &super::is_gone)? {
        return Ok(Read::Moved);
    }
    let moved_place = before
        .head()
        .is_some_and(|head| head.wing != place.wing || head.room != place.room);
    // A section that ends the file may have ended in the middle of a chunk.
    let ended = marks.len() > 0 && survey.same == marks.len();
    let kept = if moved_place {
        0
    } else {
        survey.same.saturating_sub(usize::from(ended))
    };
    let head = Section {
        name: item.name.clone(),
        kind: FILE,
        place: place.clone(),
        hash: survey.whole,
        ..Section::default()
    };
    let begun = intake.begin(&before, &head)?;
    let mut mark = match kept.checked_sub(1).and_then(|last| marks.get(last)) {
        Some(_) => marks.get(kept).map(|(mark, _)| mark.clone()),
        None => None,
    }
    .unwrap_or(Mark {
        line: 1,
        ..Mark::default()
    });
    let mut number = if mark.start == 0 { 0 } else { kept as u32 };
    let text = Text {
        tree,
        name: &item.name,
        place: &place,
        format,
    };
    let common = base(&item.name, &place);
    opened
        .file
        .seek(SeekFrom::Start(mark.start))
        .map_err(fail)?;
    let left = opened.stat.size - mark.start.min(opened.stat.size);
    let mut reader = BufReader::with_capacity(1 << 20, (&mut opened.file).take(left));
    let mut carried: Vec<u8> = Vec::new();
    loop {
        if intake.is_stopped() {
            return Ok(Read::Skipped(
                "stopped in the middle; the next run goes on".into(),
            ));
        }
        let mut bytes = std::mem::take(&mut carried);
        let at_end = fill(&mut reader, &mut bytes).map_err(fail)?;
        if bytes.is_empty() {
            break;
        }
        let words = String::from_utf8_lossy(&bytes);
        let (mut pieces, trail) = text.pieces(&words, mark.line, &mark.trail, &common, intake)?;
        let mut next = Mark {
            start: mark.start + bytes.len() as u64,
            line: mark.line + bytes.iter().filter(|byte| **byte == b'\n').count() as u32,
            ..Mark::default()
        };
        // The last chunk may go on behind the section: it is left to the next one.
        if !at_end && let Some(line) = last_line(&pieces).filter(|line| *line > mark.line) {
            let offset = offset_of_line(&bytes, line - mark.line);
            pieces.retain(|piece| line_of(piece) < line);
            carried = bytes.split_off(offset.min(bytes.len()));
            next = Mark {
                start: mark.start + bytes.len() as u64,
                line,
                trail,
                ..Mark::default()
            };
        }
        number += 1;
        mark.end = mark.start + bytes.len() as u64;
        let section = Section {
            name: item.name.clone(),
            number,
            kind: FILE,
            place: place.clone(),
            hash: hash_of(&bytes),
            mark: serde_json::to_string(&mark).unwrap_or_default(),
            pieces: Some(pieces),
            drops: drops(&before),
            grows: false,
        };
        intake.section(&begun, section)?;
        mark = next;
    }
    intake.finish(&begun, &head, number)?;
    Ok(Read::Filed)
}

/// The sections of an earlier run, as long as they follow each other from the start of the file.
fn marks(before: &Before, recipe: &str) -> Vec<(Mark, SourceHash)> {
    let mut marks: Vec<(Mark, SourceHash)> = Vec::new();
    for row in before.rows().iter().filter(|row| row.section > 0) {
        let Ok(mark) = serde_json::from_str::<Mark>(&row.mark) else {
            break;
        };
        let follows = mark.start == marks.last().map_or(0, |(last, _)| last.end);
        if row.section as usize != marks.len() + 1 || !follows || row.recipe != recipe {
            break;
        }
        marks.push((mark, row.hash));
    }
    marks
}

/// Reads up to the size of a section and on to the end of the line; true at the end of the file.
fn fill(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> std::io::Result<bool> {
    while bytes.len() < SECTION_BYTES {
        let wanted = (SECTION_BYTES - bytes.len()) as u64;
        if reader.by_ref().take(wanted).read_to_end(bytes)? == 0 {
            return Ok(true);
        }
    }
    if bytes.last() != Some(&b'\n') {
        reader
            .by_ref()
            .take(LINE_BYTES as u64)
            .read_until(b'\n', bytes)?;
    }
    // A character is not cut.
    for _ in 0..3 {
        let cut = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
        if !cut || reader.by_ref().take(1).read_to_end(bytes)? == 0 {
            break;
        }
    }
    Ok(reader.fill_buf()?.is_empty())
}

fn line_of(piece: &loci_core::Piece) -> u32 {
    match piece.metadata.get("start_line") {
        Some(loci_core::MetaValue::Int(line)) => u32::try_from(*line).unwrap_or_default(),
        _ => 0,
    }
}

fn last_line(pieces: &[loci_core::Piece]) -> Option<u32> {
    pieces.iter().map(line_of).max()
}

/// Where the line begins that has so many lines before it.
fn offset_of_line(bytes: &[u8], lines: u32) -> usize {
    if lines == 0 {
        return 0;
    }
    bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(lines as usize - 1)
        .map_or(bytes.len(), |(at, _)| at + 1)
}

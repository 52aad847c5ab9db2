//! Files a large text file in sections. Memory holds one section at a time.

use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::Path;

use loci_core::{Error, Metadata, Piece, Result, SourceHash};
use serde::{Deserialize, Serialize};

use super::document::{self, Text, drops, leave_out};
use super::sections::{self, survey};
use super::stat::Opened;
use super::{FILE, ReadOptions, Tree, base};
use crate::document::Format;
use crate::intake::{Intake, hash_of};
use crate::noise::{self, Noise, Search};
use crate::source::{Item, Read, Section};
use crate::split::Trail;

/// The size of a section, which extends to the end of a line.
const SECTION_BYTES: usize = 512 << 10;
/// A longer line is split, and the rest counts as a line of its own.
const LINE_BYTES: usize = 4 << 20;

/// The size and number of the samples by which a large file is judged.
const SAMPLE_BYTES: usize = 64 << 10;
const SAMPLES: u64 = 4;

/// Returns the kind of noise that all samples of a file consist of, from its start to its end.
fn sampled(opened: &mut Opened, format: &Format, search: Search) -> std::io::Result<Option<Noise>> {
    let mut found = None;
    let last = opened.stat.size.saturating_sub(SAMPLE_BYTES as u64);
    for sample in 0..SAMPLES {
        let start = last / (SAMPLES - 1) * sample;
        opened.file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::with_capacity(SAMPLE_BYTES);
        (&mut opened.file)
            .take(SAMPLE_BYTES as u64)
            .read_to_end(&mut bytes)?;
        let words = String::from_utf8_lossy(&bytes);
        // The sample begins and ends in the middle of a line, unless the line is longer.
        let from = if start == 0 {
            0
        } else {
            words.find('\n').map_or(0, |at| at + 1)
        };
        let to = words
            .rfind('\n')
            .filter(|to| *to > from)
            .unwrap_or(words.len());
        let words = words.get(from..to).unwrap_or(&words);
        match noise::find(words, format, search).verdict(words, format) {
            Some(kind) => found = Some(kind),
            None => return Ok(None),
        }
    }
    Ok(found)
}

/// The position of a section, and the context where it begins.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Mark {
    start: u64,
    end: u64,
    line: u32,
    /// How many parts of its first line are in earlier sections. A line may be longer than a
    /// section.
    #[serde(default)]
    parts: u32,
    trail: Trail,
}

impl Mark {
    /// The mark of the first section.
    fn first() -> Self {
        Self {
            line: 1,
            ..Self::default()
        }
    }
}

pub(super) fn read(
    tree: &Tree,
    mut options: ReadOptions,
    item: &Item,
    format: &Format,
    mut opened: Opened,
    intake: &mut Intake<'_>,
) -> Result<Read> {
    let path = Path::new(&item.name);
    let fail = |error| Error::io("cannot read", path, error);
    let verdict = sampled(&mut opened, format, options.search).map_err(fail)?;
    if let Err(skip) = options.judge(verdict) {
        return leave_out(item, skip, intake);
    }
    let before = intake.before(&item.name)?;
    let marks = sections::known(&before, intake.recipe(), |mark: &Mark| {
        (mark.start, mark.end)
    });
    let ranges: Vec<_> = marks
        .iter()
        .map(|(mark, hash)| (mark.start, mark.end, *hash))
        .collect();
    let survey = survey(&mut opened, &ranges).map_err(fail)?;
    intake.bytes(opened.stat.size);
    let place = intake.settle(&before, tree.locate(item)?)?;
    if intake.is_current(&before, &survey.whole, &place) {
        intake.touch(&before);
        return Ok(Read::Unchanged);
    }
    if before.head().is_none()
        && intake.moved(&survey.whole, &|old| {
            super::is_same_kind_gone(old, &item.name)
        })?
    {
        return Ok(Read::Moved);
    }
    let moved_place = before
        .head()
        .is_some_and(|head| head.wing != place.wing || head.room != place.room);
    let (mut number, mark) = if moved_place || intake.reads_all() {
        (0, Mark::first())
    } else {
        resume(&marks, survey.same)
    };
    let head = Section {
        name: item.name.clone(),
        kind: FILE,
        place: place.clone(),
        hash: survey.whole,
        mark: serde_json::to_string(&document::Mark::of_sections()).unwrap_or_default(),
        ..Section::default()
    };
    let begun = intake.begin(&before, &head)?;
    opened
        .file
        .seek(SeekFrom::Start(mark.start))
        .map_err(fail)?;
    let left = opened.stat.size - mark.start.min(opened.stat.size);
    let mut cutter = Cutter {
        reader: BufReader::with_capacity(1 << 20, (&mut opened.file).take(left)),
        text: Text {
            options,
            name: &item.name,
            format,
            whole: false,
            title: None,
        },
        common: base(&item.name, &place),
        mark,
        carried: Vec::new(),
    };
    loop {
        if intake.is_stopped() {
            return Ok(Read::Skipped(
                "stopped in the middle; the next run continues".into(),
            ));
        }
        let Some(cut) = cutter.next(path, intake)? else {
            break;
        };
        number += 1;
        let section = Section {
            name: item.name.clone(),
            number,
            kind: FILE,
            place: place.clone(),
            hash: cut.hash,
            mark: serde_json::to_string(&cut.mark).unwrap_or_default(),
            pieces: Some(cut.pieces),
            drops: drops(&before),
            grows: false,
        };
        intake.section(&begun, section)?;
    }
    // The filed bytes must be the hashed ones. Otherwise the source stays incomplete and is read
    // again.
    sections::require_same(path, opened.stat.size, &survey.whole)?;
    intake.finish(&begun, &head, number)?;
    Ok(Read::Filed)
}

/// How many sections are kept, and where the next one begins, if the first `same` are unchanged.
fn resume(marks: &[(Mark, SourceHash)], same: usize) -> (u32, Mark) {
    // A section at the end of the file may have ended in the middle of a chunk.
    let ended = !marks.is_empty() && same == marks.len();
    let kept = same.saturating_sub(usize::from(ended));
    match marks.get(kept).filter(|_| kept > 0) {
        Some((mark, _)) if mark.start > 0 => (kept as u32, mark.clone()),
        _ => (0, Mark::first()),
    }
}

/// Cuts a file into sections, from a mark on.
struct Cutter<'a, R> {
    reader: R,
    text: Text<'a>,
    /// The metadata of every piece.
    common: Metadata,
    /// Where the next section begins.
    mark: Mark,
    /// Bytes after the last chunk of the section before.
    carried: Vec<u8>,
}

/// One section of a file.
struct Cut {
    mark: Mark,
    hash: SourceHash,
    pieces: Vec<Piece>,
}

impl<R: BufRead> Cutter<'_, R> {
    /// The next section, or `None` at the end of the file.
    fn next(&mut self, path: &Path, intake: &mut Intake<'_>) -> Result<Option<Cut>> {
        let mut bytes = std::mem::take(&mut self.carried);
        let at_end = fill(&mut self.reader, &mut bytes)
            .map_err(|error| Error::io("cannot read", path, error))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut mark = std::mem::take(&mut self.mark);
        let words = String::from_utf8_lossy(&bytes);
        let (mut pieces, trail) =
            self.text
                .pieces(&words, mark.line, &mark.trail, &self.common, intake)?;
        let last_part = number_parts(&mut pieces, &mark);
        let ends_line = bytes.last() == Some(&b'\n');
        self.mark = Mark {
            start: mark.start + bytes.len() as u64,
            parts: if ends_line { 0 } else { last_part },
            line: mark.line + memchr::memchr_iter(b'\n', &bytes).count() as u32,
            ..Mark::default()
        };
        // The last chunk may continue after the section, so it is left to the next one.
        if !at_end && let Some(line) = last_line(&pieces).filter(|line| *line > mark.line) {
            let offset = offset_of_line(&bytes, line - mark.line);
            pieces.retain(|piece| line_of(piece) < line);
            self.carried = bytes.split_off(offset.min(bytes.len()));
            self.mark = Mark {
                start: mark.start + bytes.len() as u64,
                line,
                trail,
                ..Mark::default()
            };
        }
        mark.end = mark.start + bytes.len() as u64;
        Ok(Some(Cut {
            mark,
            hash: hash_of(&bytes),
            pieces,
        }))
    }
}

/// Reads one section up to the end of a line. Returns `true` at the end of the file.
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
    // A section must not end inside a character.
    for _ in 0..3 {
        let cut = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
        if !cut || reader.by_ref().take(1).read_to_end(bytes)? == 0 {
            break;
        }
    }
    Ok(reader.fill_buf()?.is_empty())
}

/// Numbers the parts of a line that continues from the section before. Returns the last part of the
/// last line.
fn number_parts(pieces: &mut [Piece], mark: &Mark) -> u32 {
    let mut last = (mark.line, mark.parts);
    for piece in pieces {
        let line = line_of(piece);
        if line == mark.line && mark.parts > 0 {
            piece.part += mark.parts;
            super::set(&mut piece.metadata, "part", i64::from(piece.part));
            piece.metadata.0.remove("parts");
        }
        last = (line, piece.part);
    }
    last.1
}

fn line_of(piece: &Piece) -> u32 {
    match piece.metadata.get("start_line") {
        Some(loci_core::MetaValue::Int(line)) => u32::try_from(*line).unwrap_or_default(),
        _ => 0,
    }
}

fn last_line(pieces: &[Piece]) -> Option<u32> {
    pieces.iter().map(line_of).max()
}

/// Returns the offset of the line that has this many lines before it.
fn offset_of_line(bytes: &[u8], lines: u32) -> usize {
    if lines == 0 {
        return 0;
    }
    memchr::memchr_iter(b'\n', bytes)
        .nth(lines as usize - 1)
        .map_or(bytes.len(), |at| at + 1)
}

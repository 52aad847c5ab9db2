//! Files a text file that is read as a whole.

use std::io::{Read as _, Seek, SeekFrom};
use std::path::Path;

use loci_core::{Error, MetaValue, Metadata, Piece, Result, TextPlace};
use serde::{Deserialize, Serialize};

use super::stat::Opened;
use super::{FILE, TextOptions, Tree, base, is_reserved, own_keys, set, set_lines};
use crate::document::{self, Format};
use crate::intake::{Intake, hash_of, without_lines};
use crate::place::Placement;
use crate::source::{Before, Item, Read, Section};
use crate::split::{self, Chunk, FrontValue, Split, Trail};

/// How often a file is read again because it changed during the read.
const ATTEMPTS: usize = 3;
/// The most frontmatter keys, and the most bytes of one value.
const FRONT_KEYS: usize = 32;
const FRONT_BYTES: usize = 1_024;

/// The data that is kept to detect changes of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Mark {
    /// The keys that its frontmatter set.
    front: Vec<String>,
}

/// Whether the text must be extracted from another format.
pub(super) fn is_extracted(format: &Format) -> bool {
    matches!(format, Format::Html | Format::Pdf | Format::Docx)
}

pub(super) fn is_utf8(head: &[u8]) -> bool {
    document::encoding_of(head).is_some_and(|encoding| encoding == encoding_rs::UTF_8)
}

pub(super) fn read(
    tree: &Tree,
    text_options: TextOptions,
    item: &Item,
    opened: Opened,
    intake: &mut Intake<'_>,
) -> Result<Read> {
    let path = Path::new(&item.name);
    let bytes = read_settled(tree, path, opened, intake)?;
    intake.bytes(bytes.len() as u64);
    let hash = hash_of(&bytes);
    let before = intake.before(&item.name)?;
    let place = intake.settle(&before, tree.locate(item)?)?;
    if intake.is_current(&before, &hash, &place) {
        intake.touch(&before);
        return Ok(Read::Unchanged);
    }
    if before.head().is_none()
        && intake.moved(&hash, &|old| super::is_same_kind_gone(old, &item.name))?
    {
        return Ok(Read::Moved);
    }
    let document = match document::read(path, bytes) {
        Ok(document) => document,
        Err(skip) => return leave_out(item, skip.to_string(), intake),
    };
    let text = Text {
        options: text_options,
        name: &item.name,
        format: &document.format,
        whole: true,
    };
    let mut common = base(&item.name, &place);
    if let Some(encoding) = &document.encoding {
        set(&mut common, "encoding", encoding.as_str());
    }
    if document.extracted {
        set(&mut common, "extracted", true);
    }
    let mut front = add_frontmatter(&document.format, &document.text, &mut common);
    let (pieces, _) = text.pieces(&document.text, 1, &Trail::default(), &common, intake)?;
    if pieces.is_empty() {
        // No drawer has these keys, because all of the file may have been forgotten.
        front.clear();
    }
    let section = Section {
        name: item.name.clone(),
        kind: FILE,
        place: place.clone(),
        hash,
        drops: drops(&before),
        mark: serde_json::to_string(&Mark { front }).unwrap_or_default(),
        pieces: Some(pieces),
        ..Section::default()
    };
    // A file that was large before has sections, which are removed now.
    if before.rows().len() > 1 {
        intake.whole_again(&before, &section)?;
    } else {
        intake.whole(&before, section);
    }
    Ok(Read::Filed)
}

/// Handles a file that has no text to file: removes its drawers and counts the reason.
pub(super) fn leave_out(item: &Item, reason: String, intake: &mut Intake<'_>) -> Result<Read> {
    let before = intake.before(&item.name)?;
    let Some(head) = before.head() else {
        return Ok(Read::Skipped(reason));
    };
    let section = Section {
        name: item.name.clone(),
        kind: FILE,
        place: Placement {
            wing: head.wing.clone(),
            room: head.room.clone(),
        },
        pieces: Some(Vec::new()),
        ..Section::default()
    };
    if before.rows().len() > 1 {
        intake.whole_again(&before, &section)?;
    } else {
        intake.whole(&before, section);
    }
    Ok(Read::Skipped(reason))
}

/// Reads a file that does not change during the read.
fn read_settled(
    tree: &Tree,
    path: &Path,
    mut opened: Opened,
    intake: &mut Intake<'_>,
) -> Result<Vec<u8>> {
    let fail = |error| Error::io("cannot read", path, error);
    for _ in 0..ATTEMPTS {
        opened.file.seek(SeekFrom::Start(0)).map_err(fail)?;
        let mut bytes = Vec::with_capacity(opened.stat.size as usize);
        opened.file.read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() as u64 == opened.stat.size && opened.is_same().map_err(fail)? {
            return Ok(bytes);
        }
        opened = Opened::open(path, &tree.reading.allowed).map_err(fail)?;
        intake.set_stat(opened.stat);
    }
    Err(Error::invalid(
        format!("`{}`", path.display()),
        "changed while it was being read; the next run tries again",
    ))
}

/// Returns the keys that drawers lose unless they are set again: the miner's own and those of the
/// old frontmatter.
pub(super) fn drops(before: &Before) -> Vec<String> {
    let mut keys = own_keys();
    if let Some(mark) = before
        .head()
        .and_then(|head| serde_json::from_str::<Mark>(&head.mark).ok())
    {
        keys.extend(mark.front);
    }
    keys
}

fn add_frontmatter(format: &Format, text: &str, metadata: &mut Metadata) -> Vec<String> {
    if !matches!(format, Format::Markdown) {
        return Vec::new();
    }
    let mut keys = Vec::new();
    for (key, value) in split::frontmatter(text).into_iter().take(FRONT_KEYS) {
        if is_reserved(&key) || key.is_empty() || key.len() > loci_core::MAX_KEY_BYTES {
            continue;
        }
        let value = match value {
            FrontValue::Str(text) if text.len() <= FRONT_BYTES => MetaValue::Str(text),
            FrontValue::Int(number) => MetaValue::Int(number),
            FrontValue::Float(number) if number.is_finite() => MetaValue::Float(number),
            FrontValue::Bool(truth) => MetaValue::Bool(truth),
            FrontValue::List(items)
                if items.iter().map(String::len).sum::<usize>() <= FRONT_BYTES =>
            {
                MetaValue::List(items.into_iter().map(MetaValue::Str).collect())
            }
            FrontValue::Str(_) | FrontValue::Float(_) | FrontValue::List(_) => continue,
        };
        metadata.0.insert(key.clone(), value);
        keys.push(key);
    }
    keys
}

/// A text to be split into pieces.
pub(super) struct Text<'a> {
    pub(super) options: TextOptions,
    pub(super) name: &'a str,
    pub(super) format: &'a Format,
    /// Whether the text is the whole file.
    pub(super) whole: bool,
}

impl Text<'_> {
    fn place(&self, first_line: u32) -> TextPlace<'_> {
        let source = self.name;
        if self.whole {
            TextPlace::Whole { source }
        } else {
            let first = first_line == 1;
            TextPlace::Part { source, first }
        }
    }

    /// Masks secrets, splits, and removes forgotten lines. Also returns the trail at the start of
    /// the last chunk and that chunk's line.
    pub(super) fn pieces(
        &self,
        text: &str,
        first_line: u32,
        trail: &Trail,
        common: &Metadata,
        intake: &mut Intake<'_>,
    ) -> Result<(Vec<Piece>, Trail)> {
        let setting = loci_secrets::setting_of(Path::new(self.name));
        let masked = intake.masking(text, setting, self.options.keep_secrets);
        let (given, text) = (text, masked.as_ref());
        let holes: Vec<(u32, u32)> = intake
            .forgotten_in_any_form(given, text, setting, self.place(first_line))?
            .into_iter()
            .map(|(start, end)| (start + first_line - 1, end + first_line - 1))
            .collect();
        let held = intake.held_texts(self.name)?;
        let mut split = split::split(text, self.format, &self.options.size, first_line, trail);
        if !holes.is_empty() {
            leave_out_titles(&mut split, text, first_line, &holes);
        }
        let mut pieces = Vec::with_capacity(split.chunks.len());
        for chunk in &split.chunks {
            let Some(words) = text.get(chunk.bytes.clone()) else {
                continue;
            };
            let touched = holes
                .iter()
                .any(|(start, end)| *start <= chunk.end_line && chunk.start_line <= *end);
            let here = held.contains(&hash_of(words.as_bytes()));
            if !here && intake.is_forgotten(words)? {
                intake.left_out(u64::from(chunk.end_line - chunk.start_line + 1));
                continue;
            }
            if !touched || here {
                let span = (chunk.start_line, chunk.end_line);
                pieces.push(piece_of(words.to_owned(), span, chunk, common));
                continue;
            }
            let mut left = u64::from(chunk.end_line - chunk.start_line + 1);
            if chunk.part.is_none() {
                for (start, end, words) in without_lines(words, chunk.start_line, &holes) {
                    left -= u64::from(end - start + 1);
                    pieces.push(piece_of(words, (start, end), chunk, common));
                }
            }
            intake.left_out(left);
        }
        Ok((pieces, split.last_trail))
    }
}

/// Removes titles of forgotten lines from the headings of the remaining chunks. A title is removed
/// if it occurs in a forgotten line and in no other line.
fn leave_out_titles(split: &mut Split, text: &str, first_line: u32, holes: &[(u32, u32)]) {
    let is_forgotten = |number: u32| {
        holes
            .iter()
            .any(|(start, end)| (*start..=*end).contains(&number))
    };
    let (gone, stays): (Vec<_>, Vec<_>) = text
        .lines()
        .zip(first_line..)
        .partition(|(_, number)| is_forgotten(*number));
    let is_gone = |title: &str| {
        let title = title.trim_end_matches('…');
        !title.is_empty()
            && gone.iter().any(|(line, _)| line.contains(title))
            && !stays.iter().any(|(line, _)| line.contains(title))
    };
    split.leave_out_titles(&is_gone);
}

fn piece_of(text: String, span: (u32, u32), chunk: &Chunk, common: &Metadata) -> Piece {
    let mut metadata = common.clone();
    set_lines(&mut metadata, span.0, span.1);
    if !chunk.heading.is_empty() {
        set(&mut metadata, "heading", chunk.heading.as_str());
    }
    if let Some((part, parts)) = chunk.part {
        set(&mut metadata, "part", i64::from(part));
        set(&mut metadata, "parts", i64::from(parts));
    }
    Piece {
        text,
        metadata,
        part: chunk.part.map_or(1, |(part, _)| part),
    }
}

//! Files a text file that is read as a whole.

use std::io::{Read as _, Seek, SeekFrom};
use std::path::Path;

use loci_core::{Error, MetaValue, Metadata, Piece, Result, TextPlace};
use serde::{Deserialize, Serialize};

use super::stat::Opened;
use super::{
    FILE, LINK_NAMES, LINKS_TO, ReadOptions, SET_KEYS, TAGS, TITLE, Tree, base, is_reserved,
    own_keys, set, set_lines,
};
use crate::document::{self, Format, Skip};
use crate::intake::{Intake, hash_of, without_lines};
use crate::noise;
use crate::place::Placement;
use crate::references::{self, LinkTarget, References};
use crate::source::{Before, Item, Read, Section};
use crate::split::{self, Chunk, FrontValue, Split, Trail};

/// How often a file is read again because it changed during the read.
const ATTEMPTS: usize = 3;
/// The most frontmatter keys, and the most bytes of one value.
const FRONT_KEYS: usize = 32;
const FRONT_BYTES: usize = 1_024;

/// The data that is kept to detect changes of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The keys that its frontmatter set.
    front: Vec<String>,
    /// The keys that were set in some of its drawers.
    #[serde(default)]
    sets: Vec<String>,
}

impl Mark {
    /// The mark of a file whose drawers are not known as a whole.
    pub(super) fn of_sections() -> Self {
        Self {
            front: Vec::new(),
            sets: SET_KEYS.map(str::to_owned).to_vec(),
        }
    }
}

pub(super) fn is_utf8(head: &[u8]) -> bool {
    document::encoding_of(head).is_some_and(|encoding| encoding == encoding_rs::UTF_8)
}

pub(super) fn read(
    tree: &Tree,
    mut options: ReadOptions,
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
        Err(skip) => return leave_out(item, skip, intake),
    };
    let noise = noise::find(&document.text, &document.format, options.search);
    if let Err(skip) = options.judge(noise.verdict(&document.text, &document.format)) {
        return leave_out(item, skip, intake);
    }
    let mut common = base(&item.name, &place);
    if let Some(encoding) = &document.encoding {
        set(&mut common, "encoding", encoding.as_str());
    }
    if document.extracted {
        set(&mut common, "extracted", true);
    }
    let is_markdown = matches!(document.format, Format::Markdown);
    let given = if is_markdown {
        split::frontmatter(&document.text)
    } else {
        Vec::new()
    };
    let title = given.iter().find_map(|(key, value)| match value {
        FrontValue::Str(title) if key == TITLE => Some(title.clone()),
        _ => None,
    });
    let mut front = add_frontmatter(given, &mut common);
    let text = Text {
        options,
        name: &item.name,
        format: &document.format,
        whole: true,
        title: title.or_else(|| document.title.clone()),
    };
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
        mark: serde_json::to_string(&Mark {
            front,
            sets: keys_set(&pieces),
        })
        .unwrap_or_default(),
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
pub(super) fn leave_out(item: &Item, skip: Skip, intake: &mut Intake<'_>) -> Result<Read> {
    let reason = skip.to_string();
    let before = intake.before(&item.name)?;
    let Some(head) = before.head() else {
        return Ok(Read::Skipped(reason));
    };
    if matches!(skip, Skip::Generated | Skip::Noise(_)) {
        // Otherwise the file would count as unchanged when it is asked for with other options.
        intake.remove(&before)?;
        return Ok(Read::Skipped(reason));
    }
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
        keys.extend(mark.sets);
    }
    keys
}

/// Returns the keys that a file sets in some of its drawers only.
fn keys_set(pieces: &[Piece]) -> Vec<String> {
    let is_set = |key: &&str| pieces.iter().any(|piece| piece.metadata.get(key).is_some());
    SET_KEYS
        .into_iter()
        .filter(is_set)
        .map(str::to_owned)
        .collect()
}

fn add_frontmatter(front: Vec<(String, FrontValue)>, metadata: &mut Metadata) -> Vec<String> {
    let mut keys = Vec::new();
    let tags = references::tags_of_front(&front);
    if !tags.is_empty() {
        set_list(metadata, TAGS, tags);
    }
    for (key, value) in front.into_iter().take(FRONT_KEYS) {
        let is_own = is_reserved(&key) || key == TAGS;
        if is_own || key.is_empty() || key.len() > loci_core::MAX_KEY_BYTES {
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
    pub(super) options: ReadOptions,
    pub(super) name: &'a str,
    pub(super) format: &'a Format,
    /// Whether the text is the whole file.
    pub(super) whole: bool,
    /// The title of the file, unless a heading is its title.
    pub(super) title: Option<String>,
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
        let masked = intake.masking(text, setting, self.options.text_options.keep_secrets);
        let (given, text) = (text, masked.as_ref());
        let holes: Vec<(u32, u32)> = intake
            .forgotten_in_any_form(given, text, setting, self.place(first_line))?
            .into_iter()
            .map(|(start, end)| (start + first_line - 1, end + first_line - 1))
            .collect();
        let held = intake.held_texts(self.name)?;
        let noise = noise::find(text, self.format, self.options.search);
        intake.left_out_noise(noise.lines(text));
        let size = &self.options.text_options.size;
        let mut split =
            split::split_around(text, self.format, size, first_line, trail, &noise.spans);
        if !holes.is_empty() {
            leave_out_titles(&mut split, text, first_line, &holes);
        }
        let common = Common {
            metadata: common,
            references: references::find(text, self.format, first_line, trail),
            // A later section of a large file does not know the title.
            title: self
                .title
                .clone()
                .or_else(|| split.title.clone())
                .filter(|_| self.whole),
        };
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
                pieces.push(common.piece(words.to_owned(), span, chunk));
                continue;
            }
            let mut left = u64::from(chunk.end_line - chunk.start_line + 1);
            if chunk.part.is_none() {
                for (start, end, words) in without_lines(words, chunk.start_line, &holes) {
                    left -= u64::from(end - start + 1);
                    pieces.push(common.piece(words, (start, end), chunk));
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

/// What the drawers of a text have in common, and what depends on their lines.
struct Common<'a> {
    metadata: &'a Metadata,
    references: References,
    title: Option<String>,
}

impl Common<'_> {
    fn piece(&self, text: String, span: (u32, u32), chunk: &Chunk) -> Piece {
        let mut metadata = self.metadata.clone();
        set_lines(&mut metadata, span.0, span.1);
        if !chunk.heading.is_empty() {
            set(&mut metadata, "heading", chunk.heading.as_str());
        }
        if let Some((part, parts)) = chunk.part {
            set(&mut metadata, "part", i64::from(part));
            set(&mut metadata, "parts", i64::from(parts));
        }
        self.add_title(&mut metadata, &chunk.heading);
        self.add_references(&mut metadata, span);
        Piece {
            text,
            metadata,
            part: chunk.part.map_or(1, |(part, _)| part),
        }
    }

    /// Adds the title of the file, unless the headings say it.
    fn add_title(&self, metadata: &mut Metadata, heading: &str) {
        let Some(title) = &self.title else {
            return;
        };
        if title.len() <= FRONT_BYTES
            && metadata.get(TITLE).is_none()
            && !heading.split(split::JOINT).any(|step| step == title)
        {
            set(metadata, TITLE, title.as_str());
        }
    }

    fn add_references(&self, metadata: &mut Metadata, span: (u32, u32)) {
        let found = self.references.tags(span);
        if !found.is_empty() {
            let mut tags: Vec<String> = match metadata.get(TAGS) {
                Some(MetaValue::List(items)) => {
                    let texts = items.iter().filter_map(|item| match item {
                        MetaValue::Str(tag) => Some(tag.clone()),
                        _ => None,
                    });
                    texts.collect()
                }
                _ => Vec::new(),
            };
            for tag in found {
                if !tags.contains(&tag) {
                    tags.push(tag);
                }
            }
            set_list(metadata, TAGS, tags);
        }
        let links = self.references.links(span);
        if !links.is_empty() {
            let mut names: Vec<String> = links
                .iter()
                .flat_map(|target| LinkTarget::parse(target).names())
                .collect();
            names.sort_unstable();
            names.dedup();
            set_list(metadata, LINKS_TO, links);
            set_list(metadata, LINK_NAMES, names);
        }
    }
}

fn set_list(metadata: &mut Metadata, key: &str, items: Vec<String>) {
    let items = items.into_iter().map(MetaValue::Str).collect();
    metadata.0.insert(key.to_owned(), MetaValue::List(items));
}

//! Records of forgotten texts, so that mining does not bring them back. A record holds keyed hashes
//! of a text and of its lines. The text cannot be read from them, and without the key it cannot be
//! guessed.
//!
//! A source may be split differently when it is mined again, so hashes of whole texts are not
//! enough. Two rules recognise the lines of a forgotten text. `matching` uses their order, their
//! location and their neighbours, whatever their length. `stretches` works in any source and looks
//! for most of the long lines close together. A backend stores [`NewRecord`]s and queries them
//! through a [`ForgottenTexts`].

mod line;
mod matching;

use std::collections::{BTreeSet, HashMap, HashSet};

use self::line::{BEGINNING, Line, has_content, lines_of};
use self::matching::Extent;
use super::TextPlace;
use crate::metadata::{MetaValue, Metadata};

pub use self::line::source_hash;

/// The key of the hashes. Each palace generates its own.
pub type ForgetKey = [u8; 32];

/// Number of neighbouring drawers that are searched for a line with content.
pub const NEIGHBOURS: usize = 4;

/// A text without long lines is recognised in any source if it has at least this many lines, and
/// together they have a minimum length.
const SHORT_LINES: usize = 3;
const SHORT_LINES_BYTES: usize = 48;
/// Percentage of a forgotten text's lines at which a stretch of lines counts as that text.
const SHARE_PERCENT: usize = 60;
/// Number of consecutive other lines that never end a stretch, however short it is.
const MOST_OTHERS: usize = 3;
/// Number of other lines after which a repeated line starts a new stretch.
const REPEATED_AFTER: usize = 2;

/// A stored record, without the hash of the whole text and the lines that are recognised in any
/// source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The number that the backend gave it.
    pub id: i64,
    /// Number of its lines that are recognised in any source.
    pub telling: usize,
    /// All its lines in order; empty if they are unknown.
    pub sequence: Vec<u64>,
    /// The location of the text.
    pub place: TextPosition,
}

/// The location of a forgotten text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextPosition {
    /// [`source_hash`] of the name of its source; 0 if it has none.
    pub source: u64,
    /// Number of its exchange; 0 outside of conversations.
    pub exchange: u32,
    /// The nearest line with content before it in its source; 1 at the beginning of the source, 0
    /// if unknown.
    pub before: u64,
    /// The nearest line with content after it; 0 if unknown. The end of a source does not count,
    /// because sources grow.
    pub after: u64,
}

/// A record to store. Two records with the same text and location are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRecord {
    /// [`text_hash`] of the whole text.
    pub hash: Vec<u8>,
    /// Lines by which the text is recognised in any source, in order and without duplicates.
    pub lines: Vec<u64>,
    /// All its lines in order.
    pub sequence: Vec<u64>,
    /// The location of the text.
    pub place: TextPosition,
}

impl Record {
    /// Number of its lines with content.
    fn content(&self) -> usize {
        self.sequence
            .iter()
            .filter(|hash| has_content(**hash))
            .count()
    }
}

/// The record of a forgotten text; `None` for a text without content.
pub fn record_of(key: &ForgetKey, text: &str, place: TextPosition) -> Option<NewRecord> {
    if text.trim().is_empty() {
        return None;
    }
    let lines = lines_of(key, text);
    let mut telling = telling_lines(&lines, text);
    telling.sort_unstable();
    telling.dedup();
    Some(NewRecord {
        hash: text_hash(key, text),
        lines: telling,
        sequence: lines.iter().map(|line| line.hash).collect(),
        place,
    })
}

/// The location of a drawer of this source, without its neighbours.
pub fn place_of(key: &ForgetKey, source: Option<&str>, metadata: &Metadata) -> TextPosition {
    let Some(source) = source else {
        return TextPosition::default();
    };
    let exchange = match metadata.get("exchange") {
        Some(MetaValue::Int(number)) => u32::try_from(*number).unwrap_or_default(),
        Some(_) | None => 0,
    };
    TextPosition {
        source: source_hash(key, source),
        exchange,
        before: 0,
        after: 0,
    }
}

/// Whether the neighbours of a drawer are part of its location. They are in a file, but not in a
/// conversation.
pub fn has_neighbours(place: TextPosition) -> bool {
    place.source != 0 && place.exchange == 0
}

/// Adds the lines before and after a drawer of a file. `before` and `after` are the texts of up to
/// [`NEIGHBOURS`] drawers on either side, nearest first.
pub fn with_neighbours(
    key: &ForgetKey,
    place: TextPosition,
    before: &[String],
    after: &[String],
) -> TextPosition {
    let content = |lines: Vec<Line>, last: bool| {
        let mut hashes = lines
            .into_iter()
            .map(|line| line.hash)
            .filter(|hash| has_content(*hash));
        if last {
            hashes.next_back()
        } else {
            hashes.next()
        }
    };
    let nearest = |texts: &[String], last| {
        texts
            .iter()
            .find_map(|text| content(lines_of(key, text), last))
    };
    // There are fewer neighbours than requested and none has content, so the source begins here.
    let beginning = if before.len() < NEIGHBOURS {
        BEGINNING
    } else {
        0
    };
    TextPosition {
        before: nearest(before, true).unwrap_or(beginning),
        after: nearest(after, false).unwrap_or(0),
        ..place
    }
}

/// Keyed hash of a text without surrounding white space.
pub fn text_hash(key: &ForgetKey, text: &str) -> Vec<u8> {
    let hash = blake3::keyed_hash(key, text.trim().as_bytes());
    hash.as_bytes().iter().take(16).copied().collect()
}

/// The forgotten texts of a collection.
pub struct ForgottenTexts {
    key: ForgetKey,
    texts: HashSet<Vec<u8>>,
    records: Vec<Record>,
    /// Records by line, for lines that are recognised in any source.
    lines: HashMap<u64, Vec<usize>>,
    /// Records by the hash of their source.
    sources: HashMap<u64, Vec<usize>>,
    /// Records by their first line with content. A text without that line does not contain the
    /// whole record.
    openings: HashMap<u64, Vec<usize>>,
}

impl ForgottenTexts {
    /// No texts yet.
    pub fn new(key: ForgetKey) -> Self {
        Self {
            key,
            texts: HashSet::new(),
            records: Vec::new(),
            lines: HashMap::new(),
            sources: HashMap::new(),
            openings: HashMap::new(),
        }
    }

    /// The key of the hashes.
    pub fn key(&self) -> &ForgetKey {
        &self.key
    }

    /// Adds a stored record: the hash of its text, the lines that are recognised in any source, and
    /// the rest.
    pub fn add(&mut self, hash: Vec<u8>, lines: &[u64], record: Record) {
        self.texts.insert(hash);
        let at = self.records.len();
        for line in lines {
            self.lines.entry(*line).or_default().push(at);
        }
        if record.place.source != 0 {
            let source = record.place.source;
            self.sources.entry(source).or_default().push(at);
        }
        if let Some(opening) = record.sequence.iter().find(|hash| has_content(**hash)) {
            self.openings.entry(*opening).or_default().push(at);
        }
        self.records.push(record);
    }

    /// Forgotten lines of a text, as inclusive ranges counted from 1.
    pub fn lines_in(&self, text: &str, place: TextPlace<'_>) -> Vec<(u32, u32)> {
        if self.texts.is_empty() {
            return Vec::new();
        }
        let count = text.lines().count().max(1) as u32;
        if self.has_text(text) {
            return vec![(1, count)];
        }
        let lines = lines_of(&self.key, text);
        let (found, _) = self.find(&lines, place);
        let mut merged: Vec<(u32, u32)> = Vec::new();
        let mut last = None;
        for at in found {
            let Some(line) = lines.get(at) else {
                continue;
            };
            // Lines with consecutive indices have only blank lines between them.
            match merged.last_mut().filter(|_| last == at.checked_sub(1)) {
                Some((_, end)) => *end = line.number,
                None => merged.push((line.number, line.number)),
            }
            last = Some(at);
        }
        merged
    }

    /// Ids of the records that a text contains in part. Records of the whole text have its
    /// [`text_hash`].
    pub fn records_in(&self, text: &str, place: TextPlace<'_>) -> Vec<i64> {
        let (_, records) = self.find(&lines_of(&self.key, text), place);
        records
            .iter()
            .filter_map(|at| self.records.get(*at))
            .map(|record| record.id)
            .collect()
    }

    /// Whether exactly this text was forgotten.
    pub fn has_text(&self, text: &str) -> bool {
        !self.texts.is_empty() && self.texts.contains(&text_hash(&self.key, text))
    }

    /// Whether a saved copy of a drawer contains forgotten text. Copies are used only to undo a
    /// run, so a smaller share of the same source is enough than in a drawer.
    pub fn is_in(&self, text: &str, origin: TextPosition) -> bool {
        if self.has_text(text) {
            return true;
        }
        let lines = lines_of(&self.key, text);
        let present: HashSet<u64> = lines.iter().map(|line| line.hash).collect();
        let shares = |at: &usize| {
            self.records.get(*at).is_some_and(|record| {
                let of_another = record.place.exchange != origin.exchange;
                let content: BTreeSet<_> = record
                    .sequence
                    .iter()
                    .filter(|hash| has_content(**hash))
                    .collect();
                let shared = content.iter().filter(|hash| present.contains(hash)).count();
                !of_another && shared > 0 && (shared > 1 || shared * 2 >= content.len())
            })
        };
        let same_source = self.sources.get(&origin.source);
        same_source.is_some_and(|records| records.iter().any(shares))
            || !stretches(self, &lines).is_empty()
    }

    /// Indices of the forgotten lines of a text, and the records that they belong to.
    fn find(&self, lines: &[Line], place: TextPlace<'_>) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let (mut found, mut records) = (BTreeSet::new(), BTreeSet::new());
        let known = match place {
            TextPlace::Unknown => None,
            TextPlace::Whole { source } => Some((source, Extent::Whole)),
            TextPlace::Part { source, first } => Some((source, Extent::Part { first })),
            TextPlace::Exchange { source, number } => Some((source, Extent::Exchange(number))),
        };
        if let Some((source, extent)) = known {
            let source = source_hash(&self.key, source);
            let candidates = self.candidates(lines, source);
            if !candidates.is_empty() {
                let placed = matching::find(lines, source, extent, &candidates);
                found.extend(placed.lines);
                records.extend(placed.records);
            }
        }
        for (at, (start, end)) in stretches(self, lines) {
            let anchors: Vec<usize> = lines
                .iter()
                .enumerate()
                .filter(|(_, line)| (start..=end).contains(&line.number))
                .map(|(index, _)| index)
                .collect();
            if let Some(record) = self.records.get(at) {
                found.extend(matching::adjoining(lines, &anchors, record));
            }
            found.extend(anchors);
            records.insert(at);
        }
        let of_records: HashSet<u64> = records
            .iter()
            .filter_map(|at| self.records.get(*at))
            .flat_map(|record| record.sequence.iter().copied())
            .collect();
        found.extend(matching::enclosed(lines, &found, &of_records));
        (found, records)
    }

    fn candidates(&self, lines: &[Line], source: u64) -> Vec<(usize, &Record)> {
        let opened = lines
            .iter()
            .filter_map(|line| self.openings.get(&line.hash));
        let of_source = self.sources.get(&source).into_iter();
        let all: BTreeSet<usize> = opened.chain(of_source).flatten().copied().collect();
        all.into_iter()
            .filter_map(|at| self.records.get(at).map(|record| (at, record)))
            .filter(|(_, record)| !record.sequence.is_empty())
            .collect()
    }
}

/// Stretches of lines that match a forgotten text, with the index of the record. Other
/// lines may be mixed in; they are not part of the stretch.
fn stretches(forgotten: &ForgottenTexts, lines: &[Line]) -> Vec<(usize, (u32, u32))> {
    let mut open: HashMap<usize, Open> = HashMap::new();
    let mut found = Vec::new();
    let mut close = |at: usize, seen: Open| {
        let size = forgotten
            .records
            .get(at)
            .map_or(usize::MAX, |record| record.telling);
        if seen.hashes.len() * 100 >= size.saturating_mul(SHARE_PERCENT) {
            found.extend(seen.stretches.into_iter().map(|stretch| (at, stretch)));
        }
    };
    for line in lines {
        let number = line.number;
        let Some(hash) = line.plain else {
            continue;
        };
        let records = forgotten
            .lines
            .get(&hash)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut ended = Vec::new();
        for (record, seen) in &mut open {
            if !records.contains(record) {
                seen.others += 1;
                if seen.others > seen.hashes.len().max(MOST_OTHERS) {
                    ended.push(*record);
                }
            }
        }
        for record in ended {
            if let Some(seen) = open.remove(&record) {
                close(record, seen);
            }
        }
        for record in records {
            // A line that was already seen and reappears after other lines is not part of this
            // stretch, because another text may end with the same words. It may start a second
            // copy.
            let repeated = open
                .get(record)
                .is_some_and(|seen| seen.others >= REPEATED_AFTER && seen.hashes.contains(&hash));
            if repeated && let Some(seen) = open.remove(record) {
                close(*record, seen);
            }
            open.entry(*record).or_default().take(number, hash);
        }
    }
    for (record, seen) in open {
        close(record, seen);
    }
    found
}

/// Lines of one record that were found close together.
#[derive(Default)]
struct Open {
    stretches: Vec<(u32, u32)>,
    hashes: HashSet<u64>,
    /// Number of other lines since the last match.
    others: usize,
}

impl Open {
    fn take(&mut self, line: u32, hash: u64) {
        match self.stretches.last_mut().filter(|_| self.others == 0) {
            Some((_, end)) => *end = line,
            None => self.stretches.push((line, line)),
        }
        self.others = 0;
        self.hashes.insert(hash);
    }
}

/// The lines by which a text is recognised in any source: its long lines, or all lines with content
/// if there are enough of them.
fn telling_lines(lines: &[Line], text: &str) -> Vec<u64> {
    let plain = |line: &Line| line.plain.filter(|_| has_content(line.hash));
    let long: Vec<u64> = lines
        .iter()
        .filter(|line| line.is_telling)
        .filter_map(plain)
        .collect();
    if !long.is_empty() {
        return long;
    }
    let short: BTreeSet<u64> = lines.iter().filter_map(plain).collect();
    let bytes: usize = text.lines().map(|line| line.trim().len()).sum();
    if short.len() >= SHORT_LINES && bytes >= SHORT_LINES_BYTES {
        short.into_iter().collect()
    } else {
        Vec::new()
    }
}

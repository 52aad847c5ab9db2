//! What must not come back: keyed hashes of forgotten texts and of their lines. Nothing can be read
//! out of them, and without the key nothing can be guessed.
//!
//! A source may be cut differently when it is mined again, so whole texts are not enough. Lines of
//! a forgotten text are known again by two rules. `matching`: by its order, its place and its
//! neighbours, whatever the length of its lines. `stretches`: in any source, where most of its
//! long lines stand near each other. A backend stores [`NewRecord`]s and asks a [`Book`] of them.

mod line;
mod matching;

use std::collections::{BTreeSet, HashMap, HashSet};

use self::line::{BEGINNING, Line, has_content, lines_of};
use self::matching::Extent;
use super::TextPlace;
use crate::metadata::{MetaValue, Metadata};

pub use self::line::source_hash;

/// The key of the hashes. Each palace draws its own.
pub type ForgetKey = [u8; 32];

/// Neighbours in which a line with content is looked for.
pub const NEIGHBOURS: usize = 4;

/// A text without long lines is known in any source if it has at least so many lines, and together
/// they are at least so long.
const SHORT_LINES: usize = 3;
const SHORT_LINES_BYTES: usize = 48;
/// Share of a forgotten text's lines that makes a stretch of lines that text.
const SHARE_PERCENT: usize = 60;
/// Other lines in a row that do not end a stretch, however short it is.
const MOST_OTHERS: usize = 3;
/// Other lines after which a line that was met before begins a stretch of its own.
const REPEATED_AFTER: usize = 2;

/// A stored record, beside the hash of the whole text and the lines that are known in any source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The backend's own number of it.
    pub id: i64,
    /// Number of its lines that are known in any source.
    pub telling: usize,
    /// All its lines in order; empty where they are not known.
    pub sequence: Vec<u64>,
    /// Where the text stood.
    pub place: TextPosition,
}

/// Where a forgotten text stood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextPosition {
    /// [`source_hash`] of the name of its source, 0 if it had none.
    pub source: u64,
    /// Number of its exchange, 0 if it stood in no conversation.
    pub exchange: u32,
    /// The nearest line with content before it in its source, or 1 at the beginning; 0 if not
    /// known.
    pub before: u64,
    /// The nearest line with content behind it; 0 if not known. The end of a source is no such
    /// line, since sources grow.
    pub after: u64,
}

/// A record to store. Two of one text and one place are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRecord {
    /// [`text_hash`] of the whole text.
    pub hash: Vec<u8>,
    /// Lines by which the text is known in any source, in order, each once.
    pub lines: Vec<u64>,
    /// All its lines in order.
    pub sequence: Vec<u64>,
    /// Where the text stood.
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

/// The record of a text that is forgotten; nothing for one without content.
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

/// Where a drawer of this source stands, without its neighbours.
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

/// Whether the neighbours of a drawer are part of its place: in a file, not in a conversation.
pub fn has_neighbours(place: TextPosition) -> bool {
    place.source != 0 && place.exchange == 0
}

/// Adds the lines before and behind a drawer of a file. `before` and `after` are the texts of up to
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
    // Fewer neighbours than asked for, and none with content: the source begins here.
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

/// Keyed hash of a text without the white space around it.
pub fn text_hash(key: &ForgetKey, text: &str) -> Vec<u8> {
    let hash = blake3::keyed_hash(key, text.trim().as_bytes());
    hash.as_bytes().iter().take(16).copied().collect()
}

/// What was forgotten in a collection.
pub struct Book {
    key: ForgetKey,
    texts: HashSet<Vec<u8>>,
    records: Vec<Record>,
    /// Records by line, for lines that are known in any source.
    lines: HashMap<u64, Vec<usize>>,
    /// Records by the hash of their source.
    sources: HashMap<u64, Vec<usize>>,
    /// Records by their first line with content: a text without it does not hold them whole.
    openings: HashMap<u64, Vec<usize>>,
}

impl Book {
    /// A book without records.
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

    /// The key of its hashes.
    pub fn key(&self) -> &ForgetKey {
        &self.key
    }

    /// Adds a stored record: the hash of its text, the lines that are known in any source, the
    /// rest.
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

    /// Lines of a text that were forgotten, as ranges from 1, both ends included.
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
            // Only blank lines lie between two lines with neighbouring indices.
            match merged.last_mut().filter(|_| last == at.checked_sub(1)) {
                Some((_, end)) => *end = line.number,
                None => merged.push((line.number, line.number)),
            }
            last = Some(at);
        }
        merged
    }

    /// Ids of the records that a text holds in part. Those of the whole text have its
    /// [`text_hash`].
    pub fn records_in(&self, text: &str, place: TextPlace<'_>) -> Vec<i64> {
        let (_, records) = self.find(&lines_of(&self.key, text), place);
        records
            .iter()
            .filter_map(|at| self.records.get(*at))
            .map(|record| record.id)
            .collect()
    }

    /// Whether this very text was forgotten.
    pub fn has_text(&self, text: &str) -> bool {
        !self.texts.is_empty() && self.texts.contains(&text_hash(&self.key, text))
    }

    /// Whether a kept copy of a drawer holds a text that was forgotten. Copies serve the undo of a
    /// run alone, so a smaller share of the same source is enough than in a drawer.
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

    /// Lines of a text that were forgotten, by index, and the records that they belong to.
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

/// Stretches of lines that are a forgotten text, with the record's place in the book. Some other
/// lines may have been put between its lines; they are not part of a stretch.
fn stretches(book: &Book, lines: &[Line]) -> Vec<(usize, (u32, u32))> {
    let mut open: HashMap<usize, Open> = HashMap::new();
    let mut found = Vec::new();
    let mut close = |at: usize, seen: Open| {
        let size = book
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
        let records = book.lines.get(&hash).map(Vec::as_slice).unwrap_or_default();
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
            // A line that was met already, and comes again behind other lines, is not part of what
            // was met: another text ends with the same words. It may begin a second copy.
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

/// Lines of one record that were seen near each other.
#[derive(Default)]
struct Open {
    stretches: Vec<(u32, u32)>,
    hashes: HashSet<u64>,
    /// Other lines since the last one.
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

/// The lines by which a text is known in any source: its long ones, or all with content if it has
/// enough of them.
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

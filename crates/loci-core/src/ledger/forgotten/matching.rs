//! Decides which lines of a text belong to a forgotten one. Pure functions over hashes of lines.
//!
//! Length is not a criterion: a short line ("PIN 4471") can be as secret as a long one, and as
//! common as "Noted.". The criteria are how much of the forgotten text appears together and in
//! order, and whether it is at its location: in the same source, between the same neighbours, in
//! the same exchange of the same conversation. docs/format.md states the rule.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Record;
use super::line::{BEGINNING, Line, has_content};

/// Maximum number of consecutive other lines between two lines of an edited text.
const MOST_OTHERS: usize = 3;
/// A line with more occurrences than this does not determine a location.
const MOST_PLACES: usize = 32;
/// Percentage of the lines with content that must appear together if only a part of the source is
/// searched, since the whole text may be in another part.
const SHARE_PERCENT: usize = 60;
/// Maximum number of search rounds. A neighbour may itself be a forgotten line.
const ROUNDS: usize = 8;

/// Which part of its source the searched text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Part { first: bool },
    Exchange(u32),
}

/// Lines of the text and the records that were found in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matches {
    /// Indices of lines.
    pub(super) lines: BTreeSet<usize>,
    /// Indices of records.
    pub(super) records: BTreeSet<usize>,
}

/// Searches the lines of a text for records. `source` is the hash of the source of the text.
pub(super) fn find(
    text: &[Line],
    source: u64,
    extent: Extent,
    candidates: &[(usize, &Record)],
) -> Matches {
    let mut found = Matches::default();
    for _ in 0..ROUNDS {
        let remaining = RemainingLines::of(text, &found.lines, extent);
        let open: Vec<_> = candidates
            .iter()
            .filter(|(at, _)| !found.records.contains(at))
            .collect();
        let mut new = Vec::new();
        for (at, record) in &open {
            let relation = Relation::of(record, source, extent);
            for start in complete(&remaining, text, record, relation) {
                new.push((*at, remaining.lines(start..start + record.sequence.len())));
            }
        }
        // Parts are searched only if no record was found whole. A record that is whole at its
        // location is not searched elsewhere.
        if new.is_empty() {
            for (at, record) in &open {
                if Relation::of(record, source, extent) == Relation::TextPosition {
                    for part in parts(&remaining, record, extent) {
                        new.push((*at, remaining.lines(part)));
                    }
                }
            }
        }
        if new.is_empty() {
            break;
        }
        for (at, lines) in new {
            found.records.insert(at);
            found.lines.extend(lines);
        }
    }
    found
}

/// Lines of a record directly before and after lines that another rule found, in the order of the
/// record.
pub(super) fn adjoining(text: &[Line], anchors: &[usize], record: &Record) -> BTreeSet<usize> {
    let hashes: Vec<u64> = text.iter().map(|line| line.hash).collect();
    let mut lines = BTreeSet::new();
    for anchor in anchors {
        let Some(hash) = hashes.get(*anchor) else {
            continue;
        };
        for (at, line) in record.sequence.iter().enumerate() {
            if line == hash {
                let pairs = aligned(&hashes, &record.sequence, (*anchor, at), 0);
                lines.extend(pairs.into_iter().map(|(line, _)| line));
            }
        }
    }
    lines
}

/// Lines between two found lines, if all of them belong to the found records. Their order does not
/// matter, because the parts of a forgotten text may have been moved.
pub(super) fn enclosed(
    text: &[Line],
    found: &BTreeSet<usize>,
    of_records: &HashSet<u64>,
) -> Vec<usize> {
    let mut lines = Vec::new();
    for (start, end) in found.iter().zip(found.iter().skip(1)) {
        let between = text.get(start + 1..*end).unwrap_or_default();
        if between.iter().all(|line| of_records.contains(&line.hash)) {
            lines.extend(start + 1..*end);
        }
    }
    lines
}

/// How the searched text relates to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The same source, and in a conversation the same exchange.
    TextPosition,
    /// Another file, or a file and a conversation.
    Other,
    /// Another exchange. Common answers appear in many exchanges.
    OtherExchange,
}

impl Relation {
    fn of(record: &Record, source: u64, extent: Extent) -> Self {
        let same = source != 0 && record.place.source == source;
        match extent {
            Extent::Exchange(number) if same && record.place.exchange == number => {
                Self::TextPosition
            }
            Extent::Exchange(_) => Self::OtherExchange,
            Extent::Whole | Extent::Part { .. } if same => Self::TextPosition,
            Extent::Whole | Extent::Part { .. } => Self::Other,
        }
    }
}

/// The remaining lines of a text, after a line for the beginning of the source.
struct RemainingLines {
    hashes: Vec<u64>,
    /// Index of each line in the text; `None` for the beginning.
    indices: Vec<Option<usize>>,
    places: HashMap<u64, Vec<usize>>,
}

impl RemainingLines {
    fn of(text: &[Line], removed: &BTreeSet<usize>, extent: Extent) -> Self {
        let begins = matches!(extent, Extent::Whole | Extent::Part { first: true });
        let left = text
            .iter()
            .enumerate()
            .filter(|(at, _)| !removed.contains(at));
        let mut remaining = Self {
            hashes: Vec::with_capacity(text.len() + 1),
            indices: Vec::with_capacity(text.len() + 1),
            places: HashMap::new(),
        };
        if begins {
            remaining.push(BEGINNING, None);
        }
        for (at, line) in left {
            remaining.push(line.hash, Some(at));
        }
        remaining
    }

    fn push(&mut self, hash: u64, index: Option<usize>) {
        self.places.entry(hash).or_default().push(self.hashes.len());
        self.hashes.push(hash);
        self.indices.push(index);
    }

    fn places_of(&self, hash: u64) -> &[usize] {
        self.places
            .get(&hash)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    fn lines(&self, at: impl IntoIterator<Item = usize>) -> Vec<usize> {
        at.into_iter()
            .filter_map(|at| self.indices.get(at).copied().flatten())
            .collect()
    }

    /// The nearest line with content before a position.
    fn before(&self, at: usize) -> Option<u64> {
        let lines = self.hashes.get(..at)?;
        lines.iter().rev().copied().find(|hash| has_content(*hash))
    }

    fn after(&self, at: usize) -> Option<u64> {
        let lines = self.hashes.get(at..)?;
        lines.iter().copied().find(|hash| has_content(*hash))
    }
}

/// Occurrences of a whole record, line by line.
fn complete(
    remaining: &RemainingLines,
    text: &[Line],
    record: &Record,
    relation: Relation,
) -> Vec<usize> {
    let sequence = &record.sequence;
    // Start at the rarest line.
    let Some((at, hash)) = sequence
        .iter()
        .enumerate()
        .min_by_key(|(_, hash)| remaining.places_of(**hash).len())
    else {
        return Vec::new();
    };
    let mut starts: Vec<(usize, usize, bool)> = Vec::new();
    for place in remaining.places_of(*hash) {
        let Some(start) = place.checked_sub(at) else {
            continue;
        };
        let end = start + sequence.len();
        if remaining.hashes.get(start..end) != Some(sequence.as_slice()) {
            continue;
        }
        let place = &record.place;
        let before = place.before != 0 && remaining.before(start) == Some(place.before);
        let after = place.after != 0 && remaining.after(end) == Some(place.after);
        let telling = remaining
            .lines(start..end)
            .iter()
            .any(|at| text.get(*at).is_some_and(|line| line.is_telling));
        starts.push((start, usize::from(before) + usize::from(after), telling));
    }
    let content = record.content();
    let known = [record.place.before, record.place.after]
        .iter()
        .any(|hash| *hash != 0);
    let alone = starts.len() == 1;
    let at_home =
        relation == Relation::TextPosition && starts.iter().any(|(_, sides, _)| *sides > 0);
    starts.retain(|(_, sides, telling)| {
        if *telling {
            return true;
        }
        match relation {
            // Its own exchange determines the location.
            Relation::TextPosition if record.place.exchange > 0 => content > 0,
            // If one occurrence is between the neighbours of the record, the other occurrences are
            // different text.
            Relation::TextPosition if at_home => content > 0 && *sides > 0,
            Relation::TextPosition => content > 1 || (content == 1 && !known && alone),
            Relation::Other => *sides > 0 && content + sides > 2,
            Relation::OtherExchange => false,
        }
    });
    starts.into_iter().map(|(start, _, _)| start).collect()
}

/// A stretch of a remaining that contains lines of a record in order.
struct Part {
    /// Positions in the remaining and in the record with its neighbours.
    pairs: Vec<(usize, usize)>,
    /// Number of lines of the record with content.
    own: usize,
    /// Number of neighbours.
    sides: usize,
}

/// Occurrences of parts of a record that was edited.
fn parts(remaining: &RemainingLines, record: &Record, extent: Extent) -> Vec<Vec<usize>> {
    let place = &record.place;
    let mut sequence = Vec::with_capacity(record.sequence.len() + 2);
    sequence.extend((place.before != 0).then_some(place.before));
    let first = sequence.len();
    sequence.extend(&record.sequence);
    let behind = sequence.len();
    sequence.extend((place.after != 0).then_some(place.after));
    let content = record.content();
    let mut found: Vec<Part> = Vec::new();
    for (at, hash) in sequence.iter().enumerate().take(behind).skip(first) {
        let places = remaining.places_of(*hash);
        if !has_content(*hash) || places.len() > MOST_PLACES {
            continue;
        }
        for start in places {
            if found.iter().any(|part| part.pairs.contains(&(*start, at))) {
                continue;
            }
            let pairs = aligned(&remaining.hashes, &sequence, (*start, at), MOST_OTHERS);
            let is_own = |at: &usize| (first..behind).contains(at);
            let own = pairs
                .iter()
                .filter(|(_, at)| is_own(at) && sequence.get(*at).is_some_and(|h| has_content(*h)))
                .count();
            let sides = pairs.iter().filter(|(_, at)| !is_own(at)).count();
            found.push(Part { pairs, own, sides });
        }
    }
    found.retain(|part| match extent {
        Extent::Whole => part.own + part.sides > 1 && (part.sides > 0 || part.own * 2 >= content),
        Extent::Part { .. } => part.own > 1 && part.own * 100 >= content * SHARE_PERCENT,
        Extent::Exchange(_) => part.own * 2 >= content,
    });
    let unclear: Vec<bool> = found
        .iter()
        .map(|part| {
            found.iter().any(|other| {
                !std::ptr::eq(part, other)
                    && other.own + other.sides >= part.own + part.sides
                    && claims_the_same(part, other, first..behind)
            })
        })
        .collect();
    found
        .into_iter()
        .zip(unclear)
        .filter(|(_, unclear)| !unclear)
        .map(|(part, _)| {
            let own = part
                .pairs
                .into_iter()
                .filter(|(_, at)| (first..behind).contains(at));
            own.map(|(line, _)| line).collect()
        })
        .collect()
}

/// Whether two parts use the same line of a record at different positions. Only one of them can be
/// right.
fn claims_the_same(one: &Part, other: &Part, own: std::ops::Range<usize>) -> bool {
    one.pairs.iter().any(|(line, at)| {
        own.contains(at)
            && other
                .pairs
                .iter()
                .any(|(their_line, their_at)| at == their_at && line != their_line)
    })
}

/// Pairs of equal lines around an anchor, in the same order on both sides, with at most `others`
/// lines between two of them. Across a gap, only lines with content are paired.
fn aligned(
    text: &[u64],
    sequence: &[u64],
    anchor: (usize, usize),
    others: usize,
) -> Vec<(usize, usize)> {
    let mut pairs = vec![anchor];
    for forward in [false, true] {
        let mut last = anchor;
        while let Some(next) = next_pair(text, sequence, last, others, forward) {
            pairs.push(next);
            last = next;
        }
    }
    pairs.sort_unstable();
    pairs
}

fn next_pair(
    text: &[u64],
    sequence: &[u64],
    (line, at): (usize, usize),
    others: usize,
    forward: bool,
) -> Option<(usize, usize)> {
    let moved = |from: usize, by: usize| {
        if forward {
            from.checked_add(by)
        } else {
            from.checked_sub(by)
        }
    };
    for total in 2..=2 * (others + 1) {
        for by in 1..=others + 1 {
            let Some(rest) = total
                .checked_sub(by)
                .filter(|rest| (1..=others + 1).contains(rest))
            else {
                continue;
            };
            let (Some(next_line), Some(next_at)) = (moved(line, by), moved(at, rest)) else {
                continue;
            };
            let (Some(one), Some(two)) = (text.get(next_line), sequence.get(next_at)) else {
                continue;
            };
            if one == two && (total == 2 || has_content(*one)) {
                return Some((next_line, next_at));
            }
        }
    }
    None
}

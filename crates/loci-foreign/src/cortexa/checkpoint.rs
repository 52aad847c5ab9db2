//! Reads the checkpoint: every memory and edge at one moment, in one piece and without a checksum.
//!
//! If an entry does not decode, the search for the next one starts after it. The key of a memory is
//! its id, so each entry begins with the same number twice.

use std::ops::Range;

use super::decode::{Cursor, Entry};

/// The only existing version.
const VERSION: u32 = 1;
/// The length of the version, the last applied command and the number of memories.
const HEADER: usize = 4 + 8 + 8;
/// How many bytes the search for the next memory may examine, in multiples of the file.
const WORK: usize = 32;
/// How often the end of the file is tried as edges.
const ENDS: usize = 64;
/// The length of a key and the shortest entry.
const SHORTEST: usize = 8 + 45;

/// The contents of a checkpoint.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Checkpoint {
    /// The ranges of the entries.
    pub(super) entries: Vec<Range<usize>>,
    /// The number of entries according to the file.
    pub(super) declared: u64,
    pub(super) edges: Vec<(u64, u64, String)>,
    /// Ranges among the entries that could not be read.
    pub(super) gaps: Vec<Range<usize>>,
    /// The first problem.
    pub(super) damage: Option<String>,
    complete: bool,
}

impl Checkpoint {
    /// Whether every memory is here. If so, a memory that only a segment holds was deleted.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }
}

/// The known lengths of entries of an id.
pub(super) type Lengths<'a> = &'a dyn Fn(u64) -> Vec<usize>;

/// Reads as much of a checkpoint as possible.
pub(super) fn read(file: &[u8], lengths: Lengths<'_>) -> Checkpoint {
    let mut checkpoint = Checkpoint::default();
    let mut cursor = Cursor::new(file);
    let Some((version, count)) = header(&mut cursor) else {
        checkpoint.damage = Some(format!("its {} bytes are too few", file.len()));
        checkpoint.declared = u64::MAX;
        return checkpoint;
    };
    checkpoint.declared = count;
    let ended = entries(file, count, lengths, &mut checkpoint);
    let read = checkpoint.entries.len();
    if version != VERSION {
        checkpoint.damage = Some(format!(
            "it has version {version}; only version {VERSION} is known"
        ));
    } else if !checkpoint.is_complete() {
        checkpoint.damage = Some(format!("{read} of {count} memories could be read"));
    } else if read as u64 != count {
        checkpoint.damage = Some(format!("it records {count} memories but holds {read}"));
    } else if !ended {
        checkpoint.damage = Some("the edges between memories are damaged".into());
    }
    checkpoint
}

fn header(cursor: &mut Cursor<'_>) -> Option<(u32, u64)> {
    let version = cursor.u32()?;
    let _last_applied = cursor.u64()?;
    Some((version, cursor.u64()?))
}

/// Reads the entries, and the edges after them. Returns whether everything up to the end of the
/// file fits. If so, the entries are complete, whatever number the file records.
fn entries(file: &[u8], count: u64, lengths: Lengths<'_>, checkpoint: &mut Checkpoint) -> bool {
    let mut at = HEADER;
    let mut work = file.len().saturating_mul(WORK);
    let mut ends = ENDS;
    while at < file.len() {
        let enough = checkpoint.entries.len() as u64 >= count;
        let entry = entry_at(file, at).0;
        if ends > 0 && (enough || entry.is_none()) {
            ends -= 1;
            let (edges, whole) = end(file.get(at..).unwrap_or_default());
            if whole {
                checkpoint.edges = edges;
                checkpoint.complete = checkpoint.gaps.is_empty();
                return true;
            }
            if enough && checkpoint.edges.is_empty() {
                checkpoint.edges = edges;
            }
        }
        if let Some(range) = entry {
            if let Some(true_end) = ends_elsewhere(file, &range, lengths) {
                checkpoint.gaps.push(at..true_end);
                at = true_end;
            } else {
                at = range.end;
                checkpoint.entries.push(range);
            }
            continue;
        }
        let next = next_entry(file, at + 1, &mut work).unwrap_or(file.len());
        if next == file.len() && enough {
            checkpoint.complete = checkpoint.gaps.is_empty();
            return false;
        }
        checkpoint.gaps.push(at..next);
        at = next;
    }
    checkpoint.complete = checkpoint.gaps.is_empty() && checkpoint.entries.len() as u64 == count;
    false
}

/// Where an entry really ends if a damaged length made it reach into the following bytes.
fn ends_elsewhere(file: &[u8], range: &Range<usize>, lengths: Lengths<'_>) -> Option<usize> {
    if entry_at(file, range.end).0.is_some() {
        return None;
    }
    let id = Cursor::new(file.get(range.clone())?).u64()?;
    lengths(id)
        .into_iter()
        .filter(|length| *length != range.len())
        .filter_map(|length| range.start.checked_add(length))
        .find(|end| {
            let rest = file.get(*end..).unwrap_or_default();
            entry_at(file, *end).0.is_some() || self::end(rest).1
        })
}

/// Reads what follows the entries: the readable edges, and whether edges and times use up all
/// bytes.
fn end(rest: &[u8]) -> (Vec<(u64, u64, String)>, bool) {
    let mut cursor = Cursor::new(rest);
    let mut found = Vec::new();
    let whole = edges(&mut cursor, &mut found)
        .and_then(|()| times(&mut cursor))
        .is_some_and(|()| cursor.left() == 0);
    (found, whole)
}

/// The start of the next entry from `from` on.
fn next_entry(file: &[u8], from: usize, work: &mut usize) -> Option<usize> {
    let last = file.len().checked_sub(SHORTEST)?;
    for offset in from..=last {
        let (found, read) = entry_at(file, offset);
        if found.is_some() {
            return Some(offset);
        }
        *work = work.checked_sub(read)?;
    }
    None
}

/// The entry whose key is at `offset`, and how many bytes after the key were examined.
fn entry_at(file: &[u8], offset: usize) -> (Option<Range<usize>>, usize) {
    let start = offset.saturating_add(8);
    let rest = file.get(start..).unwrap_or_default();
    let key = Cursor::new(file.get(offset..).unwrap_or_default()).u64();
    if key.is_none() || Cursor::new(rest).u64() != key {
        return (None, 0);
    }
    let mut cursor = Cursor::new(rest);
    let read = Entry::read(&mut cursor);
    let end = file.len() - cursor.left();
    // A run of zeros would read as a memory without an id, text or collection.
    let found = read.filter(|entry| entry.id != 0 || !entry.collection.is_empty());
    (found.map(|_| start..end), end - start)
}

/// Reads the adjacency lists as far as possible.
fn edges(cursor: &mut Cursor<'_>, edges: &mut Vec<(u64, u64, String)>) -> Option<()> {
    for _ in 0..cursor.count(16)? {
        let from = cursor.u64()?;
        for _ in 0..cursor.count(16)? {
            edges.push((from, cursor.u64()?, cursor.text()?.to_owned()));
        }
    }
    Some(())
}

/// Skips the index of times, which adds nothing to the entries.
fn times(cursor: &mut Cursor<'_>) -> Option<()> {
    for _ in 0..cursor.count(16)? {
        cursor.u64()?;
        for _ in 0..cursor.count(8)? {
            cursor.u64()?;
        }
    }
    Some(())
}

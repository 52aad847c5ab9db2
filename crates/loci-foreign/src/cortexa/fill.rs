//! Recovers lost memories from segments. Segments hold deleted memories too. So a copy that neither
//! checkpoint nor log has is used only if damage lost something and, beside an intact checkpoint,
//! only if there is evidence that the memory was lost and not deleted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use loci_core::Result;

use super::checkpoint::Checkpoint;
use super::decode::{Cursor, Entry};
use super::frames::HEADER;
use super::replay::{EntryBytes, State};
use super::segments::Reader;

/// The percentage of bytes in which a lost record that shows its id may differ from the copy.
const UNLIKE: usize = 40;
/// The number of bytes in which a lost record that does not show its id may differ.
const FEW: usize = 8;
/// The maximum number of ranges that a copy is compared with.
const COMPARED: usize = 16;
/// The magic, version and kind before the entry in a record of the log.
const BEFORE_ENTRY: usize = HEADER + 9;
/// The key before the entry in a checkpoint.
const KEY: usize = 8;

/// Memories that only segments have, by id.
pub(super) struct Filled {
    /// Lost memories: the id and the bytes of the entry.
    pub(super) taken: Vec<(u64, Vec<u8>)>,
    /// Deleted memories.
    pub(super) left: Vec<u64>,
}

/// Finds the memories in segments that damage removed from checkpoint and log.
pub(super) fn from_segments(state: &State) -> Result<Filled> {
    // The last copy of an id is the newest.
    let mut last: HashMap<u64, usize> = HashMap::new();
    for (position, copy) in state.segments.copies.iter().enumerate() {
        if !state.memories.contains_key(&copy.id) && !state.deleted.contains(&copy.id) {
            last.insert(copy.id, position);
        }
    }
    let positions: BTreeMap<usize, u64> = last.into_iter().map(|(id, at)| (at, id)).collect();
    let judge = Judge::new(state);
    let mut reader = Reader::default();
    let mut filled = Filled {
        taken: Vec::new(),
        left: Vec::new(),
    };
    for (position, id) in positions {
        let Some(copy) = state.segments.copies.get(position) else {
            continue;
        };
        if judge.rules_out_all() {
            filled.left.push(id);
            continue;
        }
        let bytes = reader.bytes(copy)?;
        if judge.is_owed(position, id, &bytes) {
            filled.taken.push((id, bytes));
        } else {
            filled.left.push(id);
        }
    }
    filled.taken.sort_unstable();
    filled.left.sort_unstable();
    Ok(filled)
}

/// Distinguishes lost memories from deleted ones.
struct Judge<'a> {
    checkpoint: Option<&'a Checkpoint>,
    log_damaged: bool,
    /// The first copy that was certainly written after the checkpoint.
    written_later: Option<usize>,
    lost_in_log: Stretches<'a>,
    lost_in_checkpoint: Stretches<'a>,
}

impl<'a> Judge<'a> {
    fn new(state: &'a State) -> Self {
        let gaps = state.log.as_ref().map(|log| log.gaps.as_slice());
        let gaps = gaps.unwrap_or_default();
        let checkpoint = state.checkpoint.as_ref();
        let checkpoint_gaps = checkpoint.map(|read| read.gaps.as_slice());
        Self {
            checkpoint,
            log_damaged: state.log.is_none() || !gaps.is_empty(),
            written_later: written_later(state),
            lost_in_log: Stretches::new(&state.log_bytes, gaps, BEFORE_ENTRY),
            lost_in_checkpoint: Stretches::new(
                &state.checkpoint_bytes,
                checkpoint_gaps.unwrap_or_default(),
                KEY,
            ),
        }
    }

    /// Whether nothing is damaged, so that every memory that only a segment has was deleted.
    fn rules_out_all(&self) -> bool {
        self.checkpoint.is_some_and(Checkpoint::is_complete) && !self.log_damaged
    }

    fn is_owed(&self, position: usize, id: u64, bytes: &[u8]) -> bool {
        let Some(checkpoint) = self.checkpoint else {
            // Without a checkpoint, the log has everything from the start, so it has lost this
            // memory.
            return true;
        };
        let later = self.written_later.is_some_and(|first| position > first);
        if self.log_damaged && (later || self.lost_in_log.hold(id, bytes)) {
            return true;
        }
        if checkpoint.is_complete() {
            return false;
        }
        // There is a range for each missing memory. It identifies the memory, so all others were
        // deleted.
        let missing = checkpoint
            .declared
            .saturating_sub(checkpoint.entries.len() as u64);
        let accounted = checkpoint.gaps.len() as u64 >= missing;
        !accounted || self.lost_in_checkpoint.hold(id, bytes)
    }
}

/// The first copy of a memory that the log has and the checkpoint does not.
fn written_later(state: &State) -> Option<usize> {
    let before: HashSet<u64> = state
        .checkpoint
        .iter()
        .flat_map(|checkpoint| &checkpoint.entries)
        .filter_map(|range| Some(Entry::exactly(state.checkpoint_bytes.get(range.clone())?)?.id))
        .collect();
    if state.log.is_none() {
        // Opening rewrites the segments from the checkpoint. Copies after its last memory were
        // written later.
        return state
            .segments
            .copies
            .iter()
            .rposition(|copy| before.contains(&copy.id));
    }
    state.segments.copies.iter().position(|copy| {
        let alive = state.memories.get(&copy.id);
        !before.contains(&copy.id)
            && alive.is_some_and(|alive| matches!(alive.place, EntryBytes::Log(_)))
    })
}

/// Ranges of a file in which records were lost.
struct Stretches<'a> {
    lost: Vec<&'a [u8]>,
    /// By the id that the range shows, with the percentage of bytes that may differ.
    by_id: HashMap<u64, Vec<(usize, usize)>>,
    by_length: HashMap<usize, Vec<usize>>,
}

impl<'a> Stretches<'a> {
    /// `before` is the number of bytes before the entry in a record.
    fn new(file: &'a [u8], gaps: &[Range<usize>], before: usize) -> Self {
        let mut stretches = Self {
            lost: Vec::new(),
            by_id: HashMap::new(),
            by_length: HashMap::new(),
        };
        for (index, gap) in gaps.iter().enumerate() {
            let whole = file.get(gap.clone()).unwrap_or_default();
            let lost = whole.get(before..).unwrap_or_default();
            let id = Cursor::new(lost).u64();
            let key = Cursor::new(whole).u64().filter(|_| before == KEY);
            let contradicted = key.is_some() && key != id;
            let unlike = if contradicted { 0 } else { UNLIKE };
            for visible_id in [id, key.filter(|_| contradicted)].into_iter().flatten() {
                stretches
                    .by_id
                    .entry(visible_id)
                    .or_default()
                    .push((index, unlike));
            }
            stretches
                .by_length
                .entry(lost.len())
                .or_default()
                .push(index);
            stretches.lost.push(lost);
        }
        stretches
    }

    /// Whether one of the ranges is this entry with some bytes changed, or the start of it. A range
    /// that does not certainly show the id may differ in a few bytes only, because entries resemble
    /// each other.
    fn hold(&self, id: u64, entry: &[u8]) -> bool {
        let Some(fixed) = Entry::exactly(entry).map(|entry| entry.fixed_bytes()) else {
            return false;
        };
        let named = self.by_id.get(&id).into_iter().flatten().copied();
        let as_long = self.by_length.get(&entry.len()).into_iter().flatten();
        let as_long = as_long.map(|index| (*index, 0));
        let likely = named.take(COMPARED).chain(as_long.take(COMPARED));
        likely.into_iter().any(|(index, unlike)| {
            let lost = self.lost.get(index).copied().unwrap_or_default();
            // Metadata is in no fixed order, but everything before it is.
            let entry = entry.get(..fixed).unwrap_or_default();
            let compared = lost.len().min(entry.len());
            let allowed = FEW.max(compared * unlike / 100);
            compared > FEW * 2 && different(lost, entry) <= allowed
        })
    }
}

/// The number of bytes in which two ranges differ, up to the end of the shorter one.
fn different(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.filter(|(one, other)| one != other).count()
}

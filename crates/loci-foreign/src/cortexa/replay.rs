//! Computes the live memories from checkpoint, log and segments.
//!
//! The whole log is replayed on the checkpoint. A command's number is its position in the file and
//! restarts when the file is truncated, so it does not show what the checkpoint already has. A
//! command that names a missing memory is noted and does not stop the replay. Segments do not
//! record deletes, so they are used only to recover what damage removed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use loci_core::Result;

use super::checkpoint::{self, Checkpoint};
use super::decode::{Command, Entry, command};
use super::edges::Edges;
use super::fill;
use super::frames::{self, HEADER, SHORTEST, Scan};
use super::segments::{self, Reader, Segments, digest};

/// The location of an entry's bytes.
#[derive(Debug, Clone)]
pub(super) enum EntryBytes {
    Checkpoint(Range<usize>),
    Log(Range<usize>),
    /// Bytes that are in none of the files in this form, because they come from a segment or were
    /// repaired.
    Own(Vec<u8>),
}

/// A live memory.
#[derive(Debug, Clone)]
pub(super) struct Alive {
    pub(super) place: EntryBytes,
    /// The source that it was recovered from, if it is not in its proper place.
    pub(super) recovered_from: Option<&'static str>,
}

/// Notes of the replay.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Commands that name missing memories: the offset, and a description.
    pub(super) poison: Vec<(usize, String)>,
    /// Deletes and links of memories that the checkpoint does not have.
    pub(super) stale: Vec<(usize, u64)>,
    /// Ids that were deleted and reused.
    pub(super) reused: BTreeSet<u64>,
    /// Memories of the checkpoint that differ from all copies in segments.
    pub(super) altered: Vec<u64>,
    /// Memories taken from a segment.
    pub(super) from_segments: Vec<u64>,
    /// Memories that only a segment has and that were ignored because they were deleted.
    pub(super) left_in_segments: Vec<u64>,
    /// Records that were read although a byte was damaged.
    pub(super) repaired: Vec<usize>,
    /// Unreadable ranges of the size of a `Delete`.
    pub(super) deletes_lost: Vec<usize>,
}

/// A database after reading.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) checkpoint_bytes: Vec<u8>,
    pub(super) log_bytes: Vec<u8>,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) log: Option<Scan>,
    pub(super) segments: Segments,
    pub(super) memories: BTreeMap<u64, Alive>,
    pub(super) edges: Edges,
    pub(super) notes: Notes,
    /// Ids that a delete of the log names and that were not added again.
    pub(super) deleted: HashSet<u64>,
    /// Ids that have copies in segments, with the lengths of the copies.
    copied: HashMap<u64, Vec<usize>>,
}

impl State {
    /// Reads the database in `directory`.
    pub(super) fn read(directory: &Path) -> Result<Self> {
        let mut state = Self::default();
        if let Some(bytes) = segments::read_file(&directory.join("cortexadb.wal"))? {
            state.log = Some(frames::scan(&bytes, |payload| command(payload).is_some()));
            state.log_bytes = bytes;
        }
        state.segments = segments::read(directory)?;
        for copy in &state.segments.copies {
            state.copied.entry(copy.id).or_default().push(copy.len());
        }
        if let Some(bytes) = segments::read_file(&directory.join("cortexadb.ckpt"))? {
            let lengths = |id| state.copied.get(&id).cloned().unwrap_or_default();
            state.checkpoint = Some(checkpoint::read(&bytes, &lengths));
            state.checkpoint_bytes = bytes;
        }
        state.begin(&[])?;
        state.replay();
        let filled = fill::from_segments(&state)?;
        if !filled.taken.is_empty() {
            // Replay again with the recovered memories, because links of the log may name them.
            state.memories.clear();
            state.deleted.clear();
            state.edges = Edges::default();
            state.notes = Notes::default();
            state.begin(&filled.taken)?;
            state.replay();
        }
        state.notes.from_segments = filled.taken.into_iter().map(|(id, _)| id).collect();
        state.notes.left_in_segments = filled.left;
        Ok(state)
    }

    /// The bytes of an entry.
    pub(super) fn bytes<'a>(&'a self, alive: &'a Alive) -> &'a [u8] {
        match &alive.place {
            EntryBytes::Checkpoint(range) => self.checkpoint_bytes.get(range.clone()),
            EntryBytes::Log(range) => self.log_bytes.get(range.clone()),
            EntryBytes::Own(bytes) => Some(bytes.as_slice()),
        }
        .unwrap_or_default()
    }

    /// A live entry.
    pub(super) fn entry(&self, id: u64) -> Option<Entry<'_>> {
        Entry::exactly(self.bytes(self.memories.get(&id)?))
    }

    /// Starts with the checkpoint and the recovered memories. The checkpoint has no checksum, but
    /// the copies in segments do. If none of them agrees with the checkpoint, the last copy is
    /// used.
    fn begin(&mut self, filled: &[(u64, Vec<u8>)]) -> Result<()> {
        for (id, bytes) in filled {
            let alive = Alive {
                place: EntryBytes::Own(bytes.clone()),
                recovered_from: Some("segment"),
            };
            self.memories.insert(*id, alive);
        }
        let Some(checkpoint) = &self.checkpoint else {
            return Ok(());
        };
        let mut copies: HashMap<u64, Vec<usize>> = HashMap::new();
        for (position, copy) in self.segments.copies.iter().enumerate() {
            copies.entry(copy.id).or_default().push(position);
        }
        let mut other_copies = Vec::new();
        for range in &checkpoint.entries {
            let bytes = self.checkpoint_bytes.get(range.clone()).unwrap_or_default();
            let Some(entry) = Entry::exactly(bytes) else {
                continue;
            };
            let own_digest = digest(&entry);
            let known = copies.get(&entry.id).map(Vec::as_slice).unwrap_or_default();
            let agrees = |position: &usize| {
                let copy = self.segments.copies.get(*position);
                copy.is_some_and(|copy| copy.digest == own_digest)
            };
            // If a segment is damaged, the copy that would agree may be the one that was lost.
            if let Some(last) = known.last()
                && self.segments.gaps.is_empty()
                && !known.iter().any(agrees)
            {
                other_copies.push(*last);
            }
            let unproven = checkpoint.damage.is_some() && known.is_empty();
            let alive = Alive {
                place: EntryBytes::Checkpoint(range.clone()),
                recovered_from: unproven.then_some("damaged checkpoint"),
            };
            self.memories.insert(entry.id, alive);
        }
        other_copies.sort_unstable();
        let mut reader = Reader::default();
        for position in other_copies {
            let Some(copy) = self.segments.copies.get(position) else {
                continue;
            };
            let alive = Alive {
                place: EntryBytes::Own(reader.bytes(copy)?),
                recovered_from: Some("segment"),
            };
            self.memories.insert(copy.id, alive);
            self.notes.altered.push(copy.id);
        }
        for (from, to, relation) in &checkpoint.edges {
            if self.memories.contains_key(from) && self.memories.contains_key(to) {
                self.edges.insert(*from, *to, relation);
            }
        }
        Ok(())
    }

    fn replay(&mut self) {
        let Some(log) = self.log.take() else { return };
        let bytes = std::mem::take(&mut self.log_bytes);
        for frame in &log.frames {
            if frame.repaired.is_some() {
                self.notes.repaired.push(frame.offset);
            }
            match command(frame.bytes(&bytes)) {
                Some(Command::Add(entry, start)) => {
                    let place = match &frame.repaired {
                        Some(payload) => {
                            EntryBytes::Own(payload.get(start..).unwrap_or_default().to_vec())
                        }
                        None => EntryBytes::Log(frame.payload.start + start..frame.payload.end),
                    };
                    if self.deleted.remove(&entry.id) {
                        self.notes.reused.insert(entry.id);
                    }
                    let alive = Alive {
                        place,
                        recovered_from: None,
                    };
                    self.memories.insert(entry.id, alive);
                }
                Some(Command::Delete(id)) => self.delete(frame.offset, id),
                Some(Command::Connect { from, to, relation }) => {
                    self.connect(frame.offset, &bytes, from, to, relation);
                }
                Some(Command::Disconnect { from, to }) => {
                    self.edges.disconnect(from, to);
                }
                None => {}
            }
        }
        let short = HEADER + SHORTEST;
        let lost = log.gaps.iter().filter(|gap| gap.len() == short);
        self.notes.deletes_lost = lost.map(|gap| gap.start).collect();
        self.log = Some(log);
        self.log_bytes = bytes;
    }

    fn delete(&mut self, offset: usize, id: u64) {
        self.deleted.insert(id);
        if self.memories.remove(&id).is_some() {
            self.edges.remove_all_of(id);
        } else if self.was_once(id) {
            self.notes.stale.push((offset, id));
        } else {
            self.notes.poison.push((offset, format!("delete of {id}")));
        }
    }

    fn connect(&mut self, offset: usize, log: &[u8], from: u64, to: u64, relation: &str) {
        let collection = |id: u64| {
            let bytes = match &self.memories.get(&id)?.place {
                EntryBytes::Checkpoint(range) => self.checkpoint_bytes.get(range.clone())?,
                EntryBytes::Log(range) => log.get(range.clone())?,
                EntryBytes::Own(bytes) => bytes,
            };
            Some(Entry::exactly(bytes)?.collection)
        };
        match (collection(from), collection(to)) {
            (Some(one), Some(other)) if one == other => {
                self.edges.insert(from, to, relation);
            }
            (Some(_), Some(_)) => {
                let what = format!("link `{relation}` from {from} to {to} in another collection");
                self.notes.poison.push((offset, what));
            }
            (one, _) => {
                let missing = if one.is_none() { from } else { to };
                if self.was_once(missing) {
                    self.notes.stale.push((offset, missing));
                } else {
                    let what =
                        format!("link `{relation}` from {from} to {to}: {missing} is missing");
                    self.notes.poison.push((offset, what));
                }
            }
        }
    }

    /// Whether a copy in a segment shows that this memory existed.
    fn was_once(&self, id: u64) -> bool {
        self.checkpoint.is_some() && self.copied.contains_key(&id)
    }
}

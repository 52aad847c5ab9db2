//! Matches the drawers of a source with its new pieces, and computes what changes in them. A drawer
//! is matched by text and line, then by text alone, and, if the source grows, by line and part. The
//! functions are pure, so that every backend decides in the same way.

use std::collections::{HashMap, VecDeque};

use super::{Piece, SourceChange, SourceHash};
use crate::metadata::{MetaValue, Metadata, MetadataPatch};

/// The values that identify a drawer or a piece in its source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PieceKey {
    /// Hash of its text: [`text_hash`].
    pub hash: Vec<u8>,
    /// Its `start_line`; 0 if it has none.
    pub line: i64,
    /// Its index among the pieces that start at that line.
    pub part: i64,
}

impl PieceKey {
    /// The key of a piece to file.
    pub fn of_piece(piece: &Piece) -> Self {
        Self {
            hash: text_hash(&piece.text).to_vec(),
            line: number(&piece.metadata, "start_line"),
            part: i64::from(piece.part),
        }
    }

    /// The key of a drawer by the hash of its text and its metadata.
    pub fn of_drawer(hash: Vec<u8>, metadata: &Metadata) -> Self {
        Self {
            hash,
            line: number(metadata, "start_line"),
            part: number(metadata, "part").max(1),
        }
    }
}

/// Hash of a text: the first half of BLAKE3.
pub fn text_hash(text: &str) -> SourceHash {
    let mut half = SourceHash::default();
    for (to, from) in half
        .iter_mut()
        .zip(blake3::hash(text.as_bytes()).as_bytes())
    {
        *to = *from;
    }
    half
}

fn number(metadata: &Metadata, key: &str) -> i64 {
    match metadata.get(key) {
        Some(MetaValue::Int(number)) => *number,
        Some(_) | None => 0,
    }
}

/// The patch from the metadata of a drawer to the metadata of its piece. Wing and room stay unless
/// the change moves drawers, so that mining again moves nothing unexpectedly. Keys that the miner
/// does not know were added by somebody else and stay.
pub fn patch_to(old: &Metadata, piece: &Piece, change: &SourceChange) -> MetadataPatch {
    let mut patch = MetadataPatch::default();
    for (key, value) in &piece.metadata.0 {
        let placed = key == "wing" || key == "room";
        if (!placed || change.moves) && old.get(key) != Some(value) {
            patch.0.insert(key.clone(), Some(value.clone()));
        }
    }
    for key in &change.drops {
        if old.get(key).is_some() && piece.metadata.get(key).is_none() {
            patch.0.insert(key.clone(), None);
        }
    }
    patch
}

/// The patch that reverts `patch` applied to `old`.
pub fn inverse(patch: &MetadataPatch, old: &Metadata) -> MetadataPatch {
    let keys = patch.0.keys();
    MetadataPatch(
        keys.map(|key| (key.clone(), old.get(key).cloned()))
            .collect(),
    )
}

/// The matching drawer of every piece, if any. Each drawer is used at most once.
pub fn match_pieces(held: &[PieceKey], pieces: &[PieceKey], grows: bool) -> Vec<Option<usize>> {
    let mut found = vec![None; pieces.len()];
    let mut taken = vec![false; held.len()];
    match_by(held, pieces, &mut found, &mut taken, |piece| {
        (piece.hash.as_slice(), piece.line, piece.part)
    });
    match_by(held, pieces, &mut found, &mut taken, |piece| {
        piece.hash.as_slice()
    });
    if grows {
        match_by(held, pieces, &mut found, &mut taken, |piece| {
            (piece.line, piece.part)
        });
    }
    found
}

/// One pass, which matches equal keys in order.
fn match_by<'a, K: std::hash::Hash + Eq>(
    held: &'a [PieceKey],
    pieces: &'a [PieceKey],
    found: &mut [Option<usize>],
    taken: &mut [bool],
    key: impl Fn(&'a PieceKey) -> K,
) {
    let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
    for (at, (drawer, taken)) in held.iter().zip(taken.iter()).enumerate() {
        if !taken {
            free.entry(key(drawer)).or_default().push_back(at);
        }
    }
    if free.is_empty() {
        return;
    }
    for (piece, slot) in pieces.iter().zip(found.iter_mut()) {
        if slot.is_some() {
            continue;
        }
        if let Some(at) = free.get_mut(&key(piece)).and_then(VecDeque::pop_front) {
            *slot = Some(at);
            if let Some(taken) = taken.get_mut(at) {
                *taken = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, line: i64) -> PieceKey {
        PieceKey {
            hash: text.as_bytes().to_vec(),
            line,
            part: 1,
        }
    }

    #[test]
    fn three_equal_sections_cut_to_one_leave_one() {
        let held = [at("x", 1), at("x", 5), at("x", 9)];
        assert_eq!(
            match_pieces(&held, &[at("x", 5)], false),
            [Some(1)],
            "the one that did not move stays"
        );
        assert_eq!(match_pieces(&held, &[at("x", 2)], false), [Some(0)]);
    }

    #[test]
    fn moved_text_keeps_its_drawer_and_its_order() {
        let held = [at("a", 1), at("x", 5), at("x", 9)];
        let pieces = [at("new", 1), at("a", 4), at("x", 9), at("x", 13)];
        assert_eq!(
            match_pieces(&held, &pieces, false),
            [None, Some(0), Some(2), Some(1)]
        );
    }

    #[test]
    fn only_what_grows_is_matched_by_its_line() {
        let held = [at("question", 3)];
        let grown = [at("question and answer", 3)];
        assert_eq!(match_pieces(&held, &grown, true), [Some(0)]);
        assert_eq!(match_pieces(&held, &grown, false), [None]);
    }
}

//! Which of the drawers of a source are still there: by text and line, by text alone, and, for what grows, by line and
//! part. Pure.

use std::collections::{HashMap, VecDeque};

/// What a drawer or a piece is told apart by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Trait {
    pub(crate) hash: Vec<u8>,
    pub(crate) line: i64,
    pub(crate) part: i64,
}

/// For every piece the drawer that it is, if any; each drawer at most once.
pub(crate) fn match_pieces(held: &[Trait], pieces: &[Trait], grows: bool) -> Vec<Option<usize>> {
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

/// One pass: equal keys are matched in the order in which they stand.
fn match_by<'a, K: std::hash::Hash + Eq>(
    held: &'a [Trait],
    pieces: &'a [Trait],
    found: &mut [Option<usize>],
    taken: &mut [bool],
    key: impl Fn(&'a Trait) -> K,
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

    fn at(text: &str, line: i64) -> Trait {
        Trait {
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

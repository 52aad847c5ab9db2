//! Marks hits whose file is gone, and prefers drawers of files that exist.
//!
//! `mine` keeps the drawers of deleted files until `sync` removes them. Only the few files of an
//! answer are looked at.

use std::collections::{HashMap, HashSet};

use loci_core::{Collection, Get, Include, Result, Selection};
use loci_mine::{FILE, is_gone};

use super::Hit;
use crate::detail::{Detail, DrawerLocation, Nullable};
use crate::machine::this_machine;

/// From this share of common lines on, two drawers are versions of one text.
const SAME_TEXT: f32 = 0.6;

/// Looks at the files of the hits. A hit whose file is gone gives its place to a drawer with the same
/// text in a file that exists, or goes behind a hit with nearly the same text.
pub(super) fn mark(collection: &dyn Collection, hits: &mut Vec<Hit>) {
    let mut files = Files {
        collection,
        known: HashMap::new(),
    };
    for hit in hits.iter_mut() {
        if !files.is_gone_of(hit) {
            continue;
        }
        match files.living_copy(hit) {
            Ok(true) => {}
            Ok(false) => hit.gone = true,
            // An answer that does not mark a file is better than none.
            Err(error) => tracing::debug!(%error, "failed to look for a copy of a gone file"),
        }
    }
    let mut at = 0;
    while at < hits.len() {
        let better = hits.get(at).filter(|hit| hit.gone).and_then(|gone| {
            let place = |hit: &Hit| !hit.gone && common_lines(&gone.text, &hit.text) >= SAME_TEXT;
            hits.iter().skip(at + 1).position(place)
        });
        if let Some(behind) = better {
            let living = hits.remove(at + 1 + behind);
            hits.insert(at, living);
            at += 1;
        }
        at += 1;
    }
}

/// What is known of the files of an answer.
struct Files<'a> {
    collection: &'a dyn Collection,
    known: HashMap<String, bool>,
}

impl Files<'_> {
    fn is_gone_of(&mut self, hit: &Hit) -> bool {
        let source = hit.source.value();
        source.is_some_and(|source| self.is_gone(source))
    }

    /// Whether this machine mined the file, and it does not exist any more.
    fn is_gone(&mut self, source: &str) -> bool {
        if !source.starts_with('/') {
            return false;
        }
        if let Some(known) = self.known.get(source) {
            return *known;
        }
        let is_mined_here = || {
            let ledger = self.collection.ledger()?;
            let rows = ledger.source(&this_machine(), source).ok()?;
            rows.first().map(|row| row.kind == FILE)
        };
        let gone = is_gone(source) && is_mined_here() == Some(true);
        self.known.insert(source.to_owned(), gone);
        gone
    }

    /// Shows another drawer with the same text in the place of a hit, if its file exists.
    fn living_copy(&mut self, hit: &mut Hit) -> Result<bool> {
        let Some(copies) = hit.also_in.as_deref().filter(|copies| !copies.is_empty()) else {
            return Ok(false);
        };
        let found = self.collection.get(&Get {
            include: Include {
                metadatas: true,
                ..Include::NONE
            },
            ..Get::new(Selection::ids(copies.iter().cloned()))
        })?;
        for (id, metadata) in found.ids.into_iter().zip(found.metadatas) {
            let place = DrawerLocation::of(&metadata);
            if place
                .source
                .as_deref()
                .is_some_and(|source| self.is_gone(source))
            {
                continue;
            }
            let detail = match hit.details {
                Some(_) => Detail::Full,
                None => Detail::Brief,
            };
            if let Some(copies) = &mut hit.also_in {
                copies.retain(|copy| *copy != id);
                copies.push(hit.id.clone());
            }
            hit.id = id;
            hit.wing = Nullable::new(place.wing, detail);
            hit.room = Nullable::new(place.room, detail);
            hit.source = Nullable::new(place.source, detail);
            hit.start_line = Nullable::new(place.start_line, detail);
            hit.end_line = Nullable::new(place.end_line, detail);
            if let Some(details) = &mut hit.details {
                details.metadata = metadata;
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// The share of the lines of the shorter text that the other one has too.
fn common_lines(one: &str, other: &str) -> f32 {
    let lines = |text: &'_ str| -> HashSet<String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    let (one, other) = (lines(one), lines(other));
    let shorter = one.len().min(other.len());
    if shorter == 0 {
        return 0.0;
    }
    one.intersection(&other).count() as f32 / shorter as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_text_have_most_of_their_lines_in_common() {
        let old = "# A\n\nThe cap is 30 s.\nAsk Ana.\nThe end.";
        let new = "# A\n\nThe cap is 10 s.\nAsk Ana.\nThe end.";
        assert!(common_lines(old, new) >= SAME_TEXT);
        assert!(common_lines(old, "# A\nSomething else.") < SAME_TEXT);
        assert!(common_lines("", "") < SAME_TEXT);
    }
}

//! Changes of a text at known places. Whatever is not named by a splice stays byte for byte.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// One place of a text: what goes, and what comes instead.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) with: String,
}

/// A change as it is shown to people and noted in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The line that it begins in, from 1.
    pub line: usize,
    /// The text that goes.
    pub removed: String,
    /// The text that comes.
    pub inserted: String,
}

impl Splice {
    pub(super) fn insert(at: usize, with: impl Into<String>) -> Self {
        Self {
            range: at..at,
            with: with.into(),
        }
    }

    pub(super) fn remove(range: Range<usize>) -> Self {
        Self {
            range,
            with: String::new(),
        }
    }
}

/// Does all of `splices`, which do not overlap, and says what was done.
pub(super) fn apply(text: &mut String, mut splices: Vec<Splice>) -> Vec<Edit> {
    splices.retain(|splice| !splice.range.is_empty() || !splice.with.is_empty());
    splices.sort_by_key(|splice| splice.range.start);
    let edits = splices
        .iter()
        .map(|splice| Edit {
            line: 1 + before(text, splice.range.start).matches('\n').count(),
            removed: within(text, &splice.range).to_owned(),
            inserted: splice.with.clone(),
        })
        .collect();
    for splice in splices.into_iter().rev() {
        if text.get(splice.range.clone()).is_some() {
            text.replace_range(splice.range, &splice.with);
        }
    }
    edits
}

pub(super) fn within<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    text.get(range.clone()).unwrap_or_default()
}

pub(super) fn before(text: &str, at: usize) -> &str {
    text.get(..at).unwrap_or_default()
}

pub(super) fn from(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// Where the line of `at` begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    before(text, at)
        .rfind('\n')
        .map_or(0, |newline| newline + 1)
}

/// Where the line after the one of `at` begins, or the end of the text.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    from(text, at)
        .find('\n')
        .map_or(text.len(), |newline| at + newline + 1)
}

/// What separates lines in this text.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if before(text, at).ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

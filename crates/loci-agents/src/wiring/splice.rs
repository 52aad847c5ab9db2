//! Edits of a text at known positions. Everything outside the splices stays byte for byte.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// One edit: a range and its replacement.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) with: String,
}

/// An edit, as shown to users and recorded in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The line in which it begins, from 1.
    pub line: usize,
    /// The removed text.
    pub removed: String,
    /// The inserted text.
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

/// Applies all `splices`, which must not overlap, and returns the edits.
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

/// Returns the start of the line of `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    before(text, at)
        .rfind('\n')
        .map_or(0, |newline| newline + 1)
}

/// Returns the start of the line after that of `at`, or the end of the text.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    from(text, at)
        .find('\n')
        .map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the line separator of this text.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if before(text, at).ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

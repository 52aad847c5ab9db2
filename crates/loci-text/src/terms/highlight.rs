//! Finds the terms of a query in a text.

use std::collections::HashSet;
use std::ops::Range;

use super::Beginnings;
use super::walk::walk_where;

/// Byte ranges of the words of `text` that have one of the terms: sorted, merged, on character
/// boundaries. A term that ends in `*` matches every term that begins with it
/// ([`QueryTerm::pattern`](crate::QueryTerm::pattern)).
///
/// ```
/// let text = "We ran; they were running.";
/// let spans = loci_text::matching_spans(text, &["run"]);
/// assert_eq!(&text[spans[0].clone()], "running");
/// ```
pub fn matching_spans(text: &str, terms: &[&str]) -> Vec<Range<usize>> {
    let exact: HashSet<&str> = terms.iter().copied().collect();
    let prefixes: Vec<&str> = terms
        .iter()
        .filter_map(|term| term.strip_suffix('*'))
        .filter(|term| !term.is_empty())
        .collect();
    let mut spans: Vec<Range<usize>> = Vec::new();
    let beginnings = Beginnings::of(
        terms
            .iter()
            .map(|term| term.strip_suffix('*').unwrap_or(term)),
    );
    walk_where(text, &|word| beginnings.admit(word), &mut |term| {
        let carries = |prefix: &&str| term.text.starts_with(prefix);
        let matches = exact.contains(term.text) || prefixes.iter().any(carries);
        if matches && !term.text.is_empty() {
            spans.push(term.place.clone());
        }
    });
    merge(spans)
}

/// A compound is found after its parts, so the starts are not sorted.
fn merge(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

//! Finds the terms of a query in a text.

use std::collections::HashMap;
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
    merge(
        term_spans(text, terms)
            .into_iter()
            .map(|(span, _)| span)
            .collect(),
    )
}

/// The same for each term: the byte range of a word and the position in `terms`, in the order of the
/// text. Ranges may overlap, because a compound and its parts are terms.
pub fn term_spans(text: &str, terms: &[&str]) -> Vec<(Range<usize>, usize)> {
    let mut exact: HashMap<&str, usize> = HashMap::with_capacity(terms.len());
    let mut prefixes: Vec<(&str, usize)> = Vec::new();
    for (at, term) in terms.iter().enumerate() {
        exact.entry(term).or_insert(at);
        if let Some(prefix) = term.strip_suffix('*').filter(|prefix| !prefix.is_empty()) {
            prefixes.push((prefix, at));
        }
    }
    let beginnings = Beginnings::of(
        terms
            .iter()
            .map(|term| term.strip_suffix('*').unwrap_or(term)),
    );
    let mut spans = Vec::new();
    walk_where(text, &|word| beginnings.admit(word), &mut |term| {
        if term.text.is_empty() {
            return;
        }
        let longer = || {
            let carries = |prefix: &&(&str, usize)| term.text.starts_with(prefix.0);
            prefixes.iter().find(carries).map(|(_, at)| *at)
        };
        if let Some(at) = exact.get(term.text).copied().or_else(longer) {
            spans.push((term.place.clone(), at));
        }
    });
    spans
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

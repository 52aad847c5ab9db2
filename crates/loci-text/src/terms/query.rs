//! The terms of a query.

use std::collections::HashSet;

use super::stop::is_stop_word;
use super::walk::{Term, TermKind, walk};

/// One term of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTerm {
    /// The term in its stored form.
    pub term: String,
    /// Its kind.
    pub kind: TermKind,
    /// The word as the user typed it.
    pub word: String,
    /// Whether stored terms that begin with it match too.
    pub prefix: bool,
}

impl QueryTerm {
    /// The term in the form of [`matching_spans`](crate::matching_spans): with a `*` at the end if
    /// it is a prefix.
    pub fn pattern(&self) -> String {
        let star = if self.prefix { "*" } else { "" };
        format!("{}{star}", self.term)
    }
}

/// The terms of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryTerms {
    /// The distinct terms, in query order.
    pub terms: Vec<QueryTerm>,
    /// Number of distinct terms beyond the limit.
    pub left_out: usize,
    /// Whether the query has only stop words. In that case they are its terms.
    pub only_stop_words: bool,
}

/// The first `limit` distinct terms of a query. Stop words are dropped unless there are no other
/// words.
///
/// ```
/// let query = loci_text::query_terms("What did Melanie paint?", 10);
/// let terms: Vec<_> = query.terms.iter().map(|term| term.term.as_str()).collect();
/// assert_eq!(terms, ["melani", "paint"]);
/// ```
pub fn query_terms(query: &str, limit: usize) -> QueryTerms {
    let mut content = Distinct::default();
    let mut stop_words = Distinct::default();
    walk(query, &mut |term| {
        if term.index_only {
            return;
        }
        let is_word = matches!(term.kind, TermKind::Word | TermKind::Part);
        if is_word && is_stop_word(term.folded) {
            stop_words.add(term, query, limit);
        } else {
            content.add(term, query, limit);
        }
    });
    let only_stop_words = content.seen.is_empty() && !stop_words.seen.is_empty();
    let used = if only_stop_words { stop_words } else { content };
    QueryTerms {
        left_out: used.seen.len() - used.terms.len(),
        terms: used.terms,
        only_stop_words,
    }
}

#[derive(Default)]
struct Distinct {
    terms: Vec<QueryTerm>,
    seen: HashSet<String>,
}

impl Distinct {
    fn add(&mut self, term: &Term<'_>, query: &str, limit: usize) {
        if self.seen.contains(term.text) {
            return;
        }
        self.seen.insert(term.text.to_owned());
        if self.terms.len() < limit {
            self.terms.push(QueryTerm {
                term: term.text.to_owned(),
                kind: term.kind,
                word: query.get(term.place.clone()).unwrap_or_default().to_owned(),
                prefix: is_prefix(term),
            });
        }
    }
}

/// Users often type only the part of a name that they remember.
fn is_prefix(term: &Term<'_>) -> bool {
    match term.kind {
        TermKind::Whole => true,
        TermKind::Gram => term.text.chars().nth(1).is_none(),
        TermKind::Word | TermKind::Part => {
            term.text.contains(char::is_numeric) && term.text.contains(char::is_alphabetic)
        }
    }
}

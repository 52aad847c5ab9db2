//! The terms of a query.

use std::collections::HashSet;

use super::stem::Stems;
use super::stop::is_stop_word;
use super::variants;
use super::walk::{Term, TermKind, walk};

/// Number of words whose initials are searched as one word.
const INITIALS: std::ops::RangeInclusive<usize> = 3..=5;
/// Maximum number of initials. A long question is a text, and its words abbreviate nothing.
const MOST_INITIALS: usize = 24;

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
    /// Other spellings of the word, in their stored form.
    pub spellings: Vec<String>,
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
    /// Initials of words that follow each other, with these words: `slo` for "service level
    /// objective".
    pub initials: Vec<(String, String)>,
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
    let mut initials = Initials::default();
    walk(query, &mut |term| {
        if term.index_only {
            return;
        }
        let is_word = matches!(term.kind, TermKind::Word | TermKind::Part);
        if is_word && is_stop_word(term.folded) {
            initials.interrupt();
            stop_words.add(term, query, limit);
        } else {
            initials.add(term);
            content.add(term, query, limit);
        }
    });
    let only_stop_words = content.seen.is_empty() && !stop_words.seen.is_empty();
    let mut used = if only_stop_words { stop_words } else { content };
    used.find_spellings();
    QueryTerms {
        initials: initials.found(query),
        left_out: used.seen.len() - used.terms.len(),
        terms: used.terms,
        only_stop_words,
    }
}

#[derive(Default)]
struct Distinct {
    terms: Vec<QueryTerm>,
    /// The folded word of each term.
    folded: Vec<String>,
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
                spellings: Vec::new(),
            });
            self.folded.push(term.folded.to_owned());
        }
    }

    /// Finds the other spellings of the terms, after the walker has returned its stems.
    fn find_spellings(&mut self) {
        let mut stems = Stems::borrow();
        for (term, folded) in self.terms.iter_mut().zip(&self.folded) {
            term.spellings = match term.kind {
                TermKind::Word | TermKind::Part => variants::spellings(folded, &mut stems),
                TermKind::Whole => variants::version(&term.term, &term.word)
                    .into_iter()
                    .collect(),
                TermKind::Gram => Vec::new(),
            };
            term.spellings.retain(|other| *other != term.term);
        }
        stems.give_back();
    }
}

/// Collects the words of a query that follow each other without a stop word in between.
#[derive(Default)]
struct Initials {
    /// Runs of words: the first letter and the place of each.
    runs: Vec<Vec<(char, std::ops::Range<usize>)>>,
}

impl Initials {
    fn add(&mut self, term: &Term<'_>) {
        let first = term.folded.chars().next();
        let is_word = term.kind == TermKind::Word && term.folded.len() > 1;
        match first.filter(|first| is_word && first.is_alphabetic()) {
            Some(first) => match self.runs.last_mut() {
                Some(run) => run.push((first, term.place.clone())),
                None => self.runs.push(vec![(first, term.place.clone())]),
            },
            None => self.interrupt(),
        }
    }

    fn interrupt(&mut self) {
        self.runs.push(Vec::new());
    }

    /// The initials of every run of words, and of its parts.
    fn found(&self, query: &str) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for run in &self.runs {
            for words in INITIALS.flat_map(|length| run.windows(length)) {
                let initials: String = words.iter().map(|(first, _)| first).collect();
                let place = words.first().zip(words.last());
                let phrase = place.and_then(|(first, last)| query.get(first.1.start..last.1.end));
                if found.len() == MOST_INITIALS {
                    return found;
                }
                if let Some(phrase) = phrase
                    && found.iter().all(|(known, _)| *known != initials)
                {
                    found.push((initials, phrase.to_owned()));
                }
            }
        }
        found
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

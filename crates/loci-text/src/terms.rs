//! The terms of postings.
//!
//! A text becomes a string of terms separated by single spaces. A term consists of ASCII lower-case
//! letters, ASCII digits and characters outside of ASCII, and has at most 64 bytes. Postings store
//! these terms, so their form is a file format, which the table in `tests/it/terms.rs` pins.

mod class;
mod fold;
mod highlight;
mod parts;
mod phrase;
mod query;
mod stem;
mod stop;
mod variants;
mod walk;

pub use highlight::{matching_spans, term_spans};
pub use phrase::Phrase;
pub use query::{QueryTerm, QueryTerms, query_terms};
pub use variants::one_typing_error;
pub use walk::TermKind;

/// The stored terms of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexTerms {
    /// The terms in text order, separated by single spaces.
    pub joined: String,
    /// Number of terms.
    pub count: usize,
}

/// The terms of a text, for storage. Takes linear time in the length of the text.
///
/// ```
/// let terms = loci_text::index_terms("Melanie's café: src/lock.rs");
/// assert_eq!(terms.joined, "melani cafe src lock rs lockr srclockr");
/// assert_eq!(terms.count, 7);
/// ```
pub fn index_terms(text: &str) -> IndexTerms {
    let mut joined = String::with_capacity(text.len() + text.len() / 8);
    let mut count = 0;
    walk::walk(text, &mut |term| {
        if count > 0 {
            joined.push(' ');
        }
        joined.push_str(term.text);
        count += 1;
    });
    IndexTerms { joined, count }
}

/// Which words can have one of some terms: a stem begins with the first byte of its word and is not
/// longer.
struct Beginnings {
    /// The length of the shortest term with each first byte.
    shortest: [usize; 256],
}

impl Beginnings {
    fn of<'a>(terms: impl Iterator<Item = &'a str>) -> Self {
        let mut shortest = [usize::MAX; 256];
        for term in terms {
            let first = term.as_bytes().first().map(|byte| usize::from(*byte));
            if let Some(shortest) = first.and_then(|first| shortest.get_mut(first)) {
                *shortest = term.len().min(*shortest);
            }
        }
        Self { shortest }
    }

    fn admit(&self, word: &str) -> bool {
        let first = word.as_bytes().first().map(|byte| usize::from(*byte));
        let shortest = first.and_then(|first| self.shortest.get(first));
        shortest.is_some_and(|shortest| word.len() >= *shortest)
    }
}

/// Where terms occur in a text: the number of the term in [`index_terms`] and the position in
/// `terms`. Words that cannot have one of the terms are not stemmed, which makes this cheaper than
/// comparing all terms of the text.
///
/// ```
/// let places = loci_text::term_places("They ran, and we run: running!", &["we", "run"]);
/// assert_eq!(places, [(3, 0), (4, 1), (5, 1)]);
/// ```
pub fn term_places(text: &str, terms: &[&str]) -> Vec<(usize, usize)> {
    let beginnings = Beginnings::of(terms.iter().copied());
    let mut places = Vec::new();
    let mut count = 0;
    walk::walk_where(text, &|word| beginnings.admit(word), &mut |term| {
        if beginnings.admit(term.text)
            && let Some(at) = terms.iter().position(|wanted| *wanted == term.text)
        {
            places.push((count, at));
        }
        count += 1;
    });
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The places by all terms of the text.
    fn compared(text: &str, terms: &[&str]) -> Vec<(usize, usize)> {
        let joined = index_terms(text).joined;
        let found = joined.split(' ').enumerate();
        found
            .filter_map(|(place, found)| {
                let at = terms.iter().position(|term| *term == found)?;
                Some((place, at))
            })
            .collect()
    }

    #[test]
    fn places_of_terms_are_those_among_all_terms_of_the_text() {
        let text = "Dying skies: the liar was lying, only early; src/lockFile.rs, HTTPServer2 \
            and 日本語 in the café. I'm tying a tie.";
        let joined = index_terms(text).joined;
        let all: Vec<&str> = joined.split(' ').collect();
        assert!(all.contains(&"die") && all.contains(&"sky") && all.contains(&"lie"));
        assert_eq!(term_places(text, &all), compared(text, &all));
        for term in &all {
            assert_eq!(
                term_places(text, &[term]),
                compared(text, &[term]),
                "{term}"
            );
        }
        assert_eq!(term_places("", &all), []);
        assert_eq!(term_places(text, &[]), []);
    }

    proptest! {
        #[test]
        fn places_of_terms_are_those_among_all_terms_of_any_text(
            words in prop::collection::vec("[a-z]{1,6}(ing|ed|ies|y|ly|s|ational|ness|)", 1..40),
            pick in 0_usize..40,
        ) {
            let text = words.join(" ");
            let joined = index_terms(&text).joined;
            let all: Vec<&str> = joined.split(' ').collect();
            let term = all[pick % all.len()];
            prop_assert_eq!(term_places(&text, &[term]), compared(&text, &[term]));
        }
    }
}

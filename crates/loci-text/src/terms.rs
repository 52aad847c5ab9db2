//! The terms that postings are made of.
//!
//! A text becomes a string of terms joined by single spaces. A term has ASCII lower-case letters,
//! ASCII digits and characters outside ASCII only, and at most 64 bytes. Postings hold these terms,
//! so their form is a file format: the table in `tests/it/terms.rs` pins it.

mod class;
mod fold;
mod highlight;
mod parts;
mod query;
mod stem;
mod stop;
mod walk;

pub use highlight::matching_spans;
pub use query::{QueryTerm, QueryTerms, query_terms};
pub use walk::TermKind;

/// What is stored of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexTerms {
    /// The terms in the order of the text, joined by single spaces.
    pub joined: String,
    /// How many there are.
    pub count: usize,
}

/// The terms of a text, for storing. Takes time linear in the length of the text.
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

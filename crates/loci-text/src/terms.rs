//! The terms of postings.
//!
//! A text becomes a string of terms separated by single spaces. A term consists of ASCII lower-case
//! letters, ASCII digits and characters outside of ASCII, and has at most 64 bytes. Postings store
//! these terms, so their form is a file format, which the table in `tests/it/terms.rs` pins.

mod class;
mod fold;
mod highlight;
mod parts;
mod query;
mod stem;
mod stop;
mod variants;
mod walk;

pub use highlight::matching_spans;
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

//! Text analysis for search.
//!
//! [`index_terms`], [`query_terms`] and [`matching_spans`] implement the search by words: the terms
//! to store of a text, the terms of a query, and the spans to highlight. [`when`] finds the time in
//! a question. [`Tokenizer`] splits text into the word pieces that embedders read. No function
//! fails on any text, and none does I/O.
#![forbid(unsafe_code)]

mod front_matter;
mod label;
mod terms;
pub mod when;
mod wordpiece;

pub use front_matter::front_matter_end;
pub use label::opening_label;
pub use terms::{
    IndexTerms, Phrase, QueryTerm, QueryTerms, TermKind, index_terms, matching_spans,
    one_typing_error, query_terms, term_places, term_spans,
};
pub use wordpiece::{BEGIN, END, TokenId, Tokenizer};

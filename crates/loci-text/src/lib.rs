//! What a text is to search.
//!
//! [`index_terms`], [`query_terms`] and [`matching_spans`] are word search: what is stored of a
//! text, what a query asks for, what to highlight. [`when`] reads the time that a question speaks
//! of. [`Tokenizer`] gives the pieces of words that embedders read. Nothing here fails, whatever
//! the text, and nothing here does I/O.
#![forbid(unsafe_code)]

mod label;
mod terms;
pub mod when;
mod wordpiece;

pub use label::opening_label;
pub use terms::{
    IndexTerms, QueryTerm, QueryTerms, TermKind, index_terms, matching_spans, query_terms,
};
pub use wordpiece::{BEGIN, END, TokenId, Tokenizer};

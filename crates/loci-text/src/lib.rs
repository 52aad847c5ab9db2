//! What a text is to search.
//!
//! [`Tokenizer`] gives the pieces of words that embedders read. Nothing here fails, whatever the text, and
//! nothing here does I/O.
#![forbid(unsafe_code)]

mod wordpiece;

pub use wordpiece::{BEGIN, END, TokenId, Tokenizer};

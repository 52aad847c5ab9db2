//! From a question to hits.
//!
//! A collection gives what its lexical and its semantic arm find ([`loci_core::Findings`]); this crate scores it, explains
//! the score, and says what is missing. It opens no file and knows no backend.
#![forbid(unsafe_code)]

mod budget;
mod rank;
mod score;
mod search;
mod similarity;
mod verdict;
mod weights;
mod why_not;

pub use budget::count_tokens;
pub use rank::MatchedVia;
pub use score::{Parts, date_of, start_of, today};
pub use search::{
    Answer, ArmEntry, Explanation, Hit, MAX_HITS, MAX_QUERY_BYTES, Request, Step, TermInfo, search,
};
pub use verdict::Verdict;
pub use why_not::{Stage, WhyNot, why_not};

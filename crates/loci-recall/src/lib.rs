//! From a question to hits.
//!
//! A collection gives what its lexical and its semantic arm find ([`loci_core::Findings`]); this crate scores it, explains
//! the score, and says what is missing. It opens no file and knows no backend.
#![forbid(unsafe_code)]

mod answer;
mod budget;
mod explain;
mod rank;
mod score;
mod search;
mod similarity;
mod vectors;
mod verdict;
mod weights;
mod why_not;

pub use answer::{Answer, Hit, Request};
pub use budget::count_tokens;
pub use explain::{ArmEntry, Explanation, Step, TermInfo};
pub use rank::MatchedVia;
pub use score::{Parts, date_of, start_of, today};
pub use search::{MAX_HITS, MAX_QUERY_BYTES, search};
pub use verdict::Verdict;
pub use why_not::{Stage, WhyNot, why_not};

//! From a question to hits.
//!
//! A collection provides rows and postings as of one commit ([`loci_core::SearchView`]). This crate
//! decides which terms are searched, collects the results of both arms, scores them, explains the
//! scores, and reports missing data. It opens no file and knows no backend.
#![forbid(unsafe_code)]

mod answer;
mod bm25;
mod board;
mod budget;
mod curves;
mod everyday;
mod evidence;
mod examine;
mod explain;
mod feature;
mod later;
mod later_weights;
mod lexical;
mod marks;
mod model;
mod probability;
mod rank;
mod recall;
mod relevance;
mod relevance_weights;
mod score;
mod search;
mod similarity;
mod spelling;
mod vectors;
mod verdict;
mod weights;
mod why_not;
mod window;
mod words;

pub use answer::{Answer, Hit, Request};
pub use budget::count_tokens;
pub use evidence::{
    Evidence, FacetQuery, Findings, Judge, MAX_DEPTH, Origin, Placed, Probe, ProbeVector,
    ProbedTerm, Role, SourceEvidence,
};
pub use examine::{Candidate, examine};
pub use explain::{ArmEntry, Explanation, StageNote, TermInfo};
pub use feature::{DEFINITIONS, Definition, FEATURES, Feature, Features, Shape};
pub use later::{Comparison, LATER_INPUTS, Later, Statement, likelihood};
pub use marks::Mark;
pub use model::{Curve, segment, share_of_large};
pub use probability::{Common, INPUTS};
pub use rank::MatchedVia;
pub use recall::{RecallResult, recall};
pub use relevance::{RELEVANCE_INPUTS, Relevance, rarity_of};
pub use score::{Part, Parts, date_of, start_of, today};
pub use search::{MAX_HITS, MAX_QUERY_BYTES, MIN_PROBABILITY, fill, search};
pub use verdict::Verdict;
pub use why_not::{Cause, Condition, Remedy, Stage, WhyNot, why_not};
pub use words::{LexicalHit, LexicalResult, search_words};

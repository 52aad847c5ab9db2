//! The numbers of the ranking, each chosen on the tuning half of LoCoMo (docs/benchmarks.md) and kept round.
//!
//! Every part of a score is a share of what the question could attain, so parts can be added and mean the same in a palace
//! of any size.

/// BM25 of a whole source; the numbers for a passage are in [`crate::bm25`].
pub(crate) const SOURCE_K1: f32 = 1.2;
pub(crate) const SOURCE_B: f32 = 0.75;

/// What neighbours lend, the nearest first. An answer often follows the passage that holds the words of the question.
pub(crate) const BEFORE_TERMS: [f32; 2] = [0.4, 0.2];
pub(crate) const AFTER_TERMS: [f32; 2] = [0.2, 0.1];
pub(crate) const BEFORE_TOKENS: [f32; 2] = [0.8, 0.7];
pub(crate) const AFTER_TOKENS: [f32; 2] = [0.7, 0.6];
/// Neighbours on each side that count.
pub(crate) const CONTEXT: usize = 2;

/// How much it counts that the question names who speaks.
pub(crate) const LABEL: f32 = 0.4;
/// How much a date counts that the question names, and how many days beside it still count a little.
pub(crate) const DATE: f32 = 0.3;
pub(crate) const DATE_DAYS: f32 = 14.0;
/// The same where the question asks for nothing else, or for one word besides. These two are not fitted: no question of
/// the data set is like that.
pub(crate) const DATE_ALONE: f32 = 2.0;
pub(crate) const DATE_WITH_ONE: f32 = 1.0;
/// Share of it for a drawer without a date of its own: the day it was added says little.
pub(crate) const UNDATED: f32 = 0.5;

/// Drawers that the lexical arm names, and that are looked at closely.
pub(crate) const DEPTH: usize = 100;
/// How many of a hundred the semantic arm names. All hundred would find .001 more and cost a tenth of the time.
pub(crate) const NEAR_PERCENT: usize = 70;

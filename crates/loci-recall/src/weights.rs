//! The constants of the features and of the depth of a search. Each is chosen on the tuning half of
//! LoCoMo (docs/benchmarks.md) and rounded. The weights of the features are in [`crate::curves`].

/// BM25 of a whole source; the constants for a passage are in [`crate::bm25`].
pub(crate) const SOURCE_K1: f32 = 1.2;
pub(crate) const SOURCE_B: f32 = 0.75;

/// Weights of the neighbours, the nearest first. An answer often follows the passage that contains
/// the words of the question.
pub(crate) const BEFORE_TERMS: [f32; 2] = [0.4, 0.2];
pub(crate) const AFTER_TERMS: [f32; 2] = [0.2, 0.1];
pub(crate) const BEFORE_TOKENS: [f32; 2] = [0.8, 0.7];
pub(crate) const AFTER_TOKENS: [f32; 2] = [0.7, 0.6];
/// Number of neighbours on each side that count.
pub(crate) const CONTEXT: usize = 2;

/// Number of drawers of a source that count if sources are ranked, and how far behind the best one
/// they may be.
pub(crate) const COMPANY: usize = 5;
pub(crate) const COMPANY_SCALE: f32 = 0.5;

/// Number of days around a date that the question names that count a little.
pub(crate) const DATE_DAYS: f32 = 14.0;
/// Weight of a date if the question contains nothing else, or only one other word. These two are
/// not fitted, because no data set has such questions.
pub(crate) const DATE_ALONE: f32 = 6.0;
pub(crate) const DATE_WITH_ONE: f32 = 3.0;
/// Share of the weight for a drawer without its own date, because the day of adding it says little.
pub(crate) const UNDATED: f32 = 0.5;

/// Number of results of the lexical arm in a small palace.
pub(crate) const DEPTH: usize = 100;
/// Results of the semantic arm, in percent of the lexical arm's. All hundred would find .001 more
/// and cost a tenth of the time.
pub(crate) const NEAR_PERCENT: usize = 70;
/// Minimum number of drawers whose texts are read for the final order.
pub(crate) const TEXTS: usize = 24;
/// Number of drawers at the top of each arm whose tokens are always compared.
pub(crate) const FIRST_OF_ARM: usize = 20;

/// The drawers that follow this many of the best ones in their sources are read, too.
pub(crate) const FOLLOWED: usize = 4;

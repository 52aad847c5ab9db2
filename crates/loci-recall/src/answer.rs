//! What is asked and what is answered.

use jiff::civil::Date;
use loci_core::{FacetCounts, Metadata, Outside, Selection, Warning};

use crate::evidence::FacetQuery;
use crate::explain::Explanation;
use crate::rank::MatchedVia;
use crate::score::{Parts, today};
use crate::verdict::Verdict;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The question: any text.
    pub query: String,
    /// Hits at most.
    pub k: usize,
    /// Which drawers may be hits.
    pub selection: Selection,
    /// Drawers that hold no word of the question are left out beyond this distance.
    pub max_distance: Option<f32>,
    /// Tokens of all texts together at most.
    pub budget: Option<usize>,
    /// What "last week" is counted from.
    pub today: Date,
    /// Whether one hit per source is enough.
    pub by_source: bool,
    /// Whether the explanation names the drawers of both arms.
    pub explain: bool,
    /// What is counted over the selection if fewer than `k` hits come back.
    pub facets: Option<FacetQuery>,
    /// Metadata keys whose values are counted over the whole collection if the selection admits
    /// nothing.
    pub outside_keys: Vec<String>,
    /// Selections whose drawers are counted, each by itself, if the selection admits nothing.
    pub outside_selections: Vec<Selection>,
}

impl Request {
    /// The ten best for a question, as of today.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            k: 10,
            selection: Selection::all(),
            max_distance: None,
            budget: None,
            today: today(),
            by_source: false,
            explain: false,
            facets: None,
            outside_keys: Vec::new(),
            outside_selections: Vec::new(),
        }
    }
}

/// A drawer that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Its number in the palace.
    pub record: u64,
    /// Its id.
    pub id: String,
    /// Its text, or the beginning of it if `cut`.
    pub text: String,
    /// Whether the text is only the beginning: the rest is to be had by id.
    pub cut: bool,
    /// Its metadata.
    pub metadata: Metadata,
    /// When it was said or written, else when it was added, in milliseconds since 1970.
    pub authored_at: i64,
    /// When it was added.
    pub created_at: i64,
    /// The sum of the parts.
    pub score: f32,
    /// What the score is made of.
    pub parts: Parts,
    /// Distance of the vectors, if they were compared.
    pub distance: Option<f32>,
    /// Its place in the lexical arm, if it is among the first.
    pub lexical_rank: Option<usize>,
    /// Its place in the semantic arm, if it is among the first.
    pub semantic_rank: Option<usize>,
    /// How it was found.
    pub matched_via: MatchedVia,
    /// Words of the question that it holds.
    pub matched_words: Vec<String>,
    /// Ids of hits with the very same text, which are not shown again.
    pub also_in: Vec<String>,
    /// Tokens of the text that is shown.
    pub tokens: usize,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Whether the answer is in memory at all.
    pub verdict: Verdict,
    /// Drawers that the selection admits.
    pub in_scope: u64,
    /// Tokens of all texts that are shown.
    pub tokens: usize,
    /// The facets of the request, one for each key, if fewer than `k` hits came back.
    pub facets: Option<Vec<FacetCounts>>,
    /// What there is outside of the selection, if that admits nothing.
    pub outside: Option<Outside>,
    /// What is missing or was done differently.
    pub warnings: Vec<Warning>,
    /// How it came about.
    pub explanation: Explanation,
}

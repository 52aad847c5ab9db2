//! The request and the answer of a search.

use jiff::civil::Date;
use loci_core::{FacetCounts, Metadata, Outside, Phrase, Selection, Warning};

use crate::evidence::FacetQuery;
use crate::explain::Explanation;
use crate::later::Later;
use crate::marks::Mark;
use crate::rank::MatchedVia;
use crate::relevance::Relevance;
use crate::score::{Parts, today};
use crate::verdict::Verdict;

/// The request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The question: any text.
    pub query: String,
    /// Phrases to mark in the hits. They do not restrict the search; the selection does.
    pub phrases: Vec<Phrase>,
    /// Maximum number of hits.
    pub k: usize,
    /// Which drawers may be hits.
    pub selection: Selection,
    /// Drawers beyond this distance are left out, unless they contain a word of the question.
    pub max_distance: Option<f32>,
    /// Hits that are less probable than this are left out. Without a value, hits below
    /// [`MIN_PROBABILITY`](crate::MIN_PROBABILITY) are left out if they contain no word of the question.
    pub min_probability: Option<f32>,
    /// Maximum number of tokens in all texts together.
    pub budget: Option<usize>,
    /// The day that "last week" refers to.
    pub today: Date,
    /// Whether to return at most one hit per source.
    pub by_source: bool,
    /// Whether the explanation names the drawers of both arms.
    pub explain: bool,
    /// Whether nobody asked, so that only hits which are worth adding to a prompt are compared with
    /// later drawers.
    pub unasked: bool,
    /// The facets to count over the selection if there are fewer than `k` hits.
    pub facets: Option<FacetQuery>,
    /// Metadata keys whose values are counted over the whole collection if the selection matches
    /// nothing.
    pub outside_keys: Vec<String>,
    /// Selections whose drawers are counted, each by itself, if the selection matches nothing.
    pub outside_selections: Vec<Selection>,
}

impl Request {
    /// The ten best for a question, as of today.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            phrases: Vec::new(),
            k: 10,
            selection: Selection::all(),
            max_distance: None,
            min_probability: None,
            budget: None,
            today: today(),
            by_source: false,
            explain: false,
            unasked: false,
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
    /// Its text, or a part of it if `cut`.
    pub text: String,
    /// Whether the text is cut. The whole text can be read by id.
    pub cut: bool,
    /// The parts of the text that match the question, in their order. Empty if nobody asked.
    pub marks: Vec<Mark>,
    /// The byte of the text where the line that matches best begins.
    pub best_line: usize,
    /// The number of that line in the file, if it is known.
    pub line: Option<i64>,
    /// Its metadata.
    pub metadata: Metadata,
    /// When it was written, else when it was added, in milliseconds since 1970.
    pub authored_at: i64,
    /// When it was added.
    pub created_at: i64,
    /// The sum of the parts.
    pub score: f32,
    /// How likely it is that this drawer answers the question, between 0 and 1.
    pub probability: f32,
    /// How relevant it is to somebody who did not ask.
    pub relevance: Relevance,
    /// The parts of the score.
    pub parts: Parts,
    /// Distance of the vectors, if they were compared.
    pub distance: Option<f32>,
    /// Its place in the lexical arm, if it is among the first.
    pub lexical_rank: Option<usize>,
    /// Its place in the semantic arm, if it is among the first.
    pub semantic_rank: Option<usize>,
    /// How it was found.
    pub matched_via: MatchedVia,
    /// Words of the question that it contains.
    pub matched_words: Vec<String>,
    /// Ids of hits with the same text, which are not listed again.
    pub also_in: Vec<String>,
    /// Number of tokens of the text.
    pub tokens: usize,
    /// The latest drawer that seems to replace it.
    pub later: Option<Later>,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Whether the answer is in memory at all.
    pub verdict: Verdict,
    /// Number of drawers that match the selection.
    pub in_scope: u64,
    /// Number of tokens of all texts.
    pub tokens: usize,
    /// The facets of the request, one for each key, if there are fewer than `k` hits.
    pub facets: Option<Vec<FacetCounts>>,
    /// The counts outside the selection, if it matches nothing.
    pub outside: Option<Outside>,
    /// Warnings about missing data or a changed request.
    pub warnings: Vec<Warning>,
    /// The explanation.
    pub explanation: Explanation,
}

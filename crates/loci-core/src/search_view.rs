//! What a search reads of a collection: counts, postings, near vectors, passages and drawers, all
//! as of one commit.
//!
//! A backend supplies rows; it ranks nothing. `loci-recall` decides which terms are searched, what
//! they weigh and which drawers are hits.
//!
//! Every call takes a batch, so that a backend behind a network needs few round trips. A search
//! makes its calls in the order of the trait. Such a backend reads ahead: `lengths` and
//! `created_at` come with the postings and passages that were read before, and tokens with the
//! distances ([`SearchView::expect_tokens`]). Then opening, candidates, surroundings, distances and
//! drawers are five round trips, and six if only common words were asked for. Facets, which only a
//! search that finds too little asks for, are one more.

use crate::collection::{Metric, Selection};
use crate::embedder::EmbedderIdentity;
use crate::error::Result;
use crate::metadata::Metadata;
use crate::result::FacetCounts;

/// What a view is opened for.
#[derive(Debug, Clone, Copy)]
pub struct ViewRequest<'a> {
    /// Which drawers may be found.
    pub selection: &'a Selection,
    /// Whether vectors are compared. A view that was opened without need not prepare for it.
    pub vectors: bool,
}

/// Counts of a collection and its palace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    /// Drawers of the whole palace.
    pub palace_drawers: u64,
    /// Drawers of the collection.
    pub drawers: u64,
    /// Sum of the lengths of its passages.
    pub terms: u64,
    /// Its own vectors: those of the pinned embedder.
    pub vectors: u64,
    /// Drawers that the selection holds.
    pub in_scope: u64,
    /// How distances are measured.
    pub metric: Metric,
    /// The dimension of its own vectors, once it is known.
    pub dimension: Option<usize>,
    /// The pinned embedder.
    pub embedder: Option<EmbedderIdentity>,
    /// Vectors of other embedders. May be empty if the view was opened without vectors.
    pub foreign: Vec<ForeignVectors>,
}

/// How many vectors of another embedder a collection holds.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignVectors {
    /// The embedder; nothing if its name is damaged.
    pub embedder: Option<EmbedderIdentity>,
    /// How many vectors it made.
    pub vectors: u64,
}

/// A term whose postings are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermQuery {
    /// The term as [`crate::passage::terms`] makes it.
    pub term: String,
    /// Whether the longer terms that begin with it are meant instead of the term itself.
    pub longer: bool,
}

/// A query vector and the vectors it is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceVector {
    /// `None` for the collection's own vectors, else those of this embedder.
    pub space: Option<EmbedderIdentity>,
    /// The vector. `loci-recall` has checked its dimension against [`Statistics::dimension`].
    pub vector: Vec<f32>,
}

/// What both arms of a search are asked.
#[derive(Debug, Clone, Copy)]
pub struct CandidateQuery<'a> {
    /// The terms.
    pub terms: &'a [TermQuery],
    /// A term that more drawers hold is too common: its postings are not listed.
    pub common: usize,
    /// The vectors, one per space.
    pub vectors: &'a [SpaceVector],
    /// Drawers that are named per vector at most.
    pub near: usize,
}

/// What both arms found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidates {
    /// One for each term.
    pub postings: Vec<Postings>,
    /// One list for each vector: the nearest drawers of the selection with their exact distances,
    /// the nearest first, equal ones by record.
    pub nearest: Vec<Vec<(f32, u64)>>,
}

/// The drawers that hold a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Postings {
    /// Records and how often each holds the term, by record. Records outside the selection are
    /// listed, too, because they lend context to their neighbours. So may be records of other
    /// collections, because rarity is counted over the palace; [`SearchView::lengths`] and
    /// [`SearchView::surroundings`] do not know them. For longer terms the count is always 1.
    Listed(Vec<(u64, u32)>),
    /// The term is too common.
    TooCommon {
        /// How many drawers of the palace hold it, or the limit if that is costly to count.
        drawers: u64,
    },
}

/// How much of the sources of found drawers is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLimits {
    /// Passages of one source at most.
    pub per_source: usize,
    /// No further source is read once so many passages were.
    pub total: usize,
}

/// What ranking must know of a drawer without reading its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassageSummary {
    /// Its record.
    pub record: u64,
    /// Number of its terms.
    pub length: u32,
    /// Its date, else when it was added, in milliseconds since 1970.
    pub authored_at: i64,
    /// Terms of the name of who speaks, joined by spaces.
    pub label: String,
    /// Its source, if it has one.
    pub source: Option<u64>,
}

/// The passages of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourcePassages {
    /// As in [`PassageSummary::source`].
    pub source: u64,
    /// By line, then record, from the first on.
    pub passages: Vec<PassageSummary>,
}

/// Found drawers and what stands around them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// One for each record; nothing for a record that the collection does not hold.
    pub passages: Vec<Option<PassageSummary>>,
    /// The sources of these records, in the order in which the records name them.
    pub sources: Vec<SourcePassages>,
}

/// A drawer that was fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Its record.
    pub record: u64,
    /// Its id.
    pub id: String,
    /// Its text.
    pub document: String,
    /// Its metadata.
    pub metadata: Metadata,
    /// When it was added, in milliseconds since 1970.
    pub created_at: i64,
    /// When it was last changed, in milliseconds since 1970.
    pub updated_at: i64,
}

/// One consistent reading of a collection: every call answers as of the same commit.
///
/// Answers have one entry for each entry that was asked for, in the same order, unless a call says
/// otherwise. The calls stand in the order in which a search makes them.
pub trait SearchView {
    /// Counts. Known when the view opens.
    fn statistics(&self) -> &Statistics;
    /// Whether the selection holds a record. Only asked of records that this view named. If the
    /// selection holds everything, it may be true for records of other collections.
    fn admits(&self, record: u64) -> bool;
    /// The postings of terms and the drawers nearest to vectors.
    fn candidates(&mut self, query: &CandidateQuery<'_>) -> Result<Candidates>;
    /// The newest records of the collection and the selection that hold a term, for each of these
    /// terms at most `limit`, the newest first. Only asked of terms that were too common.
    fn newest(&mut self, terms: &[TermQuery], limit: usize) -> Result<Vec<Vec<u64>>>;
    /// Numbers of terms of passages of the collection.
    fn lengths(&mut self, records: &[u64]) -> Result<Vec<Option<u32>>>;
    /// The passages of found drawers and of their sources.
    fn surroundings(&mut self, records: &[u64], limits: SourceLimits) -> Result<Surroundings>;
    /// When drawers were added, in milliseconds since 1970.
    fn created_at(&mut self, records: &[u64]) -> Result<Vec<Option<i64>>>;
    /// Announces records of which some are soon passed to [`SearchView::tokens`]. A backend that
    /// pays for each round trip reads their tokens with the next call.
    fn expect_tokens(&mut self, records: &[u64]) {
        let _ = records;
    }
    /// Distances of drawers, each with the position of the first vector in whose space the drawer
    /// has one. Nothing for a drawer that cannot be compared.
    fn distances(
        &mut self,
        vectors: &[SpaceVector],
        records: &[u64],
    ) -> Result<Vec<Option<(usize, f32)>>>;
    /// The different WordPiece tokens of drawers, ascending; empty where there are none.
    fn tokens(&mut self, records: &[u64]) -> Result<Vec<Vec<u16>>>;
    /// Drawers in the order asked for. A damaged one is left out, and the warnings of the view
    /// report it.
    fn fetch(&mut self, records: &[u64]) -> Result<Vec<Recalled>>;
    /// Drawers of the selection per value of each of these metadata keys, as
    /// [`crate::Collection::facet_counts`] counts them. Only asked if a search found too little.
    fn facets(&mut self, keys: &[&str], limit: usize) -> Result<Vec<FacetCounts>>;
    /// What there is outside of the selection. Only asked if the selection admits nothing.
    fn outside(&mut self, query: &OutsideQuery<'_>) -> Result<Outside>;
}

/// What is asked about a collection whose selection admits nothing.
#[derive(Debug, Clone, Copy)]
pub struct OutsideQuery<'a> {
    /// Metadata keys whose values are counted over the whole collection.
    pub keys: &'a [String],
    /// Values of each key at most.
    pub limit: usize,
    /// Selections whose drawers are counted, each by itself.
    pub selections: &'a [Selection],
}

/// The answer to an [`OutsideQuery`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outside {
    /// Drawers of the collection per value of each key, as [`crate::Collection::facet_counts`]
    /// counts them.
    pub facets: Vec<FacetCounts>,
    /// Drawers that each selection admits, as [`crate::Collection::count_selected`] counts them.
    pub counts: Vec<u64>,
}

//! The read interface of a search: counts, postings, nearest vectors, passages and drawers, all as
//! of one commit.
//!
//! A backend supplies data and ranks nothing. `loci-recall` decides which terms are searched, how
//! they are weighted, and which drawers are hits.
//!
//! Every call takes a batch, so that a backend behind a network needs few round trips. A search
//! makes its calls in the order of the trait methods. Such a backend reads ahead: `lengths` and
//! `created_at` come with the postings and passages that were read before, and tokens with the
//! distances ([`SearchView::expect_tokens`]). Opening, candidates, surroundings, distances and
//! drawers are then five round trips, and six if the query has only common words. Facets, which are
//! read only if a search finds too little, are one more.

use std::borrow::Cow;

use crate::collection::{Metric, Selection};
use crate::embedder::EmbedderIdentity;
use crate::error::Result;
use crate::metadata::Metadata;
use crate::result::FacetCounts;

/// The purpose of a view.
#[derive(Debug, Clone, Copy)]
pub struct ViewRequest<'a> {
    /// Which drawers may be found.
    pub selection: &'a Selection,
    /// Whether vectors will be compared. Without it, a view need not prepare for that.
    pub vectors: bool,
}

/// Counts of a collection and its palace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    /// Drawers in the whole palace.
    pub palace_drawers: u64,
    /// Drawers in the collection.
    pub drawers: u64,
    /// Sum of the lengths of its passages.
    pub terms: u64,
    /// Vectors of the pinned embedder.
    pub vectors: u64,
    /// Drawers in the selection.
    pub in_scope: u64,
    /// How distances are measured.
    pub metric: Metric,
    /// The dimension of these vectors, if it is known.
    pub dimension: Option<usize>,
    /// The pinned embedder.
    pub embedder: Option<EmbedderIdentity>,
    /// Vectors of other embedders. May be empty if the view was opened without vectors.
    pub foreign: Vec<ForeignVectors>,
}

/// How many vectors of another embedder a collection holds.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignVectors {
    /// The embedder; `None` if its name is damaged.
    pub embedder: Option<EmbedderIdentity>,
    /// Number of its vectors.
    pub vectors: u64,
}

/// A term whose postings are requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermQuery {
    /// The term in the form of [`crate::passage::terms`].
    pub term: String,
    /// Whether to match longer terms that begin with it instead of the term itself.
    pub longer: bool,
}

/// A query vector and the space that it is compared in.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceVector {
    /// `None` for the vectors of the pinned embedder, otherwise those of this embedder.
    pub space: Option<EmbedderIdentity>,
    /// The vector. `loci-recall` has checked its dimension against [`Statistics::dimension`].
    pub vector: Vec<f32>,
}

/// The input of both arms of a search.
#[derive(Debug, Clone, Copy)]
pub struct CandidateQuery<'a> {
    /// The terms.
    pub terms: &'a [TermQuery],
    /// A term in more drawers than this is too common, and its postings are not listed.
    pub common: usize,
    /// The vectors, one per space.
    pub vectors: &'a [SpaceVector],
    /// Maximum number of drawers per vector.
    pub near: usize,
}

/// The results of both arms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidates {
    /// One entry per term.
    pub postings: Vec<Postings>,
    /// One list per vector: the nearest drawers of the selection with their exact distances,
    /// nearest first. Ties are ordered by record.
    pub nearest: Vec<Vec<(f32, u64)>>,
}

/// The drawers that contain a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Postings {
    /// Records and how often each contains the term, ordered by record. Records outside of the
    /// selection are listed too, because they provide context for their neighbours. Records of
    /// other collections may be listed, because rarity is counted over the palace;
    /// [`SearchView::lengths`] and [`SearchView::surroundings`] do not know them. For longer terms
    /// the count is always 1.
    Listed(Vec<(u64, u32)>),
    /// The term is too common.
    TooCommon {
        /// Number of drawers in the palace that contain it, or the limit if counting is expensive.
        drawers: u64,
    },
}

/// How much is read from the sources of found drawers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLimits {
    /// Maximum number of passages per source.
    pub per_source: usize,
    /// After this many passages, no further source is read.
    pub total: usize,
}

/// The data of a drawer that ranking needs besides its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassageSummary {
    /// Its record.
    pub record: u64,
    /// Number of its terms.
    pub length: u32,
    /// Its date, or the time of adding, in milliseconds since 1970.
    pub authored_at: i64,
    /// Terms of the speaker's name, separated by spaces.
    pub label: Cow<'static, str>,
    /// Its source, if it has one.
    pub source: Option<u64>,
}

/// The passages of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourcePassages {
    /// Same as [`PassageSummary::source`].
    pub source: u64,
    /// Ordered by line, then by record.
    pub passages: Vec<PassageSummary>,
}

/// Found drawers and the passages around them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// One entry per record; `None` for a record that is not in the collection.
    pub passages: Vec<Option<PassageSummary>>,
    /// The sources of these records, in the order in which the records refer to them.
    pub sources: Vec<SourcePassages>,
}

/// A fetched drawer.
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

/// A consistent view of a collection: every call answers as of the same commit.
///
/// A result has one entry per requested item, in the same order, unless the method says otherwise.
/// The methods are in the order in which a search calls them.
pub trait SearchView {
    /// Counts, which are known when the view opens.
    fn statistics(&self) -> &Statistics;
    /// Whether the selection contains a record. Called only for records that this view returned. If
    /// the selection is unrestricted, it may return true for records of other collections.
    fn admits(&self, record: u64) -> bool;
    /// The postings of terms and the drawers nearest to vectors.
    fn candidates(&mut self, query: &CandidateQuery<'_>) -> Result<Candidates>;
    /// The newest records of the collection in the selection that contain a term, at most `limit`
    /// per term, newest first. Called only for terms that were too common.
    fn newest(&mut self, terms: &[TermQuery], limit: usize) -> Result<Vec<Vec<u64>>>;
    /// The number of terms of passages in the collection.
    fn lengths(&mut self, records: &[u64]) -> Result<Vec<Option<u32>>>;
    /// The passages of found drawers and of their sources.
    fn surroundings(&mut self, records: &[u64], limits: SourceLimits) -> Result<Surroundings>;
    /// When drawers were added, in milliseconds since 1970.
    fn created_at(&mut self, records: &[u64]) -> Result<Vec<Option<i64>>>;
    /// Announces records, some of which are soon passed to [`SearchView::tokens`]. A backend with
    /// expensive round trips reads their tokens with the next call.
    fn expect_tokens(&mut self, records: &[u64]) {
        let _ = records;
    }
    /// Distances of drawers, each with the position of the first vector in whose space the drawer
    /// has a vector. `None` for a drawer that cannot be compared.
    fn distances(
        &mut self,
        vectors: &[SpaceVector],
        records: &[u64],
    ) -> Result<Vec<Option<(usize, f32)>>>;
    /// The distinct WordPiece tokens of drawers, ascending; empty if there are none.
    fn tokens(&mut self, records: &[u64]) -> Result<Vec<Vec<u16>>>;
    /// Drawers in the requested order. A damaged drawer is omitted and reported in the warnings of
    /// the view.
    fn fetch(&mut self, records: &[u64]) -> Result<Vec<Recalled>>;
    /// Drawers of the selection per value of each of these metadata keys, counted like
    /// [`crate::Collection::facet_counts`]. Called only if a search found too little.
    fn facets(&mut self, keys: &[&str], limit: usize) -> Result<Vec<FacetCounts>>;
    /// Counts outside of the selection. Called only if the selection matches no drawer.
    fn outside(&mut self, query: &OutsideQuery<'_>) -> Result<Outside>;
}

/// The counts to compute if the selection matches no drawer.
#[derive(Debug, Clone, Copy)]
pub struct OutsideQuery<'a> {
    /// Metadata keys whose values are counted over the whole collection.
    pub keys: &'a [String],
    /// Maximum number of values per key.
    pub limit: usize,
    /// Selections whose drawers are counted separately.
    pub selections: &'a [Selection],
}

/// The result of an [`OutsideQuery`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outside {
    /// Drawers of the collection per value of each key, counted like
    /// [`crate::Collection::facet_counts`].
    pub facets: Vec<FacetCounts>,
    /// Drawers in each selection, counted like [`crate::Collection::count_selected`].
    pub counts: Vec<u64>,
}

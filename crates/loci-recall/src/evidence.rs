//! What is known of drawers when they are ranked.

use loci_core::{EmbedderIdentity, OutsideQuery, Recalled, Selection};

/// Drawers per arm that a probe may ask for.
pub const MAX_DEPTH: usize = 10_000;

/// What a search asks for.
#[derive(Debug, Clone)]
pub struct Probe<'a> {
    /// The question, for the lexical arm.
    pub query: &'a str,
    /// Query vectors, one per space that is searched. Empty when there is no semantic arm.
    pub vectors: Vec<ProbeVector>,
    /// Which drawers may be found.
    pub selection: &'a Selection,
    /// Drawers that the lexical arm names at most, up to [`MAX_DEPTH`].
    pub depth: usize,
    /// Drawers that the semantic arm names at most, up to [`MAX_DEPTH`].
    pub near: usize,
    /// Neighbours of a drawer in its source that come along on each side.
    pub context: usize,
    /// Whether the judge must know which dates are of the content: [`Evidence::dated`].
    pub dates: bool,
}

/// A query vector and the vectors it is compared with.
#[derive(Debug, Clone)]
pub struct ProbeVector {
    /// `None` for the collection's own vectors, else those of this embedder.
    pub space: Option<EmbedderIdentity>,
    /// The embedder of the collection's own vectors when the question was embedded. If the collection
    /// has another one when it is searched, the search fails with `EmbedderMismatch`.
    pub pinned: Option<EmbedderIdentity>,
    /// The vector.
    pub vector: Vec<f32>,
}

/// A term of the question and how common it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbedTerm {
    /// The term as the postings hold it, with `*` for longer ones that begin with it.
    pub term: String,
    /// The word of the question it came from.
    pub word: String,
    /// How much it counts beside a plain word.
    pub weight: f32,
    /// Drawers that hold it, in the whole palace.
    pub drawers: u64,
}

/// Where an arm put a drawer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// From 1.
    pub rank: usize,
    /// BM25 for the lexical arm, the distance for the semantic one.
    pub value: f32,
}

/// What is known of one drawer when it is judged.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Its record.
    pub record: u64,
    /// Whether it may be chosen: it is in the selection, and an arm found it or a near neighbour. Other
    /// evidence is there for context only.
    pub admitted: bool,
    /// Its place in the lexical arm.
    pub lexical: Option<Placed>,
    /// Its place in the semantic arm, among the vectors of its space.
    pub semantic: Option<Placed>,
    /// Its distance to the question. Known for what the semantic arm found and, if it has a vector that
    /// can be compared, for the shortlist.
    pub distance: Option<f32>,
    /// Which of the probe's vectors it was compared with.
    pub space: usize,
    /// Terms of the question it holds, and how often.
    pub terms: Vec<(usize, u32)>,
    /// Terms of the question that name who speaks in it.
    pub label: Vec<usize>,
    /// Number of its terms.
    pub length: u32,
    /// Its different WordPiece tokens, ascending. Empty unless the judge asked for them.
    pub tokens: Vec<u16>,
    /// Its source, if it has one.
    pub source: Option<u64>,
    /// Its date, in milliseconds since 1970.
    pub authored_at: i64,
    /// Whether that is the date of its content rather than the day it was added. Only read if the
    /// probe asks for dates.
    pub dated: bool,
    /// Drawers before it in its source, the nearest first: positions in the findings.
    pub before: Vec<usize>,
    /// Drawers after it in its source, the nearest first: positions in the findings.
    pub after: Vec<usize>,
}

/// What is known of a source that holds evidence.
#[derive(Debug, Clone, Default)]
pub struct SourceEvidence {
    /// As in [`Evidence::source`].
    pub source: u64,
    /// Drawers of it that were read.
    pub drawers: u64,
    /// Number of terms of these drawers.
    pub length: u64,
    /// Terms of the question in these drawers, and how often.
    pub terms: Vec<(usize, u32)>,
}

/// What both arms found.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The terms that were searched.
    pub terms: Vec<ProbedTerm>,
    /// Whether the question holds stop words only.
    pub only_stop_words: bool,
    /// Drawers of the whole palace.
    pub drawers: u64,
    /// Mean number of terms of a drawer of the collection.
    pub mean_length: f32,
    /// Drawers that the selection admits.
    pub in_scope: u64,
    /// Vectors of other spaces than those that were searched.
    pub not_compared: u64,
    /// Vectors of other embedders than the collection's that were searched in their own space.
    pub stand_ins: u64,
    /// Drawers of the collection that have no vector at all.
    pub without_vector: u64,
    /// What was found, neighbours included.
    pub evidence: Vec<Evidence>,
    /// The sources of what was found.
    pub sources: Vec<SourceEvidence>,
}

/// Decides which drawers a search returns. Called inside the read transaction, so it must be quick and
/// do no I/O.
pub trait Judge {
    /// Positions of the evidence that deserves a closer look: its distances are computed next.
    fn shortlist(&mut self, findings: &Findings) -> Vec<usize>;
    /// Positions of the evidence whose tokens, and those of its neighbours, are read next.
    fn narrow(&mut self, findings: &Findings) -> Vec<usize>;
    /// Records of the drawers that are wanted, best first.
    fn choose(&mut self, findings: &Findings) -> Vec<u64>;
    /// What is counted over the selection, now that the chosen drawers are read. Usually nothing.
    fn facets(&mut self, drawers: &[Recalled]) -> Option<FacetQuery> {
        let _ = drawers;
        None
    }
    /// What is counted outside of the selection, which admits nothing. Usually nothing.
    fn outside(&mut self) -> Option<OutsideQuery<'_>> {
        None
    }
}

/// Metadata keys whose values are counted over the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FacetQuery {
    /// The keys.
    pub keys: &'static [&'static str],
    /// Values of each key at most.
    pub limit: usize,
}

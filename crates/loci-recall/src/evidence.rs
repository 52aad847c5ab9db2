//! The data about drawers that the ranking uses.

use loci_core::{EmbedderIdentity, OutsideQuery, Recalled, Selection};

/// Maximum number of drawers per arm.
pub const MAX_DEPTH: usize = 10_000;

/// The request of a search to a collection.
#[derive(Debug, Clone)]
pub struct Probe<'a> {
    /// The question, for the lexical arm.
    pub query: &'a str,
    /// Query vectors, one per searched space. Empty if there is no semantic arm.
    pub vectors: Vec<ProbeVector>,
    /// Which drawers may be found.
    pub selection: &'a Selection,
    /// Number of results of the lexical arm in a small collection, up to [`MAX_DEPTH`]. It grows
    /// with the collection.
    pub depth: usize,
    /// The same for the semantic arm.
    pub near: usize,
    /// Number of neighbours of a drawer in its source, on each side.
    pub context: usize,
    /// Whether the judge needs [`Evidence::dated`].
    pub dates: bool,
    /// The end of the day of the question, in milliseconds since 1970. If a drawer is later, the
    /// judge needs [`Evidence::dated`], too.
    pub until: Option<i64>,
}

/// A query vector and the vectors it is compared with.
#[derive(Debug, Clone)]
pub struct ProbeVector {
    /// `None` for the collection's own vectors, else those of this embedder.
    pub space: Option<EmbedderIdentity>,
    /// The embedder of the collection's own vectors when the question was embedded. If the
    /// collection has another one when it is searched, the search fails with `EmbedderMismatch`.
    pub pinned: Option<EmbedderIdentity>,
    /// The vector.
    pub vector: Vec<f32>,
}

/// A term of the question and how common it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbedTerm {
    /// The term as in the postings, with `*` for longer terms that begin with it.
    pub term: String,
    /// The word of the question it came from.
    pub word: String,
    /// Its weight relative to a plain word.
    pub weight: f32,
    /// Why it was searched.
    pub origin: Origin,
    /// Number of drawers in the whole palace that contain it.
    pub drawers: u64,
}

/// Why a term was searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    /// The question contains it, or contains it with a typing error.
    #[default]
    Asked,
    /// It begins with a word of the question, or is another spelling of one. A passage can contain
    /// everything that was asked without it.
    Variant,
}

/// The result of an arm for a drawer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// The rank, from 1.
    pub rank: usize,
    /// BM25 for the lexical arm, the distance for the semantic one.
    pub value: f32,
}

/// The side of a chat that a drawer comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// It is no turn of a chat, or its speaker has a name.
    #[default]
    None,
    /// The user.
    User,
    /// The assistant.
    Assistant,
}

/// The data about one drawer.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Its record.
    pub record: u64,
    /// Whether it may be chosen: it is in the selection, and an arm found it or a near neighbour.
    /// Other evidence is only context.
    pub admitted: bool,
    /// Its place in the lexical arm.
    pub lexical: Option<Placed>,
    /// Its place in the semantic arm, among the vectors of its space.
    pub semantic: Option<Placed>,
    /// Its distance to the question. Known for the results of the semantic arm, and for drawers of
    /// the shortlist that have a comparable vector.
    pub distance: Option<f32>,
    /// Which of the probe's vectors it was compared with.
    pub space: usize,
    /// Terms of the question that it contains, and how often.
    pub terms: Vec<(usize, u32)>,
    /// Terms of the question that name its speaker.
    pub label: Vec<usize>,
    /// The side of a chat that it comes from.
    pub role: Role,
    /// Number of its terms.
    pub length: u32,
    /// Its distinct WordPiece tokens, ascending. Empty unless the judge requested them.
    pub tokens: Vec<u16>,
    /// Its source, if it has one.
    pub source: Option<u64>,
    /// Its date, in milliseconds since 1970.
    pub authored_at: i64,
    /// Whether that is the date of its content, not of adding it. Only set if the probe requests
    /// dates.
    pub dated: bool,
    /// Drawers before it in its source, the nearest first: positions in the findings.
    pub before: Vec<usize>,
    /// Drawers after it in its source, the nearest first: positions in the findings.
    pub after: Vec<usize>,
}

/// The data about a source that contains evidence.
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

/// The results of both arms.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The terms that were searched.
    pub terms: Vec<ProbedTerm>,
    /// Maximum number of results of the lexical arm, by the size of the collection.
    pub depth: usize,
    /// The same for the semantic arm.
    pub near: usize,
    /// Whether the question contains only stop words.
    pub only_stop_words: bool,
    /// Drawers of the whole palace. Rarity is counted over it.
    pub drawers: u64,
    /// Mean number of terms of a drawer of the collection.
    pub mean_length: f32,
    /// Number of drawers that match the selection. The candidates compete among these, so the
    /// ranking and the probabilities depend on it, not on the size of the palace.
    pub in_scope: u64,
    /// Vectors of other spaces than those that were searched.
    pub not_compared: u64,
    /// Vectors of other embedders than the collection's that were searched in their own space.
    pub stand_ins: u64,
    /// Drawers of the collection that have no vector at all.
    pub without_vector: u64,
    /// The evidence, including neighbours.
    pub evidence: Vec<Evidence>,
    /// The sources of the evidence.
    pub sources: Vec<SourceEvidence>,
}

/// Decides which drawers a search returns. Called inside the read transaction, so it must be quick
/// and do no I/O.
pub trait Judge {
    /// Positions of the evidence whose distances are computed next.
    fn shortlist(&mut self, findings: &Findings) -> Vec<usize>;
    /// Positions of the evidence whose tokens, and those of its neighbours, are read next.
    fn narrow(&mut self, findings: &Findings) -> Vec<usize>;
    /// Records of the chosen drawers, best first.
    fn choose(&mut self, findings: &Findings) -> Vec<u64>;
    /// The chosen drawers in their final order, after their texts are known.
    fn order(&mut self, findings: &Findings, drawers: Vec<Recalled>) -> Vec<Recalled> {
        let _ = findings;
        drawers
    }
    /// The facets to count over the selection, after the chosen drawers are read. Usually none.
    fn facets(&mut self, drawers: &[Recalled]) -> Option<FacetQuery> {
        let _ = drawers;
        None
    }
    /// The counts outside a selection that matches nothing. Usually none.
    fn outside(&mut self) -> Option<OutsideQuery<'_>> {
        None
    }
}

/// Metadata keys whose values are counted over the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FacetQuery {
    /// The keys.
    pub keys: &'static [&'static str],
    /// Maximum number of values of each key.
    pub limit: usize,
}

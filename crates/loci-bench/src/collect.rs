//! Collects the candidates of every question with their features, to fit the ranking.

use std::path::Path;

use jiff::civil::Date;
use loci_palace::{DEFAULT_COLLECTION, Palace, Result};
use loci_recall::{FEATURES, Request, examine};

use crate::dataset::{Half, Question};
use crate::metric::DEPTH;
use crate::run::{Options, Progress, visit};

/// A question with all its candidates.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The conversation that it belongs to. Questions of one conversation belong into one fold.
    pub case: String,
    /// Its category.
    pub category: String,
    /// The half of the data set.
    pub half: Half,
    /// Whether the data has no answer.
    pub unanswerable: bool,
    /// Drawers of the palace.
    pub drawers: u64,
    /// Ids of the drawers with the evidence.
    pub turns: Vec<String>,
    /// Names of the sources with the evidence.
    pub sources: Vec<String>,
    /// The candidates.
    pub candidates: Vec<Example>,
}

/// A candidate.
#[derive(Debug, Clone)]
pub struct Example {
    /// Its id.
    pub id: String,
    /// The name of its source.
    pub source: String,
    /// Its features, in the order of [`loci_recall::DEFINITIONS`].
    pub features: [f32; FEATURES],
}

/// Fills palaces like [`crate::run()`], and collects the candidates of every question.
pub fn collect(
    dataset: &Path,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
    receive: &mut dyn FnMut(Examined),
) -> Result<()> {
    visit(dataset, options, progress, Some(receive)).map(|_| ())
}

pub(crate) fn examined(
    palace: &Palace,
    question: &Question,
    case: &str,
    half: Half,
    today: Option<Date>,
) -> Result<Examined> {
    let (memory, _) = palace.memory(DEFAULT_COLLECTION, false)?;
    let mut request = Request::new(&question.text);
    request.k = DEPTH;
    request.today = today.unwrap_or(request.today);
    let embedder = memory.embedder.as_deref();
    let (candidates, drawers) = examine(memory.collection.as_ref(), embedder, &request)?;
    let example = |candidate: loci_recall::Candidate| {
        let source = candidate.metadata.get_str("source_file");
        Example {
            source: source.unwrap_or(&candidate.id).to_owned(),
            id: candidate.id,
            features: *candidate.features.values(),
        }
    };
    Ok(Examined {
        case: case.to_owned(),
        category: question.category.clone(),
        half,
        unanswerable: question.unanswerable,
        drawers,
        turns: question.turns.clone(),
        sources: question.sessions.clone(),
        candidates: candidates.into_iter().map(example).collect(),
    })
}

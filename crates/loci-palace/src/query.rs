//! The verb `query`: finds drawers by words alone or by vector alone, without the ranking of
//! `search`.

use loci_core::{Collection, Metadata, Metric, Query, Result, Selection, Warning};
use loci_recall::search_words;
use schemars::JsonSchema;
use serde::Serialize;

use crate::detail::{Flag, flags_of};
use crate::palace::{DEFAULT_COLLECTION, Palace};

/// The words or the vector to search for.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Drawers that contain at least one of these words.
    Words(String),
    /// Drawers whose vectors are near.
    Vector(Vec<f32>),
}

/// The request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The collection.
    pub collection: String,
    /// The words or the vector to search for.
    pub input: Input,
    /// Maximum number of hits.
    pub k: usize,
    /// Which drawers may be hits.
    pub selection: Selection,
}

impl Request {
    /// The ten best drawers of the default collection.
    pub fn new(input: Input) -> Self {
        Self {
            collection: DEFAULT_COLLECTION.to_owned(),
            input,
            k: 10,
            selection: Selection::all(),
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Warnings about missing data or a changed request.
    pub warnings: Vec<Warning>,
}

/// A drawer that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Flags of its text.
    pub flags: Vec<Flag>,
    /// The score; larger is better, within one answer. By words it is BM25.
    pub score: f64,
    /// Distance of the vectors; `None` if words were searched.
    pub distance: Option<f32>,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its record, if words were searched.
    #[serde(skip)]
    #[schemars(skip)]
    pub record: Option<u64>,
}

impl Hit {
    /// A hit with the flags of its text.
    pub(crate) fn new(id: String, text: String, metadata: Metadata, score: f64) -> Self {
        Self {
            id,
            flags: flags_of(&text),
            text,
            score,
            distance: None,
            metadata,
            record: None,
        }
    }
}

impl Palace {
    /// Finds drawers by words or by a vector.
    pub fn query(&self, request: &Request) -> Result<Answer> {
        let collection = self.collection(&request.collection, false)?;
        match &request.input {
            Input::Words(words) => by_words(collection.as_ref(), words, request),
            Input::Vector(vector) => by_vector(collection.as_ref(), vector, request),
        }
    }
}

fn by_words(collection: &dyn Collection, words: &str, request: &Request) -> Result<Answer> {
    let found = search_words(collection, words, request.k, &request.selection)?;
    let hits = found.hits.into_iter();
    let hits = hits.map(|hit| Hit {
        record: Some(hit.record),
        ..Hit::new(hit.id, hit.document, hit.metadata, hit.score)
    });
    Ok(Answer {
        hits: hits.collect(),
        warnings: found.warnings,
    })
}

fn by_vector(collection: &dyn Collection, vector: &[f32], request: &Request) -> Result<Answer> {
    let query = Query::vector(vector.to_vec())
        .k(request.k)
        .selection(request.selection.clone());
    let found = collection.query(&query)?;
    let metric = collection.metric();
    let hits = found
        .ids
        .into_iter()
        .flatten()
        .zip(found.documents.into_iter().flatten())
        .zip(found.metadatas.into_iter().flatten())
        .zip(found.distances.into_iter().flatten())
        .map(|(((id, text), metadata), distance)| Hit {
            distance: Some(distance),
            ..Hit::new(id, text, metadata, score(metric, distance))
        });
    Ok(Answer {
        hits: hits.collect(),
        warnings: found.warnings,
    })
}

/// The score of a distance; larger is better for every metric.
fn score(metric: Metric, distance: f32) -> f64 {
    match metric {
        Metric::Cosine | Metric::Ip => 1.0 - f64::from(distance),
        Metric::L2 => 1.0 / (1.0 + f64::from(distance)),
    }
}

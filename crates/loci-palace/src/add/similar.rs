//! Drawers that hold the same text as another, or nearly the same. There is no index of texts: the same
//! text has the same vector, so the nearest vectors are compared, and where vectors are missing the
//! best matches by words.

use loci_core::{
    Collection, Error, Include, Metadata, Metric, Query, QueryInput, Result, Selection, Warning,
};
use loci_recall::search_words;

use super::wing_of;
use crate::palace::Memory;

/// Similar drawers that an answer lists at most.
const LISTED: usize = 10;
/// Drawers looked at when ten say the same and none is the same byte for byte.
const MANY: usize = 200;
/// From here on two vectors are those of the same words.
const SAME: f32 = 0.9999;

/// A drawer of the collection that is similar to a text.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) id: String,
    pub(crate) similarity: f32,
    pub(crate) exact: bool,
    pub(crate) text: String,
    pub(crate) wing: String,
    pub(crate) room: String,
}

/// Looks for similar drawers in one collection.
pub(crate) struct SimilarSearch<'a> {
    collection: &'a dyn Collection,
    threshold: f32,
    by_vector: bool,
    by_words: bool,
    pub(crate) warnings: Vec<Warning>,
}

impl<'a> SimilarSearch<'a> {
    pub(crate) fn new(memory: &'a Memory, threshold: f32) -> Self {
        let collection = memory.collection.as_ref();
        let (drawers, vectors) = (collection.info().count, collection.info().vectors);
        let mut warnings = Vec::new();
        let by_vector = memory.embedder.is_some() && vectors > 0;
        if memory.embedder.is_none() && drawers > 0 {
            warnings.push(Warning::NoNearDuplicates { reembedding: false });
        }
        Self {
            collection,
            threshold,
            by_vector,
            by_words: drawers > if by_vector { vectors } else { 0 },
            warnings,
        }
    }

    /// The similar drawers of each text, the most similar first. `vectors` are those of the texts,
    /// where they were made already.
    pub(crate) fn of(
        &mut self,
        texts: &[&str],
        vectors: Option<&[Vec<f32>]>,
    ) -> Result<Vec<Vec<Candidate>>> {
        let mut all = if self.by_vector {
            self.nearest(texts, vectors, LISTED)?
        } else {
            vec![Vec::new(); texts.len()]
        };
        for (at, (text, similar)) in texts.iter().zip(&mut all).enumerate() {
            let crowded = similar.len() == LISTED
                && similar
                    .iter()
                    .all(|drawer| drawer.similarity >= SAME && !drawer.exact);
            if crowded {
                let vector = vectors.and_then(|vectors| vectors.get(at..=at));
                let more = self.nearest(&[text], vector, MANY)?.into_iter().flatten();
                similar.extend(more.filter(|drawer| drawer.exact));
            }
            if self.by_words && !similar.iter().any(|drawer| drawer.exact) {
                self.add_by_words(text, similar)?;
            }
            similar.sort_by(|a, b| {
                (b.exact, b.similarity)
                    .partial_cmp(&(a.exact, a.similarity))
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
            similar.truncate(LISTED);
        }
        Ok(all)
    }

    fn nearest(
        &mut self,
        texts: &[&str],
        vectors: Option<&[Vec<f32>]>,
        k: usize,
    ) -> Result<Vec<Vec<Candidate>>> {
        let input = match vectors {
            Some(vectors) => QueryInput::Vectors(vectors.to_vec()),
            None => QueryInput::Texts(texts.iter().map(|text| (*text).to_owned()).collect()),
        };
        let query = Query {
            input,
            k,
            selection: Selection::all(),
            include: Include::QUERY,
        };
        let found = match self.collection.query(&query) {
            Ok(found) => found,
            // Another process may replace the vectors at this moment. Adding does not wait for that.
            Err(Error::EmbedderMismatch { .. }) => {
                self.warnings
                    .push(Warning::NoNearDuplicates { reembedding: true });
                return Ok(vec![Vec::new(); texts.len()]);
            }
            Err(error) => return Err(error),
        };
        self.warnings.extend(found.warnings);
        let metric = self.collection.metric();
        let answers = found.ids.into_iter().zip(found.documents);
        let answers = answers.zip(found.metadatas).zip(found.distances);
        let similar = texts.iter().zip(answers);
        Ok(similar
            .map(|(text, (((ids, documents), metadatas), distances))| {
                let rows = ids.into_iter().zip(documents).zip(metadatas).zip(distances);
                rows.map(|(((id, document), metadata), distance)| {
                    let similarity = similarity(metric, distance);
                    candidate(text, id, document, &metadata, similarity)
                })
                .filter(|drawer| {
                    drawer.exact
                        || drawer.similarity >= self.threshold
                        || same_words(text, &drawer.text)
                })
                .collect()
            })
            .collect())
    }

    /// Drawers of the same words, for those that have no vector.
    fn add_by_words(&mut self, text: &str, similar: &mut Vec<Candidate>) -> Result<()> {
        let found = search_words(self.collection, text, LISTED, &Selection::all())?;
        for hit in found.hits {
            let known = similar.iter().any(|drawer| drawer.id == hit.id);
            if !known && same_words(text, &hit.document) {
                similar.push(candidate(text, hit.id, hit.document, &hit.metadata, 1.0));
            }
        }
        Ok(())
    }
}

fn candidate(
    text: &str,
    id: String,
    document: String,
    metadata: &Metadata,
    similarity: f32,
) -> Candidate {
    let exact = text == document;
    Candidate {
        id,
        similarity: if exact { 1.0 } else { similarity },
        exact,
        text: document,
        wing: wing_of(metadata).to_owned(),
        room: metadata.get_str("room").unwrap_or_default().to_owned(),
    }
}

/// Squared Euclidean distances are taken as those of unit vectors.
fn similarity(metric: Metric, distance: f32) -> f32 {
    let similarity = match metric {
        Metric::Cosine | Metric::Ip => 1.0 - distance,
        Metric::L2 => 1.0 - distance / 2.0,
    };
    similarity.clamp(0.0, 1.0)
}

/// Whether two texts are the same but for case and white space.
fn same_words(a: &str, b: &str) -> bool {
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_lowercase).collect() };
    // Letters differ in length between the cases, but not by much.
    a.len() <= b.len().saturating_mul(4).saturating_add(64) && words(a) == words(b)
}

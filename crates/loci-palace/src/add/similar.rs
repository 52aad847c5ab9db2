//! Finds drawers with the same or nearly the same text. There is no index of texts. The same text
//! has the same vector, so the texts of the nearest vectors are compared. If vectors are missing,
//! the best matches by words are compared.

use std::collections::BTreeSet;

use loci_core::{
    Collection, Error, Filter, Include, KeyTest, MetaValue, Metadata, Metric, Query, QueryInput,
    Result, Selection, Warning,
};
use loci_recall::search_words;

use super::wing_of;
use crate::palace::Memory;

/// Maximum number of similar drawers in an answer.
const LISTED: usize = 10;
/// Factor by which more drawers are compared if all so far are the same and none decides.
const WIDER: usize = 20;
/// Similarity from which two vectors come from the same words.
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

/// A text that is compared with the drawers of a collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared<'a> {
    pub(crate) text: &'a str,
    /// The drawer that the text will become; `None` if it is only compared.
    pub(crate) target: Option<Target<'a>>,
}

/// The drawer that a text will become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Its wing, or empty.
    pub(crate) wing: &'a str,
    /// Its id, if the caller chose one. A drawer with this id is not a duplicate.
    pub(crate) id: Option<&'a str>,
}

/// The drawers that are similar to a text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// The most similar drawers of all wings, at most ten. They include `in_wing`.
    pub(crate) similar: Vec<Candidate>,
    /// The drawer of the target's wing that decides: one with the same text, else the most similar.
    pub(crate) in_wing: Option<Candidate>,
}

/// The nearest drawers of a text that were compared so far.
#[derive(Debug, Default)]
struct Nearest {
    /// Those that are similar enough.
    similar: Vec<Candidate>,
    /// The similarity of the last compared drawer, if there may be more.
    last: Option<f32>,
    /// The wings of all compared drawers.
    wings: BTreeSet<String>,
}

/// Looks for similar drawers in one collection.
pub(crate) struct SimilarSearch<'a> {
    collection: &'a dyn Collection,
    threshold: f32,
    /// Similarity from which a drawer of the target's wing decides.
    decisive: f32,
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
            decisive: SAME,
            by_vector,
            by_words: drawers > if by_vector { vectors } else { 0 },
            warnings,
        }
    }

    /// Also lets near duplicates in the target's wing decide.
    pub(crate) fn with_near_duplicates(mut self) -> Self {
        self.decisive = SAME.min(self.threshold);
        self
    }

    /// The similar drawers of each text. `vectors` are the vectors of the texts, if already
    /// computed.
    pub(crate) fn of(
        &mut self,
        compared: &[Compared<'_>],
        vectors: Option<&[Vec<f32>]>,
    ) -> Result<Vec<Found>> {
        let texts: Vec<&str> = compared.iter().map(|compared| compared.text).collect();
        let all = if self.by_vector {
            self.nearest(&texts, vectors, LISTED, &Selection::all())?
        } else {
            texts.iter().map(|_| Nearest::default()).collect()
        };
        let mut answers = Vec::with_capacity(all.len());
        for (at, (compared, nearest)) in compared.iter().zip(all).enumerate() {
            let vector = vectors.and_then(|vectors| vectors.get(at..=at));
            answers.push(self.found(*compared, vector, nearest)?);
        }
        Ok(answers)
    }

    /// Compares more drawers if the first ten do not decide.
    fn found(
        &mut self,
        compared: Compared<'_>,
        vector: Option<&[Vec<f32>]>,
        nearest: Nearest,
    ) -> Result<Found> {
        let Compared { text, target } = compared;
        let mut similar = nearest.similar.clone();
        self.look_further(compared, vector, nearest, &mut similar)?;
        if self.by_words && !is_decided(&similar, target) {
            self.add_by_words(text, &Selection::all(), &mut similar)?;
            if let Some(target) = target.filter(|_| !is_decided(&similar, target)) {
                let seen = similar.iter().map(|drawer| drawer.wing.clone()).collect();
                self.add_by_words(text, &of_wing(target.wing, &seen), &mut similar)?;
            }
        }
        similar.sort_by(|a, b| {
            (b.exact, b.similarity)
                .partial_cmp(&(a.exact, a.similarity))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        let in_wing = target.and_then(|target| {
            let at = similar.iter().position(|drawer| target.is_met_by(drawer))?;
            // The list must include the drawer that decides.
            if at >= LISTED {
                similar.swap(LISTED - 1, at);
            }
            similar.get(at.min(LISTED - 1)).cloned()
        });
        similar.truncate(LISTED);
        Ok(Found { similar, in_wing })
    }

    /// The nearest ten may all be in other wings, or differ only in case or white space. Then the
    /// target's wing is searched separately, as long as there may be a drawer that decides.
    fn look_further(
        &mut self,
        compared: Compared<'_>,
        vector: Option<&[Vec<f32>]>,
        mut nearest: Nearest,
        similar: &mut Vec<Candidate>,
    ) -> Result<()> {
        let Compared { text, target } = compared;
        let (mut k, mut wings) = (LISTED, BTreeSet::new());
        let mut first = true;
        while let Some(last) = nearest.last {
            let in_wing =
                |drawer: &&Candidate| target.is_none_or(|target| target.is_met_by(drawer));
            let exact_is_open = last >= SAME && !is_decided(similar, target);
            let near_is_open = last >= self.decisive && !similar.iter().any(|one| in_wing(&one));
            if !exact_is_open && !near_is_open {
                return Ok(());
            }
            let known = wings.len();
            wings.append(&mut nearest.wings);
            let narrower = match target {
                // The first search was not limited to the wing.
                Some(Target { wing, .. }) if !wing.is_empty() => first,
                Some(_) => wings.len() > known,
                None => false,
            };
            if !narrower {
                k *= WIDER;
            }
            first = false;
            let selection = match target {
                Some(target) => of_wing(target.wing, &wings),
                None => Selection::all(),
            };
            let more = self.nearest(&[text], vector, k, &selection)?;
            nearest = more.into_iter().next().unwrap_or_default();
            for drawer in &nearest.similar {
                if !similar.iter().any(|known| known.id == drawer.id) {
                    similar.push(drawer.clone());
                }
            }
        }
        Ok(())
    }

    fn nearest(
        &mut self,
        texts: &[&str],
        vectors: Option<&[Vec<f32>]>,
        k: usize,
        selection: &Selection,
    ) -> Result<Vec<Nearest>> {
        let input = match vectors {
            Some(vectors) => QueryInput::Vectors(vectors.to_vec()),
            None => QueryInput::Texts(texts.iter().map(|text| (*text).to_owned()).collect()),
        };
        let query = Query {
            input,
            k,
            selection: selection.clone(),
            include: Include::QUERY,
        };
        let found = match self.collection.query(&query) {
            Ok(found) => found,
            // Another process may be replacing the vectors. Adding does not wait for that.
            Err(Error::EmbedderMismatch { .. }) => {
                self.warnings
                    .push(Warning::NoNearDuplicates { reembedding: true });
                return Ok(texts.iter().map(|_| Nearest::default()).collect());
            }
            Err(error) => return Err(error),
        };
        // The filter is ours, not the caller's: a wing without drawers is no news.
        let is_news = |warning: &Warning| !matches!(warning, Warning::FilterExcludesAll { .. });
        self.warnings
            .extend(found.warnings.into_iter().filter(is_news));
        let metric = self.collection.metric();
        let answers = found.ids.into_iter().zip(found.documents);
        let answers = answers.zip(found.metadatas).zip(found.distances);
        let answers = texts.iter().zip(answers);
        Ok(answers
            .map(|(text, (((ids, documents), metadatas), distances))| {
                let is_full = ids.len() == k;
                let last = distances.last().filter(|_| is_full);
                let rows = ids.into_iter().zip(documents).zip(metadatas);
                let similar = rows
                    .zip(&distances)
                    .map(|(((id, document), metadata), distance)| {
                        let similarity = similarity(metric, *distance);
                        candidate(text, id, document, &metadata, similarity)
                    })
                    .collect::<Vec<_>>();
                Nearest {
                    last: last.map(|distance| self::similarity(metric, *distance)),
                    wings: similar.iter().map(|drawer| drawer.wing.clone()).collect(),
                    similar: similar
                        .into_iter()
                        .filter(|drawer| self.is_similar(text, drawer))
                        .collect(),
                }
            })
            .collect())
    }

    fn is_similar(&self, text: &str, drawer: &Candidate) -> bool {
        drawer.exact || drawer.similarity >= self.threshold || same_words(text, &drawer.text)
    }

    /// Adds drawers with the same words, which finds drawers without a vector.
    fn add_by_words(
        &mut self,
        text: &str,
        selection: &Selection,
        similar: &mut Vec<Candidate>,
    ) -> Result<()> {
        let found = search_words(self.collection, text, LISTED, selection)?;
        for hit in found.hits {
            let known = similar.iter().any(|drawer| drawer.id == hit.id);
            if !known && same_words(text, &hit.document) {
                similar.push(candidate(text, hit.id, hit.document, &hit.metadata, 1.0));
            }
        }
        Ok(())
    }
}

impl Target<'_> {
    /// Whether a drawer is in the target's wing and has another id.
    fn is_met_by(&self, drawer: &Candidate) -> bool {
        drawer.wing == self.wing && self.id != Some(drawer.id.as_str())
    }
}

/// Whether one of these has the same text, in the target's wing if there is one.
fn is_decided(similar: &[Candidate], target: Option<Target<'_>>) -> bool {
    similar
        .iter()
        .any(|drawer| drawer.exact && target.is_none_or(|target| target.is_met_by(drawer)))
}

/// Selects the drawers of a wing. Drawers without a wing are those outside the seen wings.
fn of_wing(wing: &str, seen: &BTreeSet<String>) -> Selection {
    if !wing.is_empty() {
        return Selection::matching(Filter::eq("wing", wing));
    }
    let others = seen.iter().filter(|wing| !wing.is_empty());
    Selection::matching(Filter::Key {
        key: "wing".into(),
        test: KeyTest::NotIn(others.map(|wing| MetaValue::from(wing.as_str())).collect()),
    })
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

/// The similarity for a distance. Squared Euclidean distances are treated as those of unit vectors.
fn similarity(metric: Metric, distance: f32) -> f32 {
    let similarity = match metric {
        Metric::Cosine | Metric::Ip => 1.0 - distance,
        Metric::L2 => 1.0 - distance / 2.0,
    };
    similarity.clamp(0.0, 1.0)
}

/// Whether two texts are the same apart from case and white space.
fn same_words(a: &str, b: &str) -> bool {
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_lowercase).collect() };
    // The byte length of a letter may differ between the cases, but not by much.
    a.len() <= b.len().saturating_mul(4).saturating_add(64) && words(a) == words(b)
}

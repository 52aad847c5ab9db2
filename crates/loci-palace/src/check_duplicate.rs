//! The verb `check_duplicate`: finds drawers with the same or nearly the same text. It adds
//! nothing.

use loci_core::{Result, Warning, validate_collection_name};
use schemars::JsonSchema;
use serde::Serialize;

use crate::add::{Compared, NEAR_DUPLICATE, Similar, SimilarSearch, valid_threshold};
use crate::detail::{Detail, estimate};
use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::secrets::{Tally, mask_text};

/// The request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The collection. A collection that does not exist contains no duplicates.
    pub collection: String,
    /// The text.
    pub text: String,
    /// Similarity from which a drawer counts as a near duplicate, from 0 to 1.
    pub threshold: f32,
    /// Level of detail of the answer.
    pub detail: Detail,
}

impl Request {
    /// A request for a text and the default collection.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            collection: DEFAULT_COLLECTION.to_owned(),
            text: text.into(),
            threshold: NEAR_DUPLICATE,
            detail: Detail::Full,
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Whether there is a duplicate.
    pub duplicate: bool,
    /// The collection.
    pub collection: String,
    /// The threshold that was used.
    pub threshold: f32,
    /// Drawers with the same or nearly the same text; most similar first, at most ten.
    #[serde(rename = "twins")]
    pub similar: Vec<Similar>,
    /// Warnings about comparisons that were not possible, such as near duplicates without an
    /// embedder.
    pub warnings: Vec<Warning>,
}

impl Palace {
    /// Finds drawers with the same or nearly the same text.
    ///
    /// They are found by their vectors. If a collection has no embedder, or has drawers without a
    /// vector, they are found by their words.
    pub fn check_duplicate(&self, request: &Request) -> Result<Answer> {
        validate_collection_name(&request.collection)?;
        let threshold = valid_threshold(request.threshold)?;
        let mut answer = Answer {
            collection: request.collection.clone(),
            threshold: estimate(threshold, request.detail),
            ..Answer::default()
        };
        if self.kept(&request.collection)?.is_none() {
            return Ok(answer);
        }
        let (memory, warnings) = self.reading(&request.collection)?;
        answer.warnings = warnings;
        let mut search = SimilarSearch::new(&memory, threshold);
        // Stored texts are masked, so the text is compared in its masked form.
        let text = mask_text(self.secrets(), &request.text, &mut Tally::new());
        let compared = Compared {
            text: text.as_ref(),
            target: None,
        };
        let found = search.of(&[compared], None)?;
        answer.warnings.extend(search.warnings);
        let similar = found.into_iter().flat_map(|found| found.similar);
        answer.similar = similar
            .map(|drawer| Similar::new(drawer, &request.collection, request.detail))
            .collect();
        answer.duplicate = !answer.similar.is_empty();
        Ok(answer)
    }
}

//! The verb `check_duplicate`: whether a text is there already, or nearly. Adds nothing.

use loci_core::{Result, Warning, validate_collection_name};
use schemars::JsonSchema;
use serde::Serialize;

use crate::add::{Compared, NEAR_DUPLICATE, Similar, SimilarSearch, valid_threshold};
use crate::detail::{Detail, estimate};
use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::secrets::{Tally, mask_text};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The collection. A collection that does not exist holds no duplicate.
    pub collection: String,
    /// The text.
    pub text: String,
    /// Similarity from which a drawer counts as a near duplicate, from 0 to 1.
    pub threshold: f32,
    /// How much the answer says.
    pub detail: Detail,
}

impl Request {
    /// Whether the default collection holds a text, or nearly.
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
    /// Whether there is any.
    pub duplicate: bool,
    /// The collection.
    pub collection: String,
    /// The threshold that was used.
    pub threshold: f32,
    /// Drawers that hold the same text, or nearly the same; most similar first, ten at most.
    #[serde(rename = "twins")]
    pub similar: Vec<Similar>,
    /// What could not be compared, such as near duplicates without an embedder.
    pub warnings: Vec<Warning>,
}

impl Palace {
    /// Looks for drawers that hold the same text, or nearly the same.
    ///
    /// They are found by their vectors; where a collection has no embedder, or drawers without a
    /// vector, by their words.
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
        // What is stored is masked, so the text is looked for in that form.
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

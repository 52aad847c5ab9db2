//! Adding with a look at what is there already: exact twins are not added, near ones are told with their similarity.

use loci_core::{Error, Fact, Metadata, Result, Warning};
use serde::Serialize;

use crate::palace::Palace;

/// Similarity from which a drawer counts as a near duplicate.
pub const NEAR_DUPLICATE: f32 = 0.9;

/// A drawer that holds the same, or nearly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Twin {
    /// Its id.
    pub id: String,
    /// Its collection.
    pub collection: String,
    /// 1.0 for the same text; otherwise cosine of the vectors.
    pub similarity: f32,
    /// Whether the text is the same, byte for byte.
    pub exact: bool,
    /// Its text.
    pub text: String,
    /// Its wing, or empty.
    pub wing: String,
    /// Its room, or empty.
    pub room: String,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DuplicateCheck {
    /// The threshold used for near ones.
    pub threshold: f32,
    /// Most similar first, ten at most.
    pub twins: Vec<Twin>,
    /// What could not be looked at, e.g. near ones without an embedder.
    pub warnings: Vec<Warning>,
}

/// A drawer to add.
#[derive(Debug, Clone, Default)]
pub struct NewDrawer {
    /// Its id; drawn when absent.
    pub id: Option<String>,
    /// The text, kept word for word.
    pub text: String,
    /// Wing, room, source and whatever else is known.
    pub metadata: Metadata,
    /// What it says, as facts; written in the same transaction, with this drawer as their source.
    pub facts: Vec<Fact>,
}

/// How drawers are added.
#[derive(Debug, Clone)]
pub struct RememberOptions {
    /// The collection.
    pub collection: String,
    /// Similarity from which a drawer counts as near.
    pub threshold: f32,
    /// Leave out what has a near twin, too; exact twins are always left out.
    pub skip_near: bool,
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remembered {
    /// Its id, or that of its exact twin.
    pub id: String,
    /// `added`, `duplicate` (an exact twin is there), `near_duplicate` (left out on request) or `exists` (the id is taken).
    pub outcome: &'static str,
    /// Twins that were there before.
    pub twins: Vec<Twin>,
    /// Facts that were written with it.
    pub facts: u64,
}

/// What became of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RememberReport {
    /// One per drawer given, in order.
    pub drawers: Vec<Remembered>,
    /// How many were added.
    pub added: u64,
    /// The threshold used.
    pub threshold: f32,
    /// What should be known.
    pub warnings: Vec<Warning>,
}

impl Default for RememberOptions {
    fn default() -> Self {
        Self {
            collection: crate::DEFAULT_COLLECTION.to_owned(),
            threshold: NEAR_DUPLICATE,
            skip_near: false,
        }
    }
}

impl Palace {
    /// Looks for drawers that hold the same text, or nearly. A collection that does not exist holds none.
    pub fn check_duplicate(
        &self,
        collection: &str,
        text: &str,
        threshold: f32,
    ) -> Result<DuplicateCheck> {
        let _ = (collection, text, threshold);
        Err(unfinished())
    }

    /// Adds drawers, each with its facts, in one transaction, and says what was there already.
    pub fn remember(
        &self,
        drawers: &[NewDrawer],
        options: &RememberOptions,
    ) -> Result<RememberReport> {
        let _ = (drawers, options);
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::UnsupportedCapability {
        capability: "adding with a look for twins".into(),
        reason: "not yet".into(),
    }
}

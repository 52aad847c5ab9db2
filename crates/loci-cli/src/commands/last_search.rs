//! The places of the hits of the last search, so that `loci open N` finds them. No text is kept.

use loci_palace::last_search::{self, Place};
use loci_palace::search::Hit;

/// Records the hits of a search. A search does not fail because they cannot be recorded.
pub(super) fn record(hits: &[Hit]) {
    let places: Vec<Place> = hits
        .iter()
        .map(|hit| Place {
            id: hit.id.clone(),
            path: hit.source.value().cloned(),
            line: hit.line,
        })
        .collect();
    if let Err(error) = last_search::record(&places) {
        tracing::debug!(%error, "failed to record the places of the hits");
    }
}

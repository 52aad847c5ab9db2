//! Search and what belongs to it: the scope of an answer, and why something was not found.

use loci_core::{Collection, MetaValue, Result, Selection, Warning};
use loci_recall::{Answer, Request};
use serde::Serialize;

use crate::palace::Palace;

/// Values of a key that an answer lists at most.
const LISTED: usize = 50;

/// What there is where a search looked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Scope {
    /// Drawers that the filter admits.
    pub drawers: u64,
    /// Drawers by wing.
    pub wings: Vec<(String, u64)>,
    /// Drawers by room.
    pub rooms: Vec<(String, u64)>,
}

/// The answer to a search, with what is available if it is short.
#[derive(Debug, Clone)]
pub struct Found {
    /// The answer itself.
    pub answer: Answer,
    /// What the filter admits, whenever fewer than k hits came back.
    pub available_in_scope: Option<Scope>,
}

impl Palace {
    /// Searches a collection by words and by meaning. Notes that the hits were shown; nobody waits for that.
    pub fn search(&self, collection: &str, request: &Request) -> Result<Found> {
        let (handle, mut warnings) = self.memory(collection, false)?;
        let mut answer = loci_recall::search(
            handle.collection.as_ref(),
            handle.embedder.as_deref(),
            request,
        )?;
        warnings.append(&mut answer.warnings);
        answer.warnings = dedup(warnings);
        let available_in_scope = if answer.hits.len() < request.k {
            Some(scope(
                handle.collection.as_ref(),
                &request.selection,
                answer.in_scope,
            )?)
        } else {
            None
        };
        let records: Vec<u64> = answer.hits.iter().map(|hit| hit.record).collect();
        handle.collection.note_access(&records);
        Ok(Found {
            answer,
            available_in_scope,
        })
    }
}

/// Each warning once, in order.
fn dedup(warnings: Vec<Warning>) -> Vec<Warning> {
    let mut kept: Vec<Warning> = Vec::with_capacity(warnings.len());
    for warning in warnings {
        if !kept.contains(&warning) {
            kept.push(warning);
        }
    }
    kept
}

/// What a selection admits, by wing and room.
fn scope(collection: &dyn Collection, selection: &Selection, drawers: u64) -> Result<Scope> {
    let count = |key: &str| -> Result<Vec<(String, u64)>> {
        Ok(collection
            .facet_counts(key, selection, LISTED)?
            .values
            .into_iter()
            .map(|(value, count)| (display(&value), count))
            .collect())
    };
    Ok(Scope {
        drawers,
        wings: count("wing")?,
        rooms: count("room")?,
    })
}

fn display(value: &MetaValue) -> String {
    match value {
        MetaValue::Str(text) => text.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

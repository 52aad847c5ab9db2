//! Ends facts.

use loci_core::{Error, Relations, Result, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::matching::Matching;
use super::{FlaggedFact, Selector, dates, query};

/// The facts to end, and the date.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Which facts match. At least one name or an id is required.
    #[serde(flatten)]
    pub selector: Selector,
    /// The date from which they are not valid; now if absent.
    pub ended: Option<String>,
}

/// The facts that were ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The ended facts; empty if no valid fact matches.
    pub ended: Vec<FlaggedFact>,
    /// The reasons why nothing was ended.
    pub warnings: Vec<Warning>,
}

pub(super) fn invalidate(
    relations: &dyn Relations,
    selector: &Selector,
    ended: Option<&str>,
) -> Result<Answer> {
    let named = [
        &selector.id,
        &selector.entity,
        &selector.subject,
        &selector.predicate,
        &selector.object,
    ];
    if named.into_iter().all(Option::is_none) {
        return Err(Error::invalid(
            "facts to end",
            "name them by id, subject, predicate or object",
        ));
    }
    let date = match ended {
        Some(date) => dates::read("ended", date)?,
        None => dates::now(),
    };
    let matching = Matching::find(relations, selector, &date)?;
    matching.refuse_later(&date)?;
    let ended = relations.end_facts(&matching.ids(), &date.written)?;
    let warnings = if ended.is_empty() {
        let request = query::Request {
            selector: selector.clone(),
            ..query::Request::default()
        };
        query::find(relations, &request)?.warnings
    } else {
        Vec::new()
    };
    Ok(Answer {
        ended: ended.into_iter().map(FlaggedFact::from).collect(),
        warnings,
    })
}

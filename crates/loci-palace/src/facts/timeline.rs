//! Facts in the order in which they began.

use loci_core::clock::now_ms;
use loci_core::{Fact, Relations, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::query::Answer;
use super::query::{limit_of, missing_names};
use super::{FactState, Selector};

/// The facts to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Only facts with this subject or object; all if absent.
    pub entity: Option<String>,
    /// Maximum number of results; 0 means 100.
    pub limit: usize,
    /// Number of results to skip.
    pub offset: usize,
}

/// Facts in the order in which they began, those whose beginning is unknown last; among equals in
/// the order added.
pub(super) fn timeline(relations: &dyn Relations, request: &Request) -> Result<Answer> {
    let selector = Selector {
        entity: request.entity.clone(),
        ..Selector::default()
    };
    let now = now_ms();
    let wanted = limit_of(request.limit).saturating_add(request.offset);
    let mut answer = Answer::default();
    let mut kept: Vec<(i64, u64, Fact)> = Vec::new();
    relations.each_fact(&selector.query(), &mut |fact| {
        answer.total += 1;
        let began = match fact.span().0 {
            i64::MIN => i64::MAX,
            began => began,
        };
        kept.push((began, answer.total, fact));
        // Facts that cannot be on the page are dropped regularly, so that memory stays
        // bounded.
        if kept.len() >= wanted.saturating_mul(2).saturating_add(1_000) {
            keep_first(&mut kept, wanted);
        }
    })?;
    keep_first(&mut kept, wanted);
    let page = kept.into_iter().skip(request.offset);
    answer.facts = page.map(|(_, _, fact)| FactState::at(fact, now)).collect();
    if answer.total == 0 {
        answer.warnings = missing_names(relations, &selector)?;
    }
    Ok(answer)
}

fn keep_first(kept: &mut Vec<(i64, u64, Fact)>, wanted: usize) {
    kept.sort_by_key(|(began, order, _)| (*began, *order));
    kept.truncate(wanted);
}

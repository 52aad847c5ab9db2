//! Finds facts by name and date, one page at a time. Case is ignored. An empty answer says why
//! nothing was found.

use std::collections::BTreeSet;

use loci_core::clock::now_ms;
use loci_core::{Fact, MAX_RESULTS, Relations, Result, Warning};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FactState, Selector, dates};
use crate::names::distance;

/// The facts to find.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Which facts match.
    #[serde(flatten)]
    pub selector: Selector,
    /// Also facts that have ended or not begun. Otherwise, and without a date, only facts that are
    /// valid now.
    pub ended: bool,
    /// Maximum number of results; 0 means 100.
    pub limit: usize,
    /// Number of results to skip.
    pub offset: usize,
}

/// A page of facts, with the total.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The facts, in the requested order.
    pub facts: Vec<FactState>,
    /// How many match, whatever the limit.
    pub total: u64,
    /// The reasons why nothing was found.
    pub warnings: Vec<Warning>,
}

/// The default limit.
const DEFAULT_LIMIT: usize = 100;
/// Maximum number of names that are compared with an unknown one.
const COMPARED: usize = 2_000;

/// The facts of a search, in the order added.
pub(super) fn find(relations: &dyn Relations, request: &Request) -> Result<Answer> {
    let (now, selector) = (now_ms(), &request.selector);
    let as_of = match &selector.as_of {
        Some(date) => Some(dates::read("as_of", date)?.span.last),
        None => (!request.ended).then_some(now),
    };
    let (limit, offset) = (limit_of(request.limit), request.offset);
    let mut answer = Answer::default();
    let mut others = Others::default();
    relations.each_fact(&selector.query(), &mut |fact| {
        if !as_of.is_none_or(|moment| fact.holds_at(moment)) {
            others.note(fact);
            return;
        }
        answer.total += 1;
        if answer.total > offset as u64 && answer.facts.len() < limit {
            answer.facts.push(FactState::at(fact, now));
        }
    })?;
    if answer.total == 0 {
        answer.warnings = if others.count > 0 {
            vec![others.warning(selector.as_of.as_deref())]
        } else {
            missing_names(relations, selector)?
        };
    }
    Ok(answer)
}

pub(super) fn limit_of(limit: usize) -> usize {
    match limit {
        0 => DEFAULT_LIMIT,
        limit => limit.min(MAX_RESULTS),
    }
}

/// Facts that match but are not valid at the date.
#[derive(Default)]
struct Others {
    count: u64,
    last: Option<Fact>,
}

impl Others {
    fn note(&mut self, fact: Fact) {
        self.count += 1;
        self.last = Some(fact);
    }

    fn warning(&self, as_of: Option<&str>) -> Warning {
        let last = self.last.as_ref().map(|fact| {
            let span = match (&fact.valid_from, &fact.valid_to) {
                (_, Some(until)) => format!(" until {until}"),
                (Some(since), None) => format!(" since {since}"),
                (None, None) => String::new(),
            };
            format!("{}{span}", fact.statement())
        });
        Warning::NoneHolds {
            facts: self.count,
            as_of: as_of.map(str::to_owned),
            last,
        }
    }
}

/// Warnings about unknown names, with similar known names.
pub(super) fn missing_names(
    relations: &dyn Relations,
    selector: &Selector,
) -> Result<Vec<Warning>> {
    let names: BTreeSet<&String> = [&selector.entity, &selector.subject, &selector.object]
        .into_iter()
        .flatten()
        .collect();
    let mut warnings = Vec::new();
    for name in names {
        if !relations.spellings(name)?.is_empty() {
            continue;
        }
        warnings.push(Warning::NoSuchName {
            name: name.trim().to_owned(),
            near: near_names(relations, name)?,
        });
    }
    if warnings.is_empty()
        && let Some(warning) = other_predicates(relations, selector)?
    {
        warnings.push(warning);
    }
    Ok(warnings)
}

/// The predicates of the known names, if only the predicate is unknown.
fn other_predicates(relations: &dyn Relations, selector: &Selector) -> Result<Option<Warning>> {
    let Some(predicate) = &selector.predicate else {
        return Ok(None);
    };
    let without = Selector {
        id: None,
        predicate: None,
        ..selector.clone()
    };
    let mut predicates = BTreeSet::new();
    relations.each_fact(&without.query(), &mut |fact| {
        if predicates.len() < COMPARED {
            predicates.insert(fact.predicate);
        }
    })?;
    let mut names: Vec<String> = predicates.into_iter().collect();
    names.sort_by_key(|name| distance(name, predicate));
    Ok((!names.is_empty()).then(|| Warning::NoSuchPredicate {
        predicate: predicate.trim().to_owned(),
        near: names,
    }))
}

/// Names that differ by a typing error, or that begin with a shorter form of the name; nearest
/// first.
fn near_names(relations: &dyn Relations, name: &str) -> Result<Vec<String>> {
    let name = name.trim();
    let (length, small) = (name.chars().count(), name.to_lowercase());
    for beginning in [3, 1] {
        let beginning: String = name.chars().take(beginning).collect();
        let mut names = relations.names_like(&beginning, COMPARED)?;
        names.retain(|other| {
            let begins = other.to_lowercase().starts_with(&small);
            begins || distance(other, name) <= length / 3 + 1
        });
        names.sort_by_key(|other| distance(other, name));
        if !names.is_empty() {
            return Ok(names);
        }
    }
    Ok(Vec::new())
}

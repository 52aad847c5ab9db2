//! Finding facts: by name whatever its case, at a date, a page at a time; and saying why nothing was found.

use std::collections::BTreeSet;

use loci_core::clock::now_ms;
use loci_core::{Fact, FactQuery, MAX_RESULTS, Relations, Result, Warning};

use super::{FactAnswer, FactSearch, FactState, dates};
use crate::names::distance;

/// Facts per answer when no limit is given.
const DEFAULT_LIMIT: usize = 100;
/// Names that are compared with one that is not there.
const COMPARED: usize = 2_000;

/// The facts of a search, in the order added.
pub(super) fn find(relations: &dyn Relations, search: &FactSearch) -> Result<FactAnswer> {
    let now = now_ms();
    let as_of = match &search.as_of {
        Some(date) => Some(dates::read("as_of", date)?.span.last),
        None => (!search.ended).then_some(now),
    };
    let (limit, offset) = (limit_of(search.limit), search.offset);
    let mut answer = FactAnswer::default();
    let mut others = Others::default();
    relations.each_fact(&query_of(search), &mut |fact| {
        if !as_of.is_none_or(|moment| fact.holds_at(moment)) {
            others.note(fact);
            return;
        }
        answer.total += 1;
        if answer.total > offset as u64 && answer.facts.len() < limit {
            answer.facts.push(state(fact, now));
        }
    })?;
    if answer.total == 0 {
        answer.warnings = if others.count > 0 {
            vec![others.warning(search.as_of.as_deref())]
        } else {
            missing_names(relations, search)?
        };
    }
    Ok(answer)
}

/// Facts in the order in which they began, those whose beginning is unknown last; among equals in the order added.
pub(super) fn timeline(
    relations: &dyn Relations,
    entity: Option<&str>,
    limit: usize,
    offset: usize,
) -> Result<FactAnswer> {
    let search = FactSearch {
        entity: entity.map(str::to_owned),
        ..FactSearch::default()
    };
    let now = now_ms();
    let wanted = limit_of(limit).saturating_add(offset);
    let mut answer = FactAnswer::default();
    let mut kept: Vec<(i64, u64, Fact)> = Vec::new();
    relations.each_fact(&query_of(&search), &mut |fact| {
        answer.total += 1;
        let began = match fact.span().0 {
            i64::MIN => i64::MAX,
            began => began,
        };
        kept.push((began, answer.total, fact));
        // What cannot be on the page any more is let go from time to time.
        if kept.len() >= wanted.saturating_mul(2).saturating_add(1_000) {
            keep_first(&mut kept, wanted);
        }
    })?;
    keep_first(&mut kept, wanted);
    let page = kept.into_iter().skip(offset);
    answer.facts = page.map(|(_, _, fact)| state(fact, now)).collect();
    if answer.total == 0 {
        answer.warnings = missing_names(relations, &search)?;
    }
    Ok(answer)
}

fn keep_first(kept: &mut Vec<(i64, u64, Fact)>, wanted: usize) {
    kept.sort_by_key(|(began, order, _)| (*began, *order));
    kept.truncate(wanted);
}

fn limit_of(limit: usize) -> usize {
    match limit {
        0 => DEFAULT_LIMIT,
        limit => limit.min(MAX_RESULTS),
    }
}

pub(super) fn query_of(search: &FactSearch) -> FactQuery {
    FactQuery {
        id: search.id.clone(),
        entity: search.entity.clone(),
        subject: search.subject.clone(),
        predicate: search.predicate.clone(),
        object: search.object.clone(),
        any_case: true,
    }
}

fn state(fact: Fact, now: i64) -> FactState {
    FactState {
        current: fact.holds_at(now),
        fact,
    }
}

/// Facts that match and do not hold at the date.
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

/// Says which of the names asked for are not there, and what is spelled nearly so.
pub(super) fn missing_names(
    relations: &dyn Relations,
    search: &FactSearch,
) -> Result<Vec<Warning>> {
    let names: BTreeSet<&String> = [&search.entity, &search.subject, &search.object]
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
        && let Some(warning) = other_predicates(relations, search)?
    {
        warnings.push(warning);
    }
    Ok(warnings)
}

/// What is said of the names that are there, where the predicate is what is missing.
fn other_predicates(relations: &dyn Relations, search: &FactSearch) -> Result<Option<Warning>> {
    let Some(predicate) = &search.predicate else {
        return Ok(None);
    };
    let without = FactSearch {
        id: None,
        predicate: None,
        ..search.clone()
    };
    let mut predicates = BTreeSet::new();
    relations.each_fact(&query_of(&without), &mut |fact| {
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

/// Names that differ by a slip, or that a shorter form of the name begins; nearest first.
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

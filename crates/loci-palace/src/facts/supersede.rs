//! Ends facts and adds the fact that replaces them, in one transaction.

use loci_core::clock::now_ms;
use loci_core::{Error, Fact, FactQuery, Relations, Result, nothing_to_end};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::matching::Matching;
use super::{FlaggedFact, Selector, add, dates, query};
use crate::secrets::{Policy, Tally, mask_fact};

/// The facts to end, and the fact that replaces them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The facts to end: an id, or subject and predicate.
    pub old: Selector,
    /// The fact that replaces them. An empty subject or predicate is that of the old one.
    pub new: Fact,
    /// The date from which it is valid; its own `valid_from` if absent, else now.
    #[serde(default)]
    pub at: Option<String>,
}

/// The result, written in one transaction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The ended facts.
    pub ended: Vec<FlaggedFact>,
    /// The added fact.
    pub added: Fact,
    /// Secrets that were masked in it, by kind.
    pub masked: Tally,
}

pub(super) fn supersede(
    relations: &dyn Relations,
    request: &Request,
    policy: Policy,
) -> Result<Answer> {
    let Request { old, new, at } = request;
    if old.id.is_none() && (old.subject.is_none() || old.predicate.is_none()) {
        return Err(Error::invalid(
            "fact to supersede",
            "name it by id, or by subject and predicate",
        ));
    }
    let date = match at.as_deref().or(new.valid_from.as_deref()) {
        Some(date) => dates::read("at", date)?,
        None => dates::now(),
    };
    let matching = Matching::find(relations, old, &date)?;
    matching.refuse_later(&date)?;
    let Some(first) = matching.open.first() else {
        return Err(refusal(relations, old, matching.other.as_ref())?);
    };
    let mut masked = Tally::new();
    let new = successor(first, new, &date, (policy, &mut masked))?;
    let ended = relations.supersede(&matching.ids(), &date.written, &new)?;
    let added = add::by_id(relations, &new.key())?;
    Ok(Answer {
        ended: ended.into_iter().map(FlaggedFact::from).collect(),
        added: added.unwrap_or(new),
        masked,
    })
}

/// The fact that replaces another.
fn successor(
    old: &Fact,
    new: &Fact,
    date: &dates::ParsedDate,
    (policy, masked): (Policy, &mut Tally),
) -> Result<Fact> {
    let or_old = |new: &str, old: &str| {
        let name = if new.trim().is_empty() { old } else { new };
        name.to_owned()
    };
    let mut new = Fact {
        subject: or_old(&new.subject, &old.subject),
        predicate: or_old(&new.predicate, &old.predicate),
        valid_from: Some(date.written.clone()),
        ..new.clone()
    };
    if let Some(until) = &new.valid_to {
        let until = dates::read("valid_to", until)?;
        new.valid_to = Some(until.written);
        dates::check_order(&new, until.span)?;
    }
    mask_fact(policy, &mut new, masked);
    new.id = new.key().into_owned();
    Ok(new)
}

/// The error if there is nothing to supersede: it says whether the fact has ended, and which facts
/// are valid.
fn refusal(relations: &dyn Relations, old: &Selector, ended: Option<&Fact>) -> Result<Error> {
    let (subject, predicate) = match ended {
        Some(fact) => (Some(&fact.subject), Some(&fact.predicate)),
        None => (old.subject.as_ref(), old.predicate.as_ref()),
    };
    let Some(subject) = subject else {
        return Ok(nothing_to_end(None, &[]));
    };
    let now = now_ms();
    let query = FactQuery {
        subject: Some(subject.clone()),
        predicate: predicate.cloned(),
        any_case: true,
        ..FactQuery::default()
    };
    let mut holding = Vec::new();
    relations.each_fact(&query, &mut |fact| {
        if holding.len() < 3 && fact.holds_at(now) {
            holding.push(fact);
        }
    })?;
    let error = nothing_to_end(ended, &holding);
    if ended.is_some() || !holding.is_empty() {
        return Ok(error);
    }
    let hints: Vec<String> = query::missing_names(relations, old)?
        .into_iter()
        .map(|warning| warning.message())
        .collect();
    Ok(Error::Conflict {
        what: match hints.as_slice() {
            [] => error.to_string(),
            hints => format!("{error}; {}", hints.join("; ")),
        },
    })
}

//! Ending facts and superseding them.

use loci_core::clock::now_ms;
use loci_core::{Error, Fact, FactQuery, Relations, Result, nothing_to_end};

use super::{FactSearch, Superseded, add, dates, search};
use crate::secrets::{Policy, Tally, mask_fact};

/// What matches and can be ended, and what matches and cannot.
#[derive(Default)]
struct Matching {
    open: Vec<Fact>,
    other: Option<Fact>,
    later: Option<Fact>,
}

impl Matching {
    fn find(relations: &dyn Relations, wanted: &FactSearch, date: &dates::Given) -> Result<Self> {
        let now = now_ms();
        let as_of = match &wanted.as_of {
            Some(as_of) => Some(dates::read("as_of", as_of)?.span.last),
            None => None,
        };
        let mut matching = Self::default();
        relations.each_fact(&search::query_of(wanted), &mut |fact| {
            if as_of.is_some_and(|moment| !fact.holds_at(moment)) {
                return;
            }
            if fact.can_end(date.span, now) {
                matching.open.push(fact);
            } else if fact.valid_to.is_none() {
                matching.later = Some(fact);
            } else {
                matching.other = Some(fact);
            }
        })?;
        Ok(matching)
    }

    /// Refuses an end before the beginning, where that is all there is.
    fn refuse_later(&self, date: &dates::Given) -> Result<()> {
        match &self.later {
            Some(later) if self.open.is_empty() => dates::check_order(
                &Fact {
                    valid_to: Some(date.written.clone()),
                    ..later.clone()
                },
                date.span,
            ),
            _ => Ok(()),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.open.iter().map(|fact| fact.id.clone()).collect()
    }
}

pub(super) fn invalidate(
    relations: &dyn Relations,
    wanted: &FactSearch,
    ended: Option<&str>,
) -> Result<Vec<Fact>> {
    let named = [
        &wanted.id,
        &wanted.entity,
        &wanted.subject,
        &wanted.predicate,
        &wanted.object,
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
    let matching = Matching::find(relations, wanted, &date)?;
    matching.refuse_later(&date)?;
    relations.end_facts(&matching.ids(), &date.written)
}

pub(super) fn supersede(
    relations: &dyn Relations,
    old: &FactSearch,
    new: &Fact,
    at: Option<&str>,
    policy: Policy,
) -> Result<Superseded> {
    if old.id.is_none() && (old.subject.is_none() || old.predicate.is_none()) {
        return Err(Error::invalid(
            "fact to supersede",
            "name it by id, or by subject and predicate",
        ));
    }
    let date = match at.or(new.valid_from.as_deref()) {
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
    Ok(Superseded {
        ended,
        added: added.unwrap_or(new),
        masked,
    })
}

/// The fact that takes the place of another.
fn successor(
    old: &Fact,
    new: &Fact,
    date: &dates::Given,
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

/// Says what became of the fact that should be superseded, and what holds instead.
fn refusal(relations: &dyn Relations, old: &FactSearch, ended: Option<&Fact>) -> Result<Error> {
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
    let hints: Vec<String> = search::missing_names(relations, old)?
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

//! Adds facts: parses their dates, and reports conflicts and missing sources.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use loci_core::clock::now_ms;
use loci_core::{
    Error, Fact, FactQuery, Get, Include, Relations, Result, Selection, Warning, folded_name,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflicts::Lookup;
use super::{FlaggedFact, dates};
use crate::palace::Palace;
use crate::secrets::{Tally, mask_fact};

/// A fact to add. Dates are a year, a month, a day, a moment or words such as `yesterday`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The fact. Without an id, one is derived from its words and its source.
    #[serde(flatten)]
    pub fact: Fact,
}

/// The outcome for one fact.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Its id.
    pub id: String,
    /// False if it existed already.
    pub added: bool,
    /// Facts with the same subject and predicate that have another object at the same time; at most
    /// twenty.
    pub conflicts: Vec<FlaggedFact>,
    /// Warnings if its source drawer is missing, or if the fact existed already and has ended.
    pub warnings: Vec<Warning>,
    /// The fact as it was written, with its secrets masked.
    #[serde(skip)]
    pub fact: Fact,
    /// Secrets that were masked in it, by kind.
    pub masked: Tally,
}

/// Drawers by collection.
type Sources = BTreeMap<String, BTreeSet<String>>;

pub(super) fn add(palace: &Palace, facts: &[Fact]) -> Result<Vec<Answer>> {
    let relations = palace.kept_relations()?;
    let mut given: Vec<Fact> = Vec::with_capacity(facts.len());
    let mut tallies = Vec::with_capacity(facts.len());
    for fact in facts {
        // Secrets are masked first, because the id is derived from the stored fact.
        let (mut fact, mut masked) = (fact.clone(), Tally::new());
        mask_fact(palace.secrets(), &mut fact, &mut masked);
        given.push(prepared(&*relations, &fact)?);
        tallies.push(masked);
    }
    let mut there = HashSet::new();
    let mut known = Vec::with_capacity(given.len());
    for fact in &given {
        let old = match fact.id.as_str() {
            "" => None,
            id => by_id(&*relations, id)?,
        };
        known.push((old.is_some() || !there.insert(identity(fact)), old));
    }
    let related = relations.add_facts(&given)?;
    // The backend finds the fact that says the same, or derives an id, in its transaction.
    for fact in given.iter_mut().filter(|fact| fact.id.is_empty()) {
        let stored = stated(&*relations, fact)?;
        fact.id = stored.map_or_else(|| fact.key().into_owned(), |stored| stored.id);
    }
    let missing = missing_sources(palace, &given)?;
    let mut lookup = Lookup::new(&*relations);
    let mut added = Vec::with_capacity(given.len());
    for ((fact, (is_known, old)), masked) in given.iter().zip(known).zip(tallies) {
        // Another process may have added it first. For a single fact the transaction reports that.
        let is_new = if given.len() == 1 {
            related.added == 1
        } else {
            !is_known
        };
        let mut warnings = source_warning(fact, &missing);
        warnings.extend(old.as_ref().and_then(ended_warning));
        added.push(Answer {
            id: fact.id.clone(),
            added: is_new,
            conflicts: lookup.of(old.as_ref().unwrap_or(fact))?,
            warnings,
            fact: fact.clone(),
            masked,
        });
    }
    Ok(added)
}

/// The fact as it is stored, with parsed dates. Its id is that of the stored fact that says the same;
/// empty if there is none.
fn prepared(relations: &dyn Relations, fact: &Fact) -> Result<Fact> {
    let mut fact = fact.clone();
    if let Some(date) = &fact.valid_from {
        fact.valid_from = Some(dates::read("valid_from", date)?.written);
    }
    if let Some(date) = &fact.valid_to {
        let until = dates::read("valid_to", date)?;
        fact.valid_to = Some(until.written);
        dates::check_order(&fact, until.span)?;
    }
    fact.validate()?;
    if !fact.id.is_empty() {
        return Ok(fact);
    }
    let Some(old) = stated(relations, &fact)? else {
        return Ok(fact);
    };
    if fact.valid_from.is_some() || fact.valid_to.is_some() || old.holds_at(now_ms()) {
        fact.id = old.id;
        return Ok(fact);
    }
    renewed(relations, fact)
}

/// A fact that is valid again: the ended one stays, and this one begins now. If a renewed one is
/// already valid, that one is returned.
fn renewed(relations: &dyn Relations, fact: Fact) -> Result<Fact> {
    let now = now_ms();
    let mut holding = None;
    relations.each_fact(&spelled(&fact), &mut |other| {
        if other.source == fact.source && other.holds_at(now) {
            holding = Some(other.id);
        }
    })?;
    Ok(match holding {
        Some(id) => Fact { id, ..fact },
        None => Fact {
            valid_from: Some(dates::now().written),
            ..fact
        },
    })
}

/// The stored fact that says the same. If several spellings are stored, one that holds is preferred,
/// then the same spelling, then the first one.
fn stated(relations: &dyn Relations, fact: &Fact) -> Result<Option<Fact>> {
    let key = fact.key();
    let now = now_ms();
    let rank = |stored: &Fact| (stored.holds_at(now), stored.id == key);
    let mut best: Option<Fact> = None;
    relations.each_fact(&spelled(fact), &mut |stored| {
        let is_better = best.as_ref().is_none_or(|best| rank(&stored) > rank(best));
        if stored.says_the_same(fact) && is_better {
            best = Some(stored);
        }
    })?;
    Ok(best)
}

/// What makes two facts of one call the same: the id, or what they say.
fn identity(fact: &Fact) -> String {
    let said = Fact {
        id: fact.id.clone(),
        subject: folded_name(&fact.subject),
        predicate: folded_name(&fact.predicate),
        object: folded_name(&fact.object),
        valid_from: fact.valid_from.clone(),
        source: fact.source.clone(),
        ..Fact::default()
    };
    said.key().into_owned()
}

/// Selects the facts with the names of a fact, in any case.
fn spelled(fact: &Fact) -> FactQuery {
    FactQuery {
        subject: Some(fact.subject.clone()),
        predicate: Some(fact.predicate.clone()),
        object: Some(fact.object.clone()),
        any_case: true,
        ..FactQuery::default()
    }
}

pub(super) fn by_id(relations: &dyn Relations, id: &str) -> Result<Option<Fact>> {
    let query = FactQuery {
        id: Some(id.to_owned()),
        ..FactQuery::default()
    };
    Ok(relations.facts(&query, 1, 0)?.pop())
}

fn missing_sources(palace: &Palace, facts: &[Fact]) -> Result<Sources> {
    let mut missing = Sources::new();
    for drawer in facts.iter().filter_map(|fact| fact.source.as_ref()) {
        let ids = missing.entry(drawer.collection.clone()).or_default();
        ids.insert(drawer.id.clone());
    }
    for (collection, ids) in &mut missing {
        let collection = match palace.collection(collection, false) {
            Ok(collection) => collection,
            Err(Error::CollectionNotInitialized { .. }) => continue,
            Err(error) => return Err(error),
        };
        let get = Get {
            include: Include::NONE,
            ..Get::new(Selection::ids(ids.iter().cloned()))
        };
        for found in collection.get(&get)?.ids {
            ids.remove(&found);
        }
    }
    Ok(missing)
}

fn source_warning(fact: &Fact, missing: &Sources) -> Vec<Warning> {
    let source = fact.source.iter();
    source
        .filter(|drawer| {
            let ids = missing.get(&drawer.collection);
            ids.is_some_and(|ids| ids.contains(&drawer.id))
        })
        .map(|drawer| Warning::SourceMissing {
            collection: drawer.collection.clone(),
            drawer: drawer.id.clone(),
        })
        .collect()
}

fn ended_warning(old: &Fact) -> Option<Warning> {
    Some(Warning::FactEnded {
        statement: old.statement(),
        fact: old.id.clone(),
        ended: old.valid_to.clone()?,
    })
}

//! Facts and links as two lists in insertion order.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use loci_core::clock::now_ms;
use loci_core::{
    DateSpan, Error, Fact, FactQuery, Link, LinkEnd, PalaceRef, Related, Relations, Result,
    ended_already, folded_name, nothing_to_end, same_name, validate_end, validate_facts,
    validate_links,
};

use super::state::Palace;
use super::{Session, Store, lock, no_palace};

pub(super) struct MemoryRelations {
    pub(super) backend: &'static str,
    pub(super) store: Arc<Mutex<Store>>,
    pub(super) place: PalaceRef,
    pub(super) session: Arc<Session>,
}

impl MemoryRelations {
    fn with<T>(&self, work: impl FnOnce(&mut Palace) -> T) -> Result<T> {
        let mut store = lock(&self.store);
        self.session.check(self.backend)?;
        match store.palaces.get_mut(&self.place) {
            Some(palace) => Ok(work(palace)),
            None => Err(no_palace(&self.place)),
        }
    }
}

/// Adds the items that do not exist yet. Each of them gets a sequence number.
fn add<T: Clone>(
    kept: &mut Vec<T>,
    seq: &mut u64,
    items: &[T],
    same: impl Fn(&T, &T) -> bool,
) -> Related {
    let mut related = Related::default();
    for item in items {
        if kept.iter().any(|old| same(old, item)) {
            related.known += 1;
        } else {
            kept.push(item.clone());
            *seq += 1;
            related.added += 1;
        }
    }
    related
}

fn is_same(one: &Link, other: &Link) -> bool {
    (&one.from, &one.to, &one.label) == (&other.from, &other.to, &other.label)
}

impl Palace {
    pub(super) fn add_facts(&mut self, facts: &[Fact]) -> Related {
        let mut related = Related::default();
        for fact in facts {
            let named = Fact {
                id: fact.key().into_owned(),
                ..fact.clone()
            };
            let is_same = |old: &Fact, new: &Fact| {
                old.id == new.id || fact.id.is_empty() && old.says_the_same(new)
            };
            let one = add(&mut self.facts, &mut self.seq, &[named], is_same);
            related.added += one.added;
            related.known += one.known;
        }
        related
    }

    pub(super) fn add_links(&mut self, links: &[Link]) -> Related {
        add(&mut self.links, &mut self.seq, links, is_same)
    }

    fn end_facts(&mut self, ids: &[String], valid_to: &str, date: DateSpan) -> Vec<Fact> {
        let mut ended = Vec::new();
        for id in ids {
            let fact = self.facts.iter_mut().find(|fact| fact.id == *id);
            if let Some(fact) = fact.filter(|fact| fact.can_end(date, now_ms())) {
                fact.valid_to = Some(valid_to.to_owned());
                self.seq += 1;
                ended.push(fact.clone());
            }
        }
        ended
    }

    /// The error if no fact could be ended.
    fn refusal(&self, ids: &[String], new: &Fact) -> Error {
        let old = self.facts.iter().find(|fact| ids.contains(&fact.id));
        let about = old.unwrap_or(new);
        let holds = |fact: &&Fact| {
            same_name(&fact.subject, &about.subject)
                && same_name(&fact.predicate, &about.predicate)
                && fact.holds_at(now_ms())
        };
        let holding: Vec<Fact> = self.facts.iter().filter(holds).cloned().collect();
        nothing_to_end(old, &holding)
    }

    /// The matching subjects and objects, sorted.
    fn names(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let names = self
            .facts
            .iter()
            .flat_map(|fact| [&fact.subject, &fact.object]);
        let found: BTreeSet<&String> = names.filter(|name| wanted(name)).collect();
        found.into_iter().cloned().collect()
    }
}

impl Relations for MemoryRelations {
    fn add_facts(&self, facts: &[Fact]) -> Result<Related> {
        self.with(|_| ())?;
        validate_facts(facts)?;
        self.with(|palace| palace.add_facts(facts))
    }

    fn facts(&self, query: &FactQuery, limit: usize, offset: usize) -> Result<Vec<Fact>> {
        self.with(|palace| {
            let found = palace.facts.iter().filter(|fact| query.matches(fact));
            found.skip(offset).take(limit).cloned().collect()
        })
    }

    fn add_links(&self, links: &[Link]) -> Result<Related> {
        self.with(|_| ())?;
        validate_links(links)?;
        self.with(|palace| palace.add_links(links))
    }

    fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>> {
        self.with(|palace| {
            let found = palace
                .links
                .iter()
                .filter(|link| end.is_none_or(|end| link.from == *end || link.to == *end));
            found.skip(offset).take(limit).cloned().collect()
        })
    }

    fn end_facts(&self, ids: &[String], valid_to: &str) -> Result<Vec<Fact>> {
        self.with(|_| ())?;
        let date = validate_end(valid_to)?;
        self.with(|palace| palace.end_facts(ids, valid_to, date))
    }

    fn supersede(&self, ids: &[String], valid_to: &str, new: &Fact) -> Result<Vec<Fact>> {
        self.with(|_| ())?;
        let date = validate_end(valid_to)?;
        validate_facts(std::slice::from_ref(new))?;
        self.with(|palace| {
            let mut copy = palace.clone();
            let ended = copy.end_facts(ids, valid_to, date);
            if ended.is_empty() {
                return Err(copy.refusal(ids, new));
            }
            copy.add_facts(std::slice::from_ref(new));
            let there = copy.facts.iter().find(|fact| fact.id == new.key());
            let is_other =
                |there: &&Fact| there.valid_to.is_some() && there.valid_to != new.valid_to;
            if let Some(there) = there.filter(is_other) {
                return Err(ended_already(there));
            }
            *palace = copy;
            Ok(ended)
        })?
    }

    fn spellings(&self, name: &str) -> Result<Vec<String>> {
        self.with(|palace| palace.names(|other| same_name(other, name)))
    }

    fn names_like(&self, beginning: &str, limit: usize) -> Result<Vec<String>> {
        let beginning = folded_name(beginning);
        self.with(|palace| {
            let mut names = palace.names(|name| {
                // A name with leading space does not begin with this prefix.
                let unmoved = !name.starts_with(char::is_whitespace);
                unmoved && folded_name(name).starts_with(&beginning)
            });
            names.truncate(limit);
            names
        })
    }

    fn remove_links(&self, links: &[Link]) -> Result<u64> {
        self.with(|_| ())?;
        validate_links(links)?;
        self.with(|palace| {
            let mut removed = 0;
            for link in links {
                let before = palace.links.len();
                palace.links.retain(|other| !is_same(other, link));
                removed += (before - palace.links.len()) as u64;
            }
            palace.seq += removed;
            removed
        })
    }

    fn counts(&self) -> Result<(u64, u64)> {
        self.with(|palace| (palace.facts.len() as u64, palace.links.len() as u64))
    }
}

//! Facts and links of the reference backend: two lists in the order added.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use loci_core::{
    Fact, FactQuery, Link, LinkEnd, Related, Relations, Result, validate_facts, validate_links,
};

use super::state::Palace;
use super::{Store, closed, lock};

pub(super) struct MemoryRelations {
    pub(super) backend: &'static str,
    pub(super) store: Arc<Mutex<Store>>,
    pub(super) path: PathBuf,
    pub(super) session: u64,
}

impl MemoryRelations {
    fn with<T>(&self, work: impl FnOnce(&mut Palace) -> T) -> Result<T> {
        let mut store = lock(&self.store);
        let closed = closed(self.backend);
        if store.closed {
            return Err(closed);
        }
        match store.palaces.get_mut(&self.path) {
            Some(palace) if palace.session == self.session => Ok(work(palace)),
            _ => Err(closed),
        }
    }
}

/// Adds what is not there yet; each of them draws a number.
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

fn asks_for(query: &FactQuery, fact: &Fact) -> bool {
    let is = |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|w| w == value);
    is(&query.id, &fact.id)
        && is(&query.subject, &fact.subject)
        && is(&query.predicate, &fact.predicate)
        && is(&query.object, &fact.object)
        && (is(&query.entity, &fact.subject) || is(&query.entity, &fact.object))
}

impl Relations for MemoryRelations {
    fn add_facts(&self, facts: &[Fact]) -> Result<Related> {
        self.with(|_| ())?;
        validate_facts(facts)?;
        let named: Vec<Fact> = facts
            .iter()
            .map(|fact| Fact {
                id: fact.key().into_owned(),
                ..fact.clone()
            })
            .collect();
        self.with(|palace| {
            add(&mut palace.facts, &mut palace.seq, &named, |old, new| {
                old.id == new.id
            })
        })
    }

    fn facts(&self, query: &FactQuery, limit: usize, offset: usize) -> Result<Vec<Fact>> {
        self.with(|palace| {
            let found = palace.facts.iter().filter(|fact| asks_for(query, fact));
            found.skip(offset).take(limit).cloned().collect()
        })
    }

    fn add_links(&self, links: &[Link]) -> Result<Related> {
        self.with(|_| ())?;
        validate_links(links)?;
        self.with(|palace| {
            add(&mut palace.links, &mut palace.seq, links, |old, new| {
                (&old.from, &old.to, &old.label) == (&new.from, &new.to, &new.label)
            })
        })
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

    fn counts(&self) -> Result<(u64, u64)> {
        self.with(|palace| (palace.facts.len() as u64, palace.links.len() as u64))
    }
}

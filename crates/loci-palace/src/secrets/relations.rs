//! Masks facts and links before they are written.

use std::sync::Arc;

use loci_core::{Fact, FactQuery, Link, LinkEnd, Related, Relations, Result};

use super::{Policy, Tally, mask_fact, mask_link};

/// Relations with the owner's policy.
pub(crate) struct MaskingRelations {
    inner: Arc<dyn Relations>,
    policy: Policy,
}

impl MaskingRelations {
    pub(crate) fn around(inner: Arc<dyn Relations>, policy: Policy) -> Arc<dyn Relations> {
        Arc::new(Self { inner, policy })
    }

    fn masked_links(&self, links: &[Link]) -> Vec<Link> {
        let mut links = links.to_vec();
        for link in &mut links {
            mask_link(self.policy, link, &mut Tally::new());
        }
        links
    }
}

impl Relations for MaskingRelations {
    fn add_facts(&self, facts: &[Fact]) -> Result<Related> {
        let mut facts = facts.to_vec();
        for fact in &mut facts {
            mask_fact(self.policy, fact, &mut Tally::new());
        }
        self.inner.add_facts(&facts)
    }

    fn facts(&self, query: &FactQuery, limit: usize, offset: usize) -> Result<Vec<Fact>> {
        self.inner.facts(query, limit, offset)
    }

    fn add_links(&self, links: &[Link]) -> Result<Related> {
        self.inner.add_links(&self.masked_links(links))
    }

    fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>> {
        self.inner.links(end, limit, offset)
    }

    fn counts(&self) -> Result<(u64, u64)> {
        self.inner.counts()
    }

    fn damaged(&self) -> Result<Vec<String>> {
        self.inner.damaged()
    }

    fn each_fact(&self, query: &FactQuery, visit: &mut dyn FnMut(Fact)) -> Result<()> {
        self.inner.each_fact(query, visit)
    }

    fn end_facts(&self, ids: &[String], valid_to: &str) -> Result<Vec<Fact>> {
        self.inner.end_facts(ids, valid_to)
    }

    fn supersede(&self, ids: &[String], valid_to: &str, new: &Fact) -> Result<Vec<Fact>> {
        let mut new = new.clone();
        mask_fact(self.policy, &mut new, &mut Tally::new());
        self.inner.supersede(ids, valid_to, &new)
    }

    fn spellings(&self, name: &str) -> Result<Vec<String>> {
        self.inner.spellings(name)
    }

    fn names_like(&self, beginning: &str, limit: usize) -> Result<Vec<String>> {
        self.inner.names_like(beginning, limit)
    }

    fn remove_links(&self, links: &[Link]) -> Result<u64> {
        // A link is removed by its label, which was masked when it was written. A link that was
        // written under another policy has the unmasked label.
        let masked = self.masked_links(links);
        let removed = self.inner.remove_links(&masked)?;
        let unmasked: Vec<Link> = links
            .iter()
            .zip(&masked)
            .filter(|(link, masked)| link.label != masked.label)
            .map(|(link, _)| link.clone())
            .collect();
        if unmasked.is_empty() {
            return Ok(removed);
        }
        Ok(removed + self.inner.remove_links(&unmasked)?)
    }
}

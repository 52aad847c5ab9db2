//! Imports the facts and links of a foreign palace. Adding is idempotent, so a second run adds only
//! what is missing.

use loci_core::{Fact, Link, LinkEnd, Related, Relations, Result, Warning};
use loci_foreign::{OnBatch, ReadSummary};

use super::report::{Answer, ImportProgress, Phase, RelationsReport};
use super::{ForeignImport, stream};
use crate::import::is_of_record;
use crate::secrets::{Tally, mask_fact, mask_link, merge};

impl ForeignImport<'_> {
    pub(super) fn bring_relations(
        &self,
        report: &mut Answer,
        progress: &mut dyn FnMut(ImportProgress<'_>),
    ) -> Result<()> {
        let kept = self.palace.relations()?;
        let keeper = kept.as_deref();
        let batch = self.options.batch();
        let mut facts = Kind {
            name: "facts",
            phase: Phase::Facts,
            add: &|facts: &[Fact]| match keeper {
                Some(keeper) => self.add_facts(keeper, facts),
                None => Ok(Related::default()),
            },
            id: &|fact: &Fact| (!fact.id.is_empty()).then(|| fact.id.clone()),
            is_forgotten: &|fact| self.fact_here(fact).is_none(),
        };
        let read = |take: OnBatch<'_, Fact>| self.source.for_each_fact(batch, take);
        report.facts = facts.bring(read, report, progress)?;
        let mut links = Kind {
            name: "links",
            phase: Phase::Links,
            add: &|links: &[Link]| match keeper {
                Some(keeper) => self.add_links(keeper, links),
                None => Ok(Related::default()),
            },
            id: &|_| None,
            is_forgotten: &|link| self.link_here(link).is_none(),
        };
        let read = |take: OnBatch<'_, Link>| self.source.for_each_link(batch, take);
        report.links = links.bring(read, report, progress)?;
        if keeper.is_none() && report.facts.read + report.links.read > 0 {
            report.leave_out("facts", report.facts.read);
            report.leave_out("links", report.links.read);
            report.warn(Warning::RelationsNotKept);
        }
        Ok(())
    }

    /// The fact with the names of this palace; `None` if its drawer was forgotten.
    fn fact_here(&self, fact: &Fact) -> Option<Fact> {
        let mut fact = fact.clone();
        if let Some(source) = &mut fact.source {
            self.moved(source);
            if self.forgotten.borrow().contains(source) {
                return None;
            }
        }
        Some(fact)
    }

    /// The link with the names of this palace; `None` if a drawer at its end was forgotten.
    fn link_here(&self, link: &Link) -> Option<Link> {
        let mut link = link.clone();
        for end in [&mut link.from, &mut link.to] {
            if let LinkEnd::Drawer(drawer) = end {
                self.moved(drawer);
                if self.forgotten.borrow().contains(drawer) {
                    return None;
                }
            }
        }
        Some(link)
    }

    fn add_facts(&self, keeper: &dyn Relations, facts: &[Fact]) -> Result<Related> {
        let mut facts: Vec<Fact> = facts
            .iter()
            .filter_map(|fact| self.fact_here(fact))
            .collect();
        let mut masked = Tally::new();
        for fact in &mut facts {
            mask_fact(self.palace.secrets(), fact, &mut masked);
        }
        let related = if self.options.dry_run {
            foresee_facts(keeper, &facts)
        } else {
            keeper.add_facts(&facts)
        }?;
        // A refused batch is retried one by one, so its secrets are counted only after it was
        // accepted.
        merge(&mut self.masked.borrow_mut(), &masked);
        Ok(related)
    }

    fn add_links(&self, keeper: &dyn Relations, links: &[Link]) -> Result<Related> {
        let mut links: Vec<Link> = links
            .iter()
            .filter_map(|link| self.link_here(link))
            .collect();
        let mut masked = Tally::new();
        for link in &mut links {
            mask_link(self.palace.secrets(), link, &mut masked);
        }
        let related = if self.options.dry_run {
            foresee_links(keeper, &links)
        } else {
            keeper.add_links(&links)
        }?;
        merge(&mut self.masked.borrow_mut(), &masked);
        Ok(related)
    }
}

/// Predicts the result of adding.
fn foresee_facts(keeper: &dyn Relations, facts: &[Fact]) -> Result<Related> {
    loci_core::validate_facts(facts)?;
    let mut related = Related::default();
    for fact in facts {
        let query = loci_core::FactQuery {
            id: Some(fact.id.clone()),
            ..loci_core::FactQuery::default()
        };
        let known = !keeper.facts(&query, 1, 0)?.is_empty();
        related.known += u64::from(known);
        related.added += u64::from(!known);
    }
    Ok(related)
}

fn foresee_links(keeper: &dyn Relations, links: &[Link]) -> Result<Related> {
    loci_core::validate_links(links)?;
    let mut related = Related::default();
    for link in links {
        let there = keeper.links(Some(&link.from), usize::MAX >> 1, 0)?;
        let known = there.iter().any(|other| {
            (&other.from, &other.to, &other.label) == (&link.from, &link.to, &link.label)
        });
        related.known += u64::from(known);
        related.added += u64::from(!known);
    }
    Ok(related)
}

/// Facts or links, and how they are added.
struct Kind<'a, T> {
    name: &'static str,
    phase: Phase,
    add: &'a dyn Fn(&[T]) -> Result<Related>,
    id: &'a dyn Fn(&T) -> Option<String>,
    is_forgotten: &'a dyn Fn(&T) -> bool,
}

impl<T> Kind<'_, T> {
    fn bring(
        &mut self,
        read: impl FnOnce(OnBatch<'_, T>) -> Result<ReadSummary>,
        report: &mut Answer,
        progress: &mut dyn FnMut(ImportProgress<'_>),
    ) -> Result<RelationsReport> {
        let mut counts = RelationsReport::default();
        let (summary, failed) = stream(read, |batch: Vec<T>| {
            counts.read += batch.len() as u64;
            self.write(&batch, &mut counts, report)?;
            progress(ImportProgress {
                phase: self.phase,
                collection: "",
                done: counts.read,
                total: counts.read,
            });
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error);
        }
        match summary {
            Ok(summary) => {
                counts.failed += summary.lost.len() as u64;
                for lost in summary.lost {
                    report.lose(self.name, lost.id, lost.reason);
                }
                for (field, times) in summary.unmapped {
                    report.leave_out(field, times);
                }
            }
            Err(error) => {
                let reason = format!("the rest of the {} could not be read: {error}", self.name);
                report.lose(self.name, None, reason);
            }
        }
        Ok(counts)
    }

    fn write(&self, batch: &[T], counts: &mut RelationsReport, report: &mut Answer) -> Result<()> {
        match (self.add)(batch) {
            Ok(related) => {
                counts.added += related.added;
                counts.known += related.known;
                counts.forgotten +=
                    batch.iter().filter(|one| (self.is_forgotten)(one)).count() as u64;
                Ok(())
            }
            Err(error) if is_of_record(&error) => match batch {
                [one] => {
                    counts.failed += 1;
                    report.lose(self.name, (self.id)(one), error.to_string());
                    Ok(())
                }
                _ => batch
                    .chunks(1)
                    .try_for_each(|one| self.write(one, counts, report)),
            },
            Err(error) => Err(error),
        }
    }
}

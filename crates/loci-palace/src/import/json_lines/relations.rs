//! Facts and links of an import, written in batches like drawers. Existing ones are not changed.

use std::collections::HashSet;

use loci_core::{
    Capability, DrawerRef, Error, Fact, FactQuery, Link, LinkEnd, MAX_BATCH_TEXT_BYTES, Related,
    Relations, Result, Warning,
};

use super::{BATCH, Import, Loss};
use crate::Palace;
use crate::import::is_of_record;
use crate::secrets::{Tally, mask_fact, mask_link};

/// Items that wait for the next transaction.
struct Waiting<T> {
    lines: Vec<u64>,
    items: Vec<T>,
    bytes: usize,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            items: Vec::new(),
            bytes: 0,
        }
    }
}

impl<T> Waiting<T> {
    fn has_room(&self, bytes: usize) -> bool {
        self.items.len() < BATCH && self.bytes + bytes <= MAX_BATCH_TEXT_BYTES
    }

    fn push(&mut self, line: u64, item: T, bytes: usize) {
        self.lines.push(line);
        self.items.push(item);
        self.bytes += bytes;
    }
}

/// The facts and links that an import has read but not written.
#[derive(Default)]
pub(super) struct Incoming {
    facts: Waiting<Fact>,
    links: Waiting<Link>,
    /// Drawers that were not imported because their text was forgotten in this palace. Their facts
    /// and links are not imported either.
    forgotten: HashSet<DrawerRef>,
}

impl Import<'_> {
    /// Counts a drawer that is left out, and remembers it: its facts and links are left out too.
    pub(super) fn note_forgotten(&mut self, collection: &str, id: Option<&String>) {
        let counted = self
            .report
            .warnings
            .iter_mut()
            .find_map(|warning| match warning {
                Warning::ForgottenLeftOut {
                    collection: of,
                    records,
                } if of == collection => Some(records),
                _ => None,
            });
        match counted {
            Some(records) => *records += 1,
            None => self.report.warnings.push(Warning::ForgottenLeftOut {
                collection: collection.to_owned(),
                records: 1,
            }),
        }
        if let Some(id) = id {
            self.incoming.forgotten.insert(DrawerRef {
                collection: collection.to_owned(),
                id: id.clone(),
            });
        }
    }

    pub(super) fn take_fact(&mut self, line: u64, mut fact: Fact) -> Result<()> {
        if let Some(source) = &mut fact.source {
            self.place(source);
            if self.incoming.forgotten.contains(source) {
                self.skip_forgotten(line, Some(fact.key().into_owned()));
                return Ok(());
            }
        }
        mask_fact(self.palace.secrets(), &mut fact, &mut self.report.masked);
        let bytes = fact.bytes();
        if !self.incoming.facts.has_room(bytes) {
            self.flush_facts()?;
        }
        self.incoming.facts.push(line, fact, bytes);
        Ok(())
    }

    pub(super) fn take_link(&mut self, line: u64, mut link: Link) -> Result<()> {
        self.place_all_projects()?;
        for end in [&mut link.from, &mut link.to] {
            match end {
                LinkEnd::Drawer(drawer) => {
                    self.place(drawer);
                    if self.incoming.forgotten.contains(drawer) {
                        self.skip_forgotten(line, None);
                        return Ok(());
                    }
                }
                LinkEnd::Room { wing, .. } => self.plan.place_room(wing),
            }
        }
        mask_link(self.palace.secrets(), &mut link, &mut self.report.masked);
        let bytes = link.bytes();
        if !self.incoming.links.has_room(bytes) {
            self.flush_links()?;
        }
        self.incoming.links.push(line, link, bytes);
        Ok(())
    }

    /// If all drawers are imported into one collection, references mean drawers of that collection.
    fn place(&self, drawer: &mut DrawerRef) {
        if let Some(collection) = &self.options.collection {
            drawer.collection.clone_from(collection);
        }
    }

    fn skip_forgotten(&mut self, line: u64, id: Option<String>) {
        self.report.skipped += 1;
        self.report.lost.push(Loss {
            line,
            id,
            reason: "the text of its drawer was forgotten here".into(),
        });
    }

    pub(super) fn flush_relations(&mut self) -> Result<()> {
        self.flush_facts()?;
        self.flush_links()
    }

    fn flush_facts(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.incoming.facts);
        let id = |fact: &Fact| Some(fact.key().into_owned());
        let related = self.write_relations(&waiting, |kept, facts| kept.add_facts(facts), id)?;
        self.report.facts += related.added;
        self.report.skipped += related.known;
        Ok(())
    }

    fn flush_links(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.incoming.links);
        let related =
            self.write_relations(&waiting, |kept, links| kept.add_links(links), |_| None)?;
        self.report.links += related.added;
        self.report.skipped += related.known;
        Ok(())
    }

    /// Writes the waiting items. If they are refused, they are written one at a time, so that only
    /// the bad ones are lost.
    fn write_relations<T>(
        &mut self,
        waiting: &Waiting<T>,
        add: impl Fn(&dyn Relations, &[T]) -> Result<Related>,
        id: impl Fn(&T) -> Option<String>,
    ) -> Result<Related> {
        if waiting.items.is_empty() {
            return Ok(Related::default());
        }
        let kept = self.palace.relations()?;
        let Some(kept) = kept.as_deref() else {
            let error = self.palace.backend.lacks(Capability::Relations);
            for (line, item) in waiting.lines.iter().zip(&waiting.items) {
                self.lose(*line, id(item), &error);
            }
            return Ok(Related::default());
        };
        match add(kept, &waiting.items) {
            Err(error) if is_of_record(&error) => {}
            result => return result,
        }
        let mut total = Related::default();
        for (line, item) in waiting.lines.iter().zip(&waiting.items) {
            match add(kept, std::slice::from_ref(item)) {
                Ok(related) => {
                    total.added += related.added;
                    total.known += related.known;
                }
                Err(error) if is_of_record(&error) => self.lose(*line, id(item), &error),
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    /// Refuses another fact with the same id, for imports that refuse conflicts.
    pub(super) fn refuse_other_fact(&self, line: u64, mut fact: Fact) -> Result<()> {
        mask_fact(self.palace.secrets(), &mut fact, &mut Tally::new());
        fact.id = fact.key().into_owned();
        if let Some(source) = &mut fact.source {
            self.place(source);
        }
        match known_fact(self.palace, &fact.id)? {
            Some(other) if other != fact => Err(Error::Conflict {
                what: format!(
                    "line {line}: fact {} exists with other content; nothing was imported",
                    loci_core::quoted(&fact.id)
                ),
            }),
            _ => Ok(()),
        }
    }
}

fn known_fact(palace: &Palace, id: &str) -> Result<Option<Fact>> {
    let query = FactQuery {
        id: Some(id.to_owned()),
        ..FactQuery::default()
    };
    match palace.relations()? {
        Some(kept) => Ok(kept.facts(&query, 1, 0)?.pop()),
        None => Ok(None),
    }
}

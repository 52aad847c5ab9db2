//! A walk along links: breadth first, both directions, each place once.

use std::cell::OnceCell;
use std::collections::{HashSet, VecDeque};

use loci_core::{Link, LinkEnd, Result, Warning};

use super::taxonomy::drawers_at;
use super::{PAGE, Reached, Taxonomy, Walk};
use crate::palace::Palace;

/// Hops and places at most, whatever is asked for.
const MOST_HOPS: usize = 10;
const MOST_PLACES: usize = 10_000;
/// Places when nobody says how many.
const PLACES: usize = 100;

struct Walker<'a> {
    palace: &'a Palace,
    /// Read when the walk meets its first room.
    taxonomy: OnceCell<Taxonomy>,
    seen: HashSet<LinkEnd>,
    due: VecDeque<Reached>,
    walk: Walk,
    limit: usize,
}

impl Palace {
    /// Walks along links in both directions, nearest first; a room also leads to rooms of the same name in other wings. At
    /// most ten hops; a `limit` of 0 means 100 places.
    pub fn traverse(&self, start: &LinkEnd, max_hops: usize, limit: usize) -> Result<Walk> {
        self.require_end(start)?;
        let limit = if limit == 0 { PLACES } else { limit };
        let mut walker = Walker {
            palace: self,
            taxonomy: OnceCell::new(),
            seen: HashSet::new(),
            due: VecDeque::new(),
            walk: Walk::default(),
            limit: limit.min(MOST_PLACES),
        };
        if max_hops > MOST_HOPS {
            let limit = MOST_HOPS;
            walker.walk.warnings.push(Warning::HopsLimited { limit });
        }
        walker.reach(start.clone(), 0, None)?;
        walker.go(max_hops.min(MOST_HOPS))?;
        Ok(walker.walk)
    }
}

impl Walker<'_> {
    fn go(&mut self, max_hops: usize) -> Result<()> {
        while let Some(place) = self.due.pop_front() {
            let (end, hops) = (place.end.clone(), place.hops);
            self.walk.reached.push(place);
            if hops == max_hops {
                continue;
            }
            self.follow_links(&end, hops + 1)?;
            self.follow_name(&end, hops + 1)?;
        }
        Ok(())
    }

    fn follow_links(&mut self, end: &LinkEnd, hops: usize) -> Result<()> {
        let mut offset = 0;
        while !self.walk.cut {
            let links = self.palace.links(Some(end), PAGE, offset)?;
            offset += links.len();
            let last = links.len() < PAGE;
            for link in links {
                let other = if link.from == *end {
                    link.to.clone()
                } else {
                    link.from.clone()
                };
                self.reach(other, hops, Some(link))?;
            }
            if last {
                break;
            }
        }
        Ok(())
    }

    /// Rooms of the same name in other wings.
    fn follow_name(&mut self, end: &LinkEnd, hops: usize) -> Result<()> {
        let LinkEnd::Room { room, .. } = end else {
            return Ok(());
        };
        if room.is_empty() {
            return Ok(());
        }
        let others: Vec<LinkEnd> = self
            .taxonomy()?
            .iter()
            .filter(|(wing, rooms)| !wing.is_empty() && rooms.contains_key(room))
            .map(|(wing, _)| LinkEnd::room(wing, room))
            .collect();
        for other in others {
            self.reach(other, hops, None)?;
        }
        Ok(())
    }

    /// Notes a place that was not met before.
    fn reach(&mut self, end: LinkEnd, hops: usize, via: Option<Link>) -> Result<()> {
        if self.seen.contains(&end) {
            return Ok(());
        }
        if self.seen.len() >= self.limit {
            self.walk.cut = true;
            return Ok(());
        }
        let drawers = match end {
            LinkEnd::Drawer(_) => 1,
            LinkEnd::Room { .. } => drawers_at(self.taxonomy()?, &end),
        };
        self.seen.insert(end.clone());
        self.due.push_back(Reached {
            end,
            hops,
            via,
            drawers,
        });
        Ok(())
    }

    fn taxonomy(&self) -> Result<&Taxonomy> {
        if let Some(taxonomy) = self.taxonomy.get() {
            return Ok(taxonomy);
        }
        let read = self.palace.taxonomy()?;
        Ok(self.taxonomy.get_or_init(|| read))
    }
}

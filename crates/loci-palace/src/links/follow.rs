//! Follows links: breadth first, in both directions, each place once.

use std::cell::OnceCell;
use std::collections::{HashSet, VecDeque};

use loci_core::{Link, LinkEnd, Result, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mined::MinedLinks;
use super::taxonomy::drawers_at;
use super::{LinkPlace, PAGE, Taxonomy};
use crate::palace::Palace;

/// Upper limits of hops and places.
const MOST_HOPS: usize = 10;
const MOST_PLACES: usize = 10_000;
/// Default number of places.
const PLACES: usize = 100;

/// Where a walk starts, and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Where it starts.
    pub place: LinkPlace,
    /// Maximum number of hops; never more than ten.
    pub max_hops: usize,
    /// Maximum number of places; 0 means 100.
    #[serde(default)]
    pub limit: usize,
}

/// The places that were reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Places in the order reached, the start first.
    pub reached: Vec<Reached>,
    /// Whether the limit ended the walk.
    pub cut: bool,
    /// A warning if fewer hops were followed than requested.
    pub warnings: Vec<Warning>,
}

/// A place that a walk along links reached.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reached {
    /// The place.
    pub end: LinkEnd,
    /// Number of links from the start.
    pub hops: usize,
    /// The link it was reached by; absent for the start, and for a room of the same name in another
    /// wing.
    pub via: Option<Link>,
    /// Number of drawers at the place.
    pub drawers: u64,
}

struct Walker<'a> {
    palace: &'a Palace,
    mined: MinedLinks<'a>,
    /// Read when the walk reaches its first room.
    taxonomy: OnceCell<Taxonomy>,
    seen: HashSet<LinkEnd>,
    due: VecDeque<Reached>,
    walk: Answer,
    limit: usize,
}

impl Palace {
    /// Follows links in both directions, nearest first. A room also leads to rooms of the same name
    /// in other wings. At most ten hops are followed; a `limit` of 0 means 100 places.
    pub fn follow_links(&self, request: &Request) -> Result<Answer> {
        let start = self.end_of(&request.place)?;
        self.require_end(&start)?;
        let limit = match request.limit {
            0 => PLACES,
            limit => limit,
        };
        let mut walker = Walker {
            palace: self,
            mined: MinedLinks::of(self),
            taxonomy: OnceCell::new(),
            seen: HashSet::new(),
            due: VecDeque::new(),
            walk: Answer::default(),
            limit: limit.min(MOST_PLACES),
        };
        if request.max_hops > MOST_HOPS {
            let limit = MOST_HOPS;
            walker.walk.warnings.push(Warning::HopsLimited { limit });
        }
        walker.reach(start, 0, None)?;
        walker.go(request.max_hops.min(MOST_HOPS))?;
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
            self.reach_by(end, hops, links)?;
            if last {
                break;
            }
        }
        let links = self.mined.at(end)?;
        self.reach_by(end, hops, links)
    }

    /// Records the other ends of these links.
    fn reach_by(&mut self, end: &LinkEnd, hops: usize, links: Vec<Link>) -> Result<()> {
        for link in links {
            let other = if link.from == *end {
                link.to.clone()
            } else {
                link.from.clone()
            };
            self.reach(other, hops, Some(link))?;
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

    /// Records a place that was not reached before.
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
